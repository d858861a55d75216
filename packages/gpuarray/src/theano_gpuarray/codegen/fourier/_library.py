"""Transforms by cuFFT, where it is."""

from __future__ import annotations

import math

from theano_linker_c.scalar import c_type

from .._copies import contiguous
from .._form import DeviceOperand, LibraryCall, Recorder
from .._kernel_writer import KernelWriter, spread

__all__ = ["forward_by_library", "inverse_by_library"]

#: Dimensions that the library transforms.
_MOST_DIMENSIONS = 3


def forward_by_library(recorder: Recorder, x: DeviceOperand, result: DeviceOperand) -> bool:
    """Transform all dimensions but the first; return False where there is no library for it."""
    call = LibraryCall("rfft", x.dtype, x.shape)
    if not x.size or x.ndim > _MOST_DIMENSIONS + 1:
        return False
    size = recorder.workspace(call)
    if size is None:
        return False
    operand = contiguous(recorder, x)
    # The library reads real numbers as pairs.
    if operand.offset % (2 * x.itemsize):
        operand = contiguous(recorder, x, copied=True)
    recorder.call(call, [operand, result, recorder.empty("uint8", (size,))])
    return True


def inverse_by_library(recorder: Recorder, y: DeviceOperand, result: DeviceOperand) -> bool:
    """Transform all dimensions but the first back; return False where there is no library for it."""
    call = LibraryCall("irfft", y.dtype, result.shape)
    if not y.size or result.ndim > _MOST_DIMENSIONS + 1:
        return False
    size = recorder.workspace(call)
    if size is None:
        return False
    recorder.call(call, [_hermitian(recorder, y, result.shape), result, recorder.empty("uint8", (size,))])
    return True


def _hermitian(recorder: Recorder, y: DeviceOperand, shape: tuple[int, ...]) -> DeviceOperand:
    """Return a copy, for the library overwrites it, in which elements that stand for each other are conjugates.

    Where the last position is 0 or half of an even length, an element and the one at the opposite positions along the
    other dimensions are both there. The result depends on their mean alone, and the library takes for granted that they
    fit to each other.
    """
    kind, target = c_type(y.dtype), recorder.empty(y.dtype, y.shape)
    lengths, lead = y.shape[:-1], range(1, y.ndim - 2)
    writer = KernelWriter("fourier_hermitian")
    writer.reads(x=y)
    writer.writes(z=target)
    names, steps = writer.numbers("n", lengths), writer.numbers("s", y.strides)
    writer.number("whole", shape[-1])
    writer.walk(math.prod(lengths))
    j = writer.positions(names)
    last = j[-1]
    offset = " + ".join(["x_at", *(f"{p} * {s}" for p, s in zip(j, steps[:-1], strict=True))])
    turned = [f"({names[d]} - {j[d]}) % {names[d]}" if d in lead else j[d] for d in range(len(lengths))]
    other = " + ".join(["x_at", *(f"{p} * {s}" for p, s in zip(turned, steps[:-1], strict=True))])
    writer.add(
        f"const int64_t a = {offset}, b = {other};",
        f"{kind} re = *(GLOBAL_MEM const {kind} *)(x + a), im = *(GLOBAL_MEM const {kind} *)(x + a + {steps[-1]});",
        f"if ({last} == 0 || 2 * {last} == whole) {{",
        f"re = (re + *(GLOBAL_MEM const {kind} *)(x + b)) / 2;",
        f"im = (im - *(GLOBAL_MEM const {kind} *)(x + b + {steps[-1]})) / 2;",
        "}",
        f"((GLOBAL_MEM {kind} *)(z + z_at))[2 * i] = re; ((GLOBAL_MEM {kind} *)(z + z_at))[2 * i + 1] = im;",
    )
    writer.end()
    writer.launch(recorder, *spread(recorder, math.prod(lengths)))
    return target
