"""Arrays of pygpu, the library of devices of Theano 1.0, for programs that still call it.

On CUDA pygpu works in the primary context of a device, as we do: memory is handed over without a copy, and to pygpu by
one copy on the device. Contexts of OpenCL are its own, and tell nobody their memory: values go through the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import GpuArray, asarray
from ..contexts import GpuContext, get_context
from ._cuda import is_memory_of, shared_memory
from ._installed import library

__all__ = ["from_pygpu", "to_pygpu"]


def from_pygpu(x: Any, context: GpuContext | None = None) -> GpuArray:
    """Return an array of pygpu as one of ours: the same memory where both are in one context of CUDA, else a copy.

    Parameters
    ----------
    x : pygpu.gpuarray.GpuArray
        Lives as long as the result, where that is the same memory.
    context : GpuContext, optional
        The default one if None.
    """
    where = get_context(None) if context is None else context
    memory = _same_memory(x, where)
    return asarray(np.asarray(x), context=where) if memory is None else memory


def to_pygpu(x: GpuArray, context: Any = None) -> Any:
    """Return a copy as an array of pygpu; it is made on the device where both are in one context of CUDA.

    Parameters
    ----------
    x : GpuArray
    context : pygpu.gpuarray.GpuContext, optional
        pygpu's default one if None.

    Raises
    ------
    ImportError
        If pygpu is not installed.
    """
    pygpu = library("pygpu.gpuarray")
    if x.context.kind == "cuda" and x.size:
        made = pygpu.empty(x.shape, dtype=x.dtype, context=context)
        target = _same_memory(made, x.context)
        if target is not None:
            target[...] = x
            target.sync()
            return made
    return pygpu.array(np.asarray(x), context=context)


def _same_memory(x: Any, where: GpuContext) -> GpuArray | None:
    """Return an array with the memory of an array of pygpu; None where that is not in our context."""
    if where.kind != "cuda" or x.context.kind not in ("cuda", b"cuda") or not x.size:
        return None
    address = int(x.gpudata) + int(x.offset)
    if not is_memory_of(where, address):
        return None
    # Its queue is none of those that our queue waits for.
    x.sync()
    return shared_memory(x, address, np.dtype(x.dtype), tuple(x.shape), tuple(x.strides), where)
