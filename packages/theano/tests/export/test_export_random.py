"""Exported C draws the same random numbers as the function, call after call."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.sandbox.rng_mrg import MRG_RandomStreams
from theano.tensor import raw_random
from theano.tensor.shared_randomstreams import RandomStreams
from theano_testing.tiers import slow

from .harness import Exported, check


class TestMRG(unittest.TestCase):
    """Streams of MRG31k3p."""

    @slow
    def test_uniform(self) -> None:
        """The same bits, in each dtype, over several calls, in more rounds than one."""
        streams = MRG_RandomStreams(7)
        out = [
            streams.uniform((5, 3), dtype="float64"),
            streams.uniform((40,), dtype="float32", nstreams=7),
            streams.uniform((300,), dtype="float16", nstreams=50),
            streams.uniform((), dtype="float64", low=2, high=5),
        ]
        check(theano.function([], out), (), (), (), tolerance=0)

    def test_size_at_run_time(self) -> None:
        """Dropout over an input whose shape a call tells."""
        x = T.fmatrix("x")
        mask = MRG_RandomStreams(5).binomial(x.shape, p=0.7, dtype="float32", nstreams=20)
        value = np.ones((6, 9), "float32")
        check(theano.function([x], x * mask / np.float32(0.7)), (value,), (value,), (value[:2],))

    @slow
    def test_distributions(self) -> None:
        """Normal numbers, and categories with and without replacement."""
        streams = MRG_RandomStreams(11)
        p = T.dmatrix("p")
        out = [
            streams.normal((9,), avg=1.0, std=2.0, dtype="float64"),
            streams.multinomial(pvals=p, n=4, dtype="int64"),
            streams.choice(size=2, replace=False, p=p, dtype="int64"),
            streams.choice(size=3, replace=True, p=p, dtype="int64"),
        ]
        chances = np.array([[0.2, 0.3, 0.5], [0.0, 0.5, 0.5]])
        check(theano.function([p], out), (chances,), (chances,))


class TestNumPy(unittest.TestCase):
    """States of NumPy's generators."""

    def test_draws(self) -> None:
        """Bit for bit the draws of RandomState, over several calls."""
        streams = RandomStreams(3)
        n = T.lscalar("n")
        out = [
            streams.uniform((4, 100), low=-1.0, high=3.0, dtype="float64"),
            streams.uniform((5,), dtype="float32"),
            streams.normal((7,), avg=2.0, std=0.5, dtype="float64"),
            streams.random_integers((6,), low=-3, high=9),
            streams.random_integers((n,), low=0, high=2**40),
            streams.permutation((2,), n=n),
            streams.shuffle_row_elements(T.arange(n)),
        ]
        check(theano.function([n], out), (5,), (5,), (8,), tolerance=0)

    def test_unread(self) -> None:
        """Draws of single numbers that nothing reads move the state, as the function's do."""
        state = theano.shared(np.random.RandomState(3))
        moved: Any = state
        for name, *parameters in (("uniform",), ("normal",), ("binomial",), ("poisson", 7.0), ("random_integers",)):
            moved, _ = getattr(raw_random, name)(moved, (), *parameters)
        last, number = raw_random.uniform(moved, ())
        check(theano.function([], number, updates=[(state, last)]), (), (), tolerance=0)

    def test_parameters(self) -> None:
        """Parameters that are arrays, with a size and without one."""
        streams = RandomStreams(3)
        x, y = T.dvector("x"), T.dmatrix("y")
        out = [streams.uniform(low=x, high=x + 2, dtype="float64"), streams.normal(avg=x, std=y, size=y.shape)]
        values = np.arange(3.0), np.ones((2, 3))
        check(theano.function([x, y], out), values, values)

    def test_generator(self) -> None:
        """PCG64, the generator that NumPy makes by default."""
        state = theano.shared(np.random.default_rng(5), "state")
        after, drawn = T.raw_random.uniform(state, (50,), -1.0, 1.0, dtype="float64")
        check(theano.function([], drawn, updates={state: after}), (), (), tolerance=0)

    def test_draws_of_a_generator(self) -> None:
        """Bit for bit the draws of a Generator; integers of 32 bits are halves of words, of which one is left over."""
        raw, n = T.raw_random, T.lscalar("n")
        state = theano.shared(np.random.default_rng(6), "state")
        out, after = [], state
        for draw, arguments in (
            (raw.normal, ((20_000,), 1.0, 0.5)),
            (raw.random_integers, ((3,), -5, 5)),
            (raw.binomial, ((50,), 1, 0.3)),
            (raw.random_integers, ((5,), 0, 2**32 - 1)),
            (raw.random_integers, ((5,), -(2**40), 2**61)),
            (raw.random_integers, ((5,), -(2**63), 2**63 - 1)),
            (raw.random_integers, ((5,), 7, 7)),
            (raw.permutation, ((3,), n)),
            (raw.normal, ((7,), 0.0, 0.0)),
        ):
            after, drawn = draw(after, *arguments)
            out.append(drawn)
        check(theano.function([n], out, updates={state: after}), (6,), (6,), (9,), tolerance=0)

    @slow
    def test_counts(self) -> None:
        """Binomial and Poisson numbers, with parameters for each of the ways to draw them."""
        raw = T.raw_random
        trials = np.array([0, 1, 5, 40, 1000, 100_000, 70, 3])
        chances = np.array([0.5, 0.3, 0.9, 0.0, 0.4, 0.73, 1.0, 0.5])
        means = np.array([0.0, 1e-3, 3.0, 9.99, 10.0, 50.0, 1e4, 1e9])
        for generator in (np.random.RandomState(8), np.random.default_rng(8)):
            with self.subTest(generator=type(generator).__name__):
                state = theano.shared(generator, "state")
                after, counts = raw.binomial(state, (400, 8), trials, chances)
                after, events = raw.poisson(after, (400, 8), means)
                after, mask = raw.binomial(after, (100,), 1, 0.7, dtype="float32")
                fn = theano.function([], [counts, events, mask], updates={state: after})
                check(fn, (), (), tolerance=0)

    @slow
    def test_categories(self) -> None:
        """Counts of categories, with parameters for each position, and of single precision that adds up to above 1."""
        raw = T.raw_random
        p, q, n = T.dmatrix("p"), T.fvector("q"), T.lvector("n")
        chances = np.array([[0.2, 0.3, 0.5], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])
        tenths = np.full(10, 0.1, "float32")
        for generator in (np.random.RandomState(9), np.random.default_rng(9)):
            with self.subTest(generator=type(generator).__name__):
                state = theano.shared(generator, "state")
                after, each = raw.multinomial(state, None, n, p)
                after, many = raw.multinomial(after, (40, 3), 7, p)
                after, halves = raw.multinomial(after, (50,), 1000, q, dtype="float32")
                fn = theano.function([p, q, n], [each, many, halves], updates={state: after})
                values = chances, tenths, np.array([5, 0, 90])
                check(fn, values, values, tolerance=0)
        exported = Exported(theano.function([q], RandomStreams(3).multinomial((2,), n=3, pvals=q)))
        for wrong in ([0.7, 0.6, 0.1], [-0.1, 0.5, 0.6]):
            with self.assertRaisesRegex(ValueError, "add up to more than 1"):
                exported(np.array(wrong, "float32"))

    def test_wrong_parameters(self) -> None:
        """Invalid chances and means are reported."""
        p, streams = T.dscalar("p"), RandomStreams(3)
        counts, events = streams.binomial((2,), p=p), streams.poisson((2,), lam=p)
        for drawn, text in ((counts, "between 0 and 1"), (events, "negative or too large")):
            exported = Exported(theano.function([p], drawn))
            exported(0.5)
            for value in (-0.1, np.nan):
                with self.subTest(text=text, value=value), self.assertRaisesRegex(ValueError, text):
                    exported(value)

    def test_refused(self) -> None:
        """An op without a form in C is named."""
        with self.assertRaisesRegex(TypeError, "(?s)choice.*permutation"):
            Exported(theano.function([], RandomStreams(3).choice((4,), a=3)))
        state = theano.shared(np.random.Generator(np.random.Philox(5)))
        after, drawn = T.raw_random.uniform(state, (5,))
        with self.assertRaisesRegex(TypeError, "Philox"):
            Exported(theano.function([], drawn, updates={state: after}))
        bounds = T.lscalar("low")
        exported = Exported(theano.function([bounds], RandomStreams(3).random_integers((2,), low=bounds, high=5)))
        with self.assertRaisesRegex(ValueError, "lower bound"):
            exported(9)


class TestLoops(unittest.TestCase):
    """Draws in loops and choices."""

    def test_scan(self) -> None:
        """A random walk: the state goes from step to step, and from call to call."""
        numpy_streams: Any = RandomStreams(4)
        mrg = MRG_RandomStreams(4)
        x = T.dvector("x")

        def step(s: Any) -> Any:
            return s + numpy_streams.normal(s.shape, dtype="float64") * mrg.uniform((), dtype="float64", nstreams=1)

        walk, updates = theano.scan(step, outputs_info=x, n_steps=4)
        check(theano.function([x], walk, updates=updates), (np.zeros(3),), (np.ones(3),))
