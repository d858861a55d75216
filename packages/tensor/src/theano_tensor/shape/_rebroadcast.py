"""Which dimensions broadcast: claimed, or taken back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from theano_graph import Apply, Variable, compose, describe, pullback, pushforward, shape_rule

from .._convert import as_tensor_variable
from .._errors import ShapeError
from .._type import TensorType
from .._variable import TensorVariable
from ._registered import REBROADCAST_CODE, RebroadcastCode, shaped_operand


class Rebroadcast(RebroadcastCode):
    """The input itself, with other dimensions that broadcast.

    Parameters
    ----------
    *pattern : pair of (int, bool)
        An axis and whether it broadcasts in the result. A claim is checked when it runs.

    Examples
    --------
    ``Rebroadcast((0, True), (1, False))`` makes axis 0 broadcastable and axis 1 not.
    """

    __props__ = ("pattern",)
    view_map = {0: [0]}

    def __init__(self, *pattern: tuple[int, bool]) -> None:
        self.pattern = tuple(sorted((int(axis), bool(flag)) for axis, flag in pattern))

    def make_node(self, x: Any) -> Apply:
        """Apply to a tensor; ShapeError if an axis does not exist or cannot broadcast."""
        variable = shaped_operand(x, REBROADCAST_CODE)
        if not isinstance(variable.type, TensorType):
            return Apply(self, [variable], [variable.type.make_variable()])
        shape = list(variable.type.shape)
        for axis, flag in self.pattern:
            if not 0 <= axis < variable.type.ndim:
                raise ShapeError(compose(f"Rebroadcast: there is no axis {axis}", where=[describe(variable)]))
            if flag and shape[axis] not in (None, 1):
                raise ShapeError(
                    compose(f"Rebroadcast: axis {axis} has length {shape[axis]}, not 1", where=[describe(variable)])
                )
            shape[axis] = 1 if flag else (None if shape[axis] == 1 else shape[axis])
        return Apply(self, [variable], [TensorType(variable.type.dtype, shape).make_variable()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Check and return the input; ValueError if a dimension that is to broadcast is longer than 1."""
        (x,) = inputs
        for axis, flag in self.pattern:
            if flag and x.shape[axis] != 1:
                raise ValueError(
                    compose(
                        f"Dimension {axis} in Rebroadcast's input was supposed to be 1 (got {x.shape[axis]} instead)",
                        where=[describe(node.inputs[0])],
                        mend="pass an array of length 1 there, or do not make this dimension broadcastable",
                    )
                )
        output_storage[0][0] = x

    def __str__(self) -> str:
        return f"Rebroadcast{{{','.join(f'({axis}, {flag})' for axis, flag in self.pattern)}}}"


@pullback.register(Rebroadcast)
def _pullback(node: Apply, cotangents: list[Variable]) -> list[Variable | None]:
    return [patternbroadcast(cotangents[0], node.inputs[0].type.broadcastable)]


@pushforward.register(Rebroadcast)
def _pushforward(node: Apply, tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else node.op(tangents[0])]


@shape_rule.register(Rebroadcast)
def _shape(node: Apply, input_shapes: list[Any]) -> list[Any]:
    shape = list(input_shapes[0])
    for axis, flag in node.op.pattern:
        if flag:
            shape[axis] = 1
    return [tuple(shape)]


def _rebroadcast(x: Any, flags: Iterable[tuple[int, bool]]) -> TensorVariable:
    variable = as_tensor_variable(x)
    changed = [(axis, flag) for axis, flag in flags if not _has(variable, axis, flag)]
    if not changed:
        return variable
    result: TensorVariable = Rebroadcast(*changed)(variable)
    return result


def _has(x: TensorVariable, axis: int, flag: bool) -> bool:
    return 0 <= axis < x.type.ndim and x.type.broadcastable[axis] == flag


def addbroadcast(x: Any, *axes: int) -> TensorVariable:
    """Return `x` with dimensions that broadcast; ValueError when run if one of them is longer than 1.

    Examples
    --------
    >>> from theano_tensor import dmatrix
    >>> addbroadcast(dmatrix("x"), 0).broadcastable
    (True, False)
    """
    return _rebroadcast(x, [(axis, True) for axis in axes])


def unbroadcast(x: Any, *axes: int) -> TensorVariable:
    """Return `x` with dimensions that do not broadcast."""
    return _rebroadcast(x, [(axis, False) for axis in axes])


def patternbroadcast(x: Any, broadcastable: Iterable[bool]) -> TensorVariable:
    """Return `x` with the broadcastable pattern given; ValueError when run if a length does not fit it."""
    return _rebroadcast(x, enumerate(broadcastable))
