"""Spatial transformers of images and their gradients, by cuDNN."""

from __future__ import annotations

from collections.abc import Sequence

from .._copies import contiguous, host_numbers, on_device
from .._form import LibraryCall, Operand, Recorder
from ._kernel import DnnKernel, by_library

__all__: list[str] = []


def _call(kernel: DnnKernel, recorder: Recorder, numbers: Sequence[int]) -> LibraryCall | None:
    call = LibraryCall(kernel.task, kernel.dtype, tuple(numbers), of_cudnn=True)
    return None if recorder.workspace(call) is None else call


@by_library("grid")
def _grid(kernel: DnnKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand] | None:
    """Take affine maps, and the shape of the sampled images on the host."""
    theta, lengths = on_device(recorder, operands[0]), host_numbers(operands[1])
    call = _call(kernel, recorder, lengths) if theta.shape == (lengths[0], 2, 3) else None
    if call is None:
        return None
    grid = recorder.empty(kernel.dtype, (lengths[0], lengths[2], lengths[3], 2))
    recorder.call(call, [contiguous(recorder, theta), grid])
    return [grid]


@by_library("grid_grad")
def _grid_grad(kernel: DnnKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand] | None:
    """Take the gradient by the points."""
    by_grid = on_device(recorder, operands[0])
    batch, rows, columns, last = by_grid.shape
    # The number of channels does not matter for points.
    call = _call(kernel, recorder, (batch, 1, rows, columns)) if last == 2 else None
    if call is None:
        return None
    by_theta = recorder.empty(kernel.dtype, (batch, 2, 3))
    recorder.call(call, [contiguous(recorder, by_grid), by_theta])
    return [by_theta]


@by_library("sample")
@by_library("sample_grad")
def _sample(kernel: DnnKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand] | None:
    """Take images, points, and where it is the gradient that is wanted, that by the sampled images."""
    image, grid, *dy = (on_device(recorder, v) for v in operands)
    batch, rows, columns, last = grid.shape
    sampled = (batch, image.shape[1], rows, columns)
    # Gradients are added up in any order.
    if last != 2 or image.shape[0] != batch or any(v.shape != sampled for v in dy) or (dy and recorder.deterministic):
        return None
    call = _call(kernel, recorder, (*sampled, *image.shape[2:]))
    if call is None:
        return None
    results = [recorder.empty(kernel.dtype, s) for s in ((image.shape, grid.shape) if dy else (sampled,))]
    recorder.call(call, [*(contiguous(recorder, v) for v in (image, grid, *dy)), *results])
    return results
