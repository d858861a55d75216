"""Arrays of other libraries, and ours for them, without a copy: DLPack capsules and protocols of arrays."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from theano_graph import format_error, record

from .._runtime import export_array

if TYPE_CHECKING:
    from ._array import GpuArray


# ---- DLPack capsules

#: Numbers of kinds of devices in DLPack.
CUDA, OPENCL = 2, 4
CPU, CUDA_HOST = 1, 3

_NAME, _USED = b"dltensor", b"used_dltensor"
_VERSIONED, _USED_VERSIONED = b"dltensor_versioned", b"used_dltensor_versioned"
_VERSION = (1, 0)
_READ_ONLY = 1
_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_LETTERS = {number: letter for letter, number in _KINDS.items()}


class _Device(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int32), ("number", ctypes.c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter))


class _Version(ctypes.Structure):
    _fields_ = (("major", ctypes.c_uint32), ("minor", ctypes.c_uint32))


class _ManagedVersioned(ctypes.Structure):
    _fields_ = (
        ("version", _Version),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_api = ctypes.pythonapi
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", _api))


def make_capsule(
    owner: object,
    address: int,
    offset: int,
    dtype: np.dtype[Any],
    shape: Sequence[int],
    strides: Sequence[int],
    device: tuple[int, int],
    *,
    versioned: bool = False,
    copied: bool = False,
) -> Any:
    """Return a capsule of an array.

    Parameters
    ----------
    owner : object
        The owner of the memory; it lives until the consumer of the capsule has freed it.
    address : int
        The memory.
    offset : int
        Bytes to the first element.
    dtype : numpy.dtype
    shape, strides : sequence of int
        Strides in bytes.
    device : tuple of int
        The kind of device and its number.
    versioned : bool, optional
        Whether the consumer takes DLPack 1.
    copied : bool, optional
        Whether nobody else has the memory.

    Raises
    ------
    BufferError
        If a stride is no multiple of the size of elements.
    """
    if any(step % dtype.itemsize for step in strides):
        raise BufferError(
            format_error(
                f"strides of {tuple(strides)} bytes are no multiples of the {dtype.itemsize} bytes of an element",
                hint="export x.copy()",
            )
        )
    steps = tuple(step // dtype.itemsize for step in strides)
    kind = _KINDS[dtype.kind], dtype.itemsize * 8
    return export_array(owner, address, offset, kind, tuple(shape), steps, device, versioned, copied)


class _Freed:
    """Calls the deleter of the producer when nobody needs the memory any more."""

    def __init__(self, managed: Any, place: int) -> None:
        self.managed, self.place = managed, place

    def __del__(self) -> None:
        # At the end of the interpreter unfreed memory goes with the process.
        if self.managed.deleter and not sys.is_finalizing():
            self.managed.deleter(self.place)


@record
class Imported:
    """The content of a capsule.

    Parameters
    ----------
    owner : object
        The owner of the memory.
    address, offset : int
        The memory, and bytes to the first element.
    dtype : numpy.dtype
    shape, strides : tuple of int
        Strides in bytes.
    device : tuple of int
        The kind of device and its number.
    read_only : bool
    """

    owner: object
    address: int
    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    device: tuple[int, int]
    read_only: bool


def open_capsule(capsule: Any) -> Imported:
    """Take over the array of a capsule, which nobody can take a second time.

    Raises
    ------
    BufferError
        If it is no such capsule, was taken before, or has elements that NumPy has no dtype for.
    """
    for name, used, kind in ((_VERSIONED, _USED_VERSIONED, _ManagedVersioned), (_NAME, _USED, _Managed)):
        if type(capsule).__name__ == "PyCapsule" and _is_valid(capsule, name):
            address = _pointer_of(capsule, name)
            managed: Any = kind.from_address(address)
            managed_array = _read(managed, address, name == _VERSIONED)
            _rename(capsule, used)
            return managed_array
    raise BufferError(
        format_error(
            f"{capsule!r} is no DLPack capsule, or its array has been taken before",
            hint="call the producer's __dlpack__() for each array that is made of it, or pass the producer itself",
        )
    )


def _read(managed: Any, place: int, versioned: bool) -> Imported:
    if versioned and managed.version.major > _VERSION[0]:
        raise BufferError(
            format_error(
                f"the capsule is of DLPack {managed.version.major}, which this version does not know",
                hint="ask the producer for an older one: __dlpack__(max_version=(1, 0))",
            )
        )
    tensor = managed.tensor
    letter = _LETTERS.get(tensor.dtype.code)
    if letter is None or tensor.dtype.lanes != 1 or tensor.dtype.bits % 8:
        raise BufferError(
            format_error(
                f"elements of kind {tensor.dtype.code} with {tensor.dtype.bits} bits have no dtype in NumPy",
                hint="convert the array before it is exported",
            )
        )
    dtype = np.dtype("bool" if letter == "b" else f"{letter}{tensor.dtype.bits // 8}")
    shape = tuple(tensor.shape[d] for d in range(tensor.ndim))
    strides = tuple(tensor.strides[d] * dtype.itemsize for d in range(tensor.ndim)) if tensor.strides else None
    device = int(tensor.device.kind), int(tensor.device.number)
    read_only = bool(versioned and managed.flags & _READ_ONLY)
    owner = _Freed(managed, place)
    return Imported(owner, tensor.data or 0, int(tensor.byte_offset), dtype, shape, strides, device, read_only)


# ---- Protocols

#: The default stream of CUDA, as these protocols call it.
_DEFAULT_STREAM = 1
#: The stream of a DLPack consumer that looks after the order of work itself.
_NO_WAIT = -1


def cuda_interface(x: GpuArray) -> dict[str, Any]:
    """Return the ``__cuda_array_interface__`` of an array.

    The memory is not used again before all work of the device has ended, since nobody says which stream uses it.

    Raises
    ------
    AttributeError
        If the array is not on a CUDA device.
    """
    if x.context.kind != "cuda":
        raise AttributeError(
            format_error(
                f"an array on {x.context.devname} has no __cuda_array_interface__",
                hint="use numpy.asarray(x), or DLPack, which knows OpenCL",
            )
        )
    if x.size:
        x.buffer.share(None)
    return {
        "version": 3,
        "shape": x.shape,
        "typestr": x.dtype.str,
        "descr": [("", x.dtype.str)],
        "data": (x.buffer.address + x.offset if x.size else 0, False),
        "strides": None if x.flags.c_contiguous else x.strides,
        "stream": x.context.native.queue or _DEFAULT_STREAM,
    }


def dlpack_device(x: GpuArray) -> tuple[int, int]:
    """Return the kind and the number of an array's device.

    Raises
    ------
    BufferError
        If it is on the null device.
    """
    kinds = {"cuda": CUDA, "opencl": OPENCL}
    if x.context.kind not in kinds:
        raise BufferError(
            format_error(f"an array on {x.context.devname} is no array of a device", hint="use numpy.asarray(x)")
        )
    return kinds[x.context.kind], x.context.native.index


def check_device(x: GpuArray, context: tuple[int, int] | None) -> None:
    """Refuse to export an array to another device than its own."""
    device = dlpack_device(x)
    if context is not None and tuple(context) != device:
        raise BufferError(
            format_error(
                f"the array is on device {device}, not {tuple(context)}", hint="use numpy.asarray(x), or x.transfer"
            )
        )


def dlpack_capsule(x: GpuArray, stream: Any, newest: tuple[int, int] | None, *, copied: bool) -> Any:
    """Return a capsule of an array for a consumer that works in a stream and knows DLPack up to a version."""
    _hand_over(x, stream)
    versioned = newest is not None and tuple(newest) >= (1, 0)
    address = x.buffer.address, x.offset
    return make_capsule(x, *address, x.dtype, x.shape, x.strides, dlpack_device(x), versioned=versioned, copied=copied)


def _hand_over(x: GpuArray, stream: Any) -> None:
    """Let work in the stream of a consumer run after running work, and the memory live until it has ended."""
    native = x.context.native
    if x.context.kind != "cuda":
        if stream != _NO_WAIT:
            x.sync()
        return
    if stream == 0:
        raise BufferError(
            format_error(
                "the stream 0 may mean several ones", hint="pass 1 for the default stream, or 2 for that of a thread"
            )
        )
    # The default stream waits for our queue by itself, and our queue for it.
    if stream not in (None, _DEFAULT_STREAM, native.queue):
        x.buffer.share(None if stream == _NO_WAIT else stream)


__all__ = [
    "CUDA",
    "OPENCL",
    "Imported",
    "make_capsule",
    "open_capsule",
    "check_device",
    "cuda_interface",
    "dlpack_capsule",
    "dlpack_device",
]
