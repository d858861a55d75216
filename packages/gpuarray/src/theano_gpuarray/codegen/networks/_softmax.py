"""Softmax of images and its gradient, by cuDNN."""

from __future__ import annotations

from collections.abc import Sequence

from .._copies import contiguous, on_device
from .._form import LibraryCall, Operand, Recorder
from ._kernel import DnnKernel, by_library

__all__: list[str] = []


@by_library("softmax")
@by_library("softmax_grad")
def _softmax(kernel: DnnKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand] | None:
    """Take the scores, or the gradient by the result and the result; options are algorithm and mode of the library."""
    arrays = [on_device(recorder, x) for x in operands]
    shape = arrays[-1].shape
    call = LibraryCall(kernel.task, kernel.dtype, (*kernel.options, *shape), of_cudnn=True)
    if any(x.shape != shape for x in arrays) or recorder.workspace(call) is None:
        return None
    result = recorder.empty(kernel.dtype, shape)
    # The library takes the result before its gradient.
    recorder.call(call, [*(contiguous(recorder, x) for x in reversed(arrays)), result])
    return [result]
