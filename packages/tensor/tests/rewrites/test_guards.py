"""Expressions that look like the pattern of a rule and must keep their values."""

from __future__ import annotations

import unittest
import warnings
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_linker_c import FAST_RUN, Mode, function
from theano_testing.tensor import assert_allclose

RNG = np.random.RandomState(11)


class TestValuesStay(unittest.TestCase):
    def assert_kept(self, inputs: list[Any], output: Any, *values: Any, rtol: float = 1e-12) -> None:
        plain: Any = function(inputs, output, mode=Mode("py", None))
        fast: Any = function(inputs, output, mode=FAST_RUN)
        expected, got = np.asarray(plain(*values)), np.asarray(fast(*values))
        self.assertEqual((got.dtype, got.shape), (expected.dtype, expected.shape))
        assert_allclose(got, expected, rtol=rtol, atol=0)

    def test_negated_unsigned_integers_wrap_around(self) -> None:
        x, u = tt.dvector("x"), tt.TensorType("uint8", [False])("u")
        for output in (x - (-u), x + (-u), -x + (-u), x * (-u), (-u) / x, (-u) - x):
            self.assert_kept([x, u], output, np.array([1.0, 2, 3]), np.array([1, 2, 200], dtype="uint8"))

    def test_sigmoids_of_unsigned_integers(self) -> None:
        x, u = tt.dvector("x"), tt.TensorType("uint8", [False])("u")
        values = np.array([1.0, 2, 3]), np.array([1, 2, 5], dtype="uint8")
        for output in (
            tt.log(tt.sigmoid(u)) * x,
            (1 - tt.sigmoid(u)) * x,
            x / (1 + tt.exp(u)),
            x * tt.exp(u) / (1 + tt.exp(u)),
            tt.exp(x + (-u)) * (1 / (1 + tt.exp((-x) + u))),
        ):
            # exp(uint8) has three digits, and the rewritten form more.
            self.assert_kept([x, u], output, *values, rtol=5e-3)

    def test_complex_constants_keep_their_imaginary_part(self) -> None:
        x, z = tt.dvector("x"), tt.zvector("z")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for output in (
                x + tt.constant(np.array([1 + 2j])),
                z * tt.constant(np.array([2j], dtype="complex64")),
                tt.switch(x > 0, tt.constant(np.array([1j])), z),
                abs(tt.constant(np.array([3 + 4j])) * z) * x,
                z ** tt.constant(np.array([2 + 0j])) + x,
            ):
                self.assert_kept([x, z], output + 0 * x * z, np.array([1.0, -2.0]), np.array([1 + 1j, 2.0]))

    def test_product_of_equal_bools(self) -> None:
        x = tt.dvector("x")
        self.assert_kept([x], (x > 1) * (x > 1), np.array([0.0, 1, 2]))

    def test_softmax_broadcast_along_another_axis(self) -> None:
        x = tt.dmatrix("x")
        weights = tt.exp(x)
        for output in (weights / weights.sum(axis=1), weights / weights.sum(axis=0).dimshuffle(0, "x")):
            self.assert_kept([x], output, RNG.rand(3, 3), rtol=1e-9)

    def test_softmax_along_the_summed_axis_is_stable(self) -> None:
        x = tt.dmatrix("x")
        weights = tt.exp(x)
        for output in (weights / weights.sum(axis=1, keepdims=True), (weights.T / weights.sum(axis=1)).T):
            fast: Any = function([x], output)
            values = RNG.rand(2, 3)
            expected = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
            assert_allclose(fast(values), expected, rtol=1e-9)

    def test_coefficients_out_of_range_are_not_joined(self) -> None:
        x, f = tt.dvector("x"), tt.fvector("f")
        self.assert_kept([x], tt.sqr(x * 1e200) * x, np.array([1e-200, 2e-190]), rtol=1e-9)
        self.assert_kept([x], x / tt.sqr(x * 1e-200), np.array([1e50, 2e49]), rtol=1e-9)
        large = tt.constant(np.float32(1e30))
        self.assert_kept([f], large * (large * f), np.zeros(2, dtype="float32"))

    def test_narrow_argument_of_a_wide_logarithm(self) -> None:
        f, one = tt.fvector("f"), tt.constant(np.float64(1))
        values = np.array([0.5, 0.2], dtype="float32")
        for output in (tt.log(one + f), tt.log(one - f)):
            self.assert_kept([f], output, values, rtol=1e-12)

    def test_sum_of_nothing_is_zero(self) -> None:
        x = tt.dvector("x")
        for output in (tt.sum(x * np.inf), tt.sum(x / 0), tt.sum(tt.fill(x, np.inf)), tt.sum(x * np.nan)):
            self.assert_kept([x], output, np.zeros(0))


class TestCancellation(unittest.TestCase):
    def test_x_over_x_is_one_everywhere(self) -> None:
        for dtype in ("float32", "float64"):
            x = tt.TensorType(dtype, [False, True])("x")
            fast: Any = function([x], x / x)
            for length in (0, 3):
                result = fast(np.zeros((length, 1), dtype=dtype))
                self.assertEqual(result.dtype, np.dtype(dtype))
                np.testing.assert_array_equal(result, np.ones((length, 1)))

    def test_integers_over_themselves_are_divided(self) -> None:
        n = tt.ivector("n")
        fast: Any = function([n], n / n)
        np.testing.assert_array_equal(fast(np.array([0, 2], dtype="int32")), [np.nan, 1])
