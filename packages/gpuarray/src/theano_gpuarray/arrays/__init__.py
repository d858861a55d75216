"""Arrays in the memory of devices."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from theano_graph import format_error

from ..contexts import GpuContext, get_context, list_contexts
from ._array import GpuArray, broadcast_array, new_array, same_context, upload
from ._exchange import CPU, CUDA, CUDA_HOST, OPENCL, open_capsule
from ._layout import SIZE, SSIZE, ArrayFlags, device_dtype, dtype_of_typecode, dtype_to_ctype, dtype_to_typecode, extent


def _context(context: GpuContext | None) -> GpuContext:
    return get_context(None) if context is None else context


def _lengths(shape: int | Sequence[int]) -> tuple[int, ...]:
    try:
        lengths = tuple(operator.index(n) for n in shape) if isinstance(shape, Sequence) else (operator.index(shape),)
    except TypeError:
        lengths = (-1,)
    if min(lengths, default=0) < 0:
        raise ValueError(format_error(f"{shape!r} is no shape", hint="give lengths, which are whole numbers from 0 on"))
    return lengths


def empty(
    shape: int | Sequence[int], dtype: DTypeLike = "float64", order: str = "C", context: GpuContext | None = None
) -> GpuArray:
    """Return a new array, its elements undefined.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : dtype, optional
    order : {"C", "F"}, optional
        Which index runs fastest, the last or the first.
    context : GpuContext, optional
        The default one if None.

    Raises
    ------
    ValueError
        If a length is negative, or the order is another one.
    TypeError
        If there are no arrays of the dtype on devices.

    Examples
    --------
    >>> from theano_gpuarray.arrays import empty
    >>> from theano_gpuarray.contexts import open_context
    >>> empty((4, 2), "int32", context=open_context("null0")).nbytes
    32
    """
    if order not in ("C", "F"):
        raise ValueError(format_error(f"the order of elements is no {order!r}", hint="it is 'C' or 'F'"))
    return new_array(GpuArray, _lengths(shape), device_dtype(dtype), _context(context), order)


def zeros(
    shape: int | Sequence[int], dtype: DTypeLike = "float64", order: str = "C", context: GpuContext | None = None
) -> GpuArray:
    """Return a new array of zeros; see `empty`.

    Examples
    --------
    >>> from theano_gpuarray.arrays import zeros
    >>> from theano_gpuarray.contexts import open_context
    >>> zeros(3, "float32", context=open_context("null0")).shape
    (3,)
    """
    result = empty(shape, dtype, order, context)
    if result.nbytes:
        result.buffer.fill(0, result.nbytes, 0)
    return result


def array(
    proto: Any,
    dtype: DTypeLike | None = None,
    copy: bool = True,
    order: str | None = None,
    ndmin: int = 0,
    context: GpuContext | None = None,
) -> GpuArray:
    """Return an array of a device with the elements of something.

    Parameters
    ----------
    proto : array_like or GpuArray
    dtype : dtype, optional
        That of `proto` if None.
    copy : bool, optional
        Whether an array that is there already is copied.
    order : {"C", "F", "A"}, optional
        None keeps the order that there is.
    ndmin : int, optional
        Dimensions of length 1 are put in front until there are so many.
    context : GpuContext, optional
        If None that of `proto`, where it has one, else the default one.

    Raises
    ------
    TypeError
        If there are no arrays of the dtype on devices.

    Examples
    --------
    >>> from theano_gpuarray.arrays import array
    >>> from theano_gpuarray.contexts import open_context
    >>> array([1.5, 2.5], "float32", ndmin=2, context=open_context("null0")).shape
    (1, 2)
    """
    if isinstance(proto, GpuArray):
        prototype = proto if context is None else proto.transfer(context)
        if dtype is not None and device_dtype(dtype) != prototype.dtype:
            prototype = prototype.astype(dtype)
        wrong = order in ("C", "F") and not prototype.flags[f"{order}_CONTIGUOUS"]
        if wrong or (copy and prototype is proto):
            prototype = prototype.copy(order or "K")
    else:
        host = np.asarray(proto, None if dtype is None else device_dtype(dtype))
        host = host.astype(device_dtype(host.dtype.newbyteorder("=")), copy=False)
        if order in ("C", "F"):
            host = np.asarray(host, order="C" if order == "C" else "F")
        prototype = upload(GpuArray, host, _context(context))
    missing = ndmin - prototype.ndim
    return prototype[(None,) * missing + (...,)] if missing > 0 else prototype


def asarray(
    proto: Any, dtype: DTypeLike | None = None, order: str | None = None, context: GpuContext | None = None
) -> GpuArray:
    """Return something as an array of a device: itself where it is one, else a copy; see `array`."""
    return array(proto, dtype, copy=False, order=order, context=context)


def ascontiguousarray(proto: Any, dtype: DTypeLike | None = None, context: GpuContext | None = None) -> GpuArray:
    """Return something as a C-contiguous array of at least one dimension; see `array`."""
    return array(proto, dtype, copy=False, order="C", ndmin=1, context=context)


def may_share_memory(first: GpuArray, second: GpuArray) -> bool:
    """Tell whether two arrays may have bytes in common; bounds are compared, not elements."""
    if first.context.kind != second.context.kind or not first.size or not second.size:
        return False
    ends = []
    for x in (first, second):
        begin, end = extent(x.shape, x.strides, x.itemsize)
        # Handles of OpenCL are no addresses: two of them have nothing in common.
        start = x.offset + (x.buffer.address if x.context.kind == "cuda" else 0)
        ends.append((start + begin, start + end))
    if first.context.kind != "cuda" and first.buffer is not second.buffer:
        return False
    return ends[0][0] < ends[1][1] and ends[1][0] < ends[0][1]


def from_dlpack(x: Any, context: GpuContext | None = None) -> GpuArray:
    """Return an array that another library exports by DLPack: the same memory on CUDA, a copy of memory on the host.

    Parameters
    ----------
    x : object with ``__dlpack__`` and ``__dlpack_device__``
    context : GpuContext, optional
        By default one on the device of `x`; the default one for arrays of the host.

    Raises
    ------
    BufferError
        If `x` exports nothing, or there is no context on its device.

    Examples
    --------
    >>> import numpy as np
    >>> from theano_gpuarray.arrays import from_dlpack
    >>> from theano_gpuarray.contexts import open_context
    >>> from_dlpack(np.arange(3.0), context=open_context("null0")).dtype
    dtype('float64')
    """
    if isinstance(x, GpuArray):
        return x if context is None else x.transfer(context)
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise BufferError(
            format_error(f"{type(x).__name__} exports nothing by DLPack", hint="use asarray, which copies")
        )
    kind, number = (int(part) for part in x.__dlpack_device__())
    if kind in (CPU, CUDA_HOST):
        return asarray(np.from_dlpack(x), context=context)
    where = _of_device(kind, number) if context is None else context
    if where is None or where.kind != "cuda" or kind != CUDA:
        raise BufferError(
            format_error(
                f"there is no context for arrays of device {kind}:{number} "
                f"({'OpenCL' if kind == OPENCL else 'CUDA' if kind == CUDA else 'another kind'})",
                hint="copy through the host: asarray(numpy.asarray(x))",
            )
        )
    # The producer gets our queue, so that the queue waits for running work.
    try:
        capsule = x.__dlpack__(stream=where.native.queue or 1, max_version=(1, 0))
    except TypeError:  # an exporter of the time before versions
        capsule = x.__dlpack__(stream=where.native.queue or 1)
    capsule_array = open_capsule(capsule)
    strides = capsule_array.strides
    if strides is None:
        strides = tuple(np.lib.stride_tricks.as_strided(np.empty(0, capsule_array.dtype), capsule_array.shape).strides)
    begin, end = extent(capsule_array.shape, strides, capsule_array.dtype.itemsize)
    memory = where.native.wrap(capsule_array.address + capsule_array.offset + begin, end - begin, capsule_array.owner)
    return GpuArray(memory, device_dtype(capsule_array.dtype), capsule_array.shape, strides, -begin, where)


def _of_device(kind: int, number: int) -> GpuContext | None:
    """Return the first context on a device."""
    name = {CUDA: "cuda", OPENCL: "opencl"}.get(kind)
    every = (get_context(names) for names in list_contexts())
    return next((context for context in every if context.kind == name and context.native.index == number), None)


__all__ = [
    "SIZE",
    "SSIZE",
    "ArrayFlags",
    "GpuArray",
    "array",
    "asarray",
    "ascontiguousarray",
    "broadcast_array",
    "dtype_of_typecode",
    "dtype_to_ctype",
    "dtype_to_typecode",
    "empty",
    "from_dlpack",
    "may_share_memory",
    "same_context",
    "zeros",
]
