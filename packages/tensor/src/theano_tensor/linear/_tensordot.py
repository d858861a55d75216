"""Products of tensors of any number of dimensions, through matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import describe, format_error

from .._core._convert import as_tensor_variable
from .._core._dtypes import AxisLike, TensorLike
from .._core._type import Tensor
from .._errors import ShapeError
from .._protocols._methods import operation
from ..elemwise import dimshuffle, mul
from ..shape import lengths_of, reshape, specify_shape
from ._batched import stack_product
from ._dot import fitting, matrix_product


@operation("dot")
def dot(a: TensorLike, b: TensorLike) -> Tensor:
    """Dot product, with the rules of ``numpy.dot``.

    Inner product of vectors, matrix product, and for more dimensions the sum over the last axis of `a` and the
    second-to-last of `b`. With a scalar it multiplies.

    Parameters
    ----------
    a, b : tensor_like
        Of shapes (..., k) and (..., k, n), or (k,).

    Returns
    -------
    Tensor

    Raises
    ------
    ShapeError
        If the inner lengths are known and differ.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.dot(T.dmatrix("x"), T.dvector("w")).type
    TensorType(float64, vector)
    """
    for operand, name, other in ((a, "__dot__", b), (b, "__rdot__", a)):
        if getattr(operand, "__array_ufunc__", name) is None and hasattr(operand, name):
            # A type of matrices with products of its own, such as sparse ones.
            result: Tensor = getattr(operand, name)(other)
            return result
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    if x.type.ndim == 0 or y.type.ndim == 0:
        return mul(x, y)
    if x.type.ndim > 2 or y.type.ndim > 2:
        return tensordot(x, y, [[x.type.ndim - 1], [max(y.type.ndim - 2, 0)]])
    return matrix_product(x, y)


def _pairs(a: Tensor, b: Tensor, axes: AxisLike) -> tuple[list[int], list[int]]:
    if isinstance(axes, np.ndarray | np.integer):
        axes = axes.tolist()
    if isinstance(axes, int):
        if not 0 <= axes <= min(a.type.ndim, b.type.ndim):
            raise ShapeError(
                format_error(
                    f"tensordot: {axes} axes cannot be summed",
                    context=[describe(a), describe(b)],
                    hint="use at most the smaller ndim",
                )
            )
        return list(range(a.type.ndim - axes, a.type.ndim)), list(range(axes))
    if not isinstance(axes, Sequence) or len(axes) != 2:
        raise ShapeError(format_error(f"tensordot: axes must be a number or two lists of axes, not {axes!r}"))
    left, right = ([int(entry)] if isinstance(entry, int | np.integer) else [int(n) for n in entry] for entry in axes)
    if len(left) != len(right):
        raise ShapeError(
            format_error(f"tensordot: {len(left)} axes of the first cannot be summed with {len(right)} of the second")
        )
    for v, chosen in ((a, left), (b, right)):
        for axis in chosen:
            if not -v.type.ndim <= axis < v.type.ndim:
                raise ShapeError(format_error(f"tensordot: axis {axis} is out of range", context=[describe(v)]))
    return [axis % a.type.ndim for axis in left], [axis % b.type.ndim for axis in right]


def _product(lengths: Sequence[Any]) -> Any:
    total: Any = 1
    for n in lengths:
        total = total * n
    return total


def _checked_lengths(name: str, x: Tensor, y: Tensor, left: Sequence[int], right: Sequence[int]) -> Tensor:
    """Return `y` with a check of the lengths that are summed: joined lengths could agree where these do not."""
    if len(set(left)) != len(left) or len(set(right)) != len(right):
        raise ShapeError(format_error(f"{name}: an axis is given twice", context=[describe(x), describe(y)]))
    for i, j in zip(left, right, strict=True):
        y = fitting(name, x, y, i, j)
    unknown = {j: i for i, j in zip(left, right, strict=True) if None in (x.type.shape[i], y.type.shape[j])}
    if len(left) < 2 or not unknown:
        return y
    sizes = lengths_of(x)
    return specify_shape(y, [sizes[unknown[j]] if j in unknown else None for j in range(y.type.ndim)])


def tensordot(a: TensorLike, b: TensorLike, axes: AxisLike = 2) -> Tensor:
    """Sum of products over chosen axes.

    Parameters
    ----------
    a, b : tensor_like
    axes : int, or pair of sequences of int
        How many of the last axes of `a` are summed with as many first axes of `b`; or which axes of each.

    Returns
    -------
    Tensor
        Its dimensions are those of `a` that are left, then those of `b`.

    Raises
    ------
    ShapeError
        If the axes do not exist, or lengths are known and differ.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.tensordot(T.dtensor3("a"), T.dmatrix("b"), axes=[[1], [0]]).ndim
    3
    """
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    left, right = _pairs(x, y, axes)
    y = _checked_lengths("tensordot", x, y, left, right)
    keep_x = [i for i in range(x.type.ndim) if i not in left]
    keep_y = [i for i in range(y.type.ndim) if i not in right]
    sizes_x, sizes_y = lengths_of(x), lengths_of(y)
    rows, columns = [sizes_x[i] for i in keep_x], [sizes_y[i] for i in keep_y]
    matrix_x = reshape(dimshuffle(x, keep_x + left), [_product(rows), _product([sizes_x[i] for i in left])])
    matrix_y = reshape(dimshuffle(y, right + keep_y), [_product([sizes_y[i] for i in right]), _product(columns)])
    return reshape(matrix_product(matrix_x, matrix_y), [*rows, *columns])


@operation("batched_tensordot")
def batched_tensordot(x: TensorLike, y: TensorLike, axes: AxisLike = 2) -> Tensor:
    """:func:`tensordot` of each pair along the first dimension of `x` and `y`.

    Parameters
    ----------
    x, y : tensor_like
    axes : int, or pair of sequences of int
        How many of the last axes of `x` are summed with as many axes of `y` after the first; or which axes of each,
        counted with the first, which cannot be among them.

    Returns
    -------
    Tensor
        Its dimensions are the first, those of `x` that are left, then those of `y`.

    Raises
    ------
    ShapeError
        If the axes do not exist, or lengths are known and differ.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.batched_tensordot(T.ones((5, 2, 3)), T.ones((5, 3)), [[2], [1]]).shape.eval()
    array([5, 2])
    """
    a, b = as_tensor_variable(x), as_tensor_variable(y)
    if not a.type.ndim or not b.type.ndim:
        raise ShapeError(format_error("batched_tensordot: scalars have no batch", context=[describe(a), describe(b)]))
    if isinstance(axes, int):
        if not 0 <= axes < min(a.type.ndim, b.type.ndim):
            raise ShapeError(
                format_error(f"batched_tensordot: {axes} axes cannot be summed", context=[describe(a), describe(b)])
            )
        axes = [list(range(a.type.ndim - axes, a.type.ndim)), list(range(1, axes + 1))]
    left, right = _pairs(a, b, axes)
    if 0 in left or 0 in right:
        raise ShapeError(
            format_error(
                "batched_tensordot: the batch cannot be summed", context=[describe(a), describe(b)], hint="T.tensordot"
            )
        )
    b = _checked_lengths("batched_tensordot", a, fitting("batched_tensordot", a, b, 0, 0), left, right)
    keep_a = [i for i in range(1, a.type.ndim) if i not in left]
    keep_b = [i for i in range(1, b.type.ndim) if i not in right]
    sizes_a, sizes_b = lengths_of(a), lengths_of(b)
    rows, columns = [sizes_a[i] for i in keep_a], [sizes_b[i] for i in keep_b]
    summed = _product([sizes_a[i] for i in left])
    stack_a = reshape(dimshuffle(a, [0, *keep_a, *left]), [sizes_a[0], _product(rows), summed])
    stack_b = reshape(dimshuffle(b, [0, *right, *keep_b]), [sizes_b[0], summed, _product(columns)])
    return reshape(stack_product(stack_a, stack_b), [sizes_a[0], *rows, *columns])
