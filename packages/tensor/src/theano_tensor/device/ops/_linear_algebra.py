"""Factors of matrices and solutions of linear equations on devices."""

from __future__ import annotations

from typing import Any

from theano_gpuarray.codegen.linear_algebra import CholeskyGradKernel, CholeskyKernel, InverseKernel, SolveKernel
from theano_gpuarray.types import DEVICE
from theano_graph import Apply
from theano_linker_c.kernels import Kernel, native_kernel

from ..._core._variable import Tensor
from ...linalg import Cholesky, CholeskyGrad, MatrixInverse, Solve

__all__: list[str] = []

_rules = native_kernel.for_target(DEVICE)


@_rules.register(Cholesky)
def _cholesky(node: Apply[Cholesky, Tensor]) -> Kernel | None:
    return CholeskyKernel(node.inputs[0].type.dtype, node.op.lower, node.op.on_error == "nan")


@_rules.register(CholeskyGrad)
def _cholesky_gradient(node: Apply[CholeskyGrad, Tensor]) -> Kernel | None:
    dtypes = {v.type.dtype for v in (*node.inputs, *node.outputs)}
    return CholeskyGradKernel(node.inputs[0].type.dtype, node.op.lower) if len(dtypes) == 1 else None


@_rules.register(Solve)
def _solve(node: Apply[Solve, Tensor]) -> Kernel | None:
    structure: Any = node.op.A_structure
    return SolveKernel(node.inputs[0].type.dtype, structure, node.op.lower)


@_rules.register(MatrixInverse)
def _inverse(node: Apply[MatrixInverse, Tensor]) -> Kernel | None:
    return InverseKernel(node.inputs[0].type.dtype)
