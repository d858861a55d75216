"""Triangles of ones, and parts of matrices on one side of a diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano_graph import config, describe, format_error

from .._core._convert import as_tensor_variable
from .._core._dtypes import DTypeLike, TensorLike, canonical_dtype
from .._core._type import Tensor
from .._errors import ShapeError
from ..elemwise import add, cast, dimshuffle, ge, maximum, minimum, switch
from ..shape import as_length, shape_i, static_int
from ._ranges import arange


def _triangle(n: TensorLike, m: TensorLike, k: TensorLike) -> Tensor:
    """Whether ``column <= row + k``, for n rows and m columns."""
    height, width, offset = as_length(n), as_length(m), as_length(k, "a diagonal")
    known = static_int(offset)
    if known is None or abs(known) >= 2**62:
        # The sum with the number of a row must not wrap around.
        offset = minimum(maximum(offset, -height), width)
    rows, columns = arange(height), arange(width)
    diagonal = add(dimshuffle(rows, (0, "x")), offset)
    result: Tensor = ge(diagonal, dimshuffle(columns, ("x", 0)))
    return result


def tri(n: TensorLike, m: TensorLike | None = None, k: TensorLike = 0, dtype: DTypeLike | None = None) -> Tensor:
    """Return a matrix with ones at and below a diagonal, and zeros above.

    Parameters
    ----------
    n, m : int or integer scalar
        Rows and columns; `m` is `n` by default.
    k : int or integer scalar
        The diagonal: 0 the main one, positive above, negative below.
    dtype : str, optional
        floatX by default.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.tri(2, 3).eval()
    array([[1., 0., 0.],
           [1., 1., 0.]])
    """
    return cast(_triangle(n, n if m is None else m, k), canonical_dtype(dtype or "floatX", config.floatX))


def _rows_and_columns(name: str, m: Any) -> tuple[Tensor, Any, Any]:
    x = as_tensor_variable(m)
    if x.type.ndim < 2:
        raise ShapeError(
            format_error(f"{name} takes two dimensions at least", context=[describe(x)], hint="use T.diag for a vector")
        )
    return x, shape_i(x, x.type.ndim - 2), shape_i(x, x.type.ndim - 1)


def tril(m: TensorLike, k: TensorLike = 0) -> Tensor:
    """Return the matrix (or stack of matrices) `m` with zeros above diagonal `k`.

    Parameters
    ----------
    m : tensor_like
        At least two dimensions.
    k : int
        The main diagonal is 0; positive numbers are above it.

    Raises
    ------
    ShapeError
        If there are less than two dimensions.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.tril([[1, 2], [3, 4]]).eval()
    array([[1, 0],
           [3, 4]])
    """
    x, rows, columns = _rows_and_columns("tril", m)
    result: Tensor = switch(_triangle(rows, columns, k), x, np.zeros((), x.type.dtype))
    return result


def triu(m: TensorLike, k: TensorLike = 0) -> Tensor:
    """Return the matrix (or stack of matrices) `m` with zeros below diagonal `k`; ShapeError for a vector.

    Parameters
    ----------
    m : tensor_like
        At least two dimensions.
    k : int
        The main diagonal is 0; positive numbers are above it.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.triu([[1, 2], [3, 4]]).eval()
    array([[1, 2],
           [0, 4]])
    """
    x, rows, columns = _rows_and_columns("triu", m)
    below = as_length(k, "a diagonal") - 1
    result: Tensor = switch(_triangle(rows, columns, below), np.zeros((), x.type.dtype), x)
    return result


def tril_indices(n: TensorLike, k: TensorLike = 0, m: TensorLike | None = None) -> tuple[Tensor, Tensor]:
    """Return the row and column numbers of the elements at and below diagonal `k` of an `n` by `m` matrix.

    Parameters
    ----------
    n : int
        Rows.
    k : int
        The main diagonal is 0; positive numbers are above it.
    m : int, optional
        Columns; as many as rows by default.

    Returns
    -------
    tuple of two Tensor

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> [a.tolist() for a in theano.function([], T.tril_indices(2))()]
    [[0, 1, 1], [0, 0, 1]]
    """
    rows, columns = _triangle(n, n if m is None else m, k).nonzero()
    return rows, columns


def triu_indices(n: TensorLike, k: TensorLike = 0, m: TensorLike | None = None) -> tuple[Tensor, Tensor]:
    """Return the row and column numbers of the elements at and above diagonal `k` of an `n` by `m` matrix.

    Parameters
    ----------
    n : int
        Rows.
    k : int
        The main diagonal is 0; positive numbers are above it.
    m : int, optional
        Columns; as many as rows by default.

    Returns
    -------
    tuple of two Tensor

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> [a.tolist() for a in theano.function([], T.triu_indices(2))()]
    [[0, 0, 1], [0, 1, 1]]
    """
    below = as_length(k, "a diagonal") - 1
    rows, columns = (~_triangle(n, n if m is None else m, below)).nonzero()
    return rows, columns


def tril_indices_from(a: TensorLike, k: TensorLike = 0) -> tuple[Tensor, Tensor]:
    """Return :func:`tril_indices` for the shape of the matrix `a`; ShapeError if it is none.

    Parameters
    ----------
    a : tensor_like
        A matrix.
    k : int
        The main diagonal is 0.

    Returns
    -------
    tuple of two Tensor

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> [a.tolist() for a in theano.function([], T.tril_indices_from(T.zeros((2, 2))))()]
    [[0, 1, 1], [0, 0, 1]]
    """
    rows, columns = _matrix_lengths("tril_indices_from", a)
    return tril_indices(rows, k, columns)


def triu_indices_from(a: TensorLike, k: TensorLike = 0) -> tuple[Tensor, Tensor]:
    """Return :func:`triu_indices` for the shape of the matrix `a`; ShapeError if it is none.

    Parameters
    ----------
    a : tensor_like
        A matrix.
    k : int
        The main diagonal is 0.

    Returns
    -------
    tuple of two Tensor

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> [a.tolist() for a in theano.function([], T.triu_indices_from(T.zeros((2, 2))))()]
    [[0, 0, 1], [0, 1, 1]]
    """
    rows, columns = _matrix_lengths("triu_indices_from", a)
    return triu_indices(rows, k, columns)


def _matrix_lengths(name: str, a: TensorLike) -> tuple[Tensor, Tensor]:
    x, rows, columns = _rows_and_columns(name, a)
    if x.type.ndim != 2:
        raise ShapeError(format_error(f"{name} takes a matrix", context=[describe(x)]))
    return rows, columns
