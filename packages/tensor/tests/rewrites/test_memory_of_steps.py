"""Allocations of compiled functions: training steps nothing of the size of a parameter, products no transposed copy."""

from __future__ import annotations

import tracemalloc
import unittest
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

import theano_tensor as T
from theano_graph import config, graph_inputs
from theano_linker_c import function, shared
from theano_linker_c.program import HAS_RUNTIME
from theano_tensor.gradient import grad
from theano_testing.tensor import assert_allclose
from theano_testing.tiers import slow

SIZES = (60, 200, 200, 10)
Updates = list[tuple[Any, Any]]


def zeros(q: Any) -> Any:
    return shared(np.zeros_like(q.get_value()))


def momentum(q: Any, d: Any) -> Updates:
    v = zeros(q)
    new = 0.9 * v - 0.01 * d
    return [(v, new), (q, q + new)]


def rmsprop(q: Any, d: Any) -> Updates:
    a = zeros(q)
    new = 0.9 * a + 0.1 * T.sqr(d)
    return [(a, new), (q, q - 0.0005 * d / T.sqrt(new + 1e-6))]


def adam(q: Any, d: Any) -> Updates:
    m, v = zeros(q), zeros(q)
    first, second = 0.9 * m + 0.1 * d, 0.999 * v + 0.001 * T.sqr(d)
    return [(m, first), (v, second), (q, q - 0.0005 * first / (T.sqrt(second) + 1e-8))]


RULES: dict[str, Callable[[Any, Any], Updates]] = {
    "gradient descent": lambda q, d: [(q, q - 0.01 * d)],
    "decay": lambda q, d: [(q, 0.99 * q - 0.01 * d)],
    "clipped": lambda q, d: [(q, T.clip(q - 0.01 * d, -1, 1))],
    "momentum": momentum,
    "rmsprop": rmsprop,
    "adam": adam,
}


def peak_of(action: Callable[[], Any]) -> int:
    """Return the most bytes that are allocated at once, above those before, while something is done."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        action()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@unittest.skipUnless(HAS_RUNTIME and config.cxx, "NumPy allocates its results")
class TestSteadyState(unittest.TestCase):
    def step(self, rule: Callable[[Any, Any], Updates]) -> Any:
        rng = np.random.RandomState(0)
        x, y = T.dmatrix("x"), T.lvector("y")
        parameters, h = [], x
        for i, (a, b) in enumerate(pairwise(SIZES)):
            w, c = shared(rng.randn(a, b) * 0.05), shared(np.zeros(b))
            parameters += [w, c]
            h = T.dot(h, w) + c
            h = T.tanh(h) if i < len(SIZES) - 2 else h
        cost = -T.log(T.nnet.softmax(h))[T.arange(y.shape[0]), y].mean()
        pairs = zip(parameters, grad(cost, parameters), strict=True)
        return function([x, y], cost, updates=[update for q, d in pairs for update in rule(q, d)])

    @slow
    def test_a_step_allocates_no_array_of_the_size_of_a_parameter(self) -> None:
        rng = np.random.RandomState(1)
        x, y = rng.rand(12, SIZES[0]), rng.randint(0, SIZES[-1], 12)
        largest = 8 * SIZES[1] * SIZES[2]
        for name, rule in RULES.items():
            with self.subTest(update=name):
                step = self.step(rule)
                costs = [float(step(x, y)) for _ in range(9)]  # runs of instructions are captured in some

                def steps(step: Any = step) -> None:
                    for _ in range(4):
                        step(x, y)

                self.assertLess(peak_of(steps), largest / 20)
                self.assertLess(costs[-1], costs[0])


@unittest.skipUnless(HAS_RUNTIME and config.cxx, "NumPy allocates its results")
class TestNoTransposedCopy(unittest.TestCase):
    """The most memory that a product with transposed factors takes is that of its result."""

    def test_products(self) -> None:
        n = 200
        rng = np.random.RandomState(0)
        a, b, z = T.dmatrices("a", "b", "z")
        s = T.dscalar("s")
        numbers = {a: rng.rand(n, n), b: rng.rand(n, n), z: rng.rand(n, n), s: np.array(0.5)}
        for k, output in enumerate(
            (
                T.dot(a.T, b),
                T.dot(a, b.T),
                T.dot(a.T, b.T),
                T.dot(a, b).T,
                s * T.dot(a.T, b),
                z + T.dot(a.T, b.T),
                2 * z - s * T.dot(a, b.T),
                (z + T.dot(a, b)).T,
                z.T + T.dot(a, b),
                T.dot(a, b) + T.dot(b.T, a),
                0.3 * (z + 2 * T.dot(a.T, b)),
            )
        ):
            with self.subTest(expression=k):
                inputs = [v for v in numbers if v in set(graph_inputs([output]))]
                values = [numbers[v] for v in inputs]
                plain: Any = function(inputs, output, mode="FAST_COMPILE")
                f: Any = function(inputs, output)
                assert_allclose(f(*values), plain(*values), rtol=1e-9)
                f.free()
                self.assertLess(peak_of(partial(f, *values)), 8 * n * n * 1.1)
