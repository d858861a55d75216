"""Native forms of ops that make tensors."""

from __future__ import annotations

from theano_graph import Apply
from theano_linker_c.kernels import FullKernel, Kernel, native_kernel

from .._core._type import Tensor
from ._alloc import Alloc


@native_kernel.register(Alloc)
def _filled(node: Apply[Alloc, Tensor]) -> Kernel | None:
    value, *lengths = (v.type for v in node.inputs)
    return FullKernel(value.dtype, value.broadcastable) if all(n.dtype == "int64" for n in lengths) else None
