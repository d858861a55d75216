"""Draws follow their distributions: tests of fit with fixed seeds."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from theano_linker_c import function
from theano_tensor.random import GeneratorStreams, RandomStreams
from theano_tensor.random.mrg import MRG_RandomStreams

COUNT = 40_000
#: With fixed seeds the outcome never changes; a smaller probability would be a reason for doubt.
DOUBT = 1e-3


def streams() -> list[Any]:
    return [RandomStreams(20), GeneratorStreams(20), GeneratorStreams(20, "Philox"), MRG_RandomStreams(20)]


def sample(draw: Any) -> Any:
    return np.asarray(function([], draw)())


class TestContinuous(unittest.TestCase):
    def check(self, name: str, draw: Callable[[Any], Any], distribution: Any, only: Any = None) -> None:
        for source in streams():
            if only is None or isinstance(source, only):
                with self.subTest(name, streams=type(source).__name__):
                    result = sample(draw(source)).astype("float64")
                    self.assertGreater(stats.kstest(result, distribution.cdf).pvalue, DOUBT)
                    spread = distribution.std() / np.sqrt(COUNT)
                    self.assertLess(abs(result.mean() - distribution.mean()), 4 * spread)
                    self.assertLess(abs(result.std() / distribution.std() - 1), 0.02)

    def test_uniform(self) -> None:
        self.check("uniform", lambda r: r.uniform((COUNT,)), stats.uniform())
        self.check("bounds", lambda r: r.uniform((COUNT,), -2.0, 3.0), stats.uniform(-2, 5))
        self.check("float32", lambda r: r.uniform((COUNT,), dtype="float32"), stats.uniform())

    def test_normal(self) -> None:
        self.check("normal", lambda r: r.normal((COUNT,)), stats.norm())
        self.check("parameters", lambda r: r.normal((COUNT,), 3.0, 0.5), stats.norm(3, 0.5))
        self.check("float32", lambda r: r.normal((COUNT,), dtype="float32"), stats.norm())

    def test_truncated_normal(self) -> None:
        only = MRG_RandomStreams
        self.check("truncate", lambda r: r.normal((COUNT,), truncate=True), stats.truncnorm(-2, 2), only)
        expected = stats.truncnorm(-2, 2, 3, 0.5 / stats.truncnorm(-2, 2).std())
        self.check("truncated", lambda r: r.truncated_normal((COUNT,), 3.0, 0.5), expected, only)

    def test_pairs_of_normal_numbers_are_not_correlated(self) -> None:
        result = sample(MRG_RandomStreams(4).normal((2, COUNT)))
        self.assertLess(abs(np.corrcoef(result)[0, 1]), 4 / np.sqrt(COUNT))

    def test_streams_are_not_correlated(self) -> None:
        result = sample(MRG_RandomStreams(4).uniform((COUNT // 50, 50), nstreams=50))
        correlations = np.corrcoef(result.T)[np.triu_indices(50, 1)]
        self.assertLess(np.abs(correlations).max(), 5 / np.sqrt(len(result)))

    def test_numbers_that_follow_each_other_fill_the_cube(self) -> None:
        result = sample(MRG_RandomStreams(4).uniform((3 * COUNT,), nstreams=1)).reshape(-1, 3)
        cells = (result * 5).astype(int) @ [25, 5, 1]
        self.assertGreater(stats.chisquare(np.bincount(cells, minlength=125)).pvalue, DOUBT)


class TestDiscrete(unittest.TestCase):
    def fits(self, result: Any, chances: Any) -> None:
        expected = np.asarray(chances) * result.size
        seen = np.bincount(result.ravel().astype(int), minlength=len(expected))
        self.assertEqual(len(seen), len(expected))
        common = expected > 5
        seen = np.append(seen[common], seen[~common].sum())
        expected = np.append(expected[common], expected[~common].sum())
        saved = expected > 0
        self.assertEqual(seen[~saved].sum(), 0)
        scaled = expected[saved] * seen.sum() / expected.sum()
        self.assertGreater(stats.chisquare(seen[saved], scaled).pvalue, DOUBT)

    def test_binomial(self) -> None:
        for source in streams():
            for n, p in ((1, 0.5), (1, 0.03), (7, 0.3)):
                with self.subTest(type(source).__name__, n=n, p=p):
                    self.fits(sample(source.binomial((COUNT,), n, p)), stats.binom(n, p).pmf(np.arange(n + 1)))

    def test_poisson_integers_and_permutations(self) -> None:
        for source in streams()[:3]:
            with self.subTest(type(source).__name__):
                result = sample(source.poisson((COUNT,), 2.0))
                self.fits(result, stats.poisson(2.0).pmf(np.arange(result.max() + 1)))
                self.fits(sample(source.random_integers((COUNT,), 0, 5)), np.full(6, 1 / 6))
                orders = sample(source.permutation((COUNT // 4,), 3)) @ [3, 1, 0]
                self.fits(orders, [0, 1 / 6, 1 / 6, 1 / 6, 0, 1 / 6, 1 / 6, 1 / 6])

    def test_choice(self) -> None:
        p = np.array([0.1, 0.0, 0.6, 0.3])
        for source in streams():
            with self.subTest(type(source).__name__):
                self.fits(sample(source.choice((COUNT,), 4, p=p)), p)
                self.fits(sample(source.choice((COUNT,), 7)), np.full(7, 1 / 7))

    def test_multinomial(self) -> None:
        p = np.array([0.1, 0.0, 0.6, 0.3])
        for source in streams():
            with self.subTest(type(source).__name__):
                result = sample(source.multinomial((COUNT // 10,), 10, p))
                np.testing.assert_array_equal(result.sum(axis=-1), np.full(COUNT // 10, 10))
                self.assertGreater(stats.chisquare(result.sum(axis=0)[p > 0], p[p > 0] * COUNT).pvalue, DOUBT)
                for k in (0, 2, 3):
                    self.fits(result[:, k], stats.binom(10, p[k]).pmf(np.arange(result[:, k].max() + 1)))

    def test_pairs_without_replacement(self) -> None:
        p = np.array([0.5, 0.3, 0.2])
        result = sample(MRG_RandomStreams(5).choice(2, p=np.tile(p, (COUNT, 1)), replace=False))
        chances = np.zeros(9)
        for i in range(3):
            for j in range(3):
                chances[3 * i + j] = 0 if i == j else p[i] * p[j] / (1 - p[i])
        self.fits(result @ [3, 1], chances)
