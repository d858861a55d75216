"""A type of arrays on the host, and contexts, for the tests of this folder."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from theano_gpuarray.contexts import DeviceUnavailable, GpuContext, open_context, reg_context
from theano_gpuarray.types import register_host_type
from theano_graph import Apply, Op, Type
from theano_linker_c import ArraySpec
from theano_linker_c.kernels import ElementwiseKernel, native_kernel
from theano_linker_c.scalar import add
from theano_testing.gpuarray import tested_device


class Host(Type):
    def __init__(self, dtype: str, shape: tuple[int | None, ...]) -> None:
        self.dtype, self.shape = np.dtype("float64" if dtype == "floatX" else dtype).name, tuple(shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Host) and (self.dtype, self.shape) == (other.dtype, other.shape)

    def __hash__(self) -> int:
        return hash((self.dtype, self.shape))

    def array_spec(self) -> ArraySpec:
        return ArraySpec(self.dtype, self.shape)

    def dtype_specs(self) -> tuple[type, str, str]:
        return float, f"npy_{self.dtype}", f"NPY_{self.dtype.upper()}"

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        if hasattr(value, "type"):
            raise TypeError("got a symbolic variable")
        array = np.asarray(value)
        if not allow_downcast and not np.can_cast(array.dtype, self.dtype):
            raise TypeError(f"converting from {array.dtype} to {self.dtype} may lose precision")
        return array.astype(self.dtype)

    def values_eq(self, a: Any, b: Any) -> bool:
        return a.dtype == b.dtype and np.array_equal(a, b)

    def values_eq_approx(self, a: Any, b: Any) -> bool:
        return a.dtype == b.dtype and a.shape == b.shape and np.allclose(a, b)

    def __str__(self) -> str:
        return f"Host({self.dtype}, {self.shape})"


register_host_type(lambda dtype, shape: Host(dtype, tuple(shape)))


class Sum(Op):
    """The sum of two arrays of one shape."""

    __props__ = ()

    def make_node(self, x: Any, y: Any) -> Apply:
        if x.type.dtype != y.type.dtype:
            raise TypeError("the operands have different dtypes")
        return Apply(self, [x, y], [x.type.make_variable()])


@native_kernel.register(Sum)
def _sum(node: Apply) -> Any:
    kind = node.inputs[0].type
    if kind.dtype == "int8":
        return None
    pattern = tuple(n == 1 for n in kind.shape)
    return ElementwiseKernel(add, (kind.dtype,) * 2, (kind.dtype,), (pattern, pattern), kind.ndim)


@cache
def named_context(name: str) -> GpuContext:
    """Return a context of the driver that runs nothing, registered under a name."""
    context = open_context("null0")
    reg_context(name, context)
    return context


@cache
def opencl() -> GpuContext | None:
    """Return a context that computes, registered under the name "types_opencl"; None where there is no OpenCL."""
    try:
        context = open_context(tested_device())
    except DeviceUnavailable:
        return None
    reg_context("types_opencl", context)
    return context
