"""Draws from streams of MRG31k3p on devices: they give the numbers that the host gives."""

from __future__ import annotations

from theano_gpuarray.codegen.random import MRGKernel
from theano_gpuarray.types import DEVICE
from theano_graph import Apply
from theano_linker_c.kernels import Kernel, native_kernel

from ..._core._variable import Tensor
from ...random.mrg import MRGUniform
from ._table import NamedDeviceOp, stands_for


@native_kernel.for_target(DEVICE).register(MRGUniform)
def _draw(node: Apply[MRGUniform, Tensor]) -> Kernel | None:
    drawn = node.op.output_type
    return MRGKernel(drawn.dtype, drawn.ndim)


@stands_for(MRGUniform)
class GPUA_mrg_uniform(NamedDeviceOp):  # the documented name
    """Draw numbers between 0 and 1 from streams on a device; see :class:`~theano_tensor.random.mrg.MRGUniform`."""

    def __str__(self) -> str:
        return f"GPUA_{self.host_op}"
