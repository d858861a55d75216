"""Random variables: draws, and the states that they come from."""

from __future__ import annotations

from typing import Any

from theano_graph import Variable, describe, format_error

from .._core._type import Tensor, TensorVariable


class RandomVariable(TensorVariable):
    """A tensor of numbers that are drawn anew in each call of a function.

    Attributes
    ----------
    rng : SharedVariable
        The state that the numbers are drawn from, where a stream made the variable.
    update : tuple
        `rng`, and the expression for its state after the draw.
    permutation : Tensor
        How rows were shuffled, where they were.
    """

    __slots__ = ("permutation", "rng", "rstate", "update")
    rng: Any
    rstate: Any
    update: tuple[Any, Variable]
    permutation: Tensor


def as_random_variable(variable: Tensor) -> RandomVariable:
    """Return the result of a node that nothing uses yet as a random variable, in place of the plain one.

    Raises
    ------
    TypeError
        If nothing computes it.
    """
    if isinstance(variable, RandomVariable):
        return variable
    node = variable.owner
    if node is None or variable.index is None:
        raise TypeError(
            format_error(
                "a variable that nothing computes is not random", context=[describe(variable)], hint="apply an op"
            )
        )
    random = RandomVariable(variable.type, node, variable.index, variable.name)
    if variable.has_tag():
        random.tag = variable.tag.copy()
    node.outputs[variable.index] = random
    return random
