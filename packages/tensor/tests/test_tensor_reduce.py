"""Reductions: values, axes, dtypes, gradients, errors."""

from __future__ import annotations

import unittest
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st
from tensor_cases import MODES, check_gradient, node_of, run

import theano_tensor as T
from theano_graph import shape_rule
from theano_testing.tiers import examples, slow

REDUCTIONS: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (T.sum, np.sum),
    (T.prod, np.prod),
    (T.max, np.max),
    (T.min, np.min),
    (T.mean, np.mean),
    (T.var, np.var),
    (T.std, np.std),
    (T.any, np.any),
    (T.all, np.all),
]
AXES = (None, 0, 1, -1, (0, 2), (0, 1, 2), (), [1])

RNG = np.random.default_rng(11)


class TestValues(unittest.TestCase):
    def test_against_numpy(self) -> None:
        a = np.random.default_rng(2).normal(size=(2, 3, 4))
        x = T.dtensor3("x")
        for function, reference in REDUCTIONS:
            expressions, expected = [], []
            for axis in AXES:
                for keepdims in (False, True):
                    expressions.append(function(x, axis=axis, keepdims=keepdims))
                    wanted = tuple(axis) if isinstance(axis, list) else axis
                    expected.append(reference(a, axis=wanted, keepdims=keepdims))
            for expression, value, result in zip(expressions, expected, run([x], expressions, a), strict=True):
                with self.subTest(function=function.__name__, op=str(expression.owner)):
                    np.testing.assert_allclose(result, value, rtol=1e-10)
                    self.assertEqual(result.shape, np.shape(value))

    def test_a_native_sum_beyond_the_dtype_is_infinite_in_silence(self) -> None:
        x = T.fmatrix("x")
        values = np.full((2, 3), 3e38, "float32")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for axis in (0, 1, None):
                (result,) = run([x], [T.sum(x, axis=axis)], values, mode="FAST_RUN")
                self.assertTrue(np.isinf(result).all())

    @settings(max_examples=examples(30), deadline=None)
    @given(st.lists(st.integers(0, 3), min_size=1, max_size=3), st.data())
    def test_sums_of_any_shape(self, shape: list[int], data: Any) -> None:
        axis = tuple(data.draw(st.sets(st.integers(0, len(shape) - 1))))
        a = RNG.random(shape)
        x = T.tensor(shape=(None,) * len(shape))
        result = run([x], x.sum(axis=axis), a, mode="FAST_COMPILE")
        np.testing.assert_allclose(result, a.sum(axis=axis))

    def test_nan_comes_through(self) -> None:
        x = T.dvector("x")
        for function in (T.max, T.min, T.sum):
            self.assertTrue(np.isnan(run([x], function(x), np.array([1.0, np.nan, 2.0]))))

    def test_empty(self) -> None:
        x = T.dvector("x")
        empty = np.zeros(0)
        self.assertEqual(float(run([x], x.sum(), empty)), 0.0)
        self.assertEqual(float(run([x], x.prod(), empty)), 1.0)
        self.assertTrue(run([x], x.all(), empty))
        self.assertFalse(run([x], x.any(), empty))
        for mode in MODES:
            with self.subTest(mode=mode), self.assertRaises(ValueError):
                run([x], x.max(), empty, mode=mode)

    def test_arg_extrema(self) -> None:
        a = np.random.default_rng(0).integers(0, 5, size=(3, 4)).astype("float64")
        x = T.dmatrix("x")
        for axis in (None, 0, 1, -1):
            largest, smallest = run([x], [x.argmax(axis=axis), x.argmin(axis=axis)], a)
            np.testing.assert_array_equal(largest, a.argmax(axis=axis))
            np.testing.assert_array_equal(smallest, a.argmin(axis=axis))
            self.assertEqual(largest.dtype, "int64")
        value, position = run([x], list(T.max_and_argmax(x, axis=1, keepdims=True)), a)
        self.assertEqual((value.shape, position.shape), ((3, 1), (3, 1)))

    def test_norm_and_range(self) -> None:
        a = np.array([[3.0, -4.0], [0.0, 1.0]])
        x = T.dmatrix("x")
        for order in (0, 1, 2, 3, float("inf")):
            result = run([x], x.norm(order, axis=1), a)
            np.testing.assert_allclose(result, [np.linalg.norm(row, order) for row in a])
        np.testing.assert_allclose(run([x], x.ptp(axis=0), a), np.ptp(a, axis=0))

    def test_variance_details(self) -> None:
        a = np.array([1.0, 2.0, 4.0])
        x = T.dvector("x")
        np.testing.assert_allclose(run([x], T.var(x, ddof=1), a), a.var(ddof=1))
        np.testing.assert_allclose(run([x], T.std(x, corrected=True), a), a.std())


class TestLogSumExp(unittest.TestCase):
    def test_large_and_infinite(self) -> None:
        x = T.dmatrix("x")
        a = np.array([[1000.0, 1000.0], [-1000.0, -1001.0], [-np.inf, -np.inf], [np.inf, 0.0]])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = run([x], T.logsumexp(x, axis=1), a)
        np.testing.assert_allclose(result, np.logaddexp.reduce(a, axis=1))

    def test_gradient_is_softmax(self) -> None:
        a = RNG.random((2, 3))
        check_gradient(lambda x: T.logsumexp(x, axis=1, keepdims=True), a)


class TestDtypes(unittest.TestCase):
    def test_results_and_accumulators(self) -> None:
        table = [
            ("bool", "int64", "int64"),
            ("int8", "int64", "int64"),
            ("int32", "int64", "int64"),
            ("uint8", "uint64", "uint64"),
            ("uint64", "uint64", "uint64"),
            ("float16", "float16", "float32"),
            ("float32", "float32", "float64"),
            ("float64", "float64", "float64"),
            ("complex64", "complex64", "complex128"),
        ]
        for dtype, result, accumulator in table:
            for function in (T.sum, T.prod):
                with self.subTest(dtype=dtype, function=function.__name__):
                    expression = function(T.vector(dtype=dtype))
                    self.assertEqual((expression.dtype, node_of(expression).op.acc_dtype), (result, accumulator))

    def test_float32_accumulates_in_float64(self) -> None:
        x = T.fvector("x")
        a = np.array([1e8, 1, -1e8], dtype="float32")
        self.assertEqual(float(run([x], x.sum(), a)), 1.0)
        self.assertAlmostEqual(float(run([x], x.mean(), a)), 1 / 3, places=6)
        self.assertEqual(node_of(T.sum(x, acc_dtype="float32")).op.acc_dtype, "float32")

    def test_small_integers_do_not_overflow(self) -> None:
        x = T.bvector("x")
        self.assertEqual(int(run([x], x.sum(), np.full(10, 100, "int8"))), 1000)

    def test_mean_of_integers(self) -> None:
        x = T.ivector("x")
        self.assertEqual(x.mean().dtype, "float64")
        self.assertEqual(float(run([x], x.mean(), np.array([1, 2], "int32"))), 1.5)

    def test_dtype_argument(self) -> None:
        x = T.dvector("x")
        self.assertEqual(x.sum(dtype="float32").dtype, "float32")
        with self.assertRaisesRegex(TypeError, "complex numbers cannot be reduced into float64"):
            T.zvector("z").sum(dtype="float64")

    def test_names(self) -> None:
        self.assertEqual(str(node_of(T.dvector().sum()).op), "Sum{acc_dtype=float64}")
        self.assertEqual(str(node_of(T.dmatrix().sum(axis=0)).op), "Sum{axis=[0], acc_dtype=float64}")
        self.assertEqual(node_of(T.dmatrix().sum(axis=(0, 1))).op, node_of(T.dmatrix().sum()).op)


class TestErrors(unittest.TestCase):
    def test_axes(self) -> None:
        x = T.dmatrix("x")
        for axis, text in ((2, "axis 2 is out of range for 2 dimensions"), ((0, 0), "given twice")):
            with self.subTest(axis=axis), self.assertRaisesRegex(ValueError, text):
                x.sum(axis=axis)
        some: list[Any] = ["a", 0.5]
        for wrong in some:
            with self.subTest(axis=wrong), self.assertRaises(TypeError):
                x.sum(axis=wrong)

    def test_shape_rule(self) -> None:
        node = node_of(T.dtensor3().sum(axis=1))
        self.assertEqual(shape_rule.lookup(node.op)(node, [(2, 3, 4)]), [(2, 4)])


class TestGradients(unittest.TestCase):
    @slow
    def test_smooth(self) -> None:
        a = np.random.default_rng(4).uniform(0.5, 2, size=(2, 3))
        for function in (T.sum, T.mean, T.var, T.std, T.max, T.min, T.prod):
            for axis in (None, 0, 1):
                with self.subTest(function=function.__name__, axis=axis):
                    check_gradient(lambda x, f=function, a=axis: f(x, axis=a), a)

    def test_product_with_zeros(self) -> None:
        check_gradient(lambda x: T.prod(x, axis=1), np.array([[1.0, 2, 3], [0, 2, 3], [0, 0, 3], [0, 0, 0]]))

    def test_product_without_zeros_twice(self) -> None:
        x = T.dvector("x")
        (first,) = T.grad(T.prod(x, no_zeros_in_input=True), [x])
        second = T.grad(first.sum(), x)
        np.testing.assert_allclose(run([x], second, np.array([2.0, 3.0, 5.0])), [8.0, 7.0, 5.0])
