"""Linear algebra on devices, by the names that libraries had there; compiled functions contain the ops of the host.

These move to the device themselves: Cholesky factors, solutions of equations, inverses and determinants are computed
there, by cuSOLVER and cuBLAS where they are. So are singular values, eigenvectors and orthogonal factors where cuSOLVER
is; elsewhere they are computed on the host, to which operands are transferred.
"""

from __future__ import annotations

from typing import Any

from theano_graph import format_error
from theano_tensor import as_tensor_variable, dimshuffle
from theano_tensor.linalg import SVD, Cholesky, Eigh, MatrixInverse, Solve, qr

from ..tensor._expression_ops import ExpressionOp
from ._ops import OnDevice

_TRANSPOSES = ("N", "T", "C")


def _turned(A: Any, trans: str) -> Any:
    """Return the matrix with which equations are solved; those of real numbers have no other adjoint."""
    return A if trans == "N" else dimshuffle(as_tensor_variable(A), [1, 0])


def _checked(where: str, trans: str) -> str:
    if trans not in _TRANSPOSES:
        raise ValueError(format_error(f"{where}: unknown trans={trans!r}", hint="use 'N', 'T' or 'C'"))
    return trans


class _OneMatrix(ExpressionOp):
    """Base of ops of one matrix."""

    def host(self) -> Any:
        """Return the op of the host."""
        raise TypeError(f"{type(self).__name__} has no op of the host")

    def operands(self, A: Any) -> list[Any]:
        """Apply to the operands of the host's op."""
        return list(self.host().make_node(A).inputs)

    def expression(self, A: Any) -> list[Any]:
        """Return the results of the op of the host."""
        return list(self.host().make_node(A).outputs)


class _Equations(ExpressionOp):
    """Base of solutions of equations."""

    structure: str
    trans: str

    def operands(self, A: Any, b: Any) -> list[Any]:
        """Apply to the operands of the host's op."""
        return list(Solve(self.structure).make_node(A, b).inputs)

    def expression(self, A: Any, b: Any) -> list[Any]:
        """Return the solution."""
        return [Solve(self.structure)(_turned(A, self.trans), b)]


class GpuCusolverSolve(OnDevice, _Equations):
    """The solution of linear equations on a device; inputs are a matrix, and a vector or a matrix.

    Parameters
    ----------
    A_structure : {"general", "symmetric"}
        Of a symmetric matrix the upper triangle is read.
    trans : {"N", "T", "C"}
        Whether the matrix is transposed.
    inplace : bool
        Accepted; memory of arrays that nobody needs any more is used again either way.
    """

    __props__ = ("A_structure", "trans", "inplace")

    def __init__(self, A_structure: str = "general", trans: str = "N", inplace: bool = False) -> None:
        if A_structure not in ("general", "symmetric"):
            raise ValueError(
                format_error(
                    f"GpuCusolverSolve: unknown A_structure={A_structure!r}",
                    hint="use 'general' or 'symmetric'; gpu_solve knows triangular ones",
                )
            )
        self.A_structure = self.structure = A_structure
        self.trans, self.inplace = _checked("GpuCusolverSolve", trans), bool(inplace)


class GpuCublasTriangularSolve(OnDevice, _Equations):
    """The solution of linear equations with a triangular matrix on a device.

    Parameters
    ----------
    lower : bool
        Which triangle it is; the other one is not read.
    trans : {"N", "T", "C"}
        Whether the matrix is transposed.
    """

    __props__ = ("lower", "trans")

    def __init__(self, lower: bool = True, trans: str = "N") -> None:
        self.lower, self.trans = bool(lower), _checked("GpuCublasTriangularSolve", trans)
        # Transposed, it is the other triangle.
        self.structure = "lower_triangular" if self.lower == (trans == "N") else "upper_triangular"


class GpuCholesky(OnDevice, _OneMatrix):
    """The triangular factor of a positive definite matrix on a device.

    Parameters
    ----------
    lower : bool
        Which factor it is.
    inplace : bool
        Accepted; memory of arrays that nobody needs any more is used again either way.
    """

    __props__ = ("lower", "inplace")

    def __init__(self, lower: bool = True, inplace: bool = False) -> None:
        self.lower, self.inplace = bool(lower), bool(inplace)

    def host(self) -> Any:
        """Return the op of the host."""
        return Cholesky(self.lower)


class GpuMagmaCholesky(GpuCholesky):
    """The same as :class:`GpuCholesky`, by another name."""


class GpuMagmaMatrixInverse(OnDevice, _OneMatrix):
    """The inverse of a matrix on a device.

    Parameters
    ----------
    inplace : bool
        Accepted; memory of arrays that nobody needs any more is used again either way.
    """

    __props__ = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = bool(inplace)

    def host(self) -> Any:
        """Return the op of the host."""
        return MatrixInverse()


class GpuMagmaSVD(OnDevice, _OneMatrix):
    """Singular values of a matrix, and singular vectors, on a device.

    Parameters
    ----------
    full_matrices : bool
        Whether the matrices of singular vectors are square.
    compute_uv : bool
        Whether there are singular vectors: results are then u, s and vt, else s.
    """

    __props__ = ("full_matrices", "compute_uv")

    def __init__(self, full_matrices: bool = True, compute_uv: bool = True) -> None:
        self.full_matrices, self.compute_uv = bool(full_matrices), bool(compute_uv)

    def host(self) -> Any:
        """Return the op of the host."""
        return SVD(self.full_matrices, self.compute_uv)


class _Orthogonal(ExpressionOp):
    """Factors of a matrix, or the triangular one alone."""

    complete: bool

    def operands(self, A: Any) -> list[Any]:
        """Take a matrix."""
        return [as_tensor_variable(A)]

    def expression(self, A: Any) -> list[Any]:
        """Return the factors."""
        factors = qr(A, "reduced" if self.complete else "r")
        return list(factors) if self.complete else [factors]


class GpuMagmaQR(OnDevice, _Orthogonal):
    """Orthogonal and triangular factor of a matrix, on a device.

    Parameters
    ----------
    complete : bool
        Whether there are both, in their reduced form; else the triangular one alone.
    """

    __props__ = ("complete",)

    def __init__(self, complete: bool = True) -> None:
        self.complete = bool(complete)


class GpuMagmaEigh(OnDevice, _OneMatrix):
    """Eigenvalues of a symmetric matrix, and eigenvectors, on a device.

    Parameters
    ----------
    UPLO : {"L", "U"}
        Which triangle is read.
    compute_v : bool
        Whether there are eigenvectors.
    """

    __props__ = ("UPLO", "compute_v")

    def __init__(self, UPLO: str = "L", compute_v: bool = True) -> None:
        self.UPLO, self.compute_v = UPLO, bool(compute_v)
        self.host()

    def host(self) -> Any:
        """Return the op of the host."""
        return Eigh(self.UPLO)

    def expression(self, A: Any) -> list[Any]:
        """Return the eigenvalues, and the eigenvectors where they are wanted."""
        return super().expression(A)[: 2 if self.compute_v else 1]


def gpu_solve(A: Any, b: Any, A_structure: str = "general", trans: str = "N") -> Any:
    """Return the solution x of ``A @ x == b`` on a device.

    Parameters
    ----------
    A : tensor_like, shape (n, n)
    b : tensor_like, shape (n,) or (n, k)
    A_structure : {"general", "symmetric", "lower", "upper"}
    trans : {"N", "T", "C"}
        Whether A is transposed.

    Returns
    -------
    GpuArrayVariable

    Raises
    ------
    ShapeError, ValueError
        As :class:`theano.tensor.slinalg.Solve`; at run time LinAlgError for a singular matrix.
    """
    if A_structure in ("lower", "upper"):
        return GpuCublasTriangularSolve(A_structure == "lower", trans)(A, b)
    return GpuCusolverSolve(A_structure, trans)(A, b)


def gpu_solve_lower_triangular(A: Any, b: Any, trans: str = "N") -> Any:
    """Return the solution of equations of which the lower triangle of A is read; see :func:`gpu_solve`."""
    return GpuCublasTriangularSolve(True, trans)(A, b)


def gpu_solve_upper_triangular(A: Any, b: Any, trans: str = "N") -> Any:
    """Return the solution of equations of which the upper triangle of A is read; see :func:`gpu_solve`."""
    return GpuCublasTriangularSolve(False, trans)(A, b)


def gpu_cholesky(A: Any, lower: bool = True) -> Any:
    """Return the triangular factor of a positive definite matrix on a device; see :class:`GpuCholesky`."""
    return GpuCholesky(lower)(A)


def gpu_matrix_inverse(a: Any) -> Any:
    """Return the inverse of a matrix on a device."""
    return GpuMagmaMatrixInverse()(a)


def gpu_svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Return u, s and vt, or s, of a matrix; see :class:`GpuMagmaSVD`."""
    return GpuMagmaSVD(full_matrices, compute_uv)(a)


def gpu_qr(a: Any, complete: bool = True) -> Any:
    """Return the factors q and r, or r, of a matrix; see :class:`GpuMagmaQR`."""
    return GpuMagmaQR(complete)(a)
