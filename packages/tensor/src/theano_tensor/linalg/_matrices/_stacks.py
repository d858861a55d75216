"""Stacks of matrices in Python, for what the runtime has no form for: as few calls of NumPy as there are rows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._core._dtypes import Array


def values_or_nan(compute: Callable[..., Any], *stacks: Array) -> Array:
    """Apply a function that raises LinAlgError where a matrix of a stack fails; NaN takes the place of such results.

    Stacks that fail are halved, so that few failures cost few calls.

    Parameters
    ----------
    compute : callable
        Of stacks; its result has the shape of the last one.
    *stacks : array
        Matrices or stacks of them; the last one may be a vector.

    Returns
    -------
    array
        As the last one.
    """
    lead, last = stacks[0].shape[:-2], stacks[-1]
    result = np.full(last.shape, np.nan, last.dtype)
    if not lead:
        with contextlib.suppress(np.linalg.LinAlgError):
            result[...] = compute(*stacks)
        return result
    count = int(np.prod(lead))
    *flat, target = (s.reshape(count, *s.shape[len(lead) :]) for s in (*stacks, result))
    pieces = [(0, count)]
    while pieces:
        begin, end = pieces.pop()
        try:
            target[begin:end] = compute(*(s[begin:end] for s in flat))
        except np.linalg.LinAlgError:
            middle = (begin + end) // 2
            pieces += [(begin, middle), (middle, end)] if end - begin > 1 else []
    return result


def substituted(a: Array, b: Array, lower: bool) -> Array:
    """Solve with stacks of triangular matrices, row by row; LinAlgError where there is a zero on a diagonal."""
    if (np.diagonal(a, axis1=-2, axis2=-1) == 0).any():
        raise np.linalg.LinAlgError
    result, n = b.copy(), a.shape[-1]
    for i in range(n) if lower else range(n - 1, -1, -1):
        known = slice(0, i) if lower else slice(i + 1, n)
        result[..., i : i + 1, :] -= a[..., i : i + 1, known] @ result[..., known, :]
        result[..., i, :] /= a[..., i, i, None]
    return result


def mirrored_values(a: Array, lower: bool) -> Array:
    """Return symmetric matrices of which one triangle was given."""
    part = np.tril(a) if lower else np.triu(a)
    return part + np.swapaxes(np.tril(part, -1) if lower else np.triu(part, 1), -1, -2)
