"""Linear algebra against NumPy and SciPy: values in both machines, shapes, gradients, R-operators, pickles."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

import theano_tensor.linalg as L
from theano_testing.tensor import OpRecord, op_tests

RNG = np.random.default_rng(5)
SQUARE = RNG.normal(size=(4, 4)) + 3 * np.eye(4)
STACK = RNG.normal(size=(2, 3, 3)) + 3 * np.eye(3)
TALL, WIDE = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 4))
DEFINITE = SQUARE @ SQUARE.T
DEFINITE_STACK = STACK @ STACK.swapaxes(-1, -2)
VECTOR, COLUMNS = RNG.normal(size=4), RNG.normal(size=(4, 2))
HERMITIAN = DEFINITE + 1j * (SQUARE - SQUARE.T)
SINGLE = SQUARE.astype("float32")
EMPTY = np.zeros((0, 0))
KRONECKER = ((WIDE, COLUMNS), (VECTOR, WIDE), (WIDE, VECTOR), (STACK, WIDE))


def solve_stacks(a: Any, b: Any) -> Any:
    """Solve with NumPy; its first version takes a matrix beside a stack of matrices for a stack of vectors."""
    columns = b[:, None] if b.ndim == 1 else b
    result = np.linalg.solve(a, columns.reshape((1,) * (a.ndim - columns.ndim) + columns.shape))
    return result[..., 0] if b.ndim == 1 else result


def _unfolded(a: Any, b: Any) -> Any:
    """The Kronecker product, index by index."""
    pairs = np.multiply.outer(a, b)
    if pairs.ndim == 3:
        return pairs.transpose(1, 0, 2).ravel()
    shape = pairs.shape
    turned = pairs.transpose(0, 2, 1, *range(3, pairs.ndim))
    return turned.reshape(shape[0] * shape[2], shape[1] * shape[3], *shape[4:])


def _up_to_sign(columns: Any) -> Any:
    """A function that does not change when a column of vectors changes its sign."""
    return columns**2


def _triangular(a: Any, b: Any, lower: bool) -> Any:
    return scipy.linalg.solve_triangular(a, b, lower=lower)


RECORDS = (
    OpRecord(
        "MatrixInverse",
        L.matrix_inverse,
        np.linalg.inv,
        [(SQUARE,), (STACK,), (SINGLE,), (HERMITIAN,), (EMPTY,)],
        [(SQUARE,), (STACK,)],
    ),
    OpRecord("Pinv", L.pinv, np.linalg.pinv, [(TALL,), (WIDE,), (STACK,), (SINGLE,)], [(TALL,), (WIDE,), (STACK,)]),
    OpRecord(
        "Det",
        L.det,
        np.linalg.det,
        [(SQUARE,), (STACK,), (SINGLE,), (np.ones((2, 2)),), (EMPTY,)],
        [(SQUARE,), (STACK,)],
    ),
    OpRecord(
        "Slogdet",
        lambda x: list(L.slogdet(x)),
        lambda x: list(np.linalg.slogdet(x)),
        [(SQUARE,), (-SQUARE[:3, :3],), (STACK,), (SINGLE,), (np.ones((2, 2)),)],
    ),
    OpRecord(
        "LogOfDet", lambda x: L.slogdet(x)[1], lambda x: np.linalg.slogdet(x)[1], [(SQUARE,)], [(SQUARE,), (STACK,)]
    ),
    OpRecord(
        "Trace",
        L.trace,
        lambda x: np.trace(x, axis1=-2, axis2=-1),
        [(SQUARE,), (STACK,), (TALL,)],
        [(TALL,), (STACK,)],
    ),
    OpRecord(
        "Cholesky",
        lambda x: [L.cholesky(x), L.Cholesky(lower=False)(x)],
        lambda x: [np.linalg.cholesky(x), np.linalg.cholesky(x).conj().swapaxes(-1, -2)],
        [(DEFINITE,), (DEFINITE_STACK,), (DEFINITE.astype("float32"),), (HERMITIAN + 40 * np.eye(4),), (EMPTY,)],
    ),
    OpRecord("CholeskyGradient", L.cholesky, np.linalg.cholesky, [(DEFINITE,)], [(DEFINITE,), (DEFINITE_STACK,)]),
    OpRecord(
        "UpperCholeskyGradient",
        L.Cholesky(lower=False),
        lambda x: np.linalg.cholesky(x).T,
        [(DEFINITE,)],
        [(DEFINITE,)],
    ),
    OpRecord(
        "Solve",
        L.solve,
        np.linalg.solve,
        [(SQUARE, VECTOR), (SQUARE, COLUMNS), (SINGLE, VECTOR.astype("float32")), (STACK, STACK), (EMPTY, EMPTY)],
        [(SQUARE, VECTOR), (SQUARE, COLUMNS), (STACK, STACK)],
    ),
    OpRecord(
        "SolveStacks",
        L.solve,
        solve_stacks,
        [(STACK, VECTOR[:3]), (STACK[0], STACK), (STACK, STACK[:1]), (STACK, WIDE)],
        [(STACK, VECTOR[:3]), (STACK, WIDE)],
        strided=False,
    ),
    OpRecord(
        "SolveTriangular",
        lambda a, b: [L.solve_lower_triangular(a, b), L.solve_upper_triangular(a, b)],
        lambda a, b: [_triangular(a, b, lower) for lower in (True, False)],
        [(SQUARE, VECTOR), (SQUARE, COLUMNS), (SINGLE, VECTOR.astype("float32")), (SQUARE * 1j, VECTOR)],
    ),
    OpRecord(
        "SolveLowerGradient",
        L.solve_lower_triangular,
        lambda a, b: _triangular(a, b, True),
        [(SQUARE, VECTOR)],
        [(SQUARE, VECTOR), (SQUARE, COLUMNS)],
    ),
    OpRecord(
        "SolveUpperGradient",
        L.solve_upper_triangular,
        lambda a, b: _triangular(a, b, False),
        [(SQUARE, VECTOR)],
        [(SQUARE, VECTOR), (SQUARE, COLUMNS)],
    ),
    OpRecord(
        "SolveSymmetric",
        L.solve_symmetric,
        lambda a, b: np.linalg.solve(np.triu(a) + np.triu(a, 1).T, b),
        [(SQUARE, VECTOR), (SQUARE, COLUMNS), (SINGLE, VECTOR.astype("float32"))],
        [(SQUARE, VECTOR), (SQUARE, COLUMNS)],
    ),
    OpRecord(
        "SolveSymmetricLower",
        L.Solve("symmetric", lower=True),
        lambda a, b: np.linalg.solve(np.tril(a) + np.tril(a, -1).T, b),
        [(SQUARE, VECTOR)],
        [(SQUARE, VECTOR)],
    ),
    OpRecord(
        "CholeskySolve",
        L.cholesky_solve,
        lambda f, b: scipy.linalg.cho_solve((f, True), b),
        [(SQUARE, VECTOR), (SQUARE, COLUMNS)],
        [(SQUARE, VECTOR)],
    ),
    OpRecord(
        "Eigh",
        lambda x: [L.eigh(x)[0], _up_to_sign(L.eigh(x, "U")[1])],
        lambda x: [np.linalg.eigh(x)[0], _up_to_sign(np.linalg.eigh(x, "U")[1])],
        [(DEFINITE,), (DEFINITE_STACK,), (DEFINITE.astype("float32"),)],
        [(DEFINITE,), (SQUARE,), (DEFINITE_STACK,)],
    ),
    OpRecord("EighHermitian", lambda x: L.eigh(x)[0], lambda x: np.linalg.eigh(x)[0], [(HERMITIAN,)]),
    OpRecord(
        "Eig",
        lambda x: L.eig(x)[0],
        lambda x: np.linalg.eig(x)[0].astype("complex128"),
        [(SQUARE,), (STACK,), (HERMITIAN,)],
    ),
    OpRecord(
        "Eigvalsh",
        L.eigvalsh,
        lambda a, b: scipy.linalg.eigh(a, b, eigvals_only=True),
        [(DEFINITE, DEFINITE[::-1, ::-1])],
        [(DEFINITE, DEFINITE[::-1, ::-1]), (SQUARE, DEFINITE)],
    ),
    OpRecord(
        "EigvalshAlone",
        lambda a: [L.eigvalsh(a), L.eigvalsh(a, None, lower=False)],
        lambda a: [np.linalg.eigvalsh(a), np.linalg.eigvalsh(a, "U")],
        [(SQUARE,), (STACK,), (SINGLE,)],
        [(SQUARE,), (STACK,)],
    ),
    OpRecord(
        "Svd",
        lambda x: [_up_to_sign(v) if i != 1 else v for i, v in enumerate(L.svd(x))],
        lambda x: [_up_to_sign(v) if i != 1 else v for i, v in enumerate(np.linalg.svd(x))],
        [(SQUARE,), (STACK,), (SINGLE,)],
        [],
    ),
    OpRecord(
        "SvdReduced",
        lambda x: [_up_to_sign(v) if i != 1 else v for i, v in enumerate(L.svd(x, full_matrices=False))],
        lambda x: [_up_to_sign(v) if i != 1 else v for i, v in enumerate(np.linalg.svd(x, False))],
        [(TALL,), (WIDE,), (STACK,)],
        [(SQUARE,), (TALL,), (WIDE,), (STACK,)],
    ),
    OpRecord(
        "SingularValues",
        lambda x: L.svd(x, compute_uv=False),
        lambda x: np.linalg.svd(x, compute_uv=False),
        [(TALL,), (WIDE,), (STACK,)],
        [(TALL,), (WIDE,)],
    ),
    OpRecord(
        "Qr",
        L.qr,
        lambda x: list(np.linalg.qr(x)),
        [(SQUARE,), (TALL,), (WIDE,), (STACK,), (SINGLE,)],
        [(SQUARE,), (TALL,), (WIDE,), (STACK,)],
    ),
    OpRecord(
        "QrForms",
        lambda x: [*L.qr(x, "complete"), L.qr(x, "r"), *L.qr(x, "raw")],
        lambda x: [*np.linalg.qr(x, "complete"), np.linalg.qr(x, "r"), *np.linalg.qr(x, "raw")],
        [(SQUARE,), (TALL,), (WIDE,)],
    ),
    OpRecord("QrTriangle", lambda x: L.qr(x, "r"), lambda x: np.linalg.qr(x, "r"), [(TALL,)], [(TALL,), (WIDE,)]),
    OpRecord(
        "Expm", L.expm, scipy.linalg.expm, [(SQUARE / 3,), (STACK,), (SINGLE / 3,)], [(SQUARE / 3,), (STACK / 3,)]
    ),
    OpRecord(
        "MatrixPower",
        lambda x: [L.matrix_power(x, n) for n in (0, 1, 2, 5, -3)],
        lambda x: [np.linalg.matrix_power(x, n) for n in (0, 1, 2, 5, -3)],
        [(SQUARE,), (STACK,)],
        [(SQUARE / 3,)],
    ),
    OpRecord(
        "MatrixDot",
        lambda x, y: L.matrix_dot(x, y, x),
        lambda x, y: x @ y @ x,
        [(TALL, WIDE), (SQUARE, SQUARE)],
        [(TALL, WIDE)],
    ),
    OpRecord("Kron", L.kron, _unfolded, KRONECKER, [(TALL, COLUMNS)]),
    OpRecord(
        "Norms",
        lambda x: [L.norm(x, order) for order in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)],
        lambda x: [np.linalg.norm(x, order) for order in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)],
        [(SQUARE,), (TALL,)],
        [(TALL,)],
        same_dtype=False,
    ),
    OpRecord(
        "VectorNorms",
        lambda x: [L.norm(x, order) for order in (None, 0, 1, 2, 3, -1, np.inf, "-inf")],
        lambda x: [np.linalg.norm(x, order) for order in (None, 0, 1, 2, 3, -1, np.inf, -np.inf)],
        [(VECTOR,)],
        same_dtype=False,
    ),
    OpRecord(
        "Tensorinv",
        lambda x: L.tensorinv(x, 2),
        np.linalg.tensorinv,
        [(RNG.normal(size=(4, 6, 8, 3)),)],
        [(RNG.normal(size=(2, 3, 3, 2)),)],
    ),
    OpRecord(
        "Tensorsolve",
        lambda a, b: L.tensorsolve(a, b),
        np.linalg.tensorsolve,
        [(RNG.normal(size=(2, 3, 6)), RNG.normal(size=(2, 3)))],
        [(RNG.normal(size=(2, 3, 6)), RNG.normal(size=(2, 3)))],
    ),
    OpRecord(
        "TensorsolveAxes",
        lambda a, b: L.tensorsolve(a, b, (0, 2)),
        lambda a, b: np.linalg.tensorsolve(a, b, (0, 2)),
        [(RNG.normal(size=(3, 6, 2)), RNG.normal(size=6))],
        [(RNG.normal(size=(3, 6, 2)), RNG.normal(size=6))],
    ),
    OpRecord(
        "Lstsq",
        lambda a, b: L.lstsq(a, b)[0],
        lambda a, b: np.linalg.lstsq(a, b, rcond=-1)[0],
        [(TALL, VECTOR), (TALL, COLUMNS), (WIDE, VECTOR[:3])],
        [(TALL, VECTOR), (TALL, COLUMNS), (WIDE, VECTOR[:3])],
    ),
)

globals().update({test.__name__: test for test in (op_tests(record) for record in RECORDS)})
