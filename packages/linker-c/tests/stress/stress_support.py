"""Shared parts of the stress tests: ops with native kernels, and whether the long form was asked for."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from function.function_support import ArrayType, Pointwise

from theano_graph import Apply
from theano_linker_c import Mode, scalar as sc
from theano_linker_c.kernels import ElementwiseKernel, Kernel, Reduction, ReductionKernel, native_kernel

#: The session `nox -s stress` sets this; otherwise the tests do a little of the same.
LONG = os.environ.get("THEANO_STRESS", "") == "long"
NATIVE = Mode("cvm", None)


class Native(Pointwise):
    """An elementwise op with a native form; all operands have the same type."""

    def __init__(self, op: sc.ScalarOp, compute: Any) -> None:
        super().__init__(f"native_{op}", compute)
        self.scalar_op = op


class NativeSum(Pointwise):
    """The sum of a vector."""

    def __init__(self) -> None:
        super().__init__("native_sum", np.sum)

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [ArrayType(inputs[0].type.dtype, ())()])


@native_kernel.register(Native)
def _native(node: Apply) -> Kernel:
    op: Any = node.op
    kind = node.outputs[0].type
    count, ndim = len(node.inputs), len(kind.shape)
    return ElementwiseKernel(op.scalar_op, (kind.dtype,) * count, (kind.dtype,), ((False,) * ndim,) * count, ndim)


@native_kernel.register(NativeSum)
def _native_sum(node: Apply) -> Kernel:
    dtype = node.inputs[0].type.dtype
    return ReductionKernel(sc.identity, (dtype,), (), (Reduction(sc.add, dtype, dtype, 0),), ((False,),), 1, (0,))


nadd, nmul, nexp = Native(sc.add, np.add), Native(sc.mul, np.multiply), Native(sc.exp, np.exp)
nsum = NativeSum()


def resident_bytes() -> int:
    """Return how much memory this process has in use, by the kernel's count."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
