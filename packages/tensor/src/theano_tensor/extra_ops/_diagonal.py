"""Diagonals: read, written, and made to matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.kernels import ArrayRoutineKernel, Kernel, native_kernel

from .._core._convert import as_tensor_variable, constant
from .._core._dtypes import DISCRETE_DTYPES, FLOAT_DTYPES, TensorLike
from .._core._ops import TensorOp, one_axis, refused, run_in_a_loop
from .._core._type import Tensor, tensor_type
from .._errors import DTypeError, ShapeError
from .._protocols._methods import operation
from ..creation import arange, zeros
from ..elemwise import cast, dimshuffle, eq, maximum, minimum, sub, switch
from ..indexing import set_subtensor
from ..reduce import sum as sum_over
from ..shape import as_length, lengths_of, moveaxis, shape_i


class ExtractDiag(TensorOp):
    """The elements on a diagonal of two dimensions, which become the last dimension of the result.

    Parameters
    ----------
    offset : int
        0 is the main diagonal, positive above, negative below.
    axis1, axis2 : int
        From 0 up, different.
    """

    __props__ = ("offset", "axis1", "axis2")

    def __init__(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> None:
        self.offset, self.axis1, self.axis2 = int(offset), int(axis1), int(axis2)
        if self.axis1 == self.axis2 or min(self.axis1, self.axis2) < 0:
            raise ValueError(format_error(f"a diagonal needs two different axes from 0 up, not {axis1} and {axis2}"))

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor that has both axes."""
        variable = as_tensor_variable(x)
        if max(self.axis1, self.axis2) >= variable.type.ndim:
            raise ShapeError(
                format_error(
                    f"diagonal: there are no axes {self.axis1} and {self.axis2}",
                    context=[describe(variable)],
                    hint="a diagonal needs two dimensions",
                )
            )
        rows, columns = variable.type.shape[self.axis1], variable.type.shape[self.axis2]
        lengths = [n for i, n in enumerate(variable.type.shape) if i not in (self.axis1, self.axis2)]
        length = None
        if rows is not None and columns is not None:
            length = max(0, min(rows + min(self.offset, 0), columns - max(self.offset, 0)))
        return Apply(self, [variable], [tensor_type(variable.type.dtype, (*lengths, length)).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Copy the diagonal."""
        (x,) = inputs
        # NumPy takes no offsets of more than 32 bits; beyond the matrix there are no elements at all.
        offset = max(-x.shape[self.axis1], min(self.offset, x.shape[self.axis2]))
        output_storage[0][0] = np.diagonal(x, offset, self.axis1, self.axis2).copy()


def _on_diagonal(n: Any, offset: int) -> tuple[Any, ...]:
    """Return the index of `n` elements of a diagonal of the last two dimensions."""
    numbers = arange(n)
    return (..., numbers + max(-offset, 0), numbers + max(offset, 0))


@batch_rule.register(ExtractDiag)
def _batch_extract(node: Apply[ExtractDiag, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    op = node.op
    return [ExtractDiag(op.offset, op.axis1 + 1, op.axis2 + 1)(inputs[0])]


@pullback.register(ExtractDiag)
def _pullback_extract(node: Apply[ExtractDiag, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    op, x, g = node.op, as_tensor_variable(node.inputs[0]), as_tensor_variable(cotangents[0])
    inner = moveaxis(x, (op.axis1, op.axis2), (-2, -1))
    index = _on_diagonal(shape_i(g, g.type.ndim - 1), op.offset)
    placed = set_subtensor(zeros(lengths_of(inner), g.type.dtype)[index], g)
    return [moveaxis(placed, (-2, -1), (op.axis1, op.axis2))]


@pushforward.register(ExtractDiag)
def _pushforward_extract(node: Apply[ExtractDiag, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else node.op(tangents[0])]


@shape_rule.register(ExtractDiag)
def _shape_extract(node: Apply[ExtractDiag, Tensor], input_shapes: list[Any]) -> list[Any]:
    op, (shape,) = node.op, input_shapes
    lengths = [n for i, n in enumerate(shape) if i not in (op.axis1, op.axis2)]
    length = maximum(minimum(shape[op.axis1] + min(op.offset, 0), shape[op.axis2] - max(op.offset, 0)), 0)
    return [(*lengths, cast(length, "int64"))]


@operation("diagonal")
def diagonal(a: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Return a diagonal of two dimensions, as the last dimension of the result.

    Parameters
    ----------
    a : tensor_like
        With two dimensions at least.
    offset : int
        0 is the main diagonal, positive above, negative below.
    axis1, axis2 : int
        The two dimensions.

    Raises
    ------
    ShapeError
        If there are no such axes, or they are the same.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.diagonal(T.dmatrix("x")).type
    TensorType(float64, vector)
    """
    x = as_tensor_variable(a)
    if x.type.ndim < 2:
        raise ShapeError(
            format_error(
                "diagonal: two dimensions are needed", context=[describe(x)], hint="T.diag makes one of a vector"
            )
        )
    first, second = one_axis("diagonal", axis1, x), one_axis("diagonal", axis2, x)
    if first == second:
        raise ShapeError(format_error("diagonal: axis1 and axis2 are the same", context=[describe(x)]))
    result: Tensor = ExtractDiag(offset, first, second)(x)
    return result


extract_diag = diagonal


class AllocDiag(TensorOp):
    """Matrices of zeros with the elements of the last dimension on a diagonal.

    Parameters
    ----------
    offset : int
        0 is the main diagonal, positive above, negative below.
    axis1, axis2 : int
        The dimensions of the result that make the matrices.
    """

    __props__ = ("offset", "axis1", "axis2")

    def __init__(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> None:
        self.offset = int(offset)
        self.axis1, self.axis2 = int(axis1), int(axis2)
        #: Both in ascending order.
        self.places = (min(self.axis1, self.axis2), max(self.axis1, self.axis2))
        if self.places[0] < 0 or self.axis1 == self.axis2:
            raise ShapeError(
                format_error(f"AllocDiag: {axis1} and {axis2} are not two dimensions", hint="number them from 0 up")
            )

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a vector, or to a tensor of vectors in the last dimension."""
        variable = as_tensor_variable(x)
        if not variable.type.ndim:
            raise ShapeError(format_error("AllocDiag takes a vector", context=[describe(variable)]))
        n = variable.type.shape[-1]
        side = None if n is None else n + abs(self.offset)
        if self.places[1] > variable.type.ndim:
            raise ShapeError(
                format_error(f"AllocDiag: the result has no dimension {self.places[1]}", context=[describe(variable)])
            )
        shape = self.spread(variable.type.shape[:-1], side)
        return Apply(self, [variable], [tensor_type(variable.type.dtype, shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Allocate and write."""
        (x,) = inputs
        side, numbers = x.shape[-1] + abs(self.offset), np.arange(x.shape[-1])
        matrix = np.zeros((*x.shape[:-1], side, side), dtype=x.dtype)
        matrix[..., numbers + max(-self.offset, 0), numbers + max(self.offset, 0)] = x
        output_storage[0][0] = np.ascontiguousarray(np.moveaxis(matrix, (-2, -1), self.places))

    def spread(self, lengths: Sequence[Any], side: Any) -> tuple[Any, ...]:
        """Return the shape with `lengths` in the other dimensions and `side` in those of the matrices."""
        shape = list(lengths)
        for position in self.places:
            shape.insert(position, side)
        return tuple(shape)


@batch_rule.register(AllocDiag)
def _batch_alloc(node: Apply[AllocDiag, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    op = node.op
    return [AllocDiag(op.offset, op.axis1 + 1, op.axis2 + 1)(inputs[0])]


@pullback.register(AllocDiag)
def _pullback_alloc(node: Apply[AllocDiag, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    return [diagonal(cotangents[0], node.op.offset, *node.op.places)]


@pushforward.register(AllocDiag)
def _pushforward_alloc(node: Apply[AllocDiag, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else node.op(tangents[0])]


@shape_rule.register(AllocDiag)
def _shape_alloc(node: Apply[AllocDiag, Tensor], input_shapes: list[Any]) -> list[Any]:
    (shape,) = input_shapes
    side = shape[-1] + abs(node.op.offset)
    return [node.op.spread(shape[:-1], side)]


def diag(v: TensorLike, k: int = 0) -> Tensor:
    """Return the matrix with the vector `v` on diagonal `k`, or diagonal `k` of the matrix `v`.

    Parameters
    ----------
    v : tensor_like
        A vector or a matrix.
    k : int
        The main diagonal is 0; positive numbers are above it.

    Raises
    ------
    ShapeError
        If `v` is neither vector nor matrix.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.diag(T.dvector("v")).ndim
    2
    """
    x = as_tensor_variable(v)
    if x.type.ndim == 1:
        result: Tensor = AllocDiag(k)(x)
        return result
    if x.type.ndim == 2:
        return diagonal(x, k)
    raise ShapeError(format_error("diag takes a vector or a matrix", context=[describe(x)], hint="use T.diagonal"))


@operation("trace")
def trace(x: TensorLike) -> Tensor:
    """Return the sum of the main diagonal of a matrix; ShapeError if it is none."""
    matrix = as_tensor_variable(x)
    if matrix.type.ndim != 2:
        raise ShapeError(format_error("trace takes a matrix", context=[describe(matrix)]))
    return sum_over(diagonal(matrix))


class FillDiagonal(TensorOp):
    """A copy of a tensor with one value on its main diagonal, where all numbers of an element are equal."""

    __props__ = ()

    def make_node(self, a: TensorLike, val: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor of two dimensions at least and a scalar."""
        x, value = _with_value("fill_diagonal", a, val)
        if x.type.ndim < 2:
            raise TypeError(format_error("fill_diagonal needs two dimensions at least", context=[describe(x)]))
        if x.type.ndim > 2 and len({n for n in x.type.shape if n is not None}) > 1:
            error = ShapeError(format_error("fill_diagonal: all lengths must be equal", context=[describe(x)]))
            x = refused(error, x, [None] * x.type.ndim)
        return Apply(self, [x, value], [x.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Copy and write; ValueError if there are more than two dimensions and lengths differ."""
        x, value = inputs
        if x.ndim > 2 and len(set(x.shape)) > 1:
            raise ValueError(
                format_error(
                    f"fill_diagonal: lengths must be equal, the shape is {x.shape}",
                    context=[describe(node.inputs[0])],
                )
            )
        result = np.array(x)
        numbers = np.arange(min(x.shape))
        result[(numbers,) * x.ndim] = value
        output_storage[0][0] = result


class FillDiagonalOffset(TensorOp):
    """A copy of a matrix with one value on a diagonal; inputs are matrix, value and the number of the diagonal."""

    __props__ = ()

    def make_node(self, a: TensorLike, val: TensorLike, offset: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a matrix and two scalars."""
        x, value = _with_value("fill_diagonal_offset", a, val)
        if x.type.ndim != 2:
            raise TypeError(format_error("fill_diagonal_offset takes a matrix", context=[describe(x)]))
        return Apply(self, [x, value, as_length(offset, "an offset")], [x.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Copy and write; a diagonal outside of the matrix has no elements."""
        x, value, offset = inputs[0], inputs[1], int(inputs[2])
        result = np.array(x)
        length = min(x.shape[0] + min(offset, 0), x.shape[1] - max(offset, 0))
        if length > 0:
            numbers = np.arange(length)
            result[numbers + max(-offset, 0), numbers + max(offset, 0)] = value
        output_storage[0][0] = result

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """The result does not depend differentiably on the number of the diagonal."""
        return [[True], [True], [False]]


def _with_value(name: str, a: TensorLike, val: TensorLike) -> tuple[Tensor, Tensor]:
    x, value = as_tensor_variable(a), as_tensor_variable(val)
    if value.type.ndim:
        raise TypeError(format_error(f"{name}: the value is a scalar", context=[describe(value)]))
    if isinstance(val, float) and x.type.dtype in FLOAT_DTYPES:
        value = constant(val, dtype=x.type.dtype)
    if np.result_type(x.type.dtype, value.type.dtype) != np.dtype(x.type.dtype):
        raise DTypeError(
            format_error(
                f"{name}: a value of {value.type.dtype} does not fit into a tensor of {x.type.dtype}",
                context=[describe(x), describe(value)],
                hint=f"convert it: T.cast(value, '{x.type.dtype}')",
            )
        )
    return x, cast(value, x.type.dtype)


def _value_gradient(value: Tensor, g: Tensor, on: Tensor) -> Tensor:
    total = sum_over(switch(on, g, np.zeros((), g.type.dtype)))
    return total if value.type.dtype in DISCRETE_DTYPES else cast(total, value.type.dtype)


def diagonal_mask(x: Tensor, offset: TensorLike) -> Tensor:
    """Tell where ``column - row == offset``; for more than two dimensions, where all numbers are equal."""
    orders: list[list[int | str]] = [[0 if j == i else "x" for j in range(x.type.ndim)] for i in range(x.type.ndim)]
    numbers = [dimshuffle(arange(n), order) for n, order in zip(lengths_of(x), orders, strict=True)]
    result: Tensor = eq(sub(numbers[1], numbers[0]), offset)
    for further in numbers[2:]:
        result = result & eq(further, numbers[0])
    return result


@pullback.register(FillDiagonal)
def _pullback_fill(node: Apply[FillDiagonal, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    g = as_tensor_variable(cotangents[0])
    on = diagonal_mask(as_tensor_variable(node.inputs[0]), 0)
    return [node.op(g, np.zeros((), g.type.dtype)), _value_gradient(node.inputs[1], g, on)]


@pullback.register(FillDiagonalOffset)
def _pullback_fill_offset(node: Apply[FillDiagonalOffset, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    g, offset = as_tensor_variable(cotangents[0]), node.inputs[2]
    on = diagonal_mask(as_tensor_variable(node.inputs[0]), offset)
    return [node.op(g, np.zeros((), g.type.dtype), offset), _value_gradient(node.inputs[1], g, on), None]


@pushforward.register(FillDiagonal, FillDiagonalOffset)
def _pushforward_fill(
    node: Apply[FillDiagonal | FillDiagonalOffset, Tensor], tangents: list[Variable | None]
) -> list[Variable | None]:
    (x, value, *others), (dx, dv, *_) = node.inputs, tangents
    if dx is None and dv is None:
        return [None]
    dx = as_tensor_variable(x).zeros_like() if dx is None else dx
    dv = as_tensor_variable(value).zeros_like() if dv is None else dv
    return [node.op(dx, dv, *others)]


@shape_rule.register(FillDiagonal, FillDiagonalOffset)
def _shape_fill(node: Apply[FillDiagonal | FillDiagonalOffset, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


def fill_diagonal(a: TensorLike, val: TensorLike) -> Tensor:
    """Return a copy of `a` with `val` on its main diagonal.

    Parameters
    ----------
    a : tensor_like
        A matrix of any shape, or a tensor of more dimensions that all have one length.
    val : scalar
        Of a dtype that the dtype of `a` holds.

    Raises
    ------
    TypeError
        If `a` has less than two dimensions, or `val` is no scalar that fits into `a`.
    ValueError
        If there are more than two dimensions and their lengths differ.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.fill_diagonal(T.constant([[1, 2], [3, 4]]), 9).eval()
    array([[9, 2],
           [3, 9]])
    """
    result: Tensor = FillDiagonal()(a, val)
    return result


def fill_diagonal_offset(a: TensorLike, val: TensorLike, offset: TensorLike) -> Tensor:
    """Return a copy of the matrix `a` with `val` on diagonal `offset`: 0 the main one, positive above, negative below.

    See :func:`fill_diagonal`.

    Parameters
    ----------
    a : tensor_like
        A matrix.
    val : tensor_like
        A scalar.
    offset : int or scalar tensor
        Number of the diagonal.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.fill_diagonal_offset(T.zeros((2, 2)), 5.0, 1).eval()
    array([[0., 5.],
           [0., 0.]])
    """
    result: Tensor = FillDiagonalOffset()(a, val, offset)
    return result


@native_kernel.register(ExtractDiag)
def _native(node: Apply[ExtractDiag, Tensor]) -> Kernel | None:
    x, op = as_tensor_variable(node.inputs[0]), node.op
    if x.type.ndim != 2:
        return None
    if abs(op.offset) > np.iinfo("int32").max:
        return None
    return ArrayRoutineKernel("diagonal", x.type.dtype, op.offset if op.axis1 < op.axis2 else -op.offset)


batch_rule.register(FillDiagonal, FillDiagonalOffset)(run_in_a_loop)
