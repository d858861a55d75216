"""Factors of matrices, solutions of linear equations, eigenvalues and singular values on devices."""

from . import _decompositions as _decompositions, _determinant as _determinant, _equations as _equations
from ._kernel import (
    CholeskyGradKernel as CholeskyGradKernel,
    CholeskyKernel as CholeskyKernel,
    DeterminantKernel as DeterminantKernel,
    EigenKernel as EigenKernel,
    InverseKernel as InverseKernel,
    OrthogonalKernel as OrthogonalKernel,
    SingularValuesKernel as SingularValuesKernel,
    SolveKernel as SolveKernel,
)

__all__ = [
    "CholeskyGradKernel",
    "CholeskyKernel",
    "DeterminantKernel",
    "EigenKernel",
    "InverseKernel",
    "OrthogonalKernel",
    "SingularValuesKernel",
    "SolveKernel",
]
