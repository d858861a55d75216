"""Rewrites of linear algebra: inverses, determinants, known structure and hints."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any
from unittest import mock

import numpy as np

import theano_tensor as T
import theano_tensor.linalg as L
from theano_graph import FunctionGraph
from theano_linker_c import function

RNG = np.random.default_rng(3)
SQUARE, OTHER = RNG.normal(size=(4, 4)) + 3 * np.eye(4), RNG.normal(size=(4, 4))
DEFINITE, VECTOR = SQUARE @ SQUARE.T, RNG.normal(size=4)
FACTOR = np.linalg.cholesky(DEFINITE)


class RewriteCase(unittest.TestCase):
    def setUp(self) -> None:
        self.x, self.y, self.b = T.dmatrix("x"), T.dmatrix("y"), T.dvector("b")

    def check(
        self, inputs: Sequence[Any], output: Any, args: Sequence[Any], expected: Any, ops: Sequence[type]
    ) -> list[Any]:
        """Compare values, and the classes of the ops of linear algebra that run."""
        call = function(inputs, output)
        np.testing.assert_allclose(call(*args), expected, rtol=1e-9, atol=1e-9)
        nodes = call.maker.fgraph.toposort()
        private = [node.op for node in nodes if type(node.op).__module__.startswith("theano_tensor.linalg")]
        self.assertEqual([type(op) for op in private], list(ops))
        return private


class TestEquations(RewriteCase):
    def test_inverse_times_something_becomes_a_solution(self) -> None:
        x, y, b = self.x, self.y, self.b
        inverse = np.linalg.inv(SQUARE)
        self.check([x, b], T.dot(L.matrix_inverse(x), b), [SQUARE, VECTOR], inverse @ VECTOR, [L.Solve])
        self.check([x, b], T.dot(b, L.matrix_inverse(x)), [SQUARE, VECTOR], VECTOR @ inverse, [L.Solve])
        self.check([x, y], T.dot(L.matrix_inverse(x), y), [SQUARE, OTHER], inverse @ OTHER, [L.Solve])
        self.check([x, y], T.dot(y, L.matrix_inverse(x)), [SQUARE, OTHER], OTHER @ inverse, [L.Solve])
        self.check([x, y], T.dot(y, L.matrix_inverse(x).T), [SQUARE, OTHER], OTHER @ inverse.T, [L.Solve])
        self.check([x, y], T.dot(L.matrix_inverse(x.T), y), [SQUARE, OTHER], inverse.T @ OTHER, [L.Solve])

    def test_inverse_that_is_needed_itself_stays(self) -> None:
        inverse = L.matrix_inverse(self.x)
        call = function([self.x, self.b], [inverse, T.dot(inverse, self.b)])
        self.assertIn(L.MatrixInverse, [type(node.op) for node in call.maker.fgraph.toposort()])
        np.testing.assert_allclose(call(SQUARE, VECTOR)[1], np.linalg.solve(SQUARE, VECTOR))

    def test_pseudo_inverse_never_becomes_a_solution(self) -> None:
        expected = np.linalg.solve(SQUARE, VECTOR)
        self.check([self.x, self.b], T.dot(L.pinv(self.x), self.b), [SQUARE, VECTOR], expected, [L.MatrixPinv])

    def test_inverse_of_inverse(self) -> None:
        self.check([self.x], L.matrix_inverse(L.matrix_inverse(self.x)), [SQUARE], SQUARE, [])

    def test_both_inverses_of_a_matrix_and_its_transpose_are_one(self) -> None:
        total = L.matrix_inverse(self.x) + L.matrix_inverse(self.x.T)
        inverse = np.linalg.inv(SQUARE)
        self.check([self.x], total, [SQUARE], inverse + inverse.T, [L.MatrixInverse])

    def test_triangular_matrices_are_recognised(self) -> None:
        x, b = self.x, self.b
        lower = L.solve(L.cholesky(x), b)
        (_, op) = self.check([x, b], lower, [DEFINITE, VECTOR], np.linalg.solve(FACTOR, VECTOR), [L.Cholesky, L.Solve])
        self.assertEqual(op.A_structure, "lower_triangular")
        upper = L.solve(L.cholesky(x).T, b)
        (_, op) = self.check(
            [x, b], upper, [DEFINITE, VECTOR], np.linalg.solve(FACTOR.T, VECTOR), [L.Cholesky, L.Solve]
        )
        self.assertEqual(op.A_structure, "upper_triangular")

    def test_product_of_a_factor_with_its_transpose_is_solved_by_the_factor(self) -> None:
        factor = L.cholesky(self.x)
        expected = np.linalg.solve(DEFINITE, VECTOR)
        solved = L.solve(T.dot(factor, factor.T), self.b)
        self.check([self.x, self.b], solved, [DEFINITE, VECTOR], expected, [L.Cholesky, L.Solve, L.Solve])


class TestDeterminants(RewriteCase):
    def test_logarithm_of_a_large_determinant(self) -> None:
        large = 1e3 * np.eye(200)
        self.check([self.x], T.log(L.det(self.x)), [large], 200 * np.log(1e3), [L.SLogDet])
        self.check([self.x], T.log(abs(L.det(self.x))), [-large], 200 * np.log(1e3), [L.SLogDet])

    def test_logarithm_of_a_negative_or_no_determinant(self) -> None:
        call = function([self.x], T.log(L.det(self.x)))
        self.assertTrue(np.isnan(call(np.diag([1.0, -1.0]))))
        self.assertEqual(call(np.ones((2, 2))), -np.inf)

    def test_gradient_of_the_logarithm_is_the_inverse(self) -> None:
        gradient = T.grad(T.log(L.det(self.x)), self.x)
        self.check([self.x], gradient, [SQUARE], np.linalg.inv(SQUARE).T, [L.MatrixInverse])

    def test_determinant_of_a_factor(self) -> None:
        expected = np.linalg.det(FACTOR)
        self.check([self.x], L.det(L.cholesky(self.x)), [DEFINITE], expected, [L.Cholesky])

    def test_a_factor_that_is_there_gives_the_determinant(self) -> None:
        expected = np.linalg.det(DEFINITE)
        for lower in (True, False):
            determinant: Any = L.det(self.x)
            for result in (determinant, T.log(determinant), T.log(abs(determinant))):
                output = L.Cholesky(lower=lower)(self.x).sum() + result
                value = expected if result is determinant else np.log(expected)
                self.check([self.x], output, [DEFINITE], FACTOR.sum() + value, [L.Cholesky])

    def test_a_factor_that_may_be_missing_does_not(self) -> None:
        factor = L.Cholesky(on_error="nan")(self.x)
        call = function([self.x], [factor, L.det(self.x)])
        values = call(-SQUARE @ SQUARE.T)
        self.assertTrue(np.isnan(values[0]).all())
        np.testing.assert_allclose(values[1], np.linalg.det(-SQUARE @ SQUARE.T))

    def test_trace_of_a_product_needs_no_product(self) -> None:
        for a, b in ((SQUARE, OTHER), (SQUARE[:3], OTHER), (SQUARE, OTHER[:, :2])):
            call = function([self.x, self.y], L.trace(T.dot(self.x, self.y)))
            np.testing.assert_allclose(call(a, b), np.trace(a @ b))
            self.assertFalse(any("ot" in type(node.op).__name__ for node in call.maker.fgraph.toposort()))


class TestHints(RewriteCase):
    def test_positive_definite_matrix_is_factored_once(self) -> None:
        x, b = self.x, self.b
        reference = L.psd(x)
        both = T.dot(b, L.solve(reference, b)) + T.log(L.det(reference))
        expected = VECTOR @ np.linalg.solve(DEFINITE, VECTOR) + np.linalg.slogdet(DEFINITE)[1]
        self.check([x, b], both, [DEFINITE, VECTOR], expected, [L.Cholesky, L.Solve, L.Solve])

    def test_factor_is_made_where_it_is_used_only(self) -> None:
        result = []
        make_node = L.Cholesky.make_node

        def counting(op: Any, x: Any) -> Any:
            result.append(x)
            return make_node(op, x)

        with mock.patch.object(L.Cholesky, "make_node", counting):
            function([self.x, self.b], L.solve(L.psd(self.x), self.b))
        self.assertEqual(len(result), 1)

    def test_determinant(self) -> None:
        self.check([self.x], L.det(L.psd(self.x)), [DEFINITE], np.linalg.det(DEFINITE), [L.Cholesky])

    def test_determinants_of_what_is_not_finite(self) -> None:
        call = function([self.x], [*L.slogdet(self.x), L.det(self.x)])
        for diagonal in (
            [np.nan],
            [-2.0, np.nan],
            [-2.0, np.nan, 3.0],
            [np.nan, 2.0, 3.0],
            [np.inf, 0.0],
            [-np.inf, 2.0],
        ):
            with self.subTest(diagonal=diagonal), np.errstate(invalid="ignore"):
                matrix = np.diag(diagonal)
                expected = [*np.linalg.slogdet(matrix), np.linalg.det(matrix)]
                np.testing.assert_array_equal([float(value) for value in call(matrix)], expected)

    def test_inverse_of_a_positive_definite_matrix_times_a_vector(self) -> None:
        product = T.dot(L.matrix_inverse(L.psd(self.x)), self.b)
        expected = np.linalg.solve(DEFINITE, VECTOR)
        self.check([self.x, self.b], product, [DEFINITE, VECTOR], expected, [L.Cholesky, L.Solve, L.Solve])

    def test_symmetric_and_triangular_matrices(self) -> None:
        for hint, matrix in (("symmetric", DEFINITE), ("lower_triangular", FACTOR), ("upper_triangular", FACTOR.T)):
            with self.subTest(hint):
                solved = L.solve(L.Hint(**{hint: True})(self.x), self.b)
                expected = np.linalg.solve(matrix, VECTOR)
                (op,) = self.check([self.x, self.b], solved, [matrix, VECTOR], expected, [L.Solve])
                self.assertEqual(op.A_structure, hint)

    def test_hints_leave_the_graph(self) -> None:
        call = function([self.x], L.Hint(anything=3)(self.x) * 2)
        self.assertFalse(any(L.is_hint_node(node) for node in call.maker.fgraph.apply_nodes))
        np.testing.assert_array_equal(call(SQUARE), 2 * SQUARE)

    def test_gradient_passes_a_hint(self) -> None:
        gradient = T.grad((L.psd(self.x) * self.y).sum(), self.x)
        np.testing.assert_array_equal(function([self.x, self.y], gradient)(SQUARE, OTHER), OTHER)

    def test_feature_knows_what_was_hinted(self) -> None:
        hinted = L.psd(self.x)
        self.assertEqual(L.hints(hinted), {"psd": True, "symmetric": True})
        self.assertEqual(L.hints(self.x), {})
        graph = FunctionGraph([self.x], [hinted * 2], clone=False)
        feature = L.HintsFeature()
        graph.attach_feature(feature)
        self.assertTrue(feature.hints_of(graph, hinted)["psd"])
        new = self.x + 0
        graph.replace(hinted, new)
        self.assertTrue(feature.hints_of(graph, new)["psd"])
        graph.remove_feature(feature)
        self.assertEqual(feature.hints, {})

    def test_optimizer_attaches_the_feature_where_there_are_hints(self) -> None:
        plain, hinted = (FunctionGraph([self.x], [out]) for out in (self.x * 2, L.psd(self.x) * 2))
        for graph in (plain, hinted):
            L.HintsOptimizer().rewrite(graph)
        self.assertEqual([hasattr(graph, "hints_of") for graph in (plain, hinted)], [False, True])

    def test_bound_of_the_spectral_radius(self) -> None:
        largest = np.linalg.eigvalsh(DEFINITE)[-1]
        bounds = [float(L.spectral_radius_bound(self.x, k).eval({self.x: DEFINITE})) for k in (1, 3, 5)]
        self.assertTrue(all(bound >= largest * (1 - 1e-12) for bound in bounds))
        self.assertEqual(bounds, sorted(bounds, reverse=True))
        self.assertLess(bounds[-1], 1.05 * largest)


if __name__ == "__main__":
    unittest.main()
