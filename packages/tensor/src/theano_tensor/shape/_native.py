"""Native forms of ops on shapes."""

from __future__ import annotations

from theano_graph import Apply
from theano_linker_c.kernels import Kernel, LengthKernel, ReshapeKernel, SpecifyShapeKernel, StackKernel, native_kernel

from .._core._type import Tensor, TensorType
from ._rebroadcast import Rebroadcast
from ._reshape import Reshape
from ._same_lengths import SameLengths
from ._shape import MakeVector, ShapeI, SpecifyShape


@native_kernel.register(ShapeI)
def _length(node: Apply[ShapeI]) -> Kernel | None:
    return LengthKernel(node.op.i) if isinstance(node.inputs[0].type, TensorType) else None


@native_kernel.register(MakeVector)
def _gather(node: Apply[MakeVector, Tensor]) -> Kernel | None:
    return StackKernel(node.op.dtype)


@native_kernel.register(Reshape)
def _other_shape(node: Apply[Reshape, Tensor]) -> Kernel | None:
    x, shape = (v.type for v in node.inputs)
    return ReshapeKernel(x.dtype, x.ndim, node.op.ndim) if shape.dtype == "int64" else None


@native_kernel.register(SpecifyShape)
def _specified(node: Apply[SpecifyShape]) -> Kernel | None:
    x, *lengths = (v.type for v in node.inputs)
    if not isinstance(x, TensorType) or any(n.dtype != "int64" for n in lengths):
        return None
    # Lengths come in the order of the axes of the op.
    return (
        SpecifyShapeKernel(tuple(i in node.op.axes for i in range(x.ndim)), isinstance(node.op, SameLengths))
        if list(node.op.axes) == sorted(node.op.axes)
        else None
    )


@native_kernel.register(Rebroadcast)
def _rebroadcast(node: Apply[Rebroadcast]) -> Kernel | None:
    x = node.inputs[0].type
    if not isinstance(x, TensorType):
        return None
    claimed = {axis for axis, flag in node.op.pattern if flag}
    return SpecifyShapeKernel(tuple(i in claimed for i in range(x.ndim)))
