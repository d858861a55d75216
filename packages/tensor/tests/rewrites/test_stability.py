from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, logsumexp, softmax

import theano_tensor as tt
from theano_graph import FunctionGraph
from theano_linker_c import FAST_COMPILE, FAST_RUN, function
from theano_tensor import nnet
from theano_tensor.gradient import grad
from theano_tensor.linear import dot
from theano_testing.graph import interpret
from theano_testing.linker_c import compare_machines
from theano_testing.tensor import assert_allclose

Z = np.array([-1000.0, -800.0, -50.0, -3.0, -1e-3, 0.0, 1e-9, 2.0, 40.0, 720.0, 1000.0])


def logistic_regression(dtype: str = "float64", style: str = "manual") -> tuple[list[Any], list[Any]]:
    """Return inputs and outputs of the training step of the manual, written in one of several ways."""
    x, y, w = tt.matrix("x", dtype=dtype), tt.vector("y", dtype=dtype), tt.vector("w", dtype=dtype)
    b = tt.scalar("b", dtype=dtype)
    z = dot(x, w) + b
    p: Any = {
        "manual": lambda: 1 / (1 + tt.exp(-dot(x, w) - b)),
        "sigmoid": lambda: tt.sigmoid(z),
        "exp over": lambda: tt.exp(z) / (1 + tt.exp(z)),
        "one minus": lambda: 1 - 1 / (1 + tt.exp(z)),
    }[style]()
    xent = -y * tt.log(p) - (1 - y) * tt.log(1 - p)
    cost = xent.mean() + 0.01 * (w**2).sum()
    gw, gb = grad(cost, [w, b])
    return [x, y, w, b], [p > 0.5, xent, cost, gw, gb]


def reference(x: Any, y: Any, w: Any, b: Any) -> list[Any]:
    """Compute the same in float64 with stable formulas."""
    z = x.astype("float64") @ w + b
    p = expit(z)
    xent = y * np.logaddexp(0, -z) + (1 - y) * np.logaddexp(0, z)
    g = (p - y) / len(y)
    return [p > 0.5, xent, xent.mean() + 0.01 * (w**2).sum(), x.T @ g + 0.02 * w, g.sum()]


def data() -> list[Any]:
    rng = np.random.RandomState(0)
    x, y = rng.randn(400, 784), rng.randint(size=400, low=0, high=2).astype("float64")
    return [x, y, rng.randn(784), np.asarray(0.0)]


class TestLogisticRegression(unittest.TestCase):
    """The example of the manual, whose data saturate the sigmoids from the start."""

    def test_data_are_saturated(self) -> None:
        x, _, w, _ = data()
        with np.errstate(over="ignore"):
            self.assertGreater(int((1 / (1 + np.exp(-(x @ w))) == 1).sum()), 20)

    def test_values_and_gradients_in_both_modes(self) -> None:
        values = data()
        for mode in (FAST_RUN, FAST_COMPILE):
            for style in ("manual", "sigmoid", "exp over", "one minus"):
                with self.subTest(mode=str(mode), style=style):
                    inputs, outputs = logistic_regression(style=style)
                    compiled: Any = function(inputs, outputs, mode=mode)
                    for got, expected in zip(compiled(*values), reference(*values), strict=True):
                        assert_allclose(got, expected, rtol=1e-10, atol=1e-13)

    def test_float32(self) -> None:
        values = [v.astype("float32") for v in data()]
        inputs, outputs = logistic_regression("float32")
        compiled: Any = function(inputs, outputs)
        for got, expected in zip(compiled(*values), reference(*values), strict=True):
            assert_allclose(got, expected, rtol=2e-4, atol=2e-5)

    def test_both_machines_agree(self) -> None:
        inputs, outputs = logistic_regression()
        compare_machines(inputs, outputs, data())

    def test_compiled_graph_is_small(self) -> None:
        inputs, outputs = logistic_regression()
        graph = FunctionGraph(inputs, outputs)
        FAST_RUN.rewrite(graph)
        text = [str(node.op) for node in graph.toposort()]
        self.assertLessEqual(len(text), 14)
        self.assertFalse([t for t in text if "log(" in t or "exp(" in t])
        self.assertEqual(sum("softplus" in t for t in text), 1, "one pass over the examples")

    def test_saturated_from_the_very_first_step_on(self) -> None:
        inputs, outputs = logistic_regression()
        compiled: Any = function(inputs, outputs)
        x = np.array([[1000.0], [-1000.0], [1000.0], [-1000.0]])
        y = np.array([1.0, 0.0, 0.0, 1.0])
        for got, expected in zip(compiled(x, y, np.ones(1), 0.0), reference(x, y, np.ones(1), 0.0), strict=True):
            assert_allclose(got, expected)

    def test_weights_of_examples_and_several_losses(self) -> None:
        z, y, c = tt.dvector("z"), tt.dvector("y"), tt.dvector("c")
        p = 1 / (1 + tt.exp(-z))
        loss = c * (y * tt.log(p) + (1 - y) * tt.log(1 - p))
        cost = -loss.sum() + 0.5 * tt.sqr(p - y).sum()
        values = [Z, (Z > 1) * 0.75 + 0.125, np.linspace(1, 2, len(Z))]
        compiled: Any = function([z, y, c], grad(cost, z))
        s = expit(Z)
        expected = values[2] * (s - values[1]) + (s - values[1]) * s * expit(-Z)
        assert_allclose(compiled(*values), expected, rtol=1e-9)

    def test_matrix_of_independent_outputs_with_clipping_free_crossentropy(self) -> None:
        x, t, w = tt.dmatrix("x"), tt.dmatrix("t"), tt.dmatrix("w")
        p = tt.sigmoid(dot(x, w))
        cost = tt.nnet.binary_crossentropy(p, t).sum(axis=1).mean()
        compiled: Any = function([x, t, w], [cost, grad(cost, w)])
        rng = np.random.RandomState(1)
        a, b, v = 400 * rng.randn(6, 3), rng.randint(0, 2, (6, 2)).astype(float), rng.randn(3, 2)
        z = a @ v
        expected = (b * np.logaddexp(0, -z) + (1 - b) * np.logaddexp(0, z)).sum(axis=1).mean()
        got, gradient = compiled(a, b, v)
        assert_allclose(got, expected)
        assert_allclose(gradient, a.T @ (expit(z) - b) / 6, rtol=1e-9, atol=1e-12)


#: Expression -> its values for large and small arguments.
STABLE: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "log of sigmoid": (lambda z: tt.log(tt.sigmoid(z)), lambda z: -np.logaddexp(0, -z)),
    "log of fraction": (lambda z: tt.log(1 / (1 + tt.exp(-z))), lambda z: -np.logaddexp(0, -z)),
    "log of one minus sigmoid": (lambda z: tt.log(1 - tt.sigmoid(z)), lambda z: -np.logaddexp(0, z)),
    "log1p of minus sigmoid": (lambda z: tt.log1p(-tt.sigmoid(z)), lambda z: -np.logaddexp(0, z)),
    "log of one plus exp": (lambda z: tt.log(1 + tt.exp(z)), lambda z: np.logaddexp(0, z)),
    "log1p of exp": (lambda z: tt.log1p(tt.exp(z)), lambda z: np.logaddexp(0, z)),
    "sigmoid by exp": (lambda z: tt.exp(z) / (1 + tt.exp(z)), expit),
    "one minus sigmoid": (lambda z: 1 - tt.sigmoid(z), lambda z: expit(-z)),
    "odds": (lambda z: tt.sigmoid(z) / (1 - tt.sigmoid(z)), np.exp),
    "derivative of sigmoid": (lambda z: tt.exp(-z) / tt.sqr(1 + tt.exp(-z)), lambda z: expit(z) * expit(-z)),
    "difference of products": (
        lambda z: z * tt.sigmoid(z) - tt.sqr(tt.sigmoid(z)) * z,
        lambda z: z * expit(z) * expit(-z),
    ),
    "sum of both": (lambda z: 3 * tt.sigmoid(z) + 3 * tt.sigmoid(-z), lambda z: np.full_like(z, 3.0)),
    "scaled argument": (lambda z: tt.log(1 / (1 + tt.exp(-2 * z))), lambda z: -np.logaddexp(0, -2 * z)),
    "exp minus one": (lambda z: tt.exp(z * 1e-12) - 1, lambda z: np.expm1(z * 1e-12)),
    "one minus exp": (lambda z: 1 - tt.exp(z * 1e-12), lambda z: -np.expm1(z * 1e-12)),
    "log of one plus": (lambda z: tt.log(1 + z * 1e-20), lambda z: np.log1p(z * 1e-20)),
    "log of one minus": (lambda z: tt.log(1 - z * 1e-20), lambda z: np.log1p(-z * 1e-20)),
}


class TestStableForms(unittest.TestCase):
    def test_values_in_both_modes(self) -> None:
        for name, (build, expected) in STABLE.items():
            for mode in (FAST_RUN, FAST_COMPILE):
                with self.subTest(name, mode=str(mode)), np.errstate(all="ignore"):
                    z = tt.dvector("z")
                    compiled: Any = function([z], build(z), mode=mode)
                    assert_allclose(compiled(Z), expected(Z), rtol=1e-12, atol=1e-300)

    def test_gradients_are_finite_where_the_function_is(self) -> None:
        for name in (
            "log of sigmoid",
            "log of fraction",
            "log of one minus sigmoid",
            "sigmoid by exp",
            "log of one plus exp",
        ):
            with self.subTest(name), np.errstate(all="ignore"):
                build, _ = STABLE[name]
                z = tt.dvector("z")
                compiled: Any = function([z], grad(build(z).sum(), z))
                small = np.linspace(-5, 5, 7)
                step = 1e-6
                numeric = (STABLE[name][1](small + step) - STABLE[name][1](small - step)) / (2 * step)
                assert_allclose(compiled(small), numeric, rtol=1e-7)
                self.assertTrue(np.isfinite(compiled(Z)).all(), compiled(Z))

    def test_nothing_is_stabilised_without_optimizer(self) -> None:
        z = tt.dvector("z")
        graph = FunctionGraph([z], [tt.log(1 + tt.exp(z))])
        with np.errstate(all="ignore"):
            (value,) = interpret(graph.outputs, {graph.inputs[0]: np.array([1000.0])})
        self.assertTrue(np.isinf(value).all())

    def test_products_without_sigmoids_stay(self) -> None:
        z, a = tt.dvector("z"), tt.dvector("a")
        graph = FunctionGraph([z, a], [tt.exp(z) * a / tt.exp(a)])
        FAST_RUN.excluding("fusion").rewrite(graph)
        self.assertFalse([n for n in graph.apply_nodes if "sigmoid" in str(n.op)])

    def test_powers_of_exponentials_end(self) -> None:
        x = tt.dvector("x")
        values = np.array([-1.0, 0.0, 2.0])
        for expression, expected in (
            (-(tt.exp(-x) ** 2), -np.exp(-2 * values)),
            (tt.exp(x) ** 3 * tt.sigmoid(x), np.exp(3 * values) / (1 + np.exp(-values))),
            (tt.exp(x) / tt.exp(-x), np.exp(2 * values)),
        ):
            with self.subTest(expression=str(expression)):
                np.testing.assert_allclose(function([x], expression)(values), expected, rtol=1e-12)

    def test_excluded_by_name(self) -> None:
        z = tt.dvector("z")
        graph = FunctionGraph([z], [tt.log(tt.sigmoid(z))])
        FAST_RUN.excluding("log_of_sigmoid", "fusion").rewrite(graph)
        self.assertEqual(len(graph.apply_nodes), 2)


class TestSumsOfExponentials(unittest.TestCase):
    X = np.array([[1000.0, 1000.5, -3.0], [-1000.0, -1001.0, -2000.0], [0.5, -0.5, 2.0], [-np.inf, 0.0, 1.0]])

    def check(self, build: Callable[[Any], Any], expected: Any) -> None:
        for mode in (FAST_RUN, FAST_COMPILE):
            with self.subTest(mode=str(mode)), np.errstate(all="ignore"):
                x = tt.dmatrix("x")
                compiled: Any = function([x], build(x), mode=mode)
                assert_allclose(compiled(self.X), expected, rtol=1e-12, atol=1e-300)

    def test_logarithm(self) -> None:
        self.check(lambda x: tt.log(tt.exp(x).sum(axis=1)), logsumexp(self.X, axis=1))
        self.check(lambda x: tt.log(tt.exp(x).sum(axis=0)), logsumexp(self.X, axis=0))
        self.check(lambda x: tt.log(tt.exp(x).sum()), logsumexp(self.X))
        self.check(lambda x: tt.log(tt.exp(x).sum(axis=1, keepdims=True)), logsumexp(self.X, axis=1, keepdims=True))

    def test_gradient_and_softmax(self) -> None:
        weights = softmax(self.X, axis=1)
        self.check(lambda x: grad(tt.log(tt.exp(x).sum(axis=1)).sum(), x), weights)
        self.check(lambda x: grad((2 * tt.log(tt.exp(x).sum(axis=1))).sum(), x), 2 * weights)
        self.check(lambda x: tt.exp(x) / tt.exp(x).sum(axis=1, keepdims=True), weights)

    def test_empty_axis(self) -> None:
        x = tt.dmatrix("x")
        compute = function([x], tt.log(tt.exp(x).sum(axis=1)))
        assert_allclose(compute(np.zeros((2, 0))), np.full(2, -np.inf))
        assert_allclose(compute(np.full((2, 3), 1000.0)), np.full(2, 1000 + np.log(3)))

    def test_infinities(self) -> None:
        x = tt.dvector("x")
        compiled: Any = function([x], tt.log(tt.exp(x).sum()))
        self.assertEqual(float(compiled([-np.inf, -np.inf])), -np.inf)
        self.assertEqual(float(compiled([np.inf, 1.0])), np.inf)
        self.assertTrue(np.isnan(compiled([np.nan, 1.0])))


class TestRangeOfNumbers(unittest.TestCase):
    """Intermediate results overflow or vanish, and results do not."""

    def check(self, expected: Any, build: Callable[[Any], Any], value: Any, slope: Any = None) -> None:
        x = tt.TensorType("float64", (None,) * np.ndim(value))()
        result = build(x)
        outputs = [result, *([] if slope is None else [grad(result.sum(), x)])]
        for mode in (FAST_RUN, FAST_COMPILE):
            with self.subTest(mode=mode), np.errstate(all="ignore"):
                values = function([x], outputs, mode=mode)(value)
                assert_allclose(values[0], np.asarray(expected), rtol=1e-12)
                if slope is not None:
                    assert_allclose(values[1], np.asarray(slope), rtol=1e-12)

    def test_logarithms_of_products_over_axes(self) -> None:
        large, small = np.array([1e200, 1e200, 2.0]), np.array([1e-200, 1e-200, 3.0])
        for x in (large, small):
            self.check(np.log(x).sum(), lambda v: tt.log(tt.prod(v)), x, 1 / x)
        signed = large * [-1, -1, 1]
        self.check(np.log(large).sum(), lambda v: tt.log(tt.prod(v)), signed, 1 / signed)
        self.check(np.log(large).sum(), lambda v: tt.log(abs(tt.prod(v))), -large, -1 / large)
        self.check(np.nan, lambda v: tt.log(tt.prod(v)), -large, -1 / large)
        self.check(-np.inf, lambda v: tt.log(tt.prod(v)), large * [0, 1, 1])
        rows = np.log2([large, small]).sum(1, keepdims=True)
        self.check(rows, lambda v: tt.log2(tt.prod(v, axis=1, keepdims=True)), np.array([large, small]))

    def test_products_of_what_is_positive(self) -> None:
        x = np.array([-1000.0, 2.0, 3.0])
        self.check(x.sum(), lambda v: tt.log(tt.prod(tt.exp(v))), x, np.ones(3))
        self.check(-np.logaddexp(0, -x).sum(), lambda v: tt.log(tt.prod(tt.sigmoid(v))), x)
        self.check(2 * x.sum(), lambda v: tt.log(tt.prod(tt.exp(v)) ** 2), x)
        self.check(x / 2, lambda v: tt.log(tt.sqrt(tt.exp(v))), x)

    def test_roots_of_powers(self) -> None:
        x = np.array([1e-200, -1e200, -2.0, 3.0])
        for root in (
            lambda v: (v**4) ** 0.25,
            lambda v: tt.sqr(tt.sqr(v)) ** 0.25,
            lambda v: (v**2) ** 0.5,
            lambda v: tt.sqrt(tt.sqrt(v**4)),
        ):
            self.check(abs(x), root, x, np.sign(x))
        self.check(abs(x) ** 0.5, lambda v: (v**2) ** 0.25, x)
        self.check(1 / abs(x), lambda v: (v**2) ** -0.5, x)
        self.check(2 * abs(x), lambda v: (16 * v**4) ** 0.25, x)
        self.check([1e-200, np.nan, np.nan, 3.0], lambda v: (v**3) ** (1 / 3), x)

    def test_shares_of_a_vector_with_a_factor(self) -> None:
        x = np.array([-1000.0, 1000.0, 2.0])
        y = tt.dvector()
        for factor in (2.0, abs(y)):
            v = tt.dvector()
            slope = grad(tt.log(nnet.softmax(v) * factor).sum(), v)
            for mode in (FAST_RUN, FAST_COMPILE):
                result = function([v, y], slope, mode=mode, on_unused_input="ignore")(x, [3.0, 4.0, 5.0])
                assert_allclose(result, np.array([1.0, -2.0, 1.0]), rtol=1e-12)
