"""Values and gradients are right where the formula as written overflows, vanishes or cancels, in every mode."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

import theano_tensor as T
from theano_linker_c import Mode, function
from theano_tensor.gradient import grad
from theano_tensor.nnet import softmax
from theano_testing.optimize import check_fires
from theano_testing.tensor import assert_allclose
from theano_testing.tiers import slow

MODES = ("fast_run", "fast_compile", "o2", "o3", "o4", "unsafe", "stabilize")
Z = np.array([-1000.0, -30.0, -6.0, -1.0, 0.0, 0.5, 1.0, 1.5, 6.0, 30.0, 1000.0])
Function = Callable[[Any], Any]


def log_erfc(z: Any) -> Any:
    return np.where(z > 1, np.log(special.erfcx(np.maximum(z, 1))) - z * z, np.log(special.erfc(z)))


def log_erfc_slope(z: Any) -> Any:
    return np.where(z < -20, 0, -2 / np.sqrt(np.pi) / special.erfcx(np.maximum(z, -20)))


def normal_slope(z: Any) -> Any:
    return np.exp(-z * z / 2 - np.log(np.sqrt(2 * np.pi)) - special.log_ndtr(z))


def above_zero(function_: Function) -> Function:
    return lambda z: np.where(z > 0, function_(np.where(z > 0, z, 1.0)), 0.0)


def shares(z: Any) -> Any:
    return special.softmax([z, 2 * z, -z], axis=0)


#: Name -> the user's expression, its value, its derivative (of the sum of its elements).
ELEMENTWISE: dict[str, tuple[Function, Function, Function]] = {
    "log(erfc(x))": (lambda x: T.log(T.erfc(x)), log_erfc, log_erfc_slope),
    "log(1 - erf(x))": (lambda x: T.log(1 - T.erf(x)), log_erfc, log_erfc_slope),
    "log(1 + erf(-x))": (lambda x: T.log(1 + T.erf(-x)), log_erfc, log_erfc_slope),
    "log of the normal distribution": (
        lambda x: T.log(0.5 * (1 + T.erf(x / np.sqrt(2)))),
        special.log_ndtr,
        normal_slope,
    ),
    "log(exp(x) + exp(2x))": (
        lambda x: T.log(T.exp(x) + T.exp(2 * x)),
        lambda z: np.logaddexp(z, 2 * z),
        lambda z: special.expit(-z) + 2 * special.expit(z),
    ),
    "log of three exponentials": (
        lambda x: T.log(T.exp(x) + T.exp(2 * x) + T.exp(-x)),
        lambda z: special.logsumexp([z, 2 * z, -z], axis=0),
        lambda z: shares(z)[0] + 2 * shares(z)[1] - shares(z)[2],
    ),
    "log(1 + exp(x))": (lambda x: T.log(1 + T.exp(x)), lambda z: np.logaddexp(0, z), special.expit),
    "log(sigmoid(x))": (
        lambda x: T.log(T.sigmoid(x)),
        lambda z: -np.logaddexp(0, -z),
        lambda z: special.expit(-z),
    ),
    "log(1 - sigmoid(x))": (
        lambda x: T.log(1 - T.sigmoid(x)),
        lambda z: -np.logaddexp(0, z),
        lambda z: -special.expit(z),
    ),
    "1 / (1 + exp(-x))": (
        lambda x: 1 / (1 + T.exp(-x)),
        special.expit,
        lambda z: special.expit(z) * special.expit(-z),
    ),
    "inv(1 + exp(-x))": (
        lambda x: T.inv(1 + T.exp(-x)),
        special.expit,
        lambda z: special.expit(z) * special.expit(-z),
    ),
    "switch(x > 0, sqrt(x), 0)": (
        lambda x: T.switch(x > 0, T.sqrt(x), 0.0),
        above_zero(np.sqrt),
        above_zero(lambda z: 0.5 / np.sqrt(z)),
    ),
    "switch(x > 0, log(x), 0)": (
        lambda x: T.switch(x > 0, T.log(x), 0.0),
        above_zero(np.log),
        above_zero(lambda z: 1 / z),
    ),
    "x ** 2": (lambda x: x**2.0, np.square, lambda z: 2 * z),
    "exp(x) - 1": (
        lambda x: T.exp(x * 1e-18) - 1,
        lambda z: np.expm1(z * 1e-18),
        lambda z: 1e-18 * np.exp(z * 1e-18),
    ),
    "log(1 + x)": (
        lambda x: T.log(1 + T.sqr(x) * 1e-20),
        lambda z: np.log1p(z * z * 1e-20),
        lambda z: 2e-20 * z / (1 + z * z * 1e-20),
    ),
    "log(sum(exp(x)))": (lambda x: T.log(T.exp(x).sum()), special.logsumexp, special.softmax),
    "log(softmax(x))": (
        lambda x: T.log(softmax(x))[0],
        special.log_softmax,
        lambda z: 1 - len(z) * special.softmax(z),
    ),
    "log of a mean of exponentials": (
        lambda x: T.log(T.exp(x).mean()),
        lambda z: special.logsumexp(z) - np.log(len(z)),
        special.softmax,
    ),
    "log(sum(exp(x))) of a row": (
        lambda x: T.log(T.exp(x.dimshuffle("x", 0)).sum(axis=1)),
        lambda z: special.logsumexp(z, keepdims=True),
        special.softmax,
    ),
    "log(sum(exp(2x)))": (
        lambda x: T.log(T.exp(2 * x).sum()),
        lambda z: special.logsumexp(2 * z),
        lambda z: 2 * special.softmax(2 * z),
    ),
    "x - log(sum(exp(x)))": (
        lambda x: x - T.log(T.exp(x).sum()),
        special.log_softmax,
        lambda z: 1 - len(z) * special.softmax(z),
    ),
    "log(1 / (1 + exp(-x)))": (
        lambda x: T.log(1 / (1 + T.exp(-x))),
        lambda z: -np.logaddexp(0, -z),
        lambda z: special.expit(-z),
    ),
    "log(1 - 1 / (1 + exp(-x)))": (
        lambda x: T.log(1 - 1 / (1 + T.exp(-x))),
        lambda z: -np.logaddexp(0, z),
        lambda z: -special.expit(z),
    ),
    "log(exp(x) / (1 + exp(x)))": (
        lambda x: T.log(T.exp(x) / (1 + T.exp(x))),
        lambda z: -np.logaddexp(0, -z),
        lambda z: special.expit(-z),
    ),
    "cross-entropy of a sigmoid": (
        lambda x: -0.3 * T.log(T.sigmoid(x)) - 0.7 * T.log(1 - T.sigmoid(x)),
        lambda z: 0.3 * np.logaddexp(0, -z) + 0.7 * np.logaddexp(0, z),
        lambda z: special.expit(z) - 0.3,
    ),
    "cross-entropy of a sigmoid that is written out": (
        lambda x: -0.3 * T.log(1 / (1 + T.exp(-x))) - 0.7 * T.log(1 - 1 / (1 + T.exp(-x))),
        lambda z: 0.3 * np.logaddexp(0, -z) + 0.7 * np.logaddexp(0, z),
        lambda z: special.expit(z) - 0.3,
    ),
    "difference of logarithms of sigmoids": (
        lambda x: T.log(T.sigmoid(x)) - T.log(1 - T.sigmoid(x)),
        lambda z: z,
        np.ones_like,
    ),
    "log1p(-sigmoid(x))": (
        lambda x: T.log1p(-T.sigmoid(x)),
        lambda z: -np.logaddexp(0, z),
        lambda z: -special.expit(z),
    ),
    "log of a softmax that is written out": (
        lambda x: T.log(T.exp(x) / T.exp(x).sum()),
        special.log_softmax,
        lambda z: 1 - len(z) * special.softmax(z),
    ),
}


class TestStableEverywhere(unittest.TestCase):
    @slow
    def test_values_and_gradients(self) -> None:
        for name, (build, value, slope) in ELEMENTWISE.items():
            for optimizer in MODES:
                with self.subTest(expression=name, optimizer=optimizer), np.errstate(all="ignore"):
                    x = T.dvector("x")
                    y = build(x)
                    f: Any = function([x], [y, grad(y.sum(), x)], mode=Mode("cvm", optimizer))
                    got, derivative = f(Z)
                    assert_allclose(got, value(Z), rtol=1e-9, atol=1e-12)
                    assert_allclose(derivative, slope(Z), rtol=1e-9, atol=1e-12)

    def test_the_formula_as_written_fails(self) -> None:
        failing = 0
        for build, value, slope in ELEMENTWISE.values():
            x = T.dvector("x")
            y = build(x)
            f: Any = function([x], [y, grad(y.sum(), x)], mode=Mode("vm", None))
            with np.errstate(all="ignore"):
                pairs = list(zip(f(Z), (value(Z), slope(Z)), strict=True))
            failing += not all(np.allclose(a, b, rtol=1e-9, atol=1e-30) for a, b in pairs)
        self.assertGreaterEqual(failing, len(ELEMENTWISE) - 5)


class TestLogSumExp(unittest.TestCase):
    """Along any axes of a matrix, with gradients, in both precisions."""

    @slow
    def test_axes(self) -> None:
        z = np.random.RandomState(2).randn(4, 3) * 500
        for axis in (0, 1, (0, 1)):
            for keep in (False, True):
                for optimizer in MODES:
                    for dtype in ("float64", "float32"):
                        with self.subTest(axis=axis, keepdims=keep, optimizer=optimizer, dtype=dtype):
                            x = T.matrix("x", dtype=dtype)
                            y = T.log(T.exp(x).sum(axis=axis, keepdims=keep))
                            f: Any = function([x], [y, grad(y.sum(), x)], mode=Mode("vm", optimizer))
                            operand = z.astype(dtype)
                            value, slope = f(operand)
                            rtol = 1e-12 if dtype == "float64" else 1e-5
                            assert_allclose(value, special.logsumexp(operand, axis=axis, keepdims=keep), rtol=rtol)
                            assert_allclose(slope, special.softmax(operand, axis=axis), rtol=rtol, atol=1e-12)

    def test_nothing_and_infinities(self) -> None:
        x = T.dvector("x")
        y = T.log(T.exp(x).sum())
        for optimizer in MODES:
            f: Any = function([x], y, mode=Mode("vm", optimizer))
            with np.errstate(all="ignore"):
                results = [float(f(np.array(row))) for row in ([], [-np.inf] * 2, [1.0, np.inf], [np.nan, 1.0])]
            np.testing.assert_array_equal(results, [-np.inf, -np.inf, np.inf, np.nan])


class TestPowersAtZero(unittest.TestCase):
    """Derivatives of ``x ** p`` by both, where x is 0: the logarithm of 0 does not get in."""

    def test_in_every_mode(self) -> None:
        bases, exponents = np.array([0.0, 0, 0, 0, 2]), np.array([0.0, 1, 2, 3, 0])
        for optimizer in MODES:
            with self.subTest(optimizer=optimizer), np.errstate(all="ignore"):
                x, p = T.dvectors("x", "p")
                y = x**p
                f: Any = function([x, p], [y, *grad(y.sum(), [x, p])], mode=Mode("cvm", optimizer))
                value, by_base, by_exponent = f(bases, exponents)
                np.testing.assert_array_equal(value, bases**exponents)
                np.testing.assert_array_equal(by_base, [0, 1, 0, 0, 0])
                assert_allclose(by_exponent, [0, 0, 0, 0, np.log(2)])

    def test_constant_exponents(self) -> None:
        for optimizer in MODES:
            for exponent in (0, 1, 2, 3, 2.5):
                with self.subTest(optimizer=optimizer, exponent=exponent):
                    x = T.dvector("x")
                    f: Any = function([x], grad((x**exponent).sum(), x), mode=Mode("cvm", optimizer))
                    np.testing.assert_array_equal(f([0.0]), [1.0 if exponent == 1 else 0.0])


def _rows(z: Any, keep: bool) -> Any:
    e = T.exp(z)
    return e / (e.sum(axis=1, keepdims=True) if keep else e.sum(axis=1).dimshuffle(0, "x"))


SOFTMAXES: dict[str, Function] = {
    "one exponential": lambda z: _rows(z, True),
    "a sum with a view": lambda z: _rows(z, False),
    "two exponentials": lambda z: T.exp(z) / T.exp(z).sum(axis=1, keepdims=True),
    "softmax": softmax,
}


class TestCrossEntropy(unittest.TestCase):
    """The cost of a classifier whose scores are far apart, by the number of the class and by a row of 0 and 1."""

    def setUp(self) -> None:
        rng = np.random.RandomState(0)
        self.x, self.w, self.y = rng.randn(5, 4) * 400, rng.randn(4, 3), np.array([0, 1, 2, 1, 0])
        z = self.x @ self.w
        self.cost = -special.log_softmax(z, axis=1)[np.arange(5), self.y].mean()
        self.slope = self.x.T @ (special.softmax(z, axis=1) - np.eye(3)[self.y]) / 5

    def check(self, cost: Callable[[Any, Any], Any]) -> None:
        for kind in SOFTMAXES:
            for optimizer in ("fast_run", "fast_compile", "o3", "stabilize"):
                with self.subTest(softmax=kind, optimizer=optimizer):
                    x, w, y = T.dmatrix("x"), T.dmatrix("w"), T.lvector("y")
                    total = cost(SOFTMAXES[kind](T.dot(x, w)), y)
                    f: Any = function([x, w, y], [total, grad(total, w)], mode=Mode("cvm", optimizer))
                    value, slope = f(self.x, self.w, self.y)
                    assert_allclose(value, self.cost, rtol=1e-12)
                    assert_allclose(slope, self.slope, rtol=1e-8, atol=1e-9)

    def test_entries_of_the_logarithm(self) -> None:
        self.check(lambda p, y: -T.log(p)[T.arange(y.shape[0]), y].mean())

    def test_rows_of_0_and_1(self) -> None:
        def cost(p: Any, y: Any) -> Any:
            row = T.eq(T.arange(3).dimshuffle("x", 0), y.dimshuffle(0, "x"))
            return -(T.log(p) * row).sum(axis=1).mean()

        self.check(cost)

    def test_the_logarithm_of_entries(self) -> None:
        self.check(lambda p, y: -T.log(p[T.arange(y.shape[0]), y]).mean())

    def test_single_precision_near_the_largest_score(self) -> None:
        """The logarithm of the sum is near -1000: the rest of a score keeps the digits of the scores alone."""
        scores = np.array([[-1000.0, -1001.0, -1002.0], [8000.0, 8001.0, 7999.5]], "float32")
        classes = np.array([0, 1])
        expected = -special.log_softmax(scores.astype("float64"), axis=1)
        z, y = T.fmatrix("z"), T.lvector("y")
        costs = [
            (-T.log(softmax(z)), expected),
            (-T.log(softmax(z))[T.arange(y.shape[0]), y], expected[[0, 1], classes]),
            (-T.log(softmax(z)[T.arange(y.shape[0]), y]), expected[[0, 1], classes]),
        ]
        for optimizer in MODES:
            for number, (cost, right) in enumerate(costs):
                with self.subTest(optimizer=optimizer, cost=number):
                    f: Any = function([z, y], cost, mode=Mode("cvm", optimizer), on_unused_input="ignore")
                    assert_allclose(f(scores, classes), right.astype("float32"), rtol=1e-6)


class TestOneMinusExponential(unittest.TestCase):
    """``log(1 - exp(x))`` for x below zero: near it, and where the exponential is less than any rounding of 1."""

    def test_in_every_mode(self) -> None:
        z = np.array([-1e-12, -1e-3, -0.5, -5.0, -50.0, -700.0])
        value = np.where(z > -0.69, np.log(-np.expm1(z)), np.log1p(-np.exp(z)))
        builds: list[Function] = [
            lambda x: T.log(1 - T.exp(x)),
            lambda x: T.log(-T.expm1(x)),
            lambda x: T.log1p(-T.exp(x)),
        ]
        for optimizer in MODES:
            for build in builds:
                with self.subTest(optimizer=optimizer):
                    x = T.dvector("x")
                    y = build(x)
                    f: Any = function([x], [y, grad(y.sum(), x)], mode=Mode("cvm", optimizer))
                    result, slope = f(z)
                    np.testing.assert_allclose(result, value, rtol=1e-12)
                    np.testing.assert_allclose(slope, -1 / np.expm1(-z), rtol=1e-9)


class TestBounds(unittest.TestCase):
    def test_squares_of_squares_take_no_time(self) -> None:
        x = T.dvector("x")
        y = T.sigmoid(x)
        for _ in range(60):
            y = y * y
        f: Any = function([x], y)
        assert_allclose(f([800.0]), [1.0])

    def test_an_exponential_that_is_wanted_itself_is_not_shifted(self) -> None:
        x = T.dvector("x")
        e = T.exp(x)
        with self.assertRaisesRegex(AssertionError, "never answered"):
            check_fires("exponentials_shifted", Mode("vm", "fast_run").optimizer, [x], [e / e.sum(), e])
        f: Any = function([x], [e / e.sum(), e])
        share, itself = f(np.array([1.0, 2.0]))
        assert_allclose(share, special.softmax([1.0, 2.0]))
        assert_allclose(itself, np.exp([1.0, 2.0]))
