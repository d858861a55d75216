"""Pooling that the runtime does itself: over one to three axes, of floats."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from theano_graph import Apply
from theano_linker_c.kernels import Kernel, PoolingKernel, PoolingTask, native_kernel

from .._core._type import Tensor
from ._ops import AveragePoolGrad, MaxPoolGrad, MaxPoolGradGrad, Pool, PoolingOp

_NATIVE_DTYPES = frozenset({"float32", "float64"})
_MOST_AXES = 3
#: Task and number of the tensors among the inputs, by the class of the op.
POOLING_OPS: dict[type[PoolingOp], tuple[PoolingTask, int]] = {
    Pool: ("pool", 1),
    AveragePoolGrad: ("average_pool_grad", 1),
    MaxPoolGrad: ("max_pool_grad", 3),
    MaxPoolGradGrad: ("max_pool_grad_grad", 3),
}


def pooling_kernel(node: Apply[Any, Tensor], dtypes_taken: Set[str]) -> Kernel | None:
    """Return pooling, or a gradient of it, as a kernel where its dtype is one of those."""
    op: PoolingOp = node.op
    if type(op) not in POOLING_OPS or not 1 <= op.ndim <= _MOST_AXES:
        return None
    task, count = POOLING_OPS[type(op)]
    dtypes = {v.type.dtype for v in (*node.inputs[:count], *node.outputs)}
    if len(dtypes) != 1 or not dtypes <= dtypes_taken:
        return None
    mode: Any = op.mode
    return PoolingKernel(task, dtypes.pop(), op.ndim, mode, op.ignore_border)


@native_kernel.register(*POOLING_OPS)
def _pooling(node: Apply[Any, Tensor]) -> Kernel | None:
    return pooling_kernel(node, _NATIVE_DTYPES)
