"""How arrays tell other libraries where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from theano_graph import format_error

from ._exchange import CUDA, OPENCL, make_capsule

if TYPE_CHECKING:
    from ._array import GpuArray

__all__ = ["check_device", "cuda_interface", "dlpack_capsule", "dlpack_device"]

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
