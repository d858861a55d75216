"""Draws from the generators of NumPy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Op, Variable
from theano_linker_c import optdb
from theano_optimize import InplaceRewriter, Phase
from theano_tensor.random import copy_state, generator_type

from .._translation import Site, engine_type, rule


class Draw(Op):
    """Numbers of a distribution of PyTensor, and the generator after them: the same numbers as PyTensor draws.

    Parameters
    ----------
    distribution : pytensor.tensor.random.op.RandomVariable
        Draws by the method of NumPy's generator that its `rng_fn` calls.
    kind : TensorType
        Type of the numbers.
    sized : bool
        Whether a shape is given; otherwise the parameters decide.
    inplace : bool, optional
        Whether the generator that comes in is moved itself.
    """

    __props__ = ("distribution", "inplace", "kind", "sized")

    def __init__(self, distribution: Any, kind: Any, sized: bool, inplace: bool = False) -> None:
        self.distribution, self.kind, self.sized, self.inplace = distribution, kind, sized, inplace
        self.destroy_map = {0: [0]} if inplace else {}

    def __str__(self) -> str:
        return f"Draw{{{self.distribution.name}}}"

    def make_node(self, *inputs: Variable) -> Apply[Self]:
        """Apply to a generator, a vector of lengths where there is one, and parameters."""
        return Apply(self, list(inputs), [generator_type.make_variable(), self.kind.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Draw with NumPy."""
        state, *arguments = inputs
        if not self.inplace:
            state = copy_state(state)
        size = tuple(map(int, arguments[0])) if self.sized else None
        numbers = self.distribution.rng_fn(state, *arguments[self.sized :], size)
        output_storage[0][0] = state
        output_storage[1][0] = np.asarray(numbers, dtype=self.kind.dtype)


def _in_place(node: Apply) -> Iterable[Draw]:
    op = node.op
    return [] if op.inplace else [Draw(op.distribution, op.kind, op.sized, inplace=True)]


optdb.register(
    "draw_in_place",
    InplaceRewriter(_in_place, [Draw], "draw_in_place"),
    "fast_run",
    "inplace",
    position=Phase.INPLACE,
    aliases=("inplace_random",),
)


@rule("tensor.RandomVariable")
def _draw(site: Site) -> Any:
    """Draw from a generator that stays as it is: our rewriting decides where it is moved."""
    state, size, *parameters = site.inputs
    op = Draw(site.op, engine_type(site.outputs[1].type), size is not None)
    sized = [] if size is None else [size]
    return op(state, *sized, *parameters, return_list=True)
