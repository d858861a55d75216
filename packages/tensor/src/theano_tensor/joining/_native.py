"""Native forms of joins and of taking apart."""

from __future__ import annotations

from theano_graph import Apply
from theano_linker_c.kernels import ConcatenateKernel, Kernel, SplitKernel, native_kernel

from .._core._type import Tensor
from ..shape import static_int
from ._join import Join, Split


@native_kernel.register(Join)
def _joined(node: Apply[Join, Tensor]) -> Kernel | None:
    axis, result = static_int(node.inputs[0]), node.outputs[0].type
    return (
        None if axis is None or node.op.view != -1 else ConcatenateKernel(result.dtype, result.ndim, axis % result.ndim)
    )


@native_kernel.register(Split)
def _parts(node: Apply[Split, Tensor]) -> Kernel | None:
    x, axis, lengths = node.inputs
    where = static_int(axis)
    if where is None or lengths.type.dtype != "int64":
        return None
    return SplitKernel(x.type.dtype, x.type.ndim, where % x.type.ndim)
