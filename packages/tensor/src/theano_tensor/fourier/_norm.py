"""The scale of transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import format_error

from .._core._type import Tensor
from ..elemwise import cast, sqrt

_NORMS = (None, "ortho", "no_norm")
_REAL = {"complex64": "float32", "complex128": "float64"}


def scaled(result: Tensor, lengths: Sequence[Any], norm: str | None, *, inverse: bool) -> Tensor:
    """Return a transform that was computed without a factor, scaled as `norm` says.

    Parameters
    ----------
    result : Tensor
    lengths : sequence of scalars
        Of the transformed dimensions.
    norm : {None, "ortho", "no_norm"}
        None: the inverse is divided by the number of elements; "ortho": both by its square root; "no_norm": none.
    inverse : bool

    Raises
    ------
    ValueError
        If `norm` is unknown.
    """
    if norm not in _NORMS:
        raise ValueError(format_error(f"unknown norm={norm!r}", hint="use None, 'ortho' or 'no_norm'"))
    if norm == "no_norm" or (norm is None and not inverse):
        return result
    dtype = _REAL.get(result.type.dtype, result.type.dtype)
    count: Tensor = cast(lengths[0], dtype)
    for n in lengths[1:]:
        count = count * cast(n, dtype)
    result_scaled: Tensor = result * (np.ones((), dtype) / (sqrt(count) if norm == "ortho" else count))
    return result_scaled
