from __future__ import annotations

import pickle
import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_graph import Apply, ConfigError, Op, config
from theano_tensor.gradient import NullTypeGradError
from theano_testing.linker_c import compare_errors, compare_machines
from theano_testing.tensor import (
    GradientError,
    OpRecord,
    assert_allclose,
    numeric_grad,
    op_tests,
    seed_rng,
    tolerance_for,
    verify_grad,
)


class WrongGradient(Op):
    """A square whose gradient is off by a factor."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        x = tt.as_tensor_variable(inputs[0])
        return Apply(self, [x], [x.type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        output_storage[0][0] = np.asarray(inputs[0] ** 2)

    def grad(self, inputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [output_gradients[0] * 2.01 * inputs[0]]


class TestAllclose(unittest.TestCase):
    def test_tolerance_is_that_of_the_least_precise_dtype(self) -> None:
        assert_allclose(np.float32(1.000001), 1.0)
        with self.assertRaises(AssertionError):
            assert_allclose(1.000001, 1.0)
        self.assertEqual(tolerance_for(np.float16(1), np.float64(1)).relative, 5e-3)
        self.assertEqual(tolerance_for(1, True).relative, 0.0)

    def test_sloppiness(self) -> None:
        for level, gap in ((0, 5e-12), (1, 5e-11), (2, 5e-10)):
            with config.change_flags({"tensor.cmp_sloppy": level}):
                assert_allclose(1.0 + gap, 1.0)
                self.assertTrue(tt.dscalar().type.values_eq_approx(np.asarray(1.0), np.asarray(1.0 + 1e6 * gap)))
                for different in (10 * gap, -10 * gap):
                    with self.assertRaises(AssertionError):
                        assert_allclose(1.0 + different, 1.0)
                self.assertFalse(tt.dscalar().type.values_eq_approx(np.asarray(1.0), np.asarray(1.0 + 3e6 * gap)))
                self.assertEqual(tolerance_for(1).relative, 0.0)
        with self.assertRaises(ConfigError), config.change_flags({"tensor.cmp_sloppy": 3}):
            self.fail("the block must not run")

    def test_special_values(self) -> None:
        assert_allclose([np.nan, np.inf, -np.inf, 0.0], [np.nan, np.inf, -np.inf, -0.0])
        for got, expected in ((np.nan, 1.0), (1.0, np.nan), (np.inf, -np.inf), (1.0, np.inf), (np.inf, 1e308)):
            with self.assertRaises(AssertionError):
                assert_allclose(got, expected)

    def test_message(self) -> None:
        with self.assertRaisesRegex(AssertionError, r"(?s)here\n1 of 4 .*\(1, 0\).*error 0.5, allowed"):
            assert_allclose([[1.0, 2.0], [3.5, 4.0]], [[1.0, 2.0], [3.0, 4.0]], err_msg="here")
        with self.assertRaisesRegex(AssertionError, r"\(2,\) and \(3,\)"):
            assert_allclose(np.zeros(2), np.zeros(3))

    def test_integers_are_exact(self) -> None:
        assert_allclose([2**62], [2**62])
        with self.assertRaises(AssertionError):
            assert_allclose([2**62 + 1], [2**62])

    def test_units_in_the_last_place(self) -> None:
        near = np.float32(1) + np.finfo("float32").eps
        assert_allclose(near, np.float32(1), ulp=2)
        with self.assertRaises(AssertionError):
            assert_allclose(np.float32(1.00001), np.float32(1), ulp=2, atol=0)

    def test_empty_arrays(self) -> None:
        assert_allclose(np.zeros((0, 3)), np.ones((0, 3)))


class TestNumericGrad(unittest.TestCase):
    def test_value(self) -> None:
        x = np.random.RandomState(3).rand(2, 3)
        result = numeric_grad(lambda a, b: float((a**3 * b).sum()), [x, x + 1])
        assert_allclose(result.gf[0], 3 * x**2 * (x + 1), rtol=1e-7)
        assert_allclose(result.gf[1], x**3, rtol=1e-7)

    def test_arguments_stay(self) -> None:
        x = np.arange(3.0)
        numeric_grad(lambda a: float(a.sum()), x)
        np.testing.assert_array_equal(x, np.arange(3.0))

    def test_errors(self) -> None:
        result = numeric_grad(lambda a: float((a**2).sum()), np.array([1.0, 2.0]))
        self.assertEqual(result.max_err([np.array([2.0, 5.0])], 1e-4, 1e-4)[:2], (0, 1))
        self.assertEqual(result.max_err([np.array([np.nan, 4.0])], 1e-4, 1e-4)[:2], (0, 0))
        with self.assertRaises(ValueError):
            result.abs_rel_errors([np.zeros(2), np.zeros(2)])
        with self.assertRaises(ValueError):
            result.abs_rel_errors([np.zeros(3)])
        self.assertEqual(numeric_grad.abs_rel_err(3.0, 1.0), (2.0, 0.5))
        with self.assertRaisesRegex(TypeError, "int64"):
            numeric_grad(lambda a: 0.0, np.arange(3))


class TestVerifyGrad(unittest.TestCase):
    def test_right_gradients(self) -> None:
        verify_grad(tt.tanh, [np.asarray([[2.0, 3, 4], [-1, 3.3, 9.9]])], rng=np.random)
        verify_grad(lambda a, b: a * b, [np.ones((2, 3)), np.ones((1, 3))])
        verify_grad(lambda a: a.sum(), [np.zeros((0, 2))])

    def test_points_in_another_memory_order(self) -> None:
        points = [np.arange(6.0).reshape(2, 3).T, np.asfortranarray(np.ones((3, 2)))]
        verify_grad(lambda x, y: x * y, points)

    def test_float32(self) -> None:
        verify_grad(tt.exp, [np.float32([[0.5, 1.5]])], cast_to_output_type=True)  # type: ignore[arg-type]  # NumPy takes lists

    def test_wrong_gradient(self) -> None:
        with self.assertRaisesRegex(GradientError, r"(?s)argument 0 is wrong at \(.*symbolic: .*finite differences"):
            verify_grad(WrongGradient(), [np.array([1.0, 2.0])])

    def test_wrong_gradient_within_wide_tolerance(self) -> None:
        verify_grad(WrongGradient(), [np.array([1.0, 2.0])], abs_tol=1.0)

    def test_fields_of_the_error(self) -> None:
        point = np.array([[1.0, 2.0], [3.0, 0.5]])
        with self.assertRaises(GradientError) as caught:
            verify_grad(lambda a, b: a + WrongGradient()(b), [point, point], abs_tol=1e-7, rel_tol=1e-6)
        error = caught.exception
        self.assertEqual((error.arg, error.shape), (1, (2, 2)))
        index = tuple(int(i) for i in np.unravel_index(error.err_pos, error.shape))
        self.assertAlmostEqual(error.val1 / error.val2, 1.005, places=5)
        self.assertAlmostEqual(error.abs_err, abs(error.val1 - error.val2), places=7)
        self.assertAlmostEqual(error.rel_err, error.abs_err / (abs(error.val1) + abs(error.val2)), places=7)
        self.assertEqual((error.abs_tol, error.rel_tol), (1e-7, 1e-6))
        text = str(error)
        for part in ("argument 1", str(index), "1e-07", "1e-06"):
            self.assertIn(part, text)
        self.assertEqual(str(pickle.loads(pickle.dumps(error))), text)

    def test_one_array_stands_for_its_list(self) -> None:
        verify_grad(tt.tanh, np.asarray([[2.0, 3, 4], [-1, 3.3, 9.9]]), rng=np.random)

    def test_step_and_dtypes(self) -> None:
        verify_grad(lambda x: 3 * x, [np.array([1e6, -2.0])], eps=0.5)
        verify_grad(lambda x: x**2, [np.array([1.5])], out_type="float32")
        verify_grad(lambda x: x**2, [np.asarray([1.5, -0.5], dtype="float16")])
        verify_grad(lambda x: abs(tt.exp(1j * x) + x), [np.array([0.5, -1.0])])

    def test_debug_mode_runs_the_gradient_only(self) -> None:
        for debug_reference in (False, True):
            verify_grad(tt.exp, [np.array([0.5])], mode="DebugMode", n_tests=1, no_debug_ref=not debug_reference)

    def test_projection_in_the_dtype_of_the_result(self) -> None:
        seen: list[str] = []

        class Recording:
            def rand(self, *shape: int) -> Any:
                seen.append("rand")
                return np.full(shape, 0.25)

        verify_grad(tt.exp, [np.asarray([0.5], dtype="float32")], n_tests=3, rng=Recording(), cast_to_output_type=True)
        self.assertEqual(seen, ["rand"] * 3)

    def test_op_without_gradient(self) -> None:
        with self.assertRaises(NullTypeGradError):
            verify_grad(tt.gradient.undefined_grad, [np.ones(2)])

    def test_integers_and_several_outputs_are_refused(self) -> None:
        with self.assertRaisesRegex(TypeError, "int64"):
            verify_grad(tt.exp, [np.arange(3)])
        with self.assertRaisesRegex(TypeError, "several"):
            verify_grad(lambda x: [x, x], [np.ones(2)])

    def test_seed(self) -> None:
        self.assertEqual(seed_rng(12), 12)
        first = np.random.rand()  # noqa: NPY002 - the generator that is seeded
        seed_rng(12)
        self.assertEqual(np.random.rand(), first)  # noqa: NPY002 - as above


class TestMachines(unittest.TestCase):
    def test_same_values(self) -> None:
        x = tt.dvector("x")
        (value,) = compare_machines([x], [tt.exp(x) + 1], [np.zeros(3)])
        assert_allclose(value, np.full(3, 2.0))

    def test_same_errors(self) -> None:
        x, y = tt.dvector("x"), tt.dvector("y")
        error = compare_errors([x, y], [x + y], [np.zeros(3), np.zeros(4)])
        self.assertIsInstance(error, ValueError)
        with self.assertRaisesRegex(AssertionError, "accepted"):
            compare_errors([x, y], [x + y], [np.zeros(3), np.zeros(3)])


class TestRecords(unittest.TestCase):
    def run_record(self, record: OpRecord) -> unittest.TestResult:
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(op_tests(record)).run(result)
        return result

    def test_right_op(self) -> None:
        record = OpRecord("exp_of_vector", tt.exp, np.exp, [[np.arange(3.0)]], [[np.arange(3.0)]])
        self.assertEqual(op_tests(record).__name__, "TestExpOfVector")
        result = self.run_record(record)
        self.assertTrue(result.wasSuccessful(), result.failures + result.errors)
        self.assertGreater(result.testsRun, 7)

    def test_wrong_value_dtype_and_gradient_are_found(self) -> None:
        wrong_value = self.run_record(OpRecord("a", tt.exp, np.sin, [[np.arange(3.0)]]))
        wrong_dtype = self.run_record(OpRecord("b", tt.exp, lambda x: np.exp(x).astype("float32"), [[np.arange(3.0)]]))
        wrong_gradient = self.run_record(
            OpRecord("c", WrongGradient(), np.square, [[np.arange(3.0)]], [[np.arange(3.0)]])
        )
        for result in (wrong_value, wrong_dtype, wrong_gradient):
            self.assertFalse(result.wasSuccessful())
