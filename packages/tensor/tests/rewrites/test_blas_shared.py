"""Products that update shared variables: in their storage, with other readers too, and nothing changes on failure."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_linker_c import In, Mode, function, shared
from theano_tensor.linear import Gemm, Gemv, Ger

from .blas_cases import RNG, A, B, C, D, Z, each, of_blas, variables

MODES: tuple[Any, ...] = ("FAST_RUN", "FAST_COMPILE", Mode("py", "fast_run"), Mode("cvm", "o3"))


def storage(variable: Any) -> int:
    """Return where the value of a shared variable lies."""
    address: int = variable.get_value(borrow=True, return_internal_type=True).ctypes.data
    return address


class TestUpdates(unittest.TestCase):
    def test_step_of_a_descent(self) -> None:
        n = variables("float64")
        for mode in (*MODES, "DebugMode"):
            with self.subTest(mode=str(mode)):
                w = shared(Z.copy(), name="w")
                f = function([n["a"], n["b"]], updates=[(w, w - 0.1 * tt.dot(n["a"], n["b"]))], mode=mode)
                f(A, B)
                f(2 * A, B)
                np.testing.assert_allclose(w.get_value(), Z - 0.3 * (A @ B), rtol=1e-12)

    def test_goes_straight_into_the_storage(self) -> None:
        n = variables("float64")
        w, v = shared(Z.copy(), name="w"), shared(Z[:, 0].copy(), name="v")
        updates = [(w, 0.5 * w - tt.dot(n["a"], n["b"])), (v, v + tt.dot(n["a"], n["u"]))]
        f = function([n["a"], n["b"], n["u"]], updates=updates)
        self.assertEqual(sorted(t.__name__ for t in of_blas(f)), ["Gemm", "Gemv"])
        before = storage(w), storage(v)
        f(A, B, B[:, 0].copy())
        self.assertEqual((storage(w), storage(v)), before)
        np.testing.assert_allclose(w.get_value(), 0.5 * Z - A @ B)
        np.testing.assert_allclose(v.get_value(), Z[:, 0] + A @ B[:, 0])

    def test_rank_one(self) -> None:
        x, y = tt.dvectors("x", "y")
        w = shared(Z.copy(), name="w")
        f = function([x, y], updates=[(w, w - 0.5 * tt.outer(x, y))])
        self.assertEqual(of_blas(f), [Ger])
        f(A[:, 0].copy(), B[0].copy())
        np.testing.assert_allclose(w.get_value(), Z - 0.5 * np.outer(A[:, 0], B[0]))

    def test_a_value_that_somebody_else_holds_stays(self) -> None:
        n = variables("float64")
        w = shared(Z.copy(), name="w")
        f = function([n["a"], n["b"]], updates=[(w, w - tt.dot(n["a"], n["b"]))])
        held = w.get_value(borrow=True, return_internal_type=True)
        f(A, B)
        np.testing.assert_array_equal(held, Z)
        np.testing.assert_allclose(w.get_value(), Z - A @ B)

    def test_outputs_show_the_old_value(self) -> None:
        n = variables("float64")
        w = shared(Z.copy(), name="w")
        f = function([n["a"], n["b"]], [w, w.sum(), w.T], updates=[(w, w - tt.dot(n["a"], n["b"]))])
        for value in (Z, Z - A @ B):
            old, total, turned = f(A, B)
            np.testing.assert_allclose(old, value)
            np.testing.assert_allclose(total, value.sum())
            np.testing.assert_allclose(turned, value.T)

    def test_the_new_value_as_an_output(self) -> None:
        n = variables("float64")
        w = shared(Z.copy(), name="w")
        new = w - tt.dot(n["a"], n["b"])
        f = function([n["a"], n["b"]], [new, (new**2).sum()], updates=[(w, new)])
        output, norm = f(A, B)
        np.testing.assert_allclose(output, Z - A @ B)
        np.testing.assert_allclose(norm, ((Z - A @ B) ** 2).sum())
        output[...] = 0
        np.testing.assert_allclose(w.get_value(), Z - A @ B)

    def test_chain_of_products(self) -> None:
        n = variables("float64")
        w = shared(Z.copy(), name="w")
        f = function([n[k] for k in "abcd"], updates=[(w, 2 * w + tt.dot(n["a"], n["b"]) - tt.dot(n["c"], n["d"]))])
        self.assertEqual(of_blas(f), [Gemm, Gemm])
        before = storage(w)
        f(A, B, C, D)
        np.testing.assert_allclose(w.get_value(), 2 * Z + A @ B - C @ D)
        self.assertEqual(storage(w), before)


class TestAliases(unittest.TestCase):
    def test_the_variable_is_a_factor_of_its_own_update(self) -> None:
        square = RNG.normal(size=(4, 4))
        for mode in MODES:
            w = shared(square.copy(), name="w")
            f = function([], updates=[(w, w - 0.1 * tt.dot(w, w.T))], mode=mode)
            f()
            np.testing.assert_allclose(w.get_value(), square - 0.1 * square @ square.T, err_msg=str(mode))

    def test_variables_are_factors_of_each_others_updates(self) -> None:
        first, second = RNG.normal(size=(4, 4)), RNG.normal(size=(4, 4))
        for mode in MODES:
            w, v = shared(first.copy(), name="w"), shared(second.copy(), name="v")
            updates = [(w, w + tt.dot(v, v)), (v, v - tt.dot(w[::-1], w.T))]
            function([], updates=updates, mode=mode)()
            np.testing.assert_allclose(w.get_value(), first + second @ second, err_msg=str(mode))
            np.testing.assert_allclose(v.get_value(), second - first[::-1] @ first.T, err_msg=str(mode))

    def test_one_waits_and_the_next_cannot(self) -> None:
        square = RNG.normal(size=(4, 4))
        x = tt.dmatrix("x")
        operand = RNG.normal(size=(4, 4))
        for mode in MODES:
            w = shared(square.copy(), name="w")
            new = w + tt.dot(x, x) + 2 * tt.dot(w, x)
            function([x], updates=[(w, new)], mode=mode)(operand)
            np.testing.assert_allclose(
                w.get_value(), square + operand @ operand + 2 * square @ operand, err_msg=str(mode)
            )

    def test_an_increment_and_a_product(self) -> None:
        n = variables("float64")
        for mode in MODES:
            w = shared(Z.copy(), name="w")
            new = tt.inc_subtensor((w + tt.dot(n["a"], n["b"]))[1], w[0])
            function([n["a"], n["b"]], updates=[(w, new)], mode=mode)(A, B)
            truth = Z + A @ B
            truth[1] += Z[0]
            np.testing.assert_allclose(w.get_value(), truth, err_msg=str(mode))

    def test_swapped_updates(self) -> None:
        n = variables("float64")
        w, v = shared(Z.copy(), name="w"), shared(2 * Z, name="v")
        f = function([n["a"], n["b"]], updates=[(w, v + tt.dot(n["a"], n["b"])), (v, w - tt.dot(n["a"], n["b"]))])
        f(A, B)
        np.testing.assert_allclose(w.get_value(), 2 * Z + A @ B)
        np.testing.assert_allclose(v.get_value(), Z - A @ B)

    def test_memory_that_the_caller_offers_is_not_overwritten_while_a_product_waits(self) -> None:
        x, y = tt.dmatrices("x", "y")
        w = shared(Z.copy(), name="w")
        f = function([In(x, mutable=True), y], tt.tanh(x), updates=[(w, w - tt.dot(x, y))])
        offered = A.copy()
        result = f(offered, B)
        np.testing.assert_allclose(result, np.tanh(A))
        np.testing.assert_allclose(w.get_value(), Z - A @ B)

    def test_factors_are_kept_until_the_end(self) -> None:
        # The factors die at the product and would otherwise donate their memory to later results.
        n = variables("float64")
        w = shared(Z.copy(), name="w")
        a, b = tt.tanh(n["a"]), tt.tanh(n["b"])
        product = w - tt.dot(a, b)
        more = tt.exp(tt.tanh(a) * 2 + a).sum(axis=0) + tt.dot(b, b.T).sum(axis=1)
        f = function([n["a"], n["b"]], more, updates=[(w, product)])
        for step in range(1, 4):
            f(A, B)
            np.testing.assert_allclose(w.get_value(), Z - step * np.tanh(A) @ np.tanh(B))


class TestFailures(unittest.TestCase):
    @each(*[(mode,) for mode in MODES])
    def test_a_failed_call_leaves_everything(self, mode: Any) -> None:
        n = variables("float64")
        w, v = shared(Z.copy(), name="w"), shared(Z[:, 0].copy(), name="v")
        updates = [(w, w - tt.dot(n["a"], n["b"])), (v, v + tt.dot(n["a"], n["u"]))]
        f = function([n["a"], n["b"], n["u"]], updates=updates, mode=mode)
        with self.assertRaisesRegex(ValueError, "Shape mismatch"):
            f(A, B, np.ones(4))
        np.testing.assert_array_equal(w.get_value(), Z)
        np.testing.assert_array_equal(v.get_value(), Z[:, 0])
        f(A, B, np.ones(5))
        np.testing.assert_allclose(w.get_value(), Z - A @ B)

    def test_large_products_in_storage(self) -> None:
        x, y = tt.fmatrix("x"), tt.fmatrix("y")
        a, b, c = (RNG.normal(size=shape).astype("f") for shape in ((200, 300), (300, 170), (200, 170)))
        w = shared(c.copy(), name="w")
        f = function([x, y], updates=[(w, w - np.float32(0.5) * tt.dot(x, y))])
        self.assertEqual(of_blas(f), [Gemm])
        f(a, b)
        np.testing.assert_allclose(w.get_value(), c - 0.5 * a @ b, rtol=1e-3, atol=1e-3)

    def test_logistic_step_uses_gemv(self) -> None:
        x, y = tt.dmatrix("x"), tt.dvector("y")
        w = shared(np.zeros(3), name="w")
        p = 1 / (1 + tt.exp(-tt.dot(x, w)))
        cost = (-y * tt.log(p) - (1 - y) * tt.log(1 - p)).mean() + 0.01 * (w**2).sum()
        f = function([x, y], cost, updates=[(w, w - 0.1 * tt.grad(cost, w))])
        self.assertIn(Gemv, of_blas(f))
        values = RNG.normal(size=(20, 3))
        answers = (values[:, 0] > 0).astype("float64")
        costs = [float(f(values, answers)) for _ in range(20)]
        self.assertEqual(costs, sorted(costs, reverse=True))


class TestIncrementsThatWait(unittest.TestCase):
    def test_the_second_one_reads_a_part_of_the_old_value(self) -> None:
        start = np.arange(6.0).reshape(3, 2)
        for mode in MODES:
            w = shared(start.copy(), name="w")
            first = tt.inc_subtensor(w[0], 1.0)
            function([], updates=[(w, tt.inc_subtensor(first[1], w[2]))], mode=mode)()
            np.testing.assert_array_equal(w.get_value(), [[1, 2], [6, 8], [4, 5]], err_msg=str(mode))

    def test_memory_that_the_caller_offers(self) -> None:
        x = tt.dvector("x")
        w = shared(np.zeros((3, 2)), name="w")
        f = function([In(x, mutable=True)], tt.tanh(x), updates=[(w, tt.inc_subtensor(w[1], x))])
        np.testing.assert_allclose(f(np.array([1.0, 2.0])), np.tanh([1.0, 2.0]))
        np.testing.assert_array_equal(w.get_value(), [[0, 0], [1, 2], [0, 0]])
