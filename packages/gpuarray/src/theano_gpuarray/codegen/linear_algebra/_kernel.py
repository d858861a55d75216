"""What is computed: operations on matrices, or on each one of a stack."""

from __future__ import annotations

from typing import Literal

from theano_graph import record
from theano_linker_c.kernels import Kernel

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


@record
class DeterminantKernel(Kernel):
    """The determinant of a matrix; or its sign, and the logarithm of its size.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    logarithm : bool
        Whether there are both results.
    """

    dtype: str
    logarithm: bool


@record
class OrthogonalKernel(Kernel):
    """An orthogonal and a triangular factor of a matrix of any shape.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    mode : {"reduced", "complete", "r", "raw"}
        Which results there are, as in NumPy.
    """

    dtype: str
    mode: Literal["reduced", "complete", "r", "raw"]


@record
class EigenKernel(Kernel):
    """The eigenvalues of a symmetric matrix, ascending, and its eigenvectors.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    lower : bool
        Which triangle is read.
    """

    dtype: str
    lower: bool


@record
class SingularValuesKernel(Kernel):
    """The singular values of a matrix of any shape, descending, between its singular vectors.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    vectors : bool
        Whether there are vectors; otherwise values are the only result.
    full : bool
        Whether matrices of vectors are square.
    """

    dtype: str
    vectors: bool
    full: bool
