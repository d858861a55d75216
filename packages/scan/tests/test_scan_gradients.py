from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

import theano_tensor as T
from theano_linker_c import function
from theano_linker_c.modes import get_mode
from theano_scan import LAST, Scan, scan, until
from theano_tensor import grad
from theano_tensor.gradient import Rop
from theano_tensor.random import RandomStreams

RNG = np.random.default_rng(5)
X, W, U, H = (RNG.normal(size=s) for s in ((6, 3), (4, 4), (3, 4), (4,)))


def slope(compute: Callable[..., Any], values: list[Any], which: int) -> Any:
    """Return the gradient by one value, by central differences."""
    result = np.zeros_like(values[which])
    for index in np.ndindex(*result.shape):
        ends = []
        for step in (1e-6, -1e-6):
            moved = [np.array(v) for v in values]
            moved[which][index] += step
            ends.append(compute(*moved))
        result[index] = (ends[0] - ends[1]) / 2e-6
    return result


def recurrent(x: Any, w: Any, u: Any, h: Any, **options: Any) -> Any:
    """Return the states of a small recurrent net."""
    states, _ = scan(lambda x, h, w, u: T.tanh(T.dot(h, w) + T.dot(x, u)), x, h, [w, u], **options)
    return states


def recurrent_value(x: Any, w: Any, u: Any, h: Any) -> Any:
    results = []
    for row in x:
        h = np.tanh(h @ w + row @ u)
        results.append(h)
    return np.array(results)


class TestGradients(unittest.TestCase):
    def setUp(self) -> None:
        self.symbols = [T.dmatrix("x"), T.dmatrix("w"), T.dmatrix("u"), T.dvector("h")]
        self.values = [X, W, U, H]

    def check(self, cost: Any, compute: Callable[..., Any], symbols: list[Any], values: list[Any]) -> None:
        for mode in ("FAST_RUN", "FAST_COMPILE", get_mode("FAST_RUN").excluding("scan")):
            result = function(symbols, [cost, *grad(cost, symbols)], mode=mode)(*values)
            np.testing.assert_allclose(result[0], compute(*values))
            for k in range(len(symbols)):
                np.testing.assert_allclose(result[k + 1], slope(compute, values, k), atol=1e-7, rtol=1e-5)

    def test_through_all_steps(self) -> None:
        states = recurrent(*self.symbols)
        self.check(T.sqr(states).sum(), lambda *v: (recurrent_value(*v) ** 2).sum(), self.symbols, self.values)

    def test_through_the_last_step(self) -> None:
        states = recurrent(*self.symbols)
        self.check(T.sqr(states[-1]).sum(), lambda *v: (recurrent_value(*v)[-1] ** 2).sum(), self.symbols, self.values)

    def test_backwards(self) -> None:
        states = recurrent(*self.symbols, go_backwards=True)

        def compute(x: Any, w: Any, u: Any, h: Any) -> Any:
            return (recurrent_value(x[::-1], w, u, h) ** 3).sum()

        self.check((states**3).sum(), compute, self.symbols, self.values)

    def test_sequences_that_are_longer_than_the_loop(self) -> None:
        states = recurrent(*self.symbols, n_steps=4)

        def compute(x: Any, w: Any, u: Any, h: Any) -> Any:
            return (recurrent_value(x[:4], w, u, h) ** 2).sum()

        self.check(T.sqr(states).sum(), compute, self.symbols, self.values)

    def test_taps(self) -> None:
        s, start = T.dvector("s"), T.dvector("start")
        rows, _ = scan(
            lambda now, before, two, one: T.sin(two) * one + now * before,
            {"input": s, "taps": [0, -1]},
            {"initial": start, "taps": [-2, -1]},
        )

        def compute(s: Any, start: Any) -> Any:
            reference = list(start)
            for t in range(1, len(s)):
                reference.append(np.sin(reference[-2]) * reference[-1] + s[t] * s[t - 1])
            return (np.array(reference[2:]) ** 2).sum()

        self.check(T.sqr(rows).sum(), compute, [s, start], [RNG.normal(size=6), RNG.normal(size=2)])

    def test_outputs_that_are_no_states(self) -> None:
        x, w = T.dmatrix("x"), T.dvector("w")
        (states, rows), _ = scan(lambda r, h, w: (h + r * w, T.exp(h * w)), x, [T.zeros((3,)), None], w)

        def compute(x: Any, w: Any) -> Any:
            h, total = np.zeros(3), 0.0
            for r in x:
                total += np.exp(h * w).sum()
                h = h + r * w
                total += (h**2).sum()
            return total

        self.check(rows.sum() + T.sqr(states).sum(), compute, [x, w], [X, H[:3]])

    def test_until(self) -> None:
        x, w = T.dvector("x"), T.dscalar("w")
        rows, _ = scan(lambda v, h, w: (h * w + v, until(h * w + v > 3)), x, T.zeros(()), w)

        def compute(x: Any, w: Any) -> Any:
            h, total = 0.0, 0.0
            for v in x:
                h = h * w + v
                total += h**2
                if h > 3:
                    break
            return total

        self.check(T.sqr(rows).sum(), compute, [x, w], [np.arange(1.0, 7.0) / 2, np.array(0.9)])

    def test_truncated(self) -> None:
        x, w, h = T.dvector("x"), T.dscalar("w"), T.dscalar("h")
        values = [np.arange(1.0, 6.0), np.array(0.5), np.array(2.0)]
        for steps, expected_x in ((2, [0, 0, 0, 0.5, 1]), (10, [0.0625, 0.125, 0.25, 0.5, 1])):
            rows, _ = scan(lambda v, h, w: h * w + v, x, h, w, truncate_gradient=steps)
            result = function([x, w, h], grad(rows[-1], [x, h]))(*values)
            np.testing.assert_allclose(result[0], expected_x)
            np.testing.assert_allclose(result[1], 0 if steps == 2 else 0.5**5)

    def test_second_order(self) -> None:
        x, w = T.dvector("x"), T.dscalar("w")
        rows, _ = scan(lambda v, h, w: T.tanh(h * w + v), x, T.zeros(()), w)
        first = grad(T.sqr(rows).sum(), w)
        f, second = function([x, w], first), function([x, w], grad(first, w))
        value = RNG.normal(size=5)
        expected = (f(value, 0.3 + 1e-6) - f(value, 0.3 - 1e-6)) / 2e-6
        np.testing.assert_allclose(second(value, 0.3), expected, rtol=1e-5)

    def test_along(self) -> None:
        states = recurrent(*self.symbols)
        tangents = [v.type() for v in self.symbols]
        directions = [RNG.normal(size=v.shape) for v in self.values]
        along = function([*self.symbols, *tangents], Rop(states, self.symbols, tangents))
        ends = [
            recurrent_value(*[v + e * d for v, d in zip(self.values, directions, strict=True)]) for e in (1e-6, -1e-6)
        ]
        np.testing.assert_allclose(along(*self.values, *directions), (ends[0] - ends[1]) / 2e-6, atol=1e-8)

    def test_random_numbers_inside(self) -> None:
        s, streams = T.dvector("s"), RandomStreams(7)
        rows, updates = scan(lambda x, h: (h + x) * streams.uniform(size=()), s, T.zeros(()))
        cost = rows[-1]
        f = function([s], [cost, grad(cost, s)], updates=updates)
        value = np.array([1.0, 2.0, 3.0])
        cost_value, gradient = f(value)
        # The cost is linear in the sequence: the gradient of the very numbers that were drawn gives it back.
        np.testing.assert_allclose((gradient * value).sum(), cost_value)

    def test_integers_and_disconnected(self) -> None:
        x, k = T.dvector("x"), T.lvector("k")
        (rows, counts), _ = scan(lambda v, i, n: (v * i, n + i), [x, k], [None, T.zeros((), "int64")])
        self.assertEqual(counts.dtype, "int64")
        result = function([x, k], grad(rows.sum(), x))([1.0, 2.0], [3, 4])
        np.testing.assert_array_equal(result, [3, 4])
        both = [grad(cost, k, disconnected_inputs="ignore") for cost in (rows.sum(), (x * k[:2]).sum())]
        result = function([x, k], both, on_unused_input="ignore")([1.0, 2.0], [3, 4])
        np.testing.assert_array_equal(result[0], result[1])

    def test_no_steps(self) -> None:
        states = recurrent(*self.symbols)
        result = function(self.symbols, grad(T.sqr(states).sum(), self.symbols))(X[:0], W, U, H)
        for value, gradient in zip((X[:0], W, U, H), result, strict=True):
            np.testing.assert_array_equal(gradient, np.zeros_like(value))


class TestRewrites(unittest.TestCase):
    def loops(self, f: Any) -> list[Any]:
        return [node.op for node in f.maker.fgraph.toposort() if isinstance(node.op, Scan)]

    def names(self, op: Any) -> list[str]:
        return [str(node.op) for node in op.fgraph.toposort()]

    def test_only_the_last_step_is_kept(self) -> None:
        s = T.dvector("s")
        rows, _ = scan(lambda x, total: total + x, s, T.zeros(()))
        (op,) = self.loops(function([s], rows[-1], mode="FAST_RUN"))
        self.assertEqual(op.plan.kinds, (LAST,))
        (op,) = self.loops(function([s], [rows[-1], rows[0]], mode="FAST_RUN"))
        self.assertNotEqual(op.plan.kinds, (LAST,))

    def test_products_of_sequences_are_done_at_once(self) -> None:
        x, w, u, h = T.dmatrix("x"), T.dmatrix("w"), T.dmatrix("u"), T.dvector("h")
        states = recurrent(x, w, u, h)
        (op,) = self.loops(function([x, w, u, h], states, mode="FAST_RUN"))
        self.assertEqual(self.names(op).count("dot"), 1)
        for name in ("scanOp_pushout_seqs_ops", "more_mem"):
            mode = get_mode("FAST_RUN").excluding(name)
            (op,) = self.loops(function([x, w, u, h], states, mode=mode))
            self.assertEqual(self.names(op).count("dot"), 2)

    def test_sums_of_products_are_one_product(self) -> None:
        x, w, u, h = T.dtensor3("x"), T.dmatrix("w"), T.dmatrix("u"), T.dmatrix("h")
        gradient = grad(T.sqr(recurrent(x, w, u, h)).sum(), w)
        values = [RNG.normal(size=s) for s in ((5, 2, 3), (4, 4), (3, 4), (2, 4))]
        results = []
        for mode, sums in ((get_mode("FAST_RUN"), 0), (get_mode("FAST_RUN").excluding("scan_pushout_dot1"), 1)):
            f = function([x, w, u, h], gradient, mode=mode)
            self.assertEqual(sum(op.plan.kinds.count("sum") for op in self.loops(f)), sums)
            results.append(f(*values))
        np.testing.assert_allclose(results[0], results[1])

    def test_sums_of_what_is_kept_leave_the_loop(self) -> None:
        operand = np.random.default_rng(0).normal(size=(5, 2, 3))
        x, w, b, h = T.dtensor3("x"), T.dmatrix("w"), T.dvector("b"), T.dmatrix("h")
        states, _ = scan(lambda r, s, w, b: T.tanh(T.dot(s + r, w) + b), x, h, [w, b])
        gradients = grad(T.sqr(states).sum() + T.exp(states[-1]).sum(), [b, w])
        results = []
        for mode, sums in ((get_mode("FAST_RUN"), 0), (get_mode("FAST_RUN").excluding("scan_pushout_sums"), 1)):
            f = function([x, w, b, h], gradients, mode=mode)
            self.assertEqual(sum(op.plan.kinds.count("sum") for op in self.loops(f)), sums)
            results.append([f(operand[:n], W[:3, :3] / 2, W[0, :3], operand[0]) for n in (1, 5)])
        for a, b in zip(*results, strict=True):
            for one, other in zip(a, b, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-9)

    def test_outputs_leave_the_loop(self) -> None:
        x, v = T.dmatrix("x"), T.dmatrix("v")
        (states, rows), _ = scan(
            lambda r, h, v: (T.tanh(h + r), T.dot(T.tanh(h + r), v) + 1), x, [T.zeros((3,)), None], v
        )
        results = []
        for mode, products in ((get_mode("FAST_RUN"), 0), (get_mode("FAST_RUN").excluding("scanOp_pushout_output"), 1)):
            f = function([x, v], [states, rows], mode=mode)
            self.assertEqual(sum(self.names(op).count("dot") for op in self.loops(f)), products)
            results.append(f(X, U[:, :2]))
        for a, b in zip(*results, strict=True):
            np.testing.assert_allclose(a, b)

    def test_unused_outputs_and_inputs_go(self) -> None:
        x, y = T.dmatrix("x"), T.dmatrix("y")
        (a, _), _ = scan(lambda x, y: (T.exp(T.cumsum(x)), T.sin(y.sum())), [x, y])
        f = function([x, y], a, mode="FAST_RUN")
        (op,) = self.loops(f)
        self.assertEqual((op.plan.sequences, len(op.plan.kinds)), (1, 1))
        self.assertEqual(f([[0.0]], [[2.0]]).tolist(), [[1.0]])
