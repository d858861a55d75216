"""`theano.random`: draws equal those of NumPy, and the state is a value."""

from __future__ import annotations

import copy
import pickle
import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.random import Generator, GeneratorError, default_rng
from theano_testing.tiers import slow


def few(rng: Any) -> list[Any]:
    """Return some draws; one of them uses the half of a word that another one left."""
    return [rng.integers(5, size=3), rng.normal(1.0, 2.0, size=(2, 3)), rng.uniform(-1, 1), rng.permutation(4)]


def many(rng: Any) -> list[Any]:
    """Return a draw of each distribution."""
    matrix, ones = np.eye(2), np.ones(3)
    return [
        *(rng.random(3), rng.normal(np.array([1.0, 2.0]), 3.0), rng.integers(2, 9, endpoint=True), rng.integers(3)),
        *(rng.poisson(3.0, size=2), rng.binomial(5, 0.3, size=(2,)), rng.geometric(0.5, 2), rng.exponential(2.0, 3)),
        *(rng.choice(7, size=3, replace=False), rng.choice(np.arange(5.0), p=np.full(5, 0.2)), rng.permutation(6)),
        *(rng.permutation(np.arange(6).reshape(3, 2)), rng.gamma(2.0, 3.0, size=2), rng.beta(1.0, 2.0, size=2)),
        *(rng.multivariate_normal(np.zeros(2), matrix, size=3), rng.multivariate_normal(np.zeros(2), matrix)),
        *(rng.dirichlet(ones), rng.multinomial(9, ones / 3, size=2), rng.laplace(size=2), rng.gumbel(1.0, 2.0, size=2)),
        *(rng.logistic(), rng.lognormal(0.0, 1.0, 2), rng.standard_t(3.0, 2), rng.vonmises(0.0, 1.0, 2)),
        *(rng.chisquare(3.0, 2), rng.weibull(2.0, 2), rng.standard_cauchy(2), rng.standard_exponential(), rng.normal()),
    ]


class TestDraws(unittest.TestCase):
    def check(self, draws: Any) -> None:
        expected = draws(np.random.default_rng(5))
        for kind, drawn in (("values", draws(default_rng(5))), ("compiled", theano.jit(draws)(default_rng(5)))):
            for k, (x, y) in enumerate(zip(drawn, expected, strict=True)):
                with self.subTest(kind, draw=k):
                    self.assertEqual(np.shape(x), np.shape(y))
                    np.testing.assert_allclose(x, y, rtol=1e-14)

    def test_draws_are_those_of_numpy(self) -> None:
        self.check(few)

    @slow
    def test_all_distributions(self) -> None:
        self.check(many)

    def test_seeds(self) -> None:
        for seed in (0, [1, 2], np.random.SeedSequence(3), np.random.default_rng(4)):
            expected = copy.deepcopy(np.random.default_rng(seed)).random()
            self.assertEqual(float(default_rng(seed).random()), expected)
        self.assertNotEqual(float(default_rng().random()), float(default_rng().random()))
        self.assertEqual(float(theano.jit(lambda: default_rng(7).random())()), np.random.default_rng(7).random())

    def test_gradients_go_to_the_parameters(self) -> None:
        slope = theano.grad(lambda m, rng: rng.normal(m, 2 * m, size=3).sum())(1.0, default_rng(0))
        np.testing.assert_allclose(slope, 3 + 2 * np.random.default_rng(0).normal(size=3).sum())

    def test_shapes_may_be_symbolic(self) -> None:
        f = theano.jit(lambda rng, x: rng.normal(x, size=x.shape) + rng.uniform(0, T.ones_like(x)))
        for n in (2, 5):
            reference = np.random.default_rng(1)
            expected = reference.normal(size=n) + reference.random(n)
            np.testing.assert_allclose(f(default_rng(1), np.zeros(n)), expected)


class TestStates(unittest.TestCase):
    def test_a_jitted_function_is_pure(self) -> None:
        @theano.jit
        def noisy(rng: Any, x: Any) -> Any:
            return x + rng.normal(size=x.shape), rng

        rng = default_rng(3)
        first, after = noisy(rng, np.zeros(2))
        again, _ = noisy(rng, np.zeros(2))
        second, _ = noisy(after, np.zeros(2))
        np.testing.assert_array_equal(first, again)
        np.testing.assert_array_equal([*first, *second], np.random.default_rng(3).normal(size=4))
        self.assertIsInstance(after, Generator)

    def test_children(self) -> None:
        def draws(rng: Any) -> list[Any]:
            return [child.normal() for child in rng.spawn(3)] + [rng.normal()]

        drawn = draws(default_rng(3))
        self.assertEqual(len(set(map(float, drawn))), 4)
        np.testing.assert_array_equal(theano.jit(draws)(default_rng(3)), drawn)
        # As documented: raw words of the parent, of which the last is made odd.
        words = [int(word) for word in np.random.default_rng(3).bit_generator.random_raw(4)]
        bits = np.random.PCG64()
        state: Any = {"state": words[0] * 2**64 + words[1], "inc": words[2] * 2**64 + (words[3] | 1)}
        bits.state = {"bit_generator": "PCG64", "state": state, "has_uint32": 0, "uinteger": 0}
        self.assertEqual(float(drawn[0]), np.random.Generator(bits).normal())

    def test_copies_and_pickles(self) -> None:
        rng = default_rng(0)
        others = [copy.copy(rng), copy.deepcopy(rng), pickle.loads(pickle.dumps(rng)), Generator(rng.key)]
        expected = float(rng.normal())
        self.assertEqual([float(other.normal()) for other in others], [expected] * 4)

    def test_a_generator_from_outside_is_refused(self) -> None:
        rng = default_rng(0)
        with self.assertRaisesRegex(GeneratorError, "none of its arguments"):
            theano.jit(lambda x: x + rng.normal())(1.0)
        self.assertEqual(float(rng.normal()), np.random.default_rng(0).normal())

    def test_keys_are_vectors_of_words(self) -> None:
        with self.assertRaisesRegex(TypeError, "six uint64"):
            Generator(T.dvector()).normal()
        key = T.vector(dtype="uint64")
        draw = theano.function([key], Generator(key).normal())
        self.assertEqual(float(draw(default_rng(2).key)), np.random.default_rng(2).normal())
