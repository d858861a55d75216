"""Copies of elements to the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._geometry import extent

if TYPE_CHECKING:
    from ._array import GpuArray

__all__ = ["read_elements"]

#: A view is read with the gaps between its elements where that is at most so many times as much.
_WIDEST = 4


def read_elements(x: GpuArray) -> NDArray[Any]:
    """Wait for the device, and return the elements of an array."""
    begin, end = extent(x.shape, x.strides, x.itemsize)
    aligned = all(step % x.itemsize == 0 for step in x.strides)
    if not aligned or (end - begin > _WIDEST * x.nbytes and x.context.kind != "null"):
        return read_elements(x.copy())
    if x.flags.c_contiguous:
        result = np.empty(x.shape, x.dtype)
        if x.size:
            x.buffer.read(x.offset, result.reshape(-1))
        return result
    # The gaps between elements come along, which costs less than a launch that closes them.
    memory = np.empty((end - begin) // x.itemsize, x.dtype)
    x.buffer.read(x.offset + begin, memory)
    first = memory[-begin // x.itemsize :]
    view = np.lib.stride_tricks.as_strided(first, x.shape, x.strides)
    return view.copy("K") if view.size < memory.size else view
