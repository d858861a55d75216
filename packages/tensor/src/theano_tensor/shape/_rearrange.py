"""Elements in another order, dimensions in other places; lengths that must agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.kernels import Kernel, LengthKernel, ReshapeKernel, SpecifyShapeKernel, StackKernel, native_kernel

from .._core._convert import as_tensor_variable, constant
from .._core._dtypes import AxisLike, ShapeLike, TensorLike
from .._core._ops import TensorOp, one_axis
from .._core._type import Tensor, TensorType
from .._errors import ShapeError
from .._protocols._methods import operation
from ..elemwise import dimshuffle, neg
from ._rebroadcast import SPECIFY_SHAPE_CODE, Rebroadcast, shaped_operand
from ._reshape import Reshape, flatten, reshape, shape_padaxis, shape_padleft
from ._shape import MakeVector, ShapeI, SpecifyShape, as_length, lengths_of, static_int

# ---- An operation's demands on lengths of tensors, kept where rewriting leaves the operation out


class SameLengths(SpecifyShape):
    """The input itself, as long as some of its dimensions have the lengths that further inputs say; else a ValueError.

    Unlike after a :class:`SpecifyShape` nothing new is known of the type, and gradients do not see it: the checked
    lengths are lengths that an operation of the program, which is left out, would have compared.

    Parameters
    ----------
    axes : sequence of int
        The dimensions that are checked, in order; one further input for each.
    """

    __props__ = ("axes",)

    def make_node(self, x: TensorLike, *lengths: ShapeLike) -> Apply:
        """Apply to a tensor and one length for each of `axes`."""
        variable = shaped_operand(x, SPECIFY_SHAPE_CODE)
        return Apply(self, [variable, *super().make_node(x, *lengths).inputs[1:]], [variable.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Check the lengths and return the input."""
        x, *lengths = inputs
        for axis, n in zip(self.axes, lengths, strict=True):
            if x.shape[axis] != n:
                raise ValueError(
                    format_error(
                        f"Input dimension mis-match. (dimension {axis} has length {x.shape[axis]}, "
                        f"what it is used with has {n})",
                        context=[describe(node.inputs[0])],
                        hint="a length of 1 broadcasts only where it is declared: make the variable with shape 1 there "
                        "(row, col, broadcastable=...)",
                    )
                )
        output_storage[0][0] = x


@pullback.register(SameLengths)
def _pullback(node: Apply[SameLengths], cotangents: list[Any]) -> list[Any]:
    return [cotangents[0], *(None for _ in node.inputs[1:])]


@pushforward.register(SameLengths)
def _pushforward(node: Apply[SameLengths], tangents: list[Any]) -> list[Any]:
    return [tangents[0]]


@shape_rule.register(SameLengths)
def _shape(node: Apply[SameLengths], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


# ---- Elements in another order, and dimensions in other places


class Roll(TensorOp):
    """The elements moved along an axis; elements moved out at one end come in at the other.

    Inputs are the tensor, the number of places and the axis.
    """

    __props__ = ()

    def make_node(self, x: TensorLike, shift: TensorLike, axis: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor and two integers; ShapeError if it has no such axis."""
        variable, places, where = as_tensor_variable(x), as_length(shift, "a shift"), as_length(axis, "an axis")
        axis_number = static_int(where)
        if axis_number is not None:
            where = constant(np.asarray(one_axis("roll", axis_number, variable), dtype="int64"))
        elif not variable.type.ndim:
            raise ShapeError(format_error("roll: a scalar has no axis", context=[describe(variable)]))
        return Apply(self, [variable, places, where], [variable.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Roll with NumPy; ValueError if there is no such axis."""
        x, shift, axis = inputs
        if not -x.ndim <= axis < x.ndim:
            raise ValueError(
                format_error(
                    f"roll: axis {int(axis)} is out of range for {x.ndim} dimensions",
                    context=[describe(node.inputs[0])],
                    hint=f"use an axis from {-x.ndim} to {x.ndim - 1}",
                )
            )
        output_storage[0][0] = np.roll(x, int(shift), int(axis))

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """The result does not depend differentiably on shift and axis."""
        return [[True], [False], [False]]


@pullback.register(Roll)
def _pullback_roll(node: Apply[Roll, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    _, shift, axis = node.inputs
    return [node.op(cotangents[0], neg(shift.astype("int64")), axis), None, None]


@pushforward.register(Roll)
def _pushforward_roll(node: Apply[Roll, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else node.op(tangents[0], *node.inputs[1:])]


@batch_rule.register(Roll)
def _batch_roll(node: Apply[Roll, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable] | None:
    x, shift, axis = inputs
    number = static_int(axis)
    if number is None or any(stacked[1:]):
        return None
    return [Roll()(x, shift, number + 1)]


@shape_rule.register(Roll)
def _shape_roll(node: Apply[Roll, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


@operation("roll")
def roll(x: TensorLike, shift: TensorLike, axis: AxisLike = None) -> Tensor:
    """Move the elements along an axis; elements moved out at one end come in at the other.

    Parameters
    ----------
    x : tensor_like
    shift : int or integer scalar
        By how many places, towards the end; negative towards the start. Several, if there are several axes.
    axis : int or integer scalar, or tuple of these, optional
        By default `x` is flattened, moved, and put in its shape again.

    Returns
    -------
    Tensor
        Of the type of `x`.

    Raises
    ------
    ShapeError
        If there is no such axis, or there are other numbers of shifts and axes.
    ValueError
        If a symbolic axis turns out not to exist.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.roll(T.constant([1, 2, 3, 4]), 1).eval()
    array([4, 1, 2, 3])
    """
    variable = as_tensor_variable(x)
    if axis is None:
        flat = variable if variable.type.ndim == 1 else flatten(variable)
        moved: Tensor = Roll()(flat, shift, 0)
        return moved if variable.type.ndim == 1 else reshape(moved, lengths_of(variable))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else [shift] * len(axes)
    if len(shifts) != len(axes):
        raise ShapeError(format_error(f"roll: {len(shifts)} shifts for {len(axes)} axes", context=[describe(variable)]))
    for places, where in zip(shifts, axes, strict=True):
        variable = Roll()(variable, places, where)
    return variable


@operation("flip")
def flip(x: TensorLike, axis: AxisLike = None) -> Tensor:
    """Return a view with the elements in reverse order along the axes given, or all of them.

    Parameters
    ----------
    x : tensor_like
    axis : int or tuple of int, optional

    Raises
    ------
    ShapeError
        If there is no such axis.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.flip([[1, 2], [3, 4]]).eval()
    array([[4, 3],
           [2, 1]])
    """
    variable = as_tensor_variable(x)
    wanted = range(variable.type.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = {one_axis("flip", a, variable) for a in wanted}
    if not axes:
        return variable
    return variable[tuple(slice(None, None, -1 if i in axes else None) for i in range(variable.type.ndim))]


def flipud(x: TensorLike) -> Tensor:
    """Return a view with the rows in reverse order (axis 0).

    Parameters
    ----------
    x : tensor_like
        At least one dimension.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.flipud([[1, 2], [3, 4]]).eval()
    array([[3, 4],
           [1, 2]])
    """
    return flip(x, 0)


def fliplr(x: TensorLike) -> Tensor:
    """Return a view with the columns in reverse order (axis 1).

    Parameters
    ----------
    x : tensor_like
        At least two dimensions.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.fliplr([[1, 2], [3, 4]]).eval()
    array([[2, 1],
           [4, 3]])
    """
    return flip(x, 1)


def moveaxis(x: TensorLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Return a view with some dimensions in other places; the others keep their order.

    Parameters
    ----------
    x : tensor_like
    source, destination : int or sequence of int
        Where dimensions are, and where they shall be.

    Raises
    ------
    ShapeError
        If there is no such axis, one is given twice, or the numbers of axes differ.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.moveaxis(T.zeros((2, 3, 4)), 0, -1).shape.eval()
    array([3, 4, 2])
    """
    variable = as_tensor_variable(x)
    pairs = [
        [one_axis("moveaxis", a, variable) for a in (axes if isinstance(axes, (tuple, list)) else (axes,))]
        for axes in (source, destination)
    ]
    if len(pairs[0]) != len(pairs[1]) or any(len(set(axes)) != len(axes) for axes in pairs):
        raise ShapeError(
            format_error(
                f"moveaxis: axes {source!r} cannot go to {destination!r}",
                context=[describe(variable)],
                hint="name as many places as axes, each once",
            )
        )
    order: list[int | str] = [i for i in range(variable.type.ndim) if i not in pairs[0]]
    for position, axis in sorted(zip(pairs[1], pairs[0], strict=True)):
        order.insert(position, axis)
    return dimshuffle(variable, order)


def expand_dims(x: TensorLike, axis: int | tuple[int, ...] | list[int]) -> Tensor:
    """Return a view with new broadcastable dimensions, which are dimensions `axis` (an int or several) of the result.

    Parameters
    ----------
    x : tensor_like
    axis : int or sequence of int
        Positions of the new dimensions in the result.

    Raises
    ------
    ShapeError
        If there is no such axis in the result, or one is given twice.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.expand_dims([1, 2], 0).eval()
    array([[1, 2]])
    """
    variable = as_tensor_variable(x)
    if not isinstance(axis, (tuple, list)):
        return shape_padaxis(variable, axis)
    places = [one_axis("expand_dims", a, variable, len(axis)) for a in axis]
    if len(set(places)) != len(places):
        raise ShapeError(format_error(f"expand_dims: an axis is given twice in {axis!r}", context=[describe(variable)]))
    old = iter(range(variable.type.ndim))
    order = ["x" if i in places else next(old) for i in range(variable.type.ndim + len(places))]
    return dimshuffle(variable, order)


def atleast_nd(x: TensorLike, n: int, left: bool = True) -> Tensor:
    """Return `x` with broadcastable dimensions added on one side, so that there are `n` at least."""
    variable = as_tensor_variable(x)
    missing = max(0, n - variable.type.ndim)
    if left:
        return shape_padleft(variable, missing)
    return dimshuffle(variable, [*range(variable.type.ndim), *["x"] * missing])


def atleast_1d(x: TensorLike) -> Tensor:
    """Return `x`, a scalar as a vector of length 1.

    Parameters
    ----------
    x : tensor_like

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.atleast_1d(3).eval()
    array([3], dtype=int8)
    """
    return atleast_nd(x, 1)


def atleast_2d(x: TensorLike) -> Tensor:
    """Return `x` with two dimensions at least, added on the left.

    Parameters
    ----------
    x : tensor_like

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.atleast_2d([1, 2]).eval()
    array([[1, 2]])
    """
    return atleast_nd(x, 2)


def atleast_3d(x: TensorLike) -> Tensor:
    """Return `x` with three dimensions at least, as NumPy adds them: a vector as (1, n, 1), a matrix as (m, n, 1).

    Parameters
    ----------
    x : tensor_like

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.atleast_3d([1, 2]).shape.eval()
    array([1, 2, 1])
    """
    variable = as_tensor_variable(x)
    order: dict[int, list[int | str]] = {0: ["x"] * 3, 1: ["x", 0, "x"], 2: [0, 1, "x"]}
    return dimshuffle(variable, order.get(variable.type.ndim, list(range(variable.type.ndim))))


def ravel(x: TensorLike) -> Tensor:
    """Return `x` as a vector, in C order.

    Parameters
    ----------
    x : tensor_like

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.ravel([[1, 2], [3, 4]]).eval()
    array([1, 2, 3, 4])
    """
    return flatten(x)


# ---- Native forms of ops on shapes


@native_kernel.register(ShapeI)
def _length(node: Apply[ShapeI]) -> Kernel | None:
    return LengthKernel(node.op.i) if isinstance(node.inputs[0].type, TensorType) else None


@native_kernel.register(MakeVector)
def _gather(node: Apply[MakeVector, Tensor]) -> Kernel | None:
    return StackKernel(node.op.dtype)


@native_kernel.register(Reshape)
def _other_shape(node: Apply[Reshape, Tensor]) -> Kernel | None:
    x, shape = (v.type for v in node.inputs)
    return ReshapeKernel(x.dtype, x.ndim, node.op.ndim) if shape.dtype == "int64" else None


@native_kernel.register(SpecifyShape)
def _specified(node: Apply[SpecifyShape]) -> Kernel | None:
    x, *lengths = (v.type for v in node.inputs)
    if not isinstance(x, TensorType) or any(n.dtype != "int64" for n in lengths):
        return None
    # Lengths come in the order of the axes of the op.
    return (
        SpecifyShapeKernel(tuple(i in node.op.axes for i in range(x.ndim)), isinstance(node.op, SameLengths))
        if list(node.op.axes) == sorted(node.op.axes)
        else None
    )


@native_kernel.register(Rebroadcast)
def _rebroadcast(node: Apply[Rebroadcast]) -> Kernel | None:
    x = node.inputs[0].type
    if not isinstance(x, TensorType):
        return None
    claimed = {axis for axis, flag in node.op.pattern if flag}
    return SpecifyShapeKernel(tuple(i in claimed for i in range(x.ndim)))
