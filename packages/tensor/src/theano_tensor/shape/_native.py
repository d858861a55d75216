"""Native forms of ops on shapes."""

from __future__ import annotations

from theano_graph import Apply
from theano_linker_c.kernels import Gather, Kernel, Length, OtherShape, native_kernel

from .._type import TensorType
from ._reshape import Reshape
from ._shape import MakeVector, ShapeI


@native_kernel.register(ShapeI)
def _length(node: Apply) -> Kernel | None:
    return Length(node.op.i) if isinstance(node.inputs[0].type, TensorType) else None


@native_kernel.register(MakeVector)
def _gather(node: Apply) -> Kernel | None:
    dtype = node.op.dtype
    return Gather(dtype) if all(x.type.dtype == dtype for x in node.inputs) else None


@native_kernel.register(Reshape)
def _other_shape(node: Apply) -> Kernel | None:
    x, shape = (v.type for v in node.inputs)
    return OtherShape(x.dtype, x.ndim, node.op.ndim) if shape.dtype == "int64" else None
