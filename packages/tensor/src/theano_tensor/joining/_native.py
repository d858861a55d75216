"""Native form of joins."""

from __future__ import annotations

from theano_graph import Apply
from theano_linker_c.kernels import Joined, Kernel, native_kernel

from ..shape import static_int
from ._join import Join


@native_kernel.register(Join)
def _joined(node: Apply) -> Kernel | None:
    axis, result = static_int(node.inputs[0]), node.outputs[0].type
    return None if axis is None else Joined(result.dtype, result.ndim, axis % result.ndim)
