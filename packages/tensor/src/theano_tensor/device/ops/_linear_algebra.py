"""Factors of matrices, solutions of linear equations, eigenvalues and singular values on devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_gpuarray.codegen.linear_algebra import (
    CholeskyGradKernel,
    CholeskyKernel,
    DeterminantKernel,
    EigenKernel,
    InverseKernel,
    OrthogonalKernel,
    SingularValuesKernel,
    SolveKernel,
)
from theano_gpuarray.types import DEVICE
from theano_graph import Apply
from theano_linker_c.kernels import Kernel, native_kernel

from ..._core._type import Tensor
from ...linalg import (
    SVD,
    Cholesky,
    CholeskyGrad,
    Cofactors,
    CofactorsChange,
    Det,
    Eigh,
    EighGrad,
    MatrixInverse,
    QRFull,
    QRIncomplete,
    SLogDet,
    Solve,
)
from ...on_devices import device_expression

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


@_rules.register(Det)
def _determinant(node: Apply[Det, Tensor]) -> Kernel | None:
    return DeterminantKernel(node.inputs[0].type.dtype, False)


@_rules.register(SLogDet)
def _logarithm(node: Apply[SLogDet, Tensor]) -> Kernel | None:
    return DeterminantKernel(node.inputs[0].type.dtype, True)


@_rules.register(QRFull, QRIncomplete)
def _orthogonal(node: Apply[QRFull | QRIncomplete, Tensor]) -> Kernel | None:
    mode: Any = node.op.mode
    return OrthogonalKernel(node.inputs[0].type.dtype, mode)


@_rules.register(Eigh)
def _eigenvalues(node: Apply[Eigh, Tensor]) -> Kernel | None:
    return EigenKernel(node.inputs[0].type.dtype, node.op.UPLO == "L")


@_rules.register(SVD)
def _singular_values(node: Apply[Any, Tensor]) -> Kernel | None:
    return SingularValuesKernel(node.inputs[0].type.dtype, node.op.compute_uv, node.op.full_matrices)


@device_expression.register(EighGrad)
def _eigenvalues_gradient(op: EighGrad, inputs: Sequence[Any]) -> Tensor:
    return op.expression(*inputs)


@device_expression.register(Cofactors, CofactorsChange)
def _cofactors(op: Cofactors | CofactorsChange, inputs: Sequence[Any]) -> Tensor:
    return op.expression(*inputs)
