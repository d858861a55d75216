"""Arrays in device memory as recorders see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from theano_graph import record

from ..codegen import contiguous_strides
from ..contexts import GpuContext

if TYPE_CHECKING:
    from .. import _device

__all__ = ["DeviceArray", "DeviceValue", "download", "is_device_value", "upload"]


@runtime_checkable
class DeviceValue(Protocol):
    """What recorders look at in an array on a device.

    Attributes
    ----------
    buffer : Buffer
    dtype : dtype
    shape : tuple of int
    strides : tuple of int
        In bytes.
    offset : int
        Bytes from the begin of the buffer to the first element.
    """

    @property
    def buffer(self) -> _device.Buffer:
        """The memory."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""

    @property
    def strides(self) -> tuple[int, ...]:
        """The byte strides."""

    @property
    def offset(self) -> int:
        """The byte offset of the first element."""


@record
class DeviceArray:
    """The least that is a :class:`DeviceValue`: memory, and how an array lies in it."""

    buffer: _device.Buffer
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0


def is_device_value(value: object) -> bool:
    """Tell whether a value is an array on a device."""
    return hasattr(value, "buffer") and hasattr(value, "offset")


def upload(context: GpuContext, value: NDArray[Any], *, offset: int = 0) -> DeviceArray:
    """Return a C-contiguous copy of an array on a device.

    Parameters
    ----------
    context : GpuContext
    value : ndarray
    offset : int
        Bytes that are left free before it.
    """
    array = np.asarray(value, order="C")
    buffer = context.allocate(offset + max(array.nbytes, 1))
    if array.nbytes:
        buffer.write(offset, array, blocking=False)
    return DeviceArray(buffer, array.dtype, array.shape, contiguous_strides(array.shape, array.itemsize), offset)


def download(value: DeviceValue) -> NDArray[Any]:
    """Return the elements of an array on a device, as a new array on the host with as many dimensions.

    What is not contiguous is read with the bytes between its elements, and put together on the host.
    """
    dtype, shape, strides = np.dtype(value.dtype), value.shape, value.strides
    if 0 in shape:
        return np.empty(shape, dtype)
    first, last = _extent(shape, strides)
    block = np.empty(last - first + dtype.itemsize, np.uint8)
    value.buffer.read(value.offset + first, block)
    seen = np.ndarray(shape, dtype, block, -first, strides)
    return np.ascontiguousarray(seen).reshape(shape)


def _extent(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """Return how far the elements of an array reach before and behind the first one."""
    reach = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    return sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
