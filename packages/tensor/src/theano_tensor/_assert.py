"""Conditions that must hold when a graph runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from theano_graph import (
    Apply,
    Op,
    Unstacked,
    Variable,
    batch_rule,
    describe,
    format_error,
    pullback,
    pushforward,
    shape_rule,
)

from ._core._convert import as_tensor_variable
from ._core._typing import TensorLike
from ._errors import ShapeError
from ._protocols._operations import call


class CheckAndRaise(Op):
    """The first input as it is, as long as all others are true; an error otherwise.

    The check is made only where the result is used, and goes where conditions are known to hold. The rewrite
    ``local_remove_all_assert`` takes all checks out.

    Parameters
    ----------
    exc_type : class
        Of the error.
    msg : str
        Text of the error.

    Raises
    ------
    TypeError
        If `exc_type` is no class of exceptions.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> y = T.log(T.CheckAndRaise(ValueError, "x has to be above 0")(x, x > 0))
    >>> y.eval({x: 1.0})
    array(0.)
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("exc_type", "msg")
    view_map = {0: [0]}

    def __init__(self, exc_type: type[Exception], msg: str = "") -> None:
        if not isinstance(exc_type, type) or not issubclass(exc_type, Exception):
            raise TypeError(
                format_error(
                    f"CheckAndRaise: {exc_type!r} is no class of exceptions", hint="pass a class such as ValueError"
                )
            )
        self.exc_type = exc_type
        self.msg = msg

    def make_node(self, value: TensorLike, *conds: TensorLike) -> Apply[Self]:
        """Apply to a value and conditions without dimensions; ShapeError for conditions with dimensions."""
        variable = value if isinstance(value, Variable) else as_tensor_variable(value)
        conditions = [as_tensor_variable(c) for c in conds]
        for condition in conditions:
            if condition.type.ndim:
                raise ShapeError(
                    format_error(
                        f"{type(self).__name__}: a condition has {condition.type.ndim} dimensions, expected none",
                        context=[describe(condition)],
                        hint="reduce it with T.all(condition)",
                    )
                )
        return Apply(self, [variable, *conditions], [variable.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Check and return the value."""
        value, *conditions = inputs
        if not all(np.asarray(c).item() for c in conditions):
            raise self.exc_type(self.msg)
        output_storage[0][0] = value

    def connection_pattern(self, node: Apply[Self]) -> list[list[bool]]:
        """The result does not depend differentiably on conditions."""
        return [[True]] + [[False]] * (len(node.inputs) - 1)

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.exc_type.__name__}({self.msg!r})}}"


class Assert(CheckAndRaise):
    """The first input as it is, as long as all others are true; AssertionError otherwise.

    Parameters
    ----------
    msg : str
        Text of the error.

    See Also
    --------
    CheckAndRaise

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> T.Assert("two elements at most")(x, x.size < 3).type
    TensorType(float64, vector)
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("msg",)

    def __init__(self, msg: str = "Theano Assert failed!") -> None:
        super().__init__(AssertionError, msg)

    def __str__(self) -> str:
        return f"Assert{{msg={self.msg!r}}}"


assert_op = Assert()


@pullback.register(CheckAndRaise)
def _pullback(node: Apply[CheckAndRaise], cotangents: list[Variable]) -> list[Variable | None]:
    return [cotangents[0], *(None for _ in node.inputs[1:])]


@pushforward.register(CheckAndRaise)
def _pushforward(node: Apply[CheckAndRaise], tangents: list[Variable | None]) -> list[Variable | None]:
    return [tangents[0]]


@batch_rule.register(CheckAndRaise)
def _batch(node: Apply[CheckAndRaise], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable | Unstacked]:
    """A condition has to hold for all entries."""
    value, *conditions = inputs
    checks = [call("all", c) if flag else c for c, flag in zip(conditions, stacked[1:], strict=True)]
    checked = node.op(value, *checks)
    return [checked if stacked[0] else Unstacked(checked)]


@shape_rule.register(CheckAndRaise)
def _shape(node: Apply[CheckAndRaise], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]
