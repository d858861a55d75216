"""Native forms of operations on matrices, and functions of ``numpy.linalg`` applied to tensor variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from theano_graph import Apply, format_error
from theano_linker_c.kernels import Kernel, LapackKernel, native_kernel

from .._core._dtypes import AxisLike, TensorLike
from .._core._type import Tensor
from .._protocols._methods import call
from .._protocols._numpy_protocols import SYMBOLIC
from ._cholesky import Cholesky, CholeskyGrad, cholesky
from ._eigen import Eigh, EighGrad, eig, eigh, eigvalsh
from ._inverse import Cofactors, Det, MatrixInverse, SLogDet, det, matrix_inverse, pinv, slogdet
from ._orthogonal import SVD, QRFull, QRIncomplete, qr, svd
from ._products import lstsq, matrix_dot, matrix_power, norm, tensorinv, tensorsolve
from ._solve import Solve, solve

# ---- Native forms of operations on matrices of real numbers, and on stacks of them

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


# ---- Functions of ``numpy.linalg``, applied to tensor variables


def _norm(x: TensorLike, ord: float | str | None = None, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    if axis is None and not keepdims:
        return norm(x, ord)
    if isinstance(axis, Sequence) and len(axis) == 2 and ord not in (None, "fro"):
        raise TypeError(
            format_error(
                f"numpy.linalg.norm of order {ord!r} over two axes has no symbolic form",
                hint="use T.nlinalg.norm of each matrix, for instance by theano.map",
            )
        )
    result: Tensor = call("norm", x, 2 if ord in (None, "fro") else ord, axis=axis, keepdims=keepdims)
    return result


def _eigvalsh(a: TensorLike, UPLO: str = "L") -> Tensor:
    return eigvalsh(a, lower=UPLO.upper() == "L")


def _numpy_cholesky(a: TensorLike, *, upper: bool = False) -> Tensor:
    factor: Tensor = cholesky(a)
    if not upper:
        return factor
    return call("conj", factor).swapaxes(-2, -1)  # type: ignore[no-any-return]  # operations are found by name


def _multi_dot(arrays: Sequence[Any]) -> Tensor:
    return matrix_dot(*arrays)


def _one(op: Callable[..., Any]) -> Any:
    """Return a function of one matrix: options that NumPy has and the op does not are refused."""

    def function(a: TensorLike) -> Any:
        return op(a)

    return function


SYMBOLIC.update(
    {
        f"numpy.linalg.{name}": function
        for name, function in {
            "cholesky": _numpy_cholesky,
            "det": _one(det),
            "eig": _one(eig),
            "eigh": eigh,
            "eigvalsh": _eigvalsh,
            "inv": _one(matrix_inverse),
            "lstsq": lstsq,
            "matrix_power": matrix_power,
            "multi_dot": _multi_dot,
            "norm": _norm,
            "pinv": _one(pinv),
            "qr": qr,
            "slogdet": slogdet,
            "solve": solve,
            "svd": svd,
            "tensorinv": tensorinv,
            "tensorsolve": tensorsolve,
        }.items()
    }
)
