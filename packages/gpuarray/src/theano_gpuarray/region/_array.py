"""Arrays on the host and on the device, as recorders take and give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import GpuArray
from ..codegen import DeviceOperand, contiguous_strides
from ..contexts import GpuContext

if TYPE_CHECKING:
    from .. import _device

__all__ = ["array_of", "extent", "operand_of", "upload", "uploaded"]


def upload(context: GpuContext, value: NDArray[Any], *, offset: int = 0) -> GpuArray:
    """Return a C-contiguous copy of an array on a device.

    Parameters
    ----------
    context : GpuContext
    value : ndarray
    offset : int
        Bytes that are left free before it.
    """
    array = np.asarray(value, order="C")
    strides = contiguous_strides(array.shape, array.itemsize)
    return GpuArray(uploaded(context, array, offset), array.dtype, array.shape, strides, offset, context)


def uploaded(context: GpuContext, value: NDArray[Any], offset: int = 0) -> _device.Buffer:
    """Return memory with the elements of an array in C order."""
    buffer = context.native.allocate(offset + (value.nbytes or 1))
    if value.nbytes:
        buffer.write(offset, value if value.flags.c_contiguous else np.ascontiguousarray(value), blocking=False)
    return buffer


def operand_of(slot: int, value: GpuArray) -> DeviceOperand:
    """Return an array as device forms see it, in a slot of memory."""
    return DeviceOperand(slot, value.dtype.name, value.shape, value.strides, value.offset)


def array_of(context: GpuContext, operand: DeviceOperand, buffer: _device.Buffer) -> GpuArray:
    """Return a result of a device form, with its memory, as an array."""
    return GpuArray(buffer, operand.dtype, operand.shape, operand.strides, operand.offset, context)


def extent(operand: DeviceOperand) -> int:
    """Return the bytes from the first to the last element of an array none of whose strides is negative."""
    if not operand.size:
        return 0
    return operand.itemsize + sum((n - 1) * step for n, step in zip(operand.shape, operand.strides, strict=True))
