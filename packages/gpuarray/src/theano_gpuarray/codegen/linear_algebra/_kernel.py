"""What is computed: operations on square matrices, or on each one of a stack."""

from __future__ import annotations

from typing import Literal

from theano_graph import record
from theano_linker_c.kernels import Kernel

__all__ = ["CholeskyGradKernel", "CholeskyKernel", "InverseKernel", "SolveKernel"]


@record
class CholeskyKernel(Kernel):
    """The triangular factor of a positive definite matrix.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    lower : bool
        Which factor it is; the triangle that it fills is read.
    nan : bool
        Whether there is a factor full of NaN for a matrix that is not positive definite, rather than an error.
    """

    dtype: str
    lower: bool
    nan: bool


@record
class CholeskyGradKernel(Kernel):
    """The gradient by a matrix; inputs are the matrix, its factor, and the gradient by the factor.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    lower : bool
        Which factor it is; the gradient lies in that triangle.
    """

    dtype: str
    lower: bool


@record
class SolveKernel(Kernel):
    """The solution of linear equations; inputs are a matrix and a vector or matrix, or stacks of matrices.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    structure : {"general", "symmetric", "lower_triangular", "upper_triangular"}
    lower : bool
        Which triangle of a symmetric matrix is read.
    """

    dtype: str
    structure: Literal["general", "symmetric", "lower_triangular", "upper_triangular"]
    lower: bool


@record
class InverseKernel(Kernel):
    """The inverse of a matrix.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    """

    dtype: str
