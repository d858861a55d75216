"""Batch normalization and its gradient, by cuDNN."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .._copies import contiguous, copy_into, on_device
from .._form import DeviceOperand, LibraryCall, Operand, Recorder
from ._kernel import DnnKernel, by_library

__all__: list[str] = []

#: The number of the mode that normalizes over all but the channels; 0 is that of each activation by itself.
_SPATIAL = 1


def _bits(number: Operand) -> int:
    """Return the bits of a number as a float64, as one of the numbers of a call."""
    return int(np.asarray(number, "float64").reshape(()).view("int64"))


def _lengths(
    kernel: DnnKernel, x: DeviceOperand, parameters: Sequence[DeviceOperand]
) -> tuple[int, int, int, int] | None:
    """Return mode, batch, channels and elements of a channel; None where parameters are not of this shape."""
    (mode,) = kernel.options
    if x.ndim < 1 + mode:
        return None
    shape = (1, x.shape[1], *(1,) * (x.ndim - 2)) if mode == _SPATIAL else (1, *x.shape[1:])
    if any(p.shape != shape for p in parameters):
        return None
    inner_size = math.prod(x.shape[2:]) if mode == _SPATIAL else 1
    return mode, x.shape[0], x.shape[1] if mode == _SPATIAL else math.prod(x.shape[1:]), inner_size


def _call(
    kernel: DnnKernel,
    recorder: Recorder,
    arrays: tuple[DeviceOperand, Sequence[DeviceOperand]],
    numbers: Sequence[Operand],
) -> LibraryCall | None:
    """Return the operation for a batch and parameters; None where the library has none such."""
    lengths = _lengths(kernel, *arrays)
    if lengths is None:
        return None
    call = LibraryCall(kernel.task, kernel.dtype, (*lengths, *map(_bits, numbers)), of_cudnn=True)
    return None if recorder.workspace(call) is None else call


@by_library("norm_train")
def _train(kernel: DnnKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand] | None:
    """Take batch, scale, shift and epsilon, and then the weight of the batch in running averages, and these two."""
    x, scale, shift = (on_device(recorder, v) for v in operands[:3])
    numbers, running = operands[3:5], [on_device(recorder, v) for v in operands[5:]]
    call = _call(kernel, recorder, (x, [scale, shift, *running]), numbers)
    # With one element there is no variance of what it was taken from.
    if call is None or (running and call.numbers[1] * call.numbers[3] == 1):
        return None
    y, mean, inverse = (recorder.empty(kernel.dtype, v.shape) for v in (x, scale, scale))
    moved = [recorder.empty(kernel.dtype, v.shape) for v in running]
    for new, old in zip(moved, running, strict=True):
        copy_into(recorder, new, old)
    given = [contiguous(recorder, v) for v in (x, scale, shift)]
    recorder.call(call, [given[0], y, *given[1:], mean, inverse, *moved])
    return [y, mean, inverse, *moved]


@by_library("norm_test")
def _test(kernel: DnnKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand] | None:
    """Take batch, scale, shift, mean, variance and epsilon."""
    x, *parameters = (on_device(recorder, v) for v in operands[:5])
    call = _call(kernel, recorder, (x, parameters), operands[5:])
    if call is None:
        return None
    y = recorder.empty(kernel.dtype, x.shape)
    recorder.call(call, [contiguous(recorder, x), y, *(contiguous(recorder, v) for v in parameters)])
    return [y]


@by_library("norm_grad")
def _grad(kernel: DnnKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand] | None:
    """Take batch, gradient, scale, mean, the inverse of the standard deviation, and epsilon."""
    x, dy, *parameters = (on_device(recorder, v) for v in operands[:5])
    call = _call(kernel, recorder, (x, parameters), operands[5:]) if dy.shape == x.shape else None
    if call is None:
        return None
    given = [contiguous(recorder, v) for v in (x, dy, *parameters)]
    results = [recorder.empty(kernel.dtype, v.shape) for v in (x, parameters[0], parameters[0])]
    recorder.call(call, [given[0], given[1], results[0], given[2], results[1], results[2], *given[3:]])
    return results
