"""Pooling that the runtime does itself: over one to three axes, of floats."""

from __future__ import annotations

from typing import Any, cast

from theano_graph import Apply
from theano_linker_c.kernels import Kernel, PoolingKernel, PoolingMode, PoolingTask, native_kernel

from .._core._variable import Tensor
from ._ops import AveragePoolGrad, MaxPoolGrad, MaxPoolGradGrad, Pool, PoolingOp

_NATIVE_DTYPES = frozenset({"float32", "float64"})
_MOST_AXES = 3
#: Task and number of the tensors among the inputs, by the class of the op.
_TASKS: dict[type[PoolingOp], tuple[PoolingTask, int]] = {
    Pool: ("pool", 1),
    AveragePoolGrad: ("average_pool_grad", 1),
    MaxPoolGrad: ("max_pool_grad", 3),
    MaxPoolGradGrad: ("max_pool_grad_grad", 3),
}


@native_kernel.register(*_TASKS)
def _pooling(node: Apply[Any, Tensor]) -> Kernel | None:
    op: PoolingOp = node.op
    if type(op) not in _TASKS or not 1 <= op.ndim <= _MOST_AXES:
        return None
    task, count = _TASKS[type(op)]
    dtypes = {v.type.dtype for v in (*node.inputs[:count], *node.outputs)}
    if len(dtypes) != 1 or not dtypes <= _NATIVE_DTYPES:
        return None
    return PoolingKernel(task, dtypes.pop(), op.ndim, cast(PoolingMode, op.mode), op.ignore_border)
