"""Random numbers under their documented names: the tutorial's programs, in every mode."""

from __future__ import annotations

import pickle
import unittest
from typing import Any

import numpy as np
from theano_cases import in_each_mode

import theano
import theano.tensor as T
from theano import Mode, function
from theano.sandbox import multinomial, rng_mrg
from theano.sandbox.rng_mrg import MRG_RandomStreams
from theano.tensor import raw_random
from theano.tensor.shared_randomstreams import RandomStreams

KINDS: tuple[Any, ...] = (RandomStreams, MRG_RandomStreams)


class Graph:
    """A model with a source of random numbers."""

    def __init__(self, kind: Any, seed: int = 123) -> None:
        self.rng = kind(seed)
        self.y = self.rng.uniform(size=(1,))


def copy_random_state(first: Graph, second: Graph) -> None:
    if isinstance(first.rng, MRG_RandomStreams):
        second.rng.rstate = first.rng.rstate
    for mine, theirs in zip(first.rng.state_updates, second.rng.state_updates, strict=True):
        theirs[0].set_value(mine[0].get_value())


class TestTutorial(unittest.TestCase):
    @in_each_mode
    def test_brief_example(self, mode: str | Mode) -> None:
        for kind in KINDS:
            streams = kind(seed=234)
            uniform, normal = streams.uniform((2, 2)), streams.normal((2, 2))
            f = function([], uniform, mode=mode)
            g = function([], normal, no_default_updates=True, mode=mode)
            nearly_zeros = function([], uniform + uniform - 2 * uniform, mode=mode)
            self.assertFalse(np.array_equal(f(), f()))
            np.testing.assert_array_equal(g(), g())
            np.testing.assert_allclose(nearly_zeros(), np.zeros((2, 2)), atol=1e-15)
            self.assertEqual((f().shape, f().dtype), ((2, 2), np.dtype(theano.config.floatX)))

    @in_each_mode
    def test_seeding(self, mode: str | Mode) -> None:
        streams = RandomStreams(seed=234)
        uniform, normal = streams.uniform((2, 2)), streams.normal((2, 2))
        f = function([], [uniform, normal], mode=mode)
        value = uniform.rng.get_value(borrow=True)
        value.seed(89234)
        uniform.rng.set_value(value, borrow=True)
        np.testing.assert_array_equal(f()[0], np.random.RandomState(89234).uniform(size=(2, 2)))
        streams.seed(902340)
        seeds = np.random.RandomState(902340)
        for item, name in zip(f(), ("uniform", "normal"), strict=True):
            state = np.random.RandomState(int(seeds.randint(2**30)))
            np.testing.assert_array_equal(item, getattr(state, name)(size=(2, 2)))

    @in_each_mode
    def test_sharing_streams_between_functions(self, mode: str | Mode) -> None:
        uniform = RandomStreams(seed=234).uniform((2, 2))
        f, nearly_zeros = function([], uniform, mode=mode), function([], uniform + uniform - 2 * uniform, mode=mode)
        before = uniform.rng.get_value().get_state()
        nearly_zeros()
        first = f()
        rng = uniform.rng.get_value(borrow=True)
        rng.set_state(before)
        uniform.rng.set_value(rng, borrow=True)
        second, third = f(), f()
        self.assertFalse(np.array_equal(first, second))
        np.testing.assert_array_equal(first, third)

    @in_each_mode
    def test_copying_random_states_between_graphs(self, mode: str | Mode) -> None:
        for kind in KINDS:
            first, second = Graph(kind, 123), Graph(kind, 987)
            f, g = function([], first.y, mode=mode), function([], second.y, mode=mode)
            values = f(), g()
            self.assertNotEqual(float(values[0][0]), float(values[1][0]))
            copy_random_state(first, second)
            later = f()
            np.testing.assert_array_equal(later, g())
            if kind is RandomStreams:
                result = np.concatenate([*values, later])
                np.testing.assert_allclose(result, [0.72803009, 0.55056769, 0.59044123], atol=5e-9)
            state, new_state, *_ = first.rng.state_updates[0]
            self.assertEqual(state.type, new_state.type)

    def test_the_state_after_a_draw_is_the_first_output(self) -> None:
        _, new_state = RandomStreams(1).uniform((2,)).update
        self.assertEqual(str(new_state), "RandomFunction{uniform}.0")

    def test_streams_are_an_attribute_of_tensor(self) -> None:
        self.assertIs(T.shared_randomstreams.RandomStreams, RandomStreams)
        self.assertIs(T.raw_random.RandomFunction, raw_random.RandomFunction)


class TestOtherNames(unittest.TestCase):
    @in_each_mode
    def test_raw_functions_give_the_new_state_and_the_draw(self, mode: str | Mode) -> None:
        r = raw_random.random_state_type("r")
        middle, first = raw_random.normal(r, (3,))
        last, second = raw_random.multinomial(middle, (2,), p_vals=[0.25, 0.75])
        f = function([r], [first, second, last], mode=mode)
        state, operands = np.random.RandomState(4), np.random.RandomState(4)
        result = f(operands)
        np.testing.assert_array_equal(result[0], state.normal(size=3))
        np.testing.assert_array_equal(result[1], state.multinomial(1, [0.25, 0.75], 2))
        self.assertTrue(r.type.values_eq(result[2], state))
        self.assertTrue(r.type.values_eq(operands, np.random.RandomState(4)))

    @in_each_mode
    def test_dropout_with_gradient(self, mode: str | Mode) -> None:
        for kind in KINDS:
            x, w = T.dmatrix("x"), theano.shared(np.ones((4, 3)), name="w")
            mask = kind(5).binomial(x.shape, p=0.5, dtype="float64")
            cost = T.dot(x * mask, w).sum()
            f = function([x], [mask, T.grad(cost, w)], updates=[(w, w - 0.1 * T.grad(cost, w))], mode=mode)
            value = np.arange(8.0).reshape(2, 4)
            drawn, slope = f(value)
            np.testing.assert_allclose(slope, np.repeat((value * drawn).sum(axis=0)[:, None], 3, axis=1))
            np.testing.assert_allclose(w.get_value(), 1 - 0.1 * slope)

    def test_debug_mode_finds_nothing(self) -> None:
        for kind in KINDS:
            streams = kind(5)
            draws = [streams.uniform((3,)), streams.normal((3,)), streams.binomial((3,)), streams.choice((3,), 5)]
            result = function([], draws, mode="DebugMode")()
            again = kind(5)
            draws = [again.uniform((3,)), again.normal((3,)), again.binomial((3,)), again.choice((3,), 5)]
            for a, b in zip(result, function([], draws)(), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12)

    def test_copies_and_pickles_of_functions(self) -> None:
        for kind in KINDS:
            f = function([], kind(5).normal((3,)))
            twin = pickle.loads(pickle.dumps(f))
            np.testing.assert_array_equal(f(), twin())
            np.testing.assert_array_equal(f(), twin())

    def test_jumps(self) -> None:
        state = np.full(6, 12345)
        by_matrix = rng_mrg.multMatVect(state, rng_mrg.A1p72, rng_mrg.M1, rng_mrg.A2p72, rng_mrg.M2)
        np.testing.assert_array_equal(rng_mrg.ff_2p72(state), by_matrix)
        rows = MRG_RandomStreams(12345).get_substream_rstates(2)
        np.testing.assert_array_equal(rows[1], by_matrix)
        streams = MRG_RandomStreams(12345)
        streams.inc_rstate()
        np.testing.assert_array_equal(streams.rstate, rng_mrg.ff_2p134(state))
        op = rng_mrg.DotModulo()(rng_mrg.A1p72, state[:3], rng_mrg.M1, rng_mrg.A2p72, state[3:], rng_mrg.M2)
        np.testing.assert_array_equal(op.eval(), by_matrix)
        np.testing.assert_array_equal(rng_mrg.matVecModM(rng_mrg.A1p72, state[:3], rng_mrg.M1), by_matrix[:3])

    def test_categories_from_uniform_numbers(self) -> None:
        p = np.array([[0.98, 0.01, 0.01], [0.01, 0.49, 0.50]])
        counts = multinomial.MultinomialFromUniform("int64")(p, [0.5, 0.7], 1)
        self.assertEqual(counts.eval().tolist(), [[1, 0, 0], [0, 0, 1]])
        numbers = multinomial.ChoiceFromUniform("int64")(p, [0.5, 0.7], 1)
        self.assertEqual(numbers.eval().tolist(), [[0], [2]])
