"""`theano.functional`: loops over containers of values, against loops in Python."""

from __future__ import annotations

import unittest
from typing import Any, NamedTuple

import numpy as np

import theano
import theano.tensor as T
from theano import functional
from theano.functional import LoopError, fori_loop, scan, while_loop
from theano.tensor.shared_randomstreams import RandomStreams
from theano_testing.tiers import slow


class Pair(NamedTuple):
    """A state of two values."""

    total: Any
    count: Any


class TestScan(unittest.TestCase):
    def test_states_and_stacks_are_containers(self) -> None:
        def body(state: Pair, x: Any) -> tuple[Pair, dict[str, Any]]:
            return Pair(state.total + x["a"], state.count + 1), {"before": state.total, "twice": 2 * x["a"]}

        x = np.array([1.0, 2.0, 3.0])
        for reverse in (False, True):
            state, rows = scan(body, Pair(0.0, 0), {"a": x}, reverse=reverse)
            self.assertEqual((type(state), float(state.total), int(state.count)), (Pair, 6, 3))
            self.assertEqual(rows["before"].tolist(), [5, 3, 0] if reverse else [0, 1, 3])
            self.assertEqual(rows["twice"].tolist(), [2, 4, 6])

    def test_no_steps_and_no_arrays(self) -> None:
        state, rows = scan(lambda s, x: (s + x, s), 1.5, np.zeros(0))
        self.assertEqual((float(state), rows.shape), (1.5, (0,)))
        state, rows = scan(lambda s, _: (s + 1, None), 0, length=4)
        self.assertEqual((int(state), rows), (4, None))
        _, rows = scan(lambda s, x: (s, 2 * x), None, np.ones(2))
        self.assertEqual(rows.tolist(), [2, 2])

    def test_derivatives(self) -> None:
        x, v = np.array([2.0, 3.0, 4.0]), np.array([1.0, 0.0, -1.0])

        def products(x: Any) -> Any:
            return scan(lambda s, a: (s * a, s * a), 1.0, x)[1]

        expected = np.array([[1.0, 0, 0], [3, 2, 0], [12, 8, 6]])
        np.testing.assert_allclose(functional.jacobian(products)(x), expected)
        np.testing.assert_allclose(functional.jvp(products, (x,), (v,))[1], expected @ v)

    def test_generators_are_states(self) -> None:
        @theano.jit
        def walk(rng: Any, x: Any) -> Any:
            def step(state: Any, _: Any) -> Any:
                rng, x = state
                return (rng, x + rng.normal()), x

            (rng, x), path = scan(step, (rng, x), length=5)
            return x, path, rng

        end, path, rng = walk(theano.random.default_rng(3), 0.0)
        reference = np.random.default_rng(3)
        steps = np.cumsum(reference.normal(size=5))
        np.testing.assert_allclose(end, steps[-1])
        np.testing.assert_allclose(path, [0, *steps[:-1]])
        np.testing.assert_allclose(rng.normal(), reference.normal())

    def test_variables_of_programs_around_it(self) -> None:
        x, a = T.dvector("x"), T.dscalar("a")
        total, _ = scan(lambda s, v: (s + a * v, None), T.constant(0.0), x)
        self.assertEqual(float(theano.function([x, a], total)([1.0, 2.0], 3.0)), 9)
        power = fori_loop(0, 3, lambda i, y: y * a, 1.0)
        self.assertEqual(float(theano.grad(power, a).eval({a: 2.0})), 12)

    def test_errors(self) -> None:
        x = np.ones(3)
        cases: list[tuple[Any, type[Exception], str]] = [
            (lambda: scan(lambda s, v: (s, v), 0.0), LoopError, "nothing says how many steps"),
            (lambda: scan(lambda s, v: s, 0.0, x), LoopError, "no pair"),
            (lambda: scan(lambda s, v: ((s, s), v), 0.0, x), ValueError, "the state after a step"),
            (lambda: scan(lambda s, v: (s + v, v), 0.0, np.ones((3, 2))), LoopError, r"`init` has the shape \(\)"),
            (lambda: scan(lambda s, v: (s, v), 0.0, 2.0), LoopError, "`xs` is a scalar"),
            (lambda: fori_loop(0, 2.5, lambda i, s: s, 1.0), LoopError, "whole numbers"),
            (lambda: fori_loop(0, 2, lambda i, s: {"a": s["a"] + x}, {"a": 1.0}), LoopError, r"`init\['a'\]` has"),
            (lambda: while_loop(lambda s: s < 1, lambda s: s, x), LoopError, "T.any"),
        ]
        for call, error, message in cases:
            with self.subTest(message), self.assertRaisesRegex(error, message):
                call()


class TestForiLoop(unittest.TestCase):
    def test_numbers_are_counted(self) -> None:
        total = theano.jit(lambda a, b: fori_loop(a, b, lambda i, s: s + i, 0))
        for a, b in ((2, 6), (5, 2), (0, 1), (-2, 2)):
            self.assertEqual(int(total(a, b)), sum(range(a, b)))
        self.assertEqual(int(fori_loop(0, 0, lambda i, s: s + 1, 7)), 7)

    def test_states_become_wider(self) -> None:
        self.assertEqual(float(fori_loop(0, 3, lambda i, s: s + 0.5, 0)), 1.5)
        self.assertEqual(complex(fori_loop(0, 2, lambda i, s: s * 1j, 1.0)), -1)

    def test_gradients_and_nesting(self) -> None:
        def power(a: Any) -> Any:
            return fori_loop(0, 3, lambda i, x: fori_loop(0, 2, lambda j, y: y * a, x), 1.0)

        self.assertEqual(float(theano.grad(power)(2.0)), 6 * 2**5)


class TestWhileLoop(unittest.TestCase):
    def test_steps_are_those_of_python(self) -> None:
        doubled = theano.jit(lambda x: while_loop(lambda x: x < 100, lambda x: 2 * x, x))
        self.assertEqual([float(doubled(x)) for x in (3.0, 200.0, 100.0)], [192, 200, 100])
        self.assertEqual(int(while_loop(lambda s: False, lambda s: s + 1, 1)), 1)

    def test_all_levels_of_rewriting(self) -> None:
        def f(a: Any, x: Any) -> Any:
            return while_loop(lambda s: s["k"] < 5, lambda s: {"k": s["k"] + 1, "x": s["x"] * a}, {"k": 0, "x": x})["x"]

        for mode in ("FAST_RUN", "FAST_COMPILE", theano.Mode(optimizer=None)):
            value, slope = theano.jit(functional.value_and_grad(f), mode=mode)(2.0, 3.0)
            self.assertEqual((float(value), float(slope)), (96, 240))

    def test_derivatives_are_those_of_the_steps_done(self) -> None:
        squared = theano.jit(lambda x: while_loop(lambda x: x < 100, lambda x: x * x, x))
        self.assertEqual(float(theano.grad(squared)(3.0)), 8 * 3**7)
        self.assertEqual(float(functional.jvp(squared, (3.0,), (2.0,))[1]), 16 * 3**7)
        # A variable that the body reads from around it has a derivative, too.
        power = theano.grad(lambda a: while_loop(lambda x: x < 100, lambda x: x * a, 1.0))
        self.assertEqual(float(power(3.0)), 5 * 3**4)

    @slow
    def test_second_derivatives_and_nesting(self) -> None:
        squared = theano.jit(lambda x: while_loop(lambda x: x < 100, lambda x: x * x, x))
        self.assertEqual(float(functional.hessian(squared)(3.0)), 56 * 3**6)

        def body(s: Any) -> Any:
            return s[0] + 1, s[1] + while_loop(lambda k: k < s[0], lambda k: k + 1, 0)

        self.assertEqual(int(theano.jit(lambda n: while_loop(lambda s: s[0] < n, body, (0, 0)))(5)[1]), 10)

    def test_rejection_with_a_generator(self) -> None:
        @theano.jit
        def draw(rng: Any) -> Any:
            return while_loop(lambda s: s[1] < 1.5, lambda s: (s[0], s[0].normal(), s[2] + 1), (rng, 0.0, 0))

        rng, x, n = draw(theano.random.default_rng(0))
        reference = np.random.default_rng(0)
        expected, count = 0.0, 0
        while expected < 1.5:
            expected, count = reference.normal(), count + 1
        self.assertEqual((float(x), int(n), float(rng.normal())), (expected, count, reference.normal()))

    def test_streams_move_on(self) -> None:
        streams = RandomStreams(3)
        f = theano.jit(lambda x: while_loop(lambda y: y < 3, lambda y: y + streams.uniform(()), x))
        self.assertNotEqual(float(f(0.0)), float(f(0.0)))
