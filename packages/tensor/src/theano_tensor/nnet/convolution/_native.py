"""Which convolutions the runtime computes itself: those along one to three axes, of floats, with shared filters."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from theano_graph import Apply
from theano_linker_c.kernels import ConvolutionKernel, ConvolutionTask, Kernel, native_kernel

from ..._core._type import Tensor
from ._ops import AbstractConv, AbstractConv_gradInputs, AbstractConv_gradWeights, BaseAbstractConv

_NATIVE_DTYPES = frozenset({"float32", "float64"})
_MOST_AXES = 3
#: The runtime computes with steps, distances and borders up to here.
_MOST = 1 << 20


def _has_form(node: Apply[Any, Tensor], dtypes_taken: Set[str]) -> bool:
    op: BaseAbstractConv = node.op
    dtypes = {v.type.dtype for v in (*node.inputs[:2], *node.outputs)}
    borders = [] if isinstance(op.border_mode, str) else [n for side in op.border_mode for n in side]
    small = all(isinstance(n, int) and n <= _MOST for n in (*op.subsample, *op.filter_dilation, *borders))
    return op.convdim <= _MOST_AXES and not op.unshared and len(dtypes) == 1 and dtypes <= dtypes_taken and small


def convolution_kernel(
    node: Apply[AbstractConv | AbstractConv_gradInputs | AbstractConv_gradWeights, Tensor], dtypes_taken: Set[str]
) -> Kernel | None:
    """Return a convolution, or a gradient of it, as a kernel where its dtype is one of those."""
    if not _has_form(node, dtypes_taken):
        return None
    op: BaseAbstractConv = node.op
    task: ConvolutionTask = "forward"
    if not isinstance(op, AbstractConv):
        task = "input_grad" if isinstance(op, AbstractConv_gradInputs) else "weight_grad"
    return ConvolutionKernel(
        task,
        node.inputs[0].type.dtype,
        op.subsample,
        op.filter_dilation,
        op.border_mode,
        op.filter_flip,
        op.num_groups,
    )


@native_kernel.register(AbstractConv, AbstractConv_gradInputs, AbstractConv_gradWeights)
def _convolution(
    node: Apply[AbstractConv | AbstractConv_gradInputs | AbstractConv_gradWeights, Tensor],
) -> Kernel | None:
    return convolution_kernel(node, _NATIVE_DTYPES)
