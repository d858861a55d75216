"""Which dimensions broadcast: claimed, or taken back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

from theano_graph import Apply, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule

from .._core._convert import as_tensor_variable
from .._core._dtypes import AxisLike, TensorLike
from .._core._ops import one_axis, refused
from .._core._type import Tensor, TensorType, tensor_type
from .._errors import ShapeError
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

    def make_node(self, x: TensorLike) -> Apply[Self]:
        """Apply to a tensor; ShapeError if an axis does not exist."""
        variable = shaped_operand(x, REBROADCAST_CODE)
        if not isinstance(variable.type, TensorType):
            return Apply(self, [variable], [variable.type.make_variable()])
        shape = list(variable.type.shape)
        for axis, flag in self.pattern:
            if not 0 <= axis < variable.type.ndim:
                raise ShapeError(format_error(f"Rebroadcast: there is no axis {axis}", context=[describe(variable)]))
            if flag and shape[axis] not in (None, 1):
                error = ShapeError(
                    format_error(
                        f"Rebroadcast: axis {axis} has length {shape[axis]}, not 1", context=[describe(variable)]
                    )
                )
                variable = refused(error, variable, [None if i == axis else n for i, n in enumerate(shape)])
            shape[axis] = 1 if flag else (None if shape[axis] == 1 else shape[axis])
        return Apply(self, [variable], [tensor_type(variable.type.dtype, shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Check and return the input; ValueError if a dimension that is to broadcast is longer than 1."""
        (x,) = inputs
        for axis, flag in self.pattern:
            if flag and x.shape[axis] != 1:
                raise ValueError(
                    format_error(
                        f"Dimension {axis} in Rebroadcast's input was supposed to be 1 (got {x.shape[axis]} instead)",
                        context=[describe(node.inputs[0])],
                        hint="pass an array of length 1 there, or do not make this dimension broadcastable",
                    )
                )
        output_storage[0][0] = x

    def __str__(self) -> str:
        flags = dict(self.pattern)
        places = [str(int(flags[axis])) if axis in flags else "?" for axis in range(max(flags, default=-1) + 1)]
        return f"Rebroadcast{{{','.join(places)}}}"


@pullback.register(Rebroadcast)
def _pullback(node: Apply[Rebroadcast], cotangents: list[Variable]) -> list[Variable | None]:
    return [patternbroadcast(cotangents[0], node.inputs[0].type.broadcastable)]


@pushforward.register(Rebroadcast)
def _pushforward(node: Apply[Rebroadcast], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else node.op(tangents[0])]


@batch_rule.register(Rebroadcast)
def _batch(node: Apply[Rebroadcast], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    return [Rebroadcast(*((axis + 1, flag) for axis, flag in node.op.pattern))(inputs[0])]


@shape_rule.register(Rebroadcast)
def _shape(node: Apply[Rebroadcast], input_shapes: list[Any]) -> list[Any]:
    shape = list(input_shapes[0])
    for axis, flag in node.op.pattern:
        if flag:
            shape[axis] = 1
    return [tuple(shape)]


def _rebroadcast(x: Tensor, flags: Iterable[tuple[int, bool]]) -> Tensor:
    changed = {axis: flag for axis, flag in flags if x.type.broadcastable[axis] != flag}
    if not changed:
        return x
    base = x
    if x.owner is not None and type(x.owner.op) is Rebroadcast:
        # One change in place of several, and none where they undo each other.
        base = as_tensor_variable(x.owner.inputs[0])
        before = dict(x.owner.op.pattern)
        changed = {**before, **changed}
        changed = {axis: flag for axis, flag in changed.items() if base.type.broadcastable[axis] != flag}
    result: Tensor = Rebroadcast(*changed.items())(base) if changed else base
    return result


def _axes(name: str, x: Tensor, axes: Sequence[Any]) -> list[int]:
    """Return axes, given one by one or as sequences of them, as numbers from 0 up."""
    listed = [a for entry in axes for a in (entry if isinstance(entry, (list, tuple)) else (entry,))]
    return [one_axis(name, a, x) for a in listed]


def addbroadcast(x: TensorLike, *axes: AxisLike) -> Tensor:
    """Return `x` with dimensions that broadcast.

    Parameters
    ----------
    x : tensor_like
    *axes : int, or sequence of int

    Raises
    ------
    ShapeError
        If there is no such axis, or its length is known and not 1.
    ValueError
        When it runs, if one of them is longer than 1.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.addbroadcast(T.dmatrix("x"), 0).broadcastable
    (True, False)
    """
    variable = as_tensor_variable(x)
    return _rebroadcast(variable, [(axis, True) for axis in _axes("addbroadcast", variable, axes)])


def unbroadcast(x: TensorLike, *axes: AxisLike) -> Tensor:
    """Return `x` with dimensions that do not broadcast; `axes` as in :func:`addbroadcast`.

    Parameters
    ----------
    x : tensor_like
    *axes : int

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.unbroadcast(T.drow(), 0).broadcastable
    (False, False)
    """
    variable = as_tensor_variable(x)
    return _rebroadcast(variable, [(axis, False) for axis in _axes("unbroadcast", variable, axes)])


def patternbroadcast(x: TensorLike, broadcastable: Iterable[bool]) -> Tensor:
    """Return `x` with the broadcastable pattern given.

    Parameters
    ----------
    x : tensor_like
    broadcastable : sequence of bool
        One entry for each dimension.

    Raises
    ------
    ShapeError
        If the pattern is for another number of dimensions, or contradicts a known length.
    ValueError
        When it runs, if a length does not fit it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.patternbroadcast(T.dmatrix(), (True, False)).broadcastable
    (True, False)
    """
    variable, pattern = as_tensor_variable(x), [bool(flag) for flag in broadcastable]
    # An empty pattern, of a scalar, says nothing of any dimension.
    if pattern and len(pattern) != variable.type.ndim:
        raise ShapeError(
            format_error(
                f"patternbroadcast: a pattern of {len(pattern)} flags for {variable.type.ndim} dimensions",
                context=[describe(variable)],
                hint="give one flag for each dimension",
            )
        )
    return _rebroadcast(variable, enumerate(pattern))
