"""Sparse variables and values for tests of sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

from theano_graph import config, format_error
from theano_sparse import SparseType, SparseVariable, all_dtypes, matrix

__all__ = ["sparse_random_inputs"]


def sparse_random_inputs(
    format: str,
    shape: tuple[int, int],
    n: int = 1,
    out_dtype: str | None = None,
    p: float = 0.5,
    gap: Sequence[float] | None = None,
    explicit_zero: bool = False,
    unsorted_indices: bool = False,
) -> tuple[list[SparseVariable], list[Any]]:
    """Return sparse variables and random values for them, drawn from NumPy's global generator.

    Parameters
    ----------
    format : {"csc", "csr"}
    shape : tuple of 2 int
        Of the values.
    n : int
        How many variables, and values.
    out_dtype : str, optional
        Of the elements; ``config.floatX`` by default.
    p : float
        Chance of each element to be drawn; the others are zero and not stored.
    gap : sequence of 1 or 2 numbers, optional
        ``(stop,)``: elements are from 0 up to but without `stop`; ``(start, stop)``: from `start`. By default they are
        from 0 up to 1, integers up to 50.
    explicit_zero : bool
        Whether one of the stored elements is a zero.
    unsorted_indices : bool
        Whether the positions in some line are out of order.

    Returns
    -------
    variables : list of SparseVariable
    values : list of scipy.sparse matrix

    Raises
    ------
    ValueError
        If `p` is no chance, a dtype has no such numbers, or nothing is stored that could be zero or out of order.
    TypeError
        If sparse matrices do not have the dtype.

    Examples
    --------
    >>> variables, values = sparse_random_inputs("csr", (3, 4), n=2, out_dtype="int32", gap=(1, 9))
    >>> [v.type for v in variables]
    [SparseType('csr', 'int32'), SparseType('csr', 'int32')]
    >>> values[0].shape, values[0].dtype
    ((3, 4), dtype('int32'))
    """
    dtype = out_dtype or str(config.floatX)
    variables = [matrix(format, dtype=dtype) for _ in range(n)]
    bounds = _bounds(dtype, gap)
    if not 0 <= p <= 1:
        raise ValueError(format_error(f"p is a chance from 0 to 1, not {p}", hint="for instance p=0.5"))
    needed = 2 if unsorted_indices else int(explicit_zero)
    return variables, [
        _changed(_drawn(v.type, shape, p, bounds, needed), explicit_zero, unsorted_indices) for v in variables
    ]


#: How often a matrix is drawn in which something can be changed.
_ATTEMPTS = 1000


def _drawn(kind: SparseType, shape: tuple[int, int], p: float, bounds: tuple[float, float], needed: int) -> Any:
    """Return a matrix of which some line stores at least so many elements."""
    for _ in range(_ATTEMPTS):
        there = np.random.random(shape) < p  # noqa: NPY002  # seeded by np.random.seed and seed_rng
        value = _numbers(kind.dtype, bounds, shape)
        value[~there] = 0
        match = kind.filter(scipy.sparse.csc_matrix(value))
        if np.diff(match.indptr).max(initial=0) >= needed:
            return match
    requested = "two elements that could be out of order" if needed == 2 else "an element that could be zero"
    raise ValueError(format_error(f"no line has {requested}", hint="raise p or shape"))


def _bounds(dtype: str, gap: Sequence[float] | None) -> tuple[float, float]:
    """Return the least number of the draws, and their bound."""
    if dtype not in all_dtypes:
        raise TypeError(
            format_error(f"sparse matrices do not have the dtype {dtype}", hint="see theano_sparse.all_dtypes")
        )
    if gap is None:
        return 0, (1 if dtype.startswith(("float", "complex")) else 50)
    if len(gap) not in (1, 2):
        raise ValueError(format_error(f"gap has {len(gap)} numbers", hint="pass (stop,) or (start, stop)"))
    start, stop = (0, gap[0]) if len(gap) == 1 else (gap[0], gap[1])
    if start < 0 and dtype.startswith("uint"):
        raise ValueError(format_error(f"{dtype} has no numbers below 0", hint="pass a gap from 0 on"))
    return start, stop


def _numbers(dtype: str, bounds: tuple[float, float], shape: tuple[int, int]) -> Any:
    start, stop = bounds
    if not dtype.startswith(("float", "complex")):
        return np.random.randint(int(start), int(stop), size=shape).astype(dtype)  # noqa: NPY002  # as above
    parts = [start + (stop - start) * np.random.random(shape) for _ in range(2)]  # noqa: NPY002  # as above
    return (parts[0] + 1j * parts[1] if dtype.startswith("complex") else parts[0]).astype(dtype)


def _changed(value: Any, explicit_zero: bool, unsorted_indices: bool) -> Any:
    """Return the matrix with a stored zero, or with the indices of each row or column in reverse order."""
    if unsorted_indices:
        pairs = zip(value.indptr[:-1], value.indptr[1:], strict=True)
        order = np.concatenate([np.arange(start, stop)[::-1] for start, stop in pairs])
        value = type(value)((value.data[order], value.indices[order], value.indptr), shape=value.shape)
        value.has_sorted_indices = False
    if explicit_zero:
        value.data[np.random.randint(value.nnz)] = 0  # noqa: NPY002  # as above
    return value
