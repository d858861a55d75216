"""The library of tensors: making, indexing, reducing, sorting, joining; linear algebra; Fourier transforms.

Run ``python examples/chapter_library.py``; every statement about the results is checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.tensor import extra_ops, fft, nlinalg, slinalg

A = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
V = np.array([3.0, 1.0, 2.0])


X, W = T.dmatrix("x"), T.dvector("v")


def check(expression: Any, expected: Any) -> None:
    """Compare an expression of `X` and `W` with NumPy's result."""
    result = theano.function([X, W], expression, on_unused_input="ignore")(A, V)
    np.testing.assert_allclose(result, expected, atol=1e-12)


def making() -> None:
    """Filled tensors, ranges and shapes."""
    check(T.zeros_like(X) + T.ones((3, 3)), np.ones((3, 3)))
    check(T.arange(X.shape[0]) * W, np.arange(3) * V)
    check(T.eye(3) + T.alloc(2.0, 3, 1), np.eye(3) + 2)
    check(T.diag(W) + T.tri(3), np.diag(V) + np.tri(3))


def indexing() -> None:
    """Slices, arrays and masks read parts; `set_subtensor` and `inc_subtensor` write them in a new tensor."""
    check(X[1:, ::-1], A[1:, ::-1])
    check(X[[2, 0]], A[[2, 0]])
    check(X[X > 1], A[A > 1])
    changed = A.copy()
    changed[0, 1:] = 9
    check(T.set_subtensor(X[0, 1:], 9), changed)
    check(T.inc_subtensor(W[[0, 0, 1]], 1.0), V + np.array([2, 1, 0]))


def reducing_and_sorting() -> None:
    """Along an axis, along several, or over all."""
    check(X.sum(axis=0) + X.max(axis=1), A.sum(0) + A.max(1))
    check(X.var() + X.prod(axis=(0, 1)), A.var() + A.prod())
    check(T.sort(W) + T.argsort(W), np.sort(V) + np.argsort(V))
    check(T.topk(W, 2).sum(), 5.0)
    check(extra_ops.cumsum(X, axis=1), A.cumsum(axis=1))
    check(extra_ops.repeat(W, 2), V.repeat(2))
    check(extra_ops.to_one_hot(T.cast(W, "int64"), 4), np.eye(4)[[3, 1, 2]])


def joining_and_shaping() -> None:
    """Stacks, splits, and other shapes of the same numbers."""
    check(T.concatenate([X, X], axis=1), np.concatenate([A, A], axis=1))
    check(T.stack([W, W * 2]), np.stack([V, V * 2]))
    check(X.reshape((9,)) + T.tile(W, 3), A.reshape(9) + np.tile(V, 3))
    check(W.dimshuffle("x", 0) + W.dimshuffle(0, "x"), V[None] + V[:, None])
    check(T.tensordot(X, X, axes=[[0], [1]]), A.T @ A.T)
    first, remaining = T.split(W, [1, 2], 2)
    check(first.sum() - remaining.sum(), 0.0)


def linear_algebra() -> None:
    """Factors, solutions and eigenvalues, with gradients."""
    check(nlinalg.matrix_inverse(X), np.linalg.inv(A))
    check(nlinalg.det(X) + nlinalg.trace(X), np.linalg.det(A) + 9)
    check(slinalg.solve(X, W), np.linalg.solve(A, V))
    factor = slinalg.cholesky(X)
    check(T.dot(factor, factor.T), A)
    values, vectors = nlinalg.eigh(X)
    check(T.dot(vectors * values, vectors.T), A)
    slope = T.grad(T.log(nlinalg.det(X)), X)
    check(slope, np.linalg.inv(A).T)


def transforms() -> None:
    """Real Fourier transforms of the rows: the last dimension holds real and imaginary parts."""
    rows = T.dmatrix("rows")
    data = np.random.RandomState(0).rand(2, 8)
    f = theano.function([rows], [fft.rfft(rows), fft.irfft(fft.rfft(rows))])
    transformed, back = f(data)
    expected = np.fft.rfft(data)
    np.testing.assert_allclose(transformed, np.stack([expected.real, expected.imag], axis=-1))
    np.testing.assert_allclose(back, data)


def main() -> None:
    making()
    indexing()
    reducing_and_sorting()
    joining_and_shaping()
    linear_algebra()
    transforms()
    print("library: 6 chapters agree with NumPy")


if __name__ == "__main__":
    main()
