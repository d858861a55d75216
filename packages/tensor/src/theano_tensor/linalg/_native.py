"""Native forms of operations on matrices of real numbers, and on stacks of them."""

from __future__ import annotations

from typing import Any

from theano_graph import Apply
from theano_linker_c.kernels import Kernel, LapackKernel, native_kernel

from .._core._type import Tensor
from ._equations._cofactors import Cofactors
from ._equations._inverse import Det, MatrixInverse, SLogDet
from ._equations._solve import Solve
from ._factors._cholesky import Cholesky, CholeskyGrad
from ._factors._eigen import Eigh, EighGrad
from ._factors._orthogonal import SVD, QRFull, QRIncomplete

_NATIVE_DTYPES = frozenset({"float32", "float64"})


def _dtype_of(node: Apply[Any, Tensor]) -> str | None:
    """Return the dtype of the matrices, or None where the runtime does not take them: stacks beside vectors."""
    x = node.inputs[0]
    is_taken = x.type.ndim == 2 or all(v.type.ndim == x.type.ndim for v in node.inputs)
    return x.type.dtype if is_taken and x.type.dtype in _NATIVE_DTYPES else None


@native_kernel.register(Cholesky)
def _cholesky(node: Apply[Cholesky, Tensor]) -> Kernel | None:
    dtype = _dtype_of(node)
    return None if dtype is None else LapackKernel("cholesky", dtype, node.op.lower)


@native_kernel.register(CholeskyGrad)
def _cholesky_gradient(node: Apply[CholeskyGrad, Tensor]) -> Kernel | None:
    dtype = _dtype_of(node)
    same = all(v.type.dtype == dtype for v in node.inputs)
    return LapackKernel("factor_back", dtype) if dtype is not None and same and node.op.lower else None


@native_kernel.register(Solve)
def _solve(node: Apply[Solve, Tensor]) -> Kernel | None:
    dtype, op = _dtype_of(node), node.op
    if dtype is None or op.destroy_map:
        return None
    match op.A_structure:
        case "general":
            return LapackKernel("solve", dtype)
        case "symmetric":
            return LapackKernel("symmetric", dtype, op.lower)
        case _:
            return LapackKernel("triangular", dtype, op.A_structure == "lower_triangular")


@native_kernel.register(MatrixInverse)
def _inverse(node: Apply[MatrixInverse, Tensor]) -> Kernel | None:
    dtype = _dtype_of(node)
    return None if dtype is None else LapackKernel("inverse", dtype)


@native_kernel.register(Det)
def _det(node: Apply[Det, Tensor]) -> Kernel | None:
    dtype = _dtype_of(node)
    return None if dtype is None else LapackKernel("det", dtype)


@native_kernel.register(Cofactors)
def _cofactors(node: Apply[Cofactors, Tensor]) -> Kernel | None:
    dtype = node.inputs[0].type.dtype
    return LapackKernel("cofactors", dtype) if dtype in _NATIVE_DTYPES else None


@native_kernel.register(SLogDet)
def _slogdet(node: Apply[SLogDet, Tensor]) -> Kernel | None:
    dtype = _dtype_of(node)
    return None if dtype is None else LapackKernel("slogdet", dtype)


@native_kernel.register(Eigh)
def _eigh(node: Apply[Eigh, Tensor]) -> Kernel | None:
    dtype = _dtype_of(node)
    return None if dtype is None else LapackKernel("eigh", dtype, node.op.UPLO == "L")


@native_kernel.register(EighGrad)
def _eigh_gradient(node: Apply[EighGrad, Tensor]) -> Kernel | None:
    x, *others = node.inputs
    same = all(v.type.dtype == x.type.dtype for v in others)
    fits = [v.type.ndim - x.type.ndim for v in others] == [-1, 0, -1, 0]
    return (
        LapackKernel("eigh_back", x.type.dtype, node.op.UPLO == "L")
        if same and fits and (x.type.dtype in _NATIVE_DTYPES)
        else None
    )


@native_kernel.register(SVD)
def _svd(node: Apply[Any, Tensor]) -> Kernel | None:
    dtype = _dtype_of(node)
    flag = 0 if not node.op.compute_uv else 2 if node.op.full_matrices else 1
    return None if dtype is None else LapackKernel("svd", dtype, flag)


@native_kernel.register(QRFull, QRIncomplete)
def _qr(node: Apply[QRFull | QRIncomplete, Tensor]) -> Kernel | None:
    dtype, flag = _dtype_of(node), {"r": 0, "reduced": 1, "complete": 2}.get(node.op.mode)
    return None if dtype is None or flag is None else LapackKernel("qr", dtype, flag)
