"""Arrays beside those of an earlier call."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from ._extension import HAS_RUNTIME, runtime


def dimensions(shape: Any) -> Hashable:
    """Return the part of a shape that programs depend on: the number of dimensions, and which have length 1.

    These broadcast, and a gradient is a sum over them, so that there is a graph of its own for them.
    """
    return tuple([n == 1 for n in shape]) if 1 in shape else len(shape)


def _alike(kinds: tuple[Any, ...], /, *values: Any) -> bool:
    return all(
        type(x) is np.ndarray and x.dtype is dtype and dimensions(x.shape) == pattern
        for x, dtype, pattern in zip(values, kinds[::2], kinds[1::2], strict=True)
    )


#: Whether all values are plain arrays with the dtypes and `dimensions` that a tuple has for them by turns.
arrays_alike = runtime.arrays_alike if HAS_RUNTIME else _alike
