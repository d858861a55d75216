"""An op of arrays on a device whose C code is given, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from theano_gpuarray.arrays import GpuArray, asarray
from theano_gpuarray.contexts import DeviceUnavailable, GpuContext, open_context, reg_context
from theano_gpuarray.kernel_base import GpuKernelBase, Kernel
from theano_gpuarray.types import GpuArrayType, host_type, register_host_type
from theano_graph import Apply, Op, Type
from theano_linker_c.cop import c_thunk
from theano_testing.gpuarray import tested_device

NAME = "c code"


class Host(Type):
    """Arrays on the host, whose dtypes the type of arrays on devices asks for."""

    def __init__(self, dtype: str, shape: tuple[int | None, ...]) -> None:
        self.dtype, self.shape = np.dtype(dtype).name, shape

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        return np.asarray(value, self.dtype)


try:
    host_type("float32", ())
except RuntimeError:  # no other folder of tests has registered arrays on the host
    register_host_type(lambda dtype, shape: Host(dtype, tuple(shape)))


@cache
def context() -> GpuContext:
    try:
        result = open_context(tested_device())
    except DeviceUnavailable:
        result = open_context("null0")
    reg_context(NAME, result)
    return result


def computes() -> bool:
    return context().kind != "null"


class Given(GpuKernelBase, Op):
    """An op with the C code `code` in a block, in which `%(x0)s`, ..., `%(z)s`, `%(ctx)s` and `%(fail)s` stand."""

    __props__ = ("code", "dtype", "ndim")
    _f16_ok = True

    def __init__(self, code: str, dtype: str, ndim: int, kernels: Sequence[Kernel] = (), headers: str = "") -> None:
        self.code, self.dtype, self.ndim = code, dtype, ndim
        self.kernels = list(kernels)
        self.headers = headers

    def make_node(self, *inputs: Any) -> Apply:
        output = GpuArrayType(self.dtype, (False,) * self.ndim, NAME).make_variable()
        return Apply(self, list(inputs), [output])

    def gpu_kernels(self, node: Apply, name: str) -> list[Kernel]:
        return self.kernels

    def c_headers(self) -> list[str]:
        return [*super().c_headers(), *self.headers.split()]

    def c_code(
        self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: Mapping[str, str]
    ) -> str:
        names = {f"x{i}": x for i, x in enumerate(inputs)}
        return (
            "{\n"
            + self.code % {**names, "z": outputs[0], "ctx": sub["params"], "fail": sub["fail"], "name": name}
            + "\n}"
        )


def run(
    code: str,
    *inputs: Any,
    dtype: str = "float32",
    ndim: int = 1,
    kernels: Sequence[Kernel] = (),
    storage: Any = None,
    headers: str = "",
    values: Sequence[Any] | None = None,
) -> Any:
    """Compile C code for arrays, run it (on `values`, where they are given), and return the array that it makes."""
    operands = [x if isinstance(x, GpuArray) else asarray(np.asarray(x), context=context()) for x in inputs]
    variables = [GpuArrayType(x.dtype.name, (False,) * x.ndim, NAME).make_variable() for x in operands]
    if not operands:
        context()
    node = Given(code, dtype, ndim, kernels, headers).make_node(*variables)
    thunk = c_thunk(node)
    assert thunk is not None
    (result,) = thunk(operands if values is None else values, None if storage is None else [storage])
    return result
