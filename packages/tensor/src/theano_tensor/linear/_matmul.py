"""Matrix products of stacks of matrices that broadcast, as ``@``; and inner products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import describe, format_error

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._ops import refused
from .._core._type import Tensor
from .._errors import ShapeError
from .._protocols._methods import operation
from ..creation import alloc
from ..elemwise import broadcast_static, conj, dimshuffle
from ..shape import flatten, reshape, shape_i, specify_shape
from ._batched import stack_product
from ._dot import fitting, matrix_product


@operation("matmul")
def matmul(x: TensorLike, y: TensorLike) -> Tensor:
    """Matrix product ``x @ y``, with the rules of ``numpy.matmul``.

    Parameters
    ----------
    x, y : tensor_like
        Vectors, matrices, or stacks of matrices in the last two dimensions. The dimensions before them broadcast:
        lengths must be equal, or declared to be 1.

    Returns
    -------
    Tensor

    Raises
    ------
    ShapeError
        For scalars, and for lengths that are known and do not fit.
    ValueError
        When it runs, for lengths that do not fit.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.matmul(T.dtensor3("x"), T.dmatrix("y")).ndim
    3
    """
    a, b = as_tensor_variable(x), as_tensor_variable(y)
    if a.type.ndim == 0 or b.type.ndim == 0:
        raise ShapeError(
            format_error(
                "@ needs tensors with dimensions", context=[describe(a), describe(b)], hint="use * with scalars"
            )
        )
    if a.type.ndim <= 2 and b.type.ndim <= 2:
        return matrix_product(a, b)
    b = fitting("matmul", a, b, a.type.ndim - 1, max(b.type.ndim - 2, 0))
    if b.type.ndim <= 2:
        return _rows_joined(a, b)
    if a.type.ndim == 1:
        return dimshuffle(_stacks(dimshuffle(a, ("x", 0)), b), [*range(b.type.ndim - 2), b.type.ndim - 1])
    return _stacks(a, b)


def _rows_joined(a: Tensor, b: Tensor) -> Tensor:
    """One product for the whole stack: all its rows, with one matrix or vector."""
    lengths = [shape_i(a, i) for i in range(a.type.ndim)]
    rows = reshape(a, [_product(lengths[:-1]), lengths[-1]])
    columns = [shape_i(b, 1)] if b.type.ndim == 2 else []
    return reshape(matrix_product(rows, b), [*lengths[:-1], *columns])


def _stacks(a: Tensor, b: Tensor) -> Tensor:
    """Products of two stacks; the dimensions before the last two broadcast."""
    ndim = max(a.type.ndim, b.type.ndim) - 2
    if ndim == 1 and a.type.ndim == b.type.ndim and a.type.broadcastable[0] == b.type.broadcastable[0]:
        return stack_product(a, b)
    left, right = (dimshuffle(v, ["x"] * (ndim + 2 - v.type.ndim) + list(range(v.type.ndim))) for v in (a, b))
    try:
        broadcast_static("matmul", [_stack_of(v) for v in (left, right)], [a, b])
    except ShapeError as error:
        right = refused(error, right, [*[None] * ndim, *right.type.shape[-2:]], left)
    lengths: list[Any] = []
    for i in range(ndim):
        source = right if left.type.shape[i] == 1 else left
        lengths.append(shape_i(source, i))
        if left.type.shape[i] != 1 and right.type.shape[i] != 1:
            # Joined lengths could agree where the lengths themselves do not.
            right = specify_shape(right, [lengths[i] if j == i else None for j in range(ndim + 2)])
    parts = []
    for v in (left, right):
        ends = [shape_i(v, ndim), shape_i(v, ndim + 1)]
        full = v if not any(v.type.broadcastable[:ndim]) else alloc(v, *lengths, *ends)
        parts.append(reshape(full, [_product(lengths), *ends]))
    result = stack_product(*parts)
    return reshape(result, [*lengths, shape_i(left, ndim), shape_i(right, ndim + 1)])


def _stack_of(x: Tensor) -> Tensor:
    """Return a variable with the static shape of the dimensions before the last two."""
    return x.type.clone(shape=x.type.shape[:-2]).make_variable()


def _product(lengths: Sequence[Any]) -> Any:
    total: Any = 1
    for n in lengths:
        total = n if isinstance(total, int) else total * n
    return total


def inner(x: TensorLike, y: TensorLike) -> Tensor:
    """Sum of products over the last dimensions of both, as ``numpy.inner``; a product if one is a scalar.

    Parameters
    ----------
    x, y : tensor_like
        With equal lengths in the last dimension.

    Raises
    ------
    ShapeError
        If the last lengths are known and differ.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.inner([1.0, 2.0], [3.0, 4.0]).eval()
    array(11.)
    """
    a, b = as_tensor_variable(x), as_tensor_variable(y)
    if a.type.ndim == 0 or b.type.ndim == 0:
        return a * b
    b = fitting("inner", a, b, a.type.ndim - 1, b.type.ndim - 1)
    if a.type.ndim == 1 and b.type.ndim == 1:
        return matrix_product(a, b)
    order = (b.type.ndim - 1, *range(b.type.ndim - 1))
    flat = b if b.type.ndim == 1 else reshape(dimshuffle(b, order), [shape_i(b, b.type.ndim - 1), -1])
    product = _rows_joined(a, flat) if a.type.ndim > 1 else matrix_product(a, flat)
    lengths = [shape_i(a, i) for i in range(a.type.ndim - 1)] + [shape_i(b, i) for i in range(b.type.ndim - 1)]
    return product if b.type.ndim <= 2 else reshape(product, lengths)


def vdot(x: TensorLike, y: TensorLike) -> Tensor:
    """Sum of products of all elements, those of `x` conjugated, as ``numpy.vdot``.

    Parameters
    ----------
    x, y : tensor_like
        With equally many elements.

    Returns
    -------
    Tensor
        A scalar.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.vdot([1.0, 2.0], [3.0, 4.0]).eval()
    array(11.)
    """
    a, b = as_tensor_variable(x), as_tensor_variable(y)
    a, b = (v if v.type.ndim == 1 else flatten(v) for v in (a, b))
    return matrix_product(conj(a) if a.type.dtype.startswith("complex") else a, b)
