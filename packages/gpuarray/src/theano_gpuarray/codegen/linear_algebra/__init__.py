"""Factors of matrices and solutions of linear equations on devices."""

from . import _equations as _equations
from ._kernel import (
    CholeskyGradKernel as CholeskyGradKernel,
    CholeskyKernel as CholeskyKernel,
    InverseKernel as InverseKernel,
    SolveKernel as SolveKernel,
)

__all__ = ["CholeskyGradKernel", "CholeskyKernel", "InverseKernel", "SolveKernel"]
