"""Arrays of other libraries of CUDA, which tell their memory by ``__cuda_array_interface__``."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from theano_graph import format_error

from .._errors import ContextError
from .._libraries import find_library, opened
from ..arrays import GpuArray
from ..arrays._dtypes import device_dtype
from ..arrays._geometry import extent
from ..codegen import contiguous_strides
from ..contexts import GpuContext, get_context

__all__ = ["from_cuda_array", "is_memory_of", "shared_memory"]

#: The default stream, for which our queue waits by itself.
_DEFAULT_STREAM = 1
#: CUDA's number of the question in which context an address was allocated.
_ATTRIBUTE_CONTEXT = 1


def from_cuda_array(x: Any, context: GpuContext | None = None) -> GpuArray:
    """Return the memory of an array of another library as an array of ours: of CuPy, Numba, PyTorch, PyCUDA.

    Parameters
    ----------
    x : object with ``__cuda_array_interface__``
        On the device of the context. It lives as long as the result.
    context : GpuContext, optional
        A CUDA context; the default one if None.

    Returns
    -------
    GpuArray
        A view of the same memory; a copy where `x` may not be written.

    Raises
    ------
    TypeError
        If `x` is no such object, has a mask, or elements that NumPy has no dtype for.
    ContextError
        If the context is none of CUDA.
    """
    where = get_context(None) if context is None else context
    if where.kind != "cuda":
        raise ContextError(
            format_error(f"arrays of CUDA are in no context on {where.devname}", hint="copy: asarray(numpy.asarray(x))")
        )
    interface: Any = getattr(x, "__cuda_array_interface__", None)
    if interface is None or interface.get("mask") is not None:
        what = "has a mask" if interface else "does not tell its memory by __cuda_array_interface__"
        raise TypeError(format_error(f"{type(x).__name__} {what}", hint="use asarray, which copies"))
    dtype = device_dtype(interface["typestr"])
    shape = tuple(int(n) for n in interface["shape"])
    strides = (
        contiguous_strides(shape, dtype.itemsize) if interface.get("strides") is None else tuple(interface["strides"])
    )
    address, read_only = interface["data"]
    _wait_for(interface.get("stream"), where)
    memory = shared_memory(x, int(address), np.dtype(dtype), shape, strides, where)
    return memory.copy() if read_only else memory


def shared_memory(
    owner: object,
    address: int,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    context: GpuContext,
) -> GpuArray:
    """Return the array whose first element is at an address; its owner lives as long as the array."""
    begin, end = extent(shape, strides, dtype.itemsize)
    memory = context.native.wrap(address + begin, end - begin, owner)
    return GpuArray(memory, dtype, shape, strides, -begin, context)


def is_memory_of(context: GpuContext, address: int) -> bool:
    """Tell whether an address of CUDA was allocated in a context."""
    pointer = ctypes.c_void_p()
    with context:
        driver = opened(find_library("cuda").path)
        refused = driver.cuPointerGetAttribute(ctypes.byref(pointer), _ATTRIBUTE_CONTEXT, ctypes.c_uint64(address))
    return not refused and pointer.value == context.native.handle


def _wait_for(stream: int | None, context: GpuContext) -> None:
    """Wait for another queue's work on an array."""
    if stream in (None, _DEFAULT_STREAM, context.native.queue):
        return
    with context:
        opened(find_library("cuda").path).cuStreamSynchronize(ctypes.c_void_p(stream))
