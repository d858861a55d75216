"""Common parts of loops are joined."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

import theano_tensor as T
from theano_graph import Constant
from theano_linker_c import function
from theano_linker_c.modes import get_mode
from theano_scan import Scan, scan
from theano_tensor.control import ifelse
from theano_tensor.random import RandomStreams
from theano_testing.tiers import examples, slow

PLAIN = get_mode("FAST_RUN").excluding("scan")


def loops_of(f: Any) -> list[Any]:
    return [n for n in f.maker.fgraph.toposort() if isinstance(n.op, Scan)]


class TestMerging(unittest.TestCase):
    def check(self, inputs: list[Any], outputs: list[Any], values: list[Any], loops: int) -> list[Any]:
        f = function(inputs, outputs)
        for a, b in zip(f(*values), function(inputs, outputs, mode=PLAIN)(*values), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
        result = loops_of(f)
        self.assertEqual(len(result), loops)
        return result

    def test_loops_over_one_sequence(self) -> None:
        s, a = T.dvector("s"), T.dscalar("a")
        sums, _ = scan(lambda x, total: T.tanh(total + x), s, T.zeros(()))
        products, _ = scan(lambda x, total, a: T.tanh(total * x) + a, s, T.ones(()), a)
        result = self.check([s, a], [sums, products[-1]], [np.arange(1.0, 5), 0.5], 1)
        self.assertEqual(result[0].op.plan.sequences, 1)
        for values in ([], [2.0]):
            f = function([s, a], [sums, products])
            self.assertEqual([len(v) for v in f(values, 1.0)], [len(values)] * 2)

    def test_loops_that_do_not_go_together(self) -> None:
        s, m = T.dvector("s"), T.dvector("m")
        up, _ = scan(lambda x, total: T.tanh(total + x), s, T.zeros(()))
        down, _ = scan(lambda x, total: T.tanh(total + x), s, T.zeros(()), go_backwards=True)
        other, _ = scan(lambda x, total: T.tanh(total + x), m, T.zeros(()))
        after, _ = scan(lambda x, y, total: T.tanh(total + x * y), [s, up], T.zeros(()))
        # Backwards means along the reversed sequence: the first two have the same number of steps.
        self.check([s, m], [up, down, other], [np.arange(3.0), np.arange(4.0)], 2)
        self.check([s], [up, after], [np.arange(3.0)], 2)

    def test_states_that_are_equal_in_all_steps(self) -> None:
        s, start = T.dvector("s"), T.dscalar("start")
        (a, b, c), _ = scan(
            lambda x, a, b, c: (T.tanh(a + x), T.tanh(b + x), T.tanh(a * c + x)), s, [start, start, start]
        )
        (loop,) = self.check([s, start], [a, b, c], [np.arange(1.0, 4), 0.5], 1)
        self.assertEqual(loop.op.plan.states, 2)
        # Equal for the first step only.
        (d, e), _ = scan(lambda x, d, e: (T.tanh(d + x), T.tanh(e + d)), s, [start, start])
        (loop,) = self.check([s, start], [d, e], [np.arange(1.0, 4), 0.5], 1)
        self.assertEqual(loop.op.plan.states, 2)

    def test_two_states_that_need_each_other(self) -> None:
        s, start = T.dvector("s"), T.dscalar("start")
        (a, b), _ = scan(lambda x, a, b: (T.tanh(b + x), T.tanh(a + x)), s, [start, start])
        (loop,) = self.check([s, start], [a, b], [np.arange(1.0, 4), 0.5], 1)
        self.assertEqual(loop.op.plan.states, 1)

    def test_results_and_inputs_that_are_given_twice(self) -> None:
        s = T.dvector("s")
        (a, b, c), _ = scan(
            lambda x, y, t: (T.tanh(t + x), T.exp(T.tanh(t + y)), T.tanh(t + x)), [s, s], [T.zeros(()), None, None]
        )
        (loop,) = self.check([s], [a, b, c], [np.arange(3.0)], 1)
        self.assertEqual(loop.op.plan.sequences, 1)
        self.assertLess(len(loop.op.plan.kinds), 3)

    def test_second_derivatives_do_not_run_a_loop_twice(self) -> None:
        s, w = T.dvector("s"), T.dscalar("w")
        last = scan(lambda x, t, w: T.tanh(t * w + x), s, T.zeros(()), w)[0][-1]
        second = T.grad(T.grad(last, w), w)
        f = function([s, w], [last, second])
        value = np.array([0.1, 0.4, -0.3])

        def slope(v: float) -> Any:
            return (g(value, v + 1e-5) - g(value, v - 1e-5)) / 2e-5

        g = function([s, w], T.grad(last, w))
        np.testing.assert_allclose(f(value, 0.7)[1], slope(0.7), rtol=1e-6)
        forward = [n for n in loops_of(f) if not n.op.plan.backwards and n.inputs[-1] is f.maker.fgraph.inputs[1]]
        self.assertEqual(len({tuple(n.inputs[1:]) for n in forward}), len(forward))

    def test_a_loop_that_does_what_another_does_too(self) -> None:
        s, a, b = T.dvector("s"), T.dscalar("a"), T.dscalar("b")
        two, _ = scan(lambda x, u, v: (T.tanh(u + x), T.tanh(v + x)), s, [a, b])
        for inputs in (two, two[::-1]):
            one, _ = scan(lambda x, u: T.tanh(u + x), s, a)
            self.check([s, a, b], [one, *inputs], [np.arange(3.0), 0.5, 1.5], 1)
        again, _ = scan(lambda x, u, v: (T.tanh(u + x), T.tanh(v + x), T.tanh(u + x)), s, [a, b, None])
        self.check([s, a, b], [*again, *two], [np.arange(3.0), 0.5, 1.5], 1)

    def test_random_loops_stay_random(self) -> None:
        streams = RandomStreams(3)
        s = T.dvector("s")
        first, one = scan(lambda x: x + streams.normal(size=(2,)), s)
        second, two = scan(lambda x: x + streams.normal(size=(2,)), s)
        f = function([s], [first, second], updates=[*one.items(), *two.items()])
        a, b = f(np.zeros(3))
        self.assertEqual(len(np.unique([a, b])), 12)

    def test_loops_that_may_not_be_wanted_stay_apart(self) -> None:
        s, c = T.dvector("s"), T.dscalar("c")
        sums, _ = scan(lambda x, total: T.tanh(total + x), s, T.zeros(()))
        products, _ = scan(lambda x, total: T.tanh(total * x), s, T.ones(()))
        self.check([s, c], [ifelse(c > 0, sums[-1], products[-1])], [np.arange(3.0), 1.0], 2)


#: The next value of a state: of an element of a sequence, itself, another state, a constant.
STEPS: list[Callable[[Any, Any, Any, Any], Any]] = [
    lambda x, a, b, c: T.tanh(a + x),
    lambda x, a, b, c: T.tanh(b + x),
    lambda x, a, b, c: T.tanh(a * c + b),
    lambda x, a, b, c: a + x * c,
    lambda x, a, b, c: x * 0.5,
    lambda x, a, b, c: c,
    lambda x, a, b, c: a,
]


class TestDrawnLoops(unittest.TestCase):
    @slow
    @settings(deadline=None, max_examples=examples(40))
    @given(
        st.lists(
            st.tuples(
                st.integers(0, len(STEPS) - 1),
                st.integers(0, len(STEPS) - 1),
                st.booleans(),
                st.booleans(),
                st.booleans(),
                st.sampled_from(["all", "last", "gradient"]),
            ),
            min_size=1,
            max_size=3,
        ),
        st.integers(0, 4),
    )
    def test_same_values(self, drawn: list[Any], steps: int) -> None:
        s, t, a, b, c = T.dvector("s"), T.dvector("t"), T.dscalar("a"), T.dscalar("b"), T.dscalar("c")
        outputs: list[Any] = []
        for first, second, other, equal, backwards, expected in drawn:

            def step(x: Any, y: Any, u: Any, v: Any, c: Any, first: int = first, second: int = second) -> Any:
                return STEPS[first](x, u, v, c), STEPS[second](y, v, u, c), x + y * u

            result, _ = scan(
                step, [s, t if other else s], [a, a if equal else b, None], c, s.shape[0], go_backwards=backwards
            )
            if expected == "gradient":
                outputs += T.grad(T.add(*((v**2).sum() for v in result)), [s, a, c], disconnected_inputs="ignore")
            else:
                outputs += [v[-1] for v in result] if expected == "last" else result
        inputs = [s, t, a, b, c]
        rng = np.random.default_rng(steps)
        values = [rng.normal(size=steps), rng.normal(size=steps), 0.3, -0.2, 0.7]
        results = []
        for mode in ("FAST_RUN", PLAIN):
            f = function(inputs, outputs, mode=mode, on_unused_input="ignore")
            if steps == 0 and any(d[-1] == "last" for d in drawn):
                with self.assertRaises(IndexError):
                    f(*values)
            else:
                results.append(f(*values))
        for x, y in zip(*results, strict=True) if results else ():
            self.assertEqual(x.shape, y.shape)
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


class TestConstantsAndSums(unittest.TestCase):
    def test_numbers_go_into_the_step(self) -> None:
        m = T.fmatrix("m")
        rows, _ = scan(lambda x, h: 1 / (1 + T.exp(-(x + h))), m, T.zeros((3,), "float32"))
        f = function([m], rows)
        (loop,) = loops_of(f)
        self.assertFalse(any(isinstance(v, Constant) for v in loop.inputs[3:]))
        self.assertIn("sigmoid", " ".join(str(n.op) for n in loop.op.compiled().maker.fgraph.toposort()))
        value = np.array([[-200.0, 0.0, 200.0]] * 2, "float32")
        expected = np.zeros(3)
        for row in value:
            expected = 1 / (1 + np.exp(-(row.astype(float) + expected)))
        np.testing.assert_allclose(f(value)[-1], expected, rtol=1e-5, atol=1e-30)

    def test_products_in_sums_leave_the_loop(self) -> None:
        x, y, w = T.dtensor3("x"), T.dtensor3("y"), T.dmatrix("w")
        states, _ = scan(lambda x, y, h, w: T.tanh(T.dot(x, w) + T.dot(T.tanh(y + h), w)), [x, y], T.zeros((2, 3)), w)
        gradient = T.grad((states**2).sum(), w)
        f = function([x, y, w], gradient)
        backwards = [n for n in loops_of(f) if n.op.plan.backwards]
        self.assertEqual([k for n in backwards for k in n.op.plan.kinds if k == "sum"], [])
        rng = np.random.default_rng(0)
        values = [rng.normal(size=n) for n in ((4, 2, 3), (4, 2, 3), (3, 3))]
        np.testing.assert_allclose(f(*values), function([x, y, w], gradient, mode=PLAIN)(*values))
