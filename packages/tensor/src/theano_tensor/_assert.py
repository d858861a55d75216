"""Conditions that must hold when a graph runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Op, Variable, compose, describe, pullback, pushforward, shape_rule

from ._convert import as_tensor_variable
from ._errors import ShapeError


class Assert(Op):
    """The first input as it is, as long as all others are true; AssertionError otherwise.

    The check is made only where the result is used, and goes where conditions are known to hold. The rewrite
    ``local_remove_all_assert`` takes all checks out.

    Parameters
    ----------
    msg : str
        Text of the error.

    Examples
    --------
    >>> from theano_tensor import dvector
    >>> x = dvector("x")
    >>> Assert("two elements at most")(x, x.size < 3).type
    TensorType(float64, vector)
    """

    __props__ = ("msg",)
    view_map = {0: [0]}

    def __init__(self, msg: str = "Theano Assert failed!") -> None:
        self.msg = msg

    def make_node(self, value: Any, *conds: Any) -> Apply:
        """Apply to a value and conditions without dimensions; ShapeError for conditions with dimensions."""
        variable = value if isinstance(value, Variable) else as_tensor_variable(value)
        conditions = [as_tensor_variable(c) for c in conds]
        for condition in conditions:
            if condition.type.ndim:
                raise ShapeError(
                    compose(
                        f"Assert: a condition has {condition.type.ndim} dimensions, expected none",
                        where=[describe(condition)],
                        mend="reduce it with T.all(condition)",
                    )
                )
        return Apply(self, [variable, *conditions], [variable.type.make_variable()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Check and return the value."""
        value, *conditions = inputs
        if not all(np.asarray(c).item() for c in conditions):
            raise AssertionError(self.msg)
        output_storage[0][0] = value

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The result does not depend differentiably on conditions."""
        return [[True]] + [[False]] * (len(node.inputs) - 1)

    def __str__(self) -> str:
        return f"Assert{{msg={self.msg!r}}}"


assert_op = Assert()


@pullback.register(Assert)
def _pullback(node: Apply, cotangents: list[Variable]) -> list[Variable | None]:
    return [cotangents[0], *(None for _ in node.inputs[1:])]


@pushforward.register(Assert)
def _pushforward(node: Apply, tangents: list[Variable | None]) -> list[Variable | None]:
    return [tangents[0]]


@shape_rule.register(Assert)
def _shape(node: Apply, input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]
