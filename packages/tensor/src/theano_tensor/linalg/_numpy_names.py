"""Functions of ``numpy.linalg``, applied to tensor variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from theano_graph import format_error

from .._core._dtypes import AxisLike, TensorLike
from .._core._type import Tensor
from .._protocols._methods import call
from .._protocols._numpy_protocols import SYMBOLIC
from ._equations._inverse import det, matrix_inverse, pinv, slogdet
from ._equations._solve import solve
from ._factors._cholesky import cholesky
from ._factors._eigen import eig, eigh, eigvalsh
from ._factors._orthogonal import qr, svd
from ._products import matrix_dot, matrix_power, norm
from ._tensors import lstsq, tensorinv, tensorsolve


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


def _cholesky(a: TensorLike, *, upper: bool = False) -> Tensor:
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
            "cholesky": _cholesky,
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
