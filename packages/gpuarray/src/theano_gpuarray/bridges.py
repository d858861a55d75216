"""Arrays that other libraries of devices know: those with ``__cuda_array_interface__``, PyCUDA, pygpu."""

from __future__ import annotations

import atexit
import ctypes
import importlib
from typing import Any

import numpy as np

from theano_graph import format_error

from ._errors import ContextError
from ._libraries import find_library, opened
from .arrays import GpuArray, asarray
from .arrays._layout import device_dtype, extent
from .codegen import contiguous_strides
from .contexts import GpuContext, get_context, list_contexts


def library(name: str) -> Any:
    """Return a module of another library.

    Raises
    ------
    ImportError
        If it is not installed, or does not work here.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(
            format_error(f"{name} cannot be imported: {error}", hint=f"pip install 'theano-gpuarray[{package}]'")
        ) from error


# ---- Arrays with ``__cuda_array_interface__``

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


# ---- PyCUDA: kernels of its users on our arrays
#
# A `GpuArray` is itself an argument of a PyCUDA kernel, by ``__cuda_array_interface__``; `from_cuda_array` is the way
# back.


def attach_pycuda(context: GpuContext | None = None) -> Any:
    """Let PyCUDA work in one of our contexts.

    Parameters
    ----------
    context : GpuContext, optional
        A CUDA context; the default one if None.

    Returns
    -------
    pycuda.driver.Context
        The context of PyCUDA, which is detached at the end of the program.

    Raises
    ------
    ImportError
        If PyCUDA is not installed.
    ContextError
        If the context is none of CUDA.
    """
    where = _cuda(get_context(None) if context is None else context)
    driver = library("pycuda.driver")
    driver.init()
    where.native.push()
    attached = driver.Context.attach()
    atexit.register(attached.detach)
    return attached


def default_pycuda() -> Any:
    """Return the context of PyCUDA for the default context; None where that is none of CUDA, or there is no PyCUDA."""
    if None not in list_contexts() or get_context(None).kind != "cuda":
        return None
    try:
        return attach_pycuda()
    except ImportError:
        return None


def to_pycuda(x: GpuArray) -> Any:
    """Return an array of PyCUDA with the memory of one of ours.

    Parameters
    ----------
    x : GpuArray
        In a CUDA context.

    Returns
    -------
    pycuda.gpuarray.GPUArray
        A view; it keeps `x` alive.

    Raises
    ------
    ImportError
        If PyCUDA is not installed.
    ContextError
        If the context of `x` is none of CUDA.
    """
    _cuda(x.context)
    array_class = library("pycuda.gpuarray").GPUArray
    return array_class(x.shape, x.dtype, base=x, gpudata=x.gpudata + x.offset, strides=x.strides)


def _cuda(context: GpuContext) -> GpuContext:
    if context.kind != "cuda":
        raise ContextError(
            format_error(f"PyCUDA does not work on {context.devname}", hint="use a context of CUDA: device=cuda0")
        )
    return context


# ---- pygpu, the library of devices of Theano 1.0, for programs that still call it
#
# On CUDA pygpu works in the primary context of a device, as we do: memory is handed over without a copy, and to pygpu
# by
# one copy on the device. Contexts of OpenCL are its own, and tell nobody their memory: values go through the host.


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
    # Its queue is not among the ones that our queue waits for.
    x.sync()
    return shared_memory(x, address, np.dtype(x.dtype), tuple(x.shape), tuple(x.strides), where)


__all__ = ["attach_pycuda", "default_pycuda", "from_cuda_array", "from_pygpu", "to_pycuda", "to_pygpu"]
