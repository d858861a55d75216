"""Products of tensors of any number of dimensions, through matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import compose, describe

from .._convert import as_tensor_variable
from .._errors import ShapeError
from .._operators import operation
from .._variable import TensorVariable
from ..elemwise import dimshuffle, mul
from ..reduce import sum as sum_over
from ..shape import lengths_of, reshape
from ._dot import check_inner, matrix_product


@operation("dot")
def dot(x: Any, y: Any) -> TensorVariable:
    """Dot product, with the rules of ``numpy.dot``.

    Inner product of vectors, matrix product, and for more dimensions the sum over the last axis of `x` and the
    second-to-last of
    `y`. With a scalar it multiplies.

    Parameters
    ----------
    x, y : tensor_like
        Of shapes (..., k) and (..., k, n), or (k,).

    Returns
    -------
    TensorVariable

    Raises
    ------
    ShapeError
        If the inner lengths are known and differ.

    Examples
    --------
    >>> from theano_tensor import dmatrix, dvector
    >>> dot(dmatrix("x"), dvector("w")).type
    TensorType(float64, vector)
    """
    a, b = as_tensor_variable(x), as_tensor_variable(y)
    if a.type.ndim == 0 or b.type.ndim == 0:
        return mul(a, b)
    if a.type.ndim > 2 or b.type.ndim > 2:
        return tensordot(a, b, [[a.type.ndim - 1], [max(b.type.ndim - 2, 0)]])
    return matrix_product(a, b)


@operation("matmul")
def matmul(x: Any, y: Any) -> TensorVariable:
    """Matrix product ``x @ y``.

    :func:`dot` for vectors and matrices, a product for each matrix of a stack for three dimensions.
    """
    a, b = as_tensor_variable(x), as_tensor_variable(y)
    if a.type.ndim == 0 or b.type.ndim == 0:
        raise ShapeError(
            compose("@ needs tensors with dimensions", where=[describe(a), describe(b)], mend="use * with scalars")
        )
    if a.type.ndim <= 2 and b.type.ndim <= 2:
        return matrix_product(a, b)
    if a.type.ndim == b.type.ndim == 3:
        return batched_dot(a, b)
    raise ShapeError(
        compose(
            f"@ of {a.type.ndim} and {b.type.ndim} dimensions is not defined",
            where=[describe(a), describe(b)],
            mend="use T.tensordot and say which axes are summed, or T.batched_dot",
        )
    )


def _pairs(a: TensorVariable, b: TensorVariable, axes: Any) -> tuple[list[int], list[int]]:
    if isinstance(axes, int):
        if not 0 <= axes <= min(a.type.ndim, b.type.ndim):
            raise ShapeError(
                compose(
                    f"tensordot: {axes} axes cannot be summed",
                    where=[describe(a), describe(b)],
                    mend="use at most the smaller ndim",
                )
            )
        return list(range(a.type.ndim - axes, a.type.ndim)), list(range(axes))
    if not isinstance(axes, Sequence) or len(axes) != 2:
        raise ShapeError(compose(f"tensordot: axes must be a number or two lists of axes, not {axes!r}"))
    left, right = ([entry] if isinstance(entry, int) else list(entry) for entry in axes)
    if len(left) != len(right):
        raise ShapeError(
            compose(f"tensordot: {len(left)} axes of the first cannot be summed with {len(right)} of the second")
        )
    for v, chosen in ((a, left), (b, right)):
        for axis in chosen:
            if not -v.type.ndim <= axis < v.type.ndim:
                raise ShapeError(compose(f"tensordot: axis {axis} is out of range", where=[describe(v)]))
    return [axis % a.type.ndim for axis in left], [axis % b.type.ndim for axis in right]


def _product(lengths: Sequence[Any]) -> Any:
    total: Any = 1
    for n in lengths:
        total = total * n
    return total


def tensordot(a: Any, b: Any, axes: Any = 2) -> TensorVariable:
    """Sum of products over chosen axes.

    Parameters
    ----------
    a, b : tensor_like
    axes : int, or pair of sequences of int
        How many of the last axes of `a` are summed with as many first axes of `b`; or which axes of each.

    Returns
    -------
    TensorVariable
        Its dimensions are those of `a` that are left, then those of `b`.

    Raises
    ------
    ShapeError
        If the axes do not exist, or lengths are known and differ.

    Examples
    --------
    >>> from theano_tensor import dtensor3, dmatrix
    >>> tensordot(dtensor3("a"), dmatrix("b"), axes=[[1], [0]]).ndim
    3
    """
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    left, right = _pairs(x, y, axes)
    for i, j in zip(left, right, strict=True):
        check_inner("tensordot", x, y, i, j)
    keep_x = [i for i in range(x.type.ndim) if i not in left]
    keep_y = [i for i in range(y.type.ndim) if i not in right]
    sizes_x, sizes_y = lengths_of(x), lengths_of(y)
    rows, columns = [sizes_x[i] for i in keep_x], [sizes_y[i] for i in keep_y]
    matrix_x = reshape(dimshuffle(x, keep_x + left), [_product(rows), _product([sizes_x[i] for i in left])])
    matrix_y = reshape(dimshuffle(y, right + keep_y), [_product([sizes_y[i] for i in right]), _product(columns)])
    return reshape(matrix_product(matrix_x, matrix_y), [*rows, *columns])


def batched_dot(a: Any, b: Any) -> TensorVariable:
    """Product of each pair of matrices (or vectors) along the first dimension of `a` and `b`.

    Parameters
    ----------
    a, b : tensor_like
        Of 1 to 3 dimensions; the first is the batch.

    Returns
    -------
    TensorVariable
        ``result[i] == dot(a[i], b[i])``.

    Raises
    ------
    ShapeError
        For other numbers of dimensions, or lengths that are known and differ.

    Examples
    --------
    >>> from theano_tensor import dtensor3
    >>> batched_dot(dtensor3("a"), dtensor3("b")).ndim
    3
    """
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    if not (1 <= x.type.ndim <= 3 and 1 <= y.type.ndim <= 3):
        raise ShapeError(
            compose("batched_dot takes 1 to 3 dimensions", where=[describe(x), describe(y)], mend="use T.tensordot")
        )
    check_inner("batched_dot", x, y, 0, 0)
    if x.type.ndim == 1:
        return mul(dimshuffle(x, [0] + ["x"] * (y.type.ndim - 1)), y)
    if y.type.ndim == 1:
        return mul(x, dimshuffle(y, [0] + ["x"] * (x.type.ndim - 1)))
    check_inner("batched_dot", x, y, x.type.ndim - 1, 1)
    left = dimshuffle(x, (0, 1, 2, "x") if x.type.ndim == 3 else (0, "x", 1, "x"))
    right = dimshuffle(y, (0, "x", 1, 2) if y.type.ndim == 3 else (0, "x", 1, "x"))
    total = sum_over(mul(left, right), axis=2)
    keep = [0] + ([1] if x.type.ndim == 3 else []) + ([2] if y.type.ndim == 3 else [])
    return dimshuffle(total, keep)
