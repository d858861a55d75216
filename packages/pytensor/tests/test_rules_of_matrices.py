"""Linear algebra with stacks, sorting and counting, sparse matrices."""

from __future__ import annotations

import unittest

import numpy as np
import pytensor
import pytensor.sparse as ps
import pytensor.tensor as pt
import scipy.sparse
from pytensor.tensor.slinalg import pivot_to_permutation
from pytensor_values import check

import theano_pytensor as theano_pytensor

RNG = np.random.default_rng(1)
SQUARE = RNG.normal(size=(3, 3)) + 4 * np.eye(3)
STACK = np.stack([SQUARE, SQUARE.T + np.eye(3)])
A, S, B, V = pt.dmatrix("a"), pt.dtensor3("s"), pt.dmatrix("b"), pt.dvector("v")
COLUMNS, VECTOR = RNG.normal(size=(3, 2)), RNG.normal(size=3)


def definite(x: pt.TensorVariable) -> pt.TensorVariable:
    """Return a positive definite matrix, or a stack of them."""
    return pt.matmul(x, x.mT) + pt.eye(3)


class TestLinearAlgebra(unittest.TestCase):
    def test_products(self) -> None:
        outputs = [A @ B, pt.dot(A, V), pt.dot(V, V), pt.matmul(S, B), pt.batched_dot(S, S), pt.linalg.kron(A, B)]
        check([A, B, S, V], outputs, SQUARE, COLUMNS, STACK, VECTOR)

    def test_factors(self) -> None:
        lower = pt.linalg.cholesky(definite(A))
        outputs = [lower, pt.linalg.cholesky(definite(S)), pt.linalg.det(S), *pt.linalg.slogdet(A), pt.linalg.inv(S)]
        check(
            [A, S],
            [*outputs, pt.linalg.expm(A), *pt.linalg.eigh(definite(A))[:1], pt.grad(lower.sum(), A)],
            SQUARE,
            STACK,
        )

    def test_equations(self) -> None:
        triangle = pt.tril(A)
        outputs = [
            pt.linalg.solve(A, B), pt.linalg.solve(A, V), pt.linalg.solve(S, B), pt.linalg.solve(A, V, assume_a="gen"),
            pt.linalg.solve_triangular(triangle, B, lower=True),
            pt.linalg.solve_triangular(triangle, V, trans=1, lower=True),
            pt.linalg.cho_solve((pt.linalg.cholesky(definite(A)), True), B), pt.linalg.solve(definite(S), V, b_ndim=1),
        ]  # fmt: skip
        check([A, B, S, V], outputs, SQUARE, COLUMNS, STACK, VECTOR)

    def test_a_matrix_that_is_not_definite_has_no_factor_and_no_error(self) -> None:
        check([A], [pt.linalg.cholesky(A - 100.0)], SQUARE)

    def test_singular_matrices_have_no_solution_and_no_error(self) -> None:
        corner = pt.set_subtensor(pt.tril(A)[1, 1], 0.0)
        outputs = [pt.linalg.solve_triangular(corner, V, lower=True), pt.linalg.solve(A * 0, V)]
        f = pytensor.function([A, V], outputs, mode="THEANO")
        self.assertTrue(all(np.isnan(result).all() for result in f(SQUARE, VECTOR)))

    def test_stacks_of_ops_that_take_none(self) -> None:
        outputs = [pt.linalg.qr(S)[1], pt.linalg.block_diag(S, S)]
        check([S], outputs, STACK)

    def test_stacks_of_an_op_without_a_rule(self) -> None:
        check([V], [pt.signal.convolve1d(V, V)], VECTOR, performed=["Blockwise{Convolve1d}"])


class TestAxes(unittest.TestCase):
    def test_sorting_and_searching(self) -> None:
        outputs = [pt.sort(A, axis=0), pt.argsort(V), pt.searchsorted(pt.sort(V), pt.constant([0.0])), pt.cumsum(A, 1)]
        check([A, V], [*outputs, pt.cumprod(V), pt.repeat(A, 2, axis=1), pt.diff(V), pt.unique(V)], SQUARE, VECTOR)

    def test_permutations_of_pivots(self) -> None:
        i = pt.ivector("i")
        outputs = [pivot_to_permutation(i), pivot_to_permutation(i, inverse=True)]
        for pivots in ([1, 2, 2, 3], [2, 2, 3, 3], []):
            check([i], outputs, np.array(pivots, "int32"))

    def test_flat_indices(self) -> None:
        i = pt.lvector("i")
        outputs = [*pt.unravel_index(i, (2, 3)), pt.ravel_multi_index((i // 3, i % 3), (2, 3))]
        check([i], outputs, np.array([0, 4, 5]))


class TestSparse(unittest.TestCase):
    def test_products_and_sums(self) -> None:
        x = ps.csr_matrix("x")
        outputs = [ps.dot(x, A), ps.structured_dot(x, B), ps.sp_sum(x, axis=0), ps.dense_from_sparse(x.T)]
        values = scipy.sparse.random(4, 3, 0.5, format="csr", random_state=2)
        check([x, A, B], [*outputs, pt.grad(ps.structured_dot(x, B).sum(), B)], values, SQUARE, COLUMNS)
