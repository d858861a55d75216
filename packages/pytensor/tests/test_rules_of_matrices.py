"""Linear algebra with stacks, sorting and counting, sparse matrices."""

from __future__ import annotations

import unittest

import numpy as np
import pytensor
import pytensor.sparse as ps
import pytensor.tensor as pt
import scipy.sparse
from pytensor import In, typed_list
from pytensor.compile.mode import Mode
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.tensor import slinalg
from pytensor.tensor.slinalg import pivot_to_permutation
from pytensor_values import check

from theano_pytensor import TheanoLinker, report

RNG = np.random.default_rng(1)
SQUARE = RNG.normal(size=(3, 3)) + 4 * np.eye(3)
STACK = np.stack([SQUARE, SQUARE.T + np.eye(3)])
A, S, B, V = pt.dmatrix("a"), pt.dtensor3("s"), pt.dmatrix("b"), pt.dvector("v")
COLUMNS, VECTOR = RNG.normal(size=(3, 2)), RNG.normal(size=3)


def definite(x: pt.TensorVariable) -> pt.TensorVariable:
    """Return a positive definite matrix, or a stack of them."""
    return pt.matmul(x, x.mT) + pt.eye(3)


def definite_value() -> np.ndarray:
    """Return a positive definite matrix of which all elements differ, in the memory of rows."""
    return np.ascontiguousarray(SQUARE @ SQUARE.T)


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
        i = pt.lvector("i")
        check([i], [pt.signal.convolve1d(i, i)], np.arange(3), performed=["Blockwise{Convolve1d}"])

    def test_convolutions(self) -> None:
        outputs = [pt.signal.convolve1d(V, V[:2], mode=mode) for mode in ("full", "valid", "same")]
        check([V], [*outputs, pt.grad(outputs[1].sum(), V)], VECTOR)

    def test_factors_of_elimination(self) -> None:
        solution = slinalg.lu_solve(slinalg.lu_factor(A), V, b_ndim=1)
        outputs = [*slinalg.lu(S), *slinalg.lu(A, p_indices=True), *slinalg.lu(A, permute_l=True)]
        check([A, S, V], [*outputs, solution, *pt.grad(solution.sum(), [A, V])], SQUARE, STACK, VECTOR)

    def test_factors_of_complex_matrices_are_complex(self) -> None:
        z = pt.zmatrix("z")
        f = pytensor.function([z], pt.linalg.qr(z), mode="THEANO")
        q, r = f(SQUARE + 1j)
        np.testing.assert_allclose(q @ r, SQUARE + 1j)

    def test_factors_with_pivots_or_as_lapack_leaves_them(self) -> None:
        outputs = [pt.linalg.qr(A, mode=mode, pivoting=True) for mode in ("full", "economic", "r", "raw")]
        outputs += [pt.linalg.qr(A, mode="raw"), pt.linalg.qr(S, pivoting=True)]
        check([A, S], [part for parts in outputs for part in parts], SQUARE, STACK)

    def test_forms_of_schur(self) -> None:
        outputs = [*slinalg.schur(A), *slinalg.schur(A, output="complex", sort="lhp"), *slinalg.qz(A, A.T + 1)]
        check([A], [*outputs, *slinalg.qz(A, A.T, return_eigenvalues=True)], SQUARE - 4 * np.eye(3))

    def test_three_diagonals_and_the_equation_of_sylvester(self) -> None:
        banded = pt.triu(pt.tril(A, 1), -1)
        outputs = [
            pt.linalg.solve(banded, V, assume_a="tridiagonal", b_ndim=1),
            pt.linalg.solve_sylvester(A, A.T, A),
        ]
        check([A, V], [*outputs, pt.grad(outputs[0].sum(), A)], SQUARE, VECTOR)


#: Inputs, and outputs by them, of which the last input may be overwritten.
OVERWRITING = {
    "solve": ([A, B], [pt.linalg.solve(A, B)]),
    "of one vector": ([A, V], [pt.linalg.solve(A, V)]),
    "symmetric": ([A, B], [pt.linalg.solve(A, B, assume_a="sym")]),
    "definite": ([A, B], [pt.linalg.solve(A, B, assume_a="pos")]),
    "three diagonals": ([A, B], [pt.linalg.solve(A, B, assume_a="tridiagonal")]),
    "triangle": ([A, B], [pt.linalg.solve_triangular(A, B, lower=True)]),
    "unit triangle": ([A, B], [pt.linalg.solve_triangular(A, B, unit_diagonal=True)]),
    "by a factor": ([A, B], [pt.linalg.cho_solve((A, True), B)]),
    "matrix": ([B, A], [pt.linalg.solve(A, B)]),
    "symmetric matrix": ([B, A], [pt.linalg.solve(A, B, assume_a="sym")]),
    "definite matrix": ([B, A], [pt.linalg.solve(A, B, assume_a="pos")]),
    "cholesky": ([A], [pt.linalg.cholesky(A)]),
    "upper": ([A], [pt.linalg.cholesky(A, lower=False)]),
    "lu": ([A], list(slinalg.lu(A))),
    "indices": ([A], list(slinalg.lu(A, p_indices=True))),
    "permuted": ([A], list(slinalg.lu(A, permute_l=True))),
    "packed": ([A], list(slinalg.lu_factor(A))),
    "qr": ([A], list(pt.linalg.qr(A))),
    "schur": ([A], list(slinalg.schur(A))),
}
REWRITTEN = RewriteDatabaseQuery(include=["fast_run", "numba"], exclude=["cxx_only", "BlasOpt", "fusion"])


class TestOverwriting(unittest.TestCase):
    """Linear algebra in the memory of inputs that a function may overwrite."""

    def test_what_may_be_overwritten_is(self) -> None:
        values = {A: definite_value(), B: COLUMNS, V: VECTOR}
        for name, (inputs, outputs) in OVERWRITING.items():
            *others, last = inputs
            free = pytensor.function([*others, In(last, mutable=True)], outputs, mode=Mode(TheanoLinker(), REWRITTEN))
            plain = pytensor.function(inputs, outputs, mode="THEANO")
            self.assertEqual(report(free).performed, {}, name)
            for order in ("F", "C"):
                operands = [np.array(values[x], order=order) for x in inputs]
                results = free(*operands)
                for result, expected in zip(results, plain(*(values[x] for x in inputs)), strict=True):
                    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-12, strict=True, err_msg=name)
                *saved, written = zip(operands, inputs, strict=True)
                self.assertTrue(all((x == values[v]).all() for x, v in saved), name)
                if order == "F":
                    self.assertFalse((written[0] == values[written[1]]).all(), name)
            frozen = [values[x].copy("F") for x in inputs]
            frozen[-1].flags.writeable = False
            free(*frozen)
            np.testing.assert_array_equal(frozen[-1], values[last], err_msg=name)

    def test_an_input_that_others_read_is_kept(self) -> None:
        outputs = [pt.linalg.solve(A, B), B + 1]
        f = pytensor.function([A, In(B, mutable=True)], outputs, mode=Mode(TheanoLinker(), REWRITTEN))
        columns = COLUMNS.copy("F")
        x, more = f(SQUARE, columns)
        np.testing.assert_allclose(SQUARE @ x, COLUMNS)
        np.testing.assert_allclose(more, COLUMNS + 1)

    def test_empty_matrices(self) -> None:
        f = pytensor.function([A, In(B, mutable=True)], pt.linalg.solve(A, B), mode=Mode(TheanoLinker(), REWRITTEN))
        self.assertEqual(f(np.zeros((0, 0)), np.zeros((0, 2))).shape, (0, 2))


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

    def test_elements(self) -> None:
        x, i = ps.csc_matrix("x"), pt.lscalar("i")
        rows, columns = pt.constant([0, 2]), pt.constant([1, 2])
        outputs = [
            ps.get_item_list(x, rows),
            ps.get_item_2lists(x, rows, columns),
            ps.get_item_scalar(x, (i, i)),
            x[1:, :2],
        ]
        outputs = [ps.dense_from_sparse(y) if y.type.ndim == 2 else y for y in outputs]
        values = scipy.sparse.random(4, 3, 0.5, format="csc", random_state=2)
        check([x, i], [*outputs, ps.dense_from_sparse(pt.grad(outputs[1].sum(), x))], values, 2)


class TestLists(unittest.TestCase):
    def test_lists(self) -> None:
        items = typed_list.make_list([V, V * 2])
        more = typed_list.append(items, V + 1)
        check([V], [more[2], typed_list.length(more), typed_list.reverse(more)[0]], VECTOR)
