"""Linear algebra by SciPy: Cholesky factors, equations, the matrix exponential, generalized eigenvalues."""

from typing import TYPE_CHECKING

from theano_tensor.linalg import (
    QZ as QZ,
    Cholesky as Cholesky,
    CholeskyGrad as CholeskyGrad,
    Eigvalsh as Eigvalsh,
    EigvalshGrad as EigvalshGrad,
    Expm as Expm,
    ExpmGrad as ExpmGrad,
    LUFactor as LUFactor,
    PivotsToPermutation as PivotsToPermutation,
    Schur as Schur,
    Solve as Solve,
    SolveTridiagonal as SolveTridiagonal,
    SolveTridiagonalFactor as SolveTridiagonalFactor,
    TriangularSylvester as TriangularSylvester,
    TridiagonalFactor as TridiagonalFactor,
    cholesky as cholesky,
    cholesky_solve as cholesky_solve,
    eigvalsh as eigvalsh,
    expm as expm,
    kron as kron,
    lu as lu,
    lu_factor as lu_factor,
    lu_solve as lu_solve,
    qz as qz,
    schur as schur,
    solve as solve,
    solve_lower_triangular as solve_lower_triangular,
    solve_symmetric as solve_symmetric,
    solve_triangular_sylvester as solve_triangular_sylvester,
    solve_tridiagonal as solve_tridiagonal,
    solve_upper_triangular as solve_upper_triangular,
)

from .._names import lazy_names

__all__ = [
    "QZ",
    "Cholesky",
    "CholeskyGrad",
    "Eigvalsh",
    "EigvalshGrad",
    "Expm",
    "ExpmGrad",
    "LUFactor",
    "PivotsToPermutation",
    "Schur",
    "Solve",
    "SolveTridiagonal",
    "SolveTridiagonalFactor",
    "TriangularSylvester",
    "TridiagonalFactor",
    "cholesky",
    "cholesky_solve",
    "eigvalsh",
    "expm",
    "kron",
    "lu",
    "lu_factor",
    "lu_solve",
    "qz",
    "schur",
    "solve",
    "solve_lower_triangular",
    "solve_symmetric",
    "solve_triangular_sylvester",
    "solve_tridiagonal",
    "solve_upper_triangular",
]

if TYPE_CHECKING:
    from ._linear_algebra import MATRIX_STRUCTURES as MATRIX_STRUCTURES, imported_scipy as imported_scipy
else:
    LAZY = {
        "theano": "theano tensor",
        "theano_graph": "Apply Op",
        "theano_tensor": "as_tensor_variable",
        "._linear_algebra": "MATRIX_STRUCTURES imported_scipy",
    }
    __getattr__, __dir__ = lazy_names(__name__, __package__, LAZY)
