"""Fourier transforms, and the loss of sequences whose alignment is not known, on devices."""

from __future__ import annotations

from theano_gpuarray.codegen.ctc import AlignmentsKernel
from theano_gpuarray.codegen.fourier import InverseRealFourierKernel, RealFourierKernel
from theano_gpuarray.types import DEVICE
from theano_graph import Apply
from theano_linker_c.kernels import Kernel, native_kernel

from ..._core._type import Tensor
from ...fourier import InverseRealFourier, RealFourier
from ...nnet.ctc import ConnectionistTemporalClassification

__all__: list[str] = []

_rules = native_kernel.for_target(DEVICE)


@_rules.register(RealFourier)
def _forward(node: Apply[RealFourier, Tensor]) -> Kernel | None:
    return RealFourierKernel(node.inputs[0].type.dtype)


@_rules.register(InverseRealFourier)
def _inverse(node: Apply[InverseRealFourier, Tensor]) -> Kernel | None:
    return InverseRealFourierKernel(node.inputs[0].type.dtype)


@_rules.register(ConnectionistTemporalClassification)
def _alignments(node: Apply[ConnectionistTemporalClassification, Tensor]) -> Kernel | None:
    return AlignmentsKernel(node.inputs[0].type.dtype, node.op.compute_grad)
