"""Linear algebra by NumPy: inverses, determinants, eigenvalues, factors with orthonormal columns, tensor equations."""

from typing import TYPE_CHECKING

from theano_tensor import AllocDiag as AllocDiag, ExtractDiag as ExtractDiag, diag as diag
from theano_tensor.linalg import (
    SVD as SVD,
    Det as Det,
    Eig as Eig,
    Eigh as Eigh,
    EighGrad as EighGrad,
    Lstsq as Lstsq,
    MatrixInverse as MatrixInverse,
    MatrixPinv as MatrixPinv,
    QRFull as QRFull,
    QRIncomplete as QRIncomplete,
    SLogDet as SLogDet,
    TensorInv as TensorInv,
    TensorSolve as TensorSolve,
    det as det,
    eig as eig,
    eigh as eigh,
    matrix_dot as matrix_dot,
    matrix_inverse as matrix_inverse,
    matrix_power as matrix_power,
    norm as norm,
    pinv as pinv,
    qr as qr,
    slogdet as slogdet,
    svd as svd,
    tensorinv as tensorinv,
    tensorsolve as tensorsolve,
    trace as trace,
)

from .._names import lazy_names
from ._linear_algebra import alloc_diag as alloc_diag, lstsq as lstsq

extract_diag = ExtractDiag()

__all__ = [
    "SVD",
    "AllocDiag",
    "Det",
    "Eig",
    "Eigh",
    "EighGrad",
    "ExtractDiag",
    "Lstsq",
    "MatrixInverse",
    "MatrixPinv",
    "QRFull",
    "QRIncomplete",
    "SLogDet",
    "TensorInv",
    "TensorSolve",
    "alloc_diag",
    "det",
    "diag",
    "eig",
    "eigh",
    "extract_diag",
    "lstsq",
    "matrix_dot",
    "matrix_inverse",
    "matrix_power",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "svd",
    "tensorinv",
    "tensorsolve",
    "trace",
]

if TYPE_CHECKING:
    from ._linear_algebra import _zero_disconnected as _zero_disconnected
else:
    LAZY = {
        "theano": "theano tensor",
        "theano_graph": "Apply Op",
        "theano_tensor": "DisconnectedType as_tensor_variable",
        "._linear_algebra": "_zero_disconnected",
    }
    __getattr__, __dir__ = lazy_names(__name__, __package__, LAZY)
