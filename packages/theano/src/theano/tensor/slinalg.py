"""Linear algebra by SciPy: Cholesky factors, equations, the matrix exponential, generalized eigenvalues."""

from typing import TYPE_CHECKING

from theano_tensor.linalg import (
    Cholesky as Cholesky,
    CholeskyGrad as CholeskyGrad,
    Eigvalsh as Eigvalsh,
    EigvalshGrad as EigvalshGrad,
    Expm as Expm,
    ExpmGrad as ExpmGrad,
    Solve as Solve,
    cholesky as cholesky,
    cholesky_solve as cholesky_solve,
    eigvalsh as eigvalsh,
    expm as expm,
    kron as kron,
    solve as solve,
    solve_lower_triangular as solve_lower_triangular,
    solve_symmetric as solve_symmetric,
    solve_upper_triangular as solve_upper_triangular,
)

from .._lazy import lazy_names

__all__ = [
    "Cholesky",
    "CholeskyGrad",
    "Eigvalsh",
    "EigvalshGrad",
    "Expm",
    "ExpmGrad",
    "Solve",
    "cholesky",
    "cholesky_solve",
    "eigvalsh",
    "expm",
    "kron",
    "solve",
    "solve_lower_triangular",
    "solve_symmetric",
    "solve_upper_triangular",
]

if TYPE_CHECKING:
    from ._linalg_tools import (
        MATRIX_STRUCTURES as MATRIX_STRUCTURES,
        imported_scipy as imported_scipy,
    )
else:
    LAZY = {
        "theano": "theano tensor",
        "theano_graph": "Apply Op",
        "theano_tensor": "as_tensor_variable",
        "._linalg_tools": "MATRIX_STRUCTURES imported_scipy",
    }
    __getattr__, __dir__ = lazy_names(__name__, __package__, LAZY)
