"""Arrays between C and Python, and copies of their elements, for C code of ops."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from theano_graph import format_error

from ..arrays import GpuArray, asarray, dtype_of_typecode, dtype_to_typecode, empty
from ..contexts import GpuContext

if TYPE_CHECKING:
    from .._device import Buffer

__all__ = [
    "concatenate",
    "copy_array",
    "describe_array",
    "fill_bytes",
    "from_host",
    "make_array",
    "move_array",
    "read_array",
    "reshape",
    "set_array",
    "take_rows",
    "to_host",
    "write_array",
]

#: C code's description of an array: memory, number of the dtype, lengths, strides, offset and context.
Described = tuple["Buffer", int, tuple[int, ...], tuple[int, ...], int, GpuContext]


def describe_array(array: GpuArray) -> Described:
    """Return C code's description of an array.

    Raises
    ------
    TypeError
        If it is none.
    """
    if not isinstance(array, GpuArray):
        raise TypeError(
            format_error(
                f"C code for an array on a device got {type(array).__name__}",
                hint="pass a GpuArray: theano_gpuarray.arrays.asarray(x, context=...)",
            )
        )
    return array.buffer, dtype_to_typecode(array.dtype), array.shape, array.strides, array.offset, array.context


def make_array(
    buffer: Buffer,
    context: GpuContext,
    origin: GpuArray | None,
    typecode: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
) -> GpuArray:
    """Return an array from C code's description: `origin` itself where that still describes it."""
    if (
        origin is not None
        and origin.buffer is buffer
        and origin.shape == shape
        and origin.strides == strides
        and origin.offset == offset
        and origin.typecode == typecode
    ):
        return origin
    return GpuArray(buffer, dtype_of_typecode(typecode), shape, strides, offset, context)


def to_host(array: GpuArray) -> Any:
    """Return a copy on the host."""
    return np.asarray(array)


def from_host(
    context: GpuContext, address: int, typecode: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> GpuArray:
    """Return a copy of elements at an address of the host."""
    dtype = dtype_of_typecode(typecode)
    if 0 in shape:
        return empty(shape, dtype, context=context)
    ends = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    first = sum(end for end in ends if end < 0)
    size = sum(end for end in ends if end > 0) + dtype.itemsize - first
    memory: Any = (ctypes.c_char * size).from_address(address + first)
    host: Any = np.ndarray(shape, dtype, memory, -first, strides)
    return asarray(host.copy(), context=context)


def set_array(target: GpuArray, source: GpuArray) -> None:
    """Set elements to those of another array, which is broadcast and converted."""
    target[...] = source


def move_array(target: GpuArray, source: GpuArray) -> None:
    """Copy the elements of an array of the same shape, which may be in another context."""
    if target.shape != source.shape:
        raise ValueError(
            format_error(
                f"an array of shape {source.shape} is moved to one of {target.shape}", hint="use one of that shape"
            )
        )
    target[...] = source


def copy_array(array: GpuArray, order: str) -> GpuArray:
    """Return a copy."""
    return array.copy(order)


def reshape(array: GpuArray, shape: tuple[int, ...], order: str, nocopy: int) -> GpuArray:
    """Return the elements with another shape.

    Raises
    ------
    ValueError
        If the shape has another number of elements.
    BufferError
        If that takes a copy, and none is allowed.
    """
    view = array.reshape(shape, order="C" if order == "A" else order)
    if nocopy and view.buffer is not array.buffer:
        raise BufferError(
            format_error(
                f"an array of shape {array.shape} with strides {array.strides} has no view of shape {shape}",
                hint="allow a copy",
            )
        )
    return view


def fill_bytes(array: GpuArray, value: int) -> None:
    """Set each byte of the elements of a contiguous array."""
    _check_contiguous(array, "filled")
    if array.nbytes:
        array.buffer.fill(array.offset, array.nbytes, value)


def write_array(array: GpuArray, source: Any) -> None:
    """Copy bytes of the host to the elements of a contiguous array."""
    _check_contiguous(array, "written")
    if len(source) != array.nbytes:
        raise ValueError(
            format_error(
                f"{len(source)} bytes are written to an array of {array.nbytes}", hint="pass as many as it has"
            )
        )
    if array.nbytes:
        array.buffer.write(array.offset, source)


def read_array(array: GpuArray, target: Any) -> None:
    """Copy the elements of a contiguous array to memory of the host."""
    _check_contiguous(array, "read")
    if len(target) < array.nbytes:
        raise ValueError(
            format_error(
                f"{array.nbytes} bytes of an array are read into {len(target)}", hint="pass room for all of them"
            )
        )
    if array.nbytes:
        array.buffer.read(array.offset, target[: array.nbytes])


def _check_contiguous(array: GpuArray, what: str) -> None:
    if not (array.flags["C_CONTIGUOUS"] or array.flags["F_CONTIGUOUS"]):
        raise ValueError(
            format_error(f"an array with strides {array.strides} cannot be {what} at once", hint="copy it")
        )


def take_rows(target: GpuArray, array: GpuArray, index: GpuArray, check: int) -> None:
    """Copy rows of an array, by a vector of their numbers; negative ones count from the end.

    Raises
    ------
    IndexError
        If one is out of bounds, where that is checked; others are brought within the bounds.
    """
    length = array.shape[0]
    numbers = np.asarray(index)
    if check and numbers.size and not (-length <= int(numbers.min()) and int(numbers.max()) < length):
        raise IndexError(
            format_error(f"a number of a row is out of bounds: there are {length}", hint="correct the vector")
        )
    for position, number in enumerate(numbers):
        target[position] = array[min(max(int(number), -length), length - 1)]


def concatenate(parts: Sequence[GpuArray], axis: int, typecode: int) -> GpuArray:
    """Return arrays one behind the other along an axis, in one dtype."""
    first = parts[0]
    if axis >= first.ndim:
        raise ValueError(
            format_error(f"arrays of {first.ndim} dimensions have no axis {axis}", hint="choose another axis")
        )
    length = sum(part.shape[axis] for part in parts)
    shape = (*first.shape[:axis], length, *first.shape[axis + 1 :])
    result = empty(shape, dtype_of_typecode(typecode), context=first.context)
    begin = 0
    for part in parts:
        end = begin + part.shape[axis]
        lengths = (*first.shape[:axis], part.shape[axis], *first.shape[axis + 1 :])
        if part.shape != lengths:
            raise ValueError(
                format_error(
                    f"arrays of shapes {first.shape} and {part.shape} are joined along axis {axis}", hint="reshape"
                )
            )
        result[(*[slice(None)] * axis, slice(begin, end))] = part
        begin = end
    return result
