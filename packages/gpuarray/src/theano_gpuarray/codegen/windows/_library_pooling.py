"""Pooling by cuDNN where it is; else by kernels of our own."""

from __future__ import annotations

from collections.abc import Sequence

from theano_graph import record
from theano_linker_c.kernels import Kernel, PoolingKernel

from .._copies import contiguous
from .._form import LibraryCall, Operand, Recorder, device_form, register_device_form
from ._pooling import Pooling, launch_pooling, understood_pooling

__all__ = ["DnnPoolingKernel"]

#: The library's numbers of modes. It has no sums, and does not say where the gradient of a largest element goes if
#: several are equal; both are left to kernels of our own.
_MODES = {"max": 0, "average_inc_pad": 1, "average_exc_pad": 2}
_MAX_DETERMINISTIC = 3
_TASKS = {"pool": "pool", "average_pool_grad": "pool_grad"}
#: Axes along which windows of the library lie.
_AXES = (2, 3)


@record
class DnnPoolingKernel(Kernel):
    """Pooling or its gradient, by a library where there is one; its inputs are those of the kernel.

    Parameters
    ----------
    pooling : PoolingKernel
    deterministic : bool
        Whether largest elements are looked for in a way that always gives the same.
    """

    pooling: PoolingKernel
    deterministic: bool = False


@register_device_form(
    DnnPoolingKernel,
    supports=lambda kernel: device_form.lookup(kernel.pooling).supports(kernel.pooling),
    host_inputs=lambda kernel, count: device_form.lookup(kernel.pooling).host_inputs(kernel.pooling, count),
)
def _pooling(kernel: DnnPoolingKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    found = understood_pooling(kernel.pooling, recorder, operands)
    call = _call(kernel, recorder, found)
    if call is None or recorder.workspace(call) is None:
        launch_pooling(kernel.pooling, recorder, found)
    else:
        recorder.call(call, [contiguous(recorder, found.arrays[0]), found.result])
    return [found.result]


def _call(kernel: DnnPoolingKernel, recorder: Recorder, found: Pooling) -> LibraryCall | None:
    """Return the operation of the library; None where it has none such."""
    pooling, axes = kernel.pooling, found.axes
    images = found.arrays[0].shape if pooling.task == "pool" else found.result.shape
    mode, task = _MODES.get(pooling.mode), _TASKS.get(pooling.task)
    if mode is None or task is None or not pooling.ignore_border or len(axes) not in _AXES or not found.result.size:
        return None
    if len(images) != len(axes) + 2 or any(axis.pad >= axis.window for axis in axes):
        return None
    if pooling.mode == "max" and (kernel.deterministic or recorder.deterministic):
        mode = _MAX_DETERMINISTIC
    layout = [getattr(axis, name) for name in ("window", "pad", "step") for axis in axes]
    return LibraryCall(task, pooling.dtype, (mode, len(axes), *images, *layout), of_cudnn=True)
