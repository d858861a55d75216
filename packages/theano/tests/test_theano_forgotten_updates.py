"""Loops that draw random numbers, and functions that are made without their updates."""

from __future__ import annotations

import unittest
import warnings
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.sandbox.rng_mrg import MRG_RandomStreams
from theano.tensor.shared_randomstreams import RandomStreams


class TestForgottenUpdates(unittest.TestCase):
    def loop(self, streams: Any) -> tuple[Any, Any]:
        return theano.scan(lambda p: p + streams.normal(()), outputs_info=T.constant(0.0, dtype="float64"), n_steps=3)

    def made(self, *args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
        """Return a function, and the warnings of its making."""
        with warnings.catch_warnings(record=True) as result:
            warnings.simplefilter("always")
            return theano.function(*args, **kwargs), result

    def test_updates_that_are_not_passed_are_told_of(self) -> None:
        for streams in (RandomStreams(1), MRG_RandomStreams(1)):
            walk, _ = self.loop(streams)
            for outputs in (walk, [walk[-1] * 2], T.exp(walk).sum()):
                _, result = self.made([], outputs)
                self.assertEqual([item.filename for item in result], [__file__])
                self.assertRegex(str(result[0].message), "(?s)that `scan` returned.*Hint: pass updates=updates")

    def test_the_numbers_are_those_that_the_warning_tells_of(self) -> None:
        steps, _ = theano.scan(lambda: RandomStreams(3).normal(()), n_steps=4)
        f, result = self.made([], steps)
        self.assertEqual(len(result), 1)
        np.testing.assert_array_equal(f()[1:], f()[:-1])

    def test_nothing_is_told_where_all_is_passed_or_refused(self) -> None:
        streams = RandomStreams(1)
        walk, updates = self.loop(streams)
        other = streams.uniform((2,))
        x = T.dvector("x")
        powers = theano.scan(lambda p, x: p * x, T.ones_like(x), non_sequences=x, n_steps=2)[0]
        none: dict[str, Any] = {}
        for outputs, options in (
            (walk, {"updates": updates}),
            ([walk, other], {"updates": updates}),
            (walk, {"no_default_updates": True}),
            (walk, {"no_default_updates": list(updates)}),
            (other, none),
        ):
            self.assertEqual(self.made([], outputs, **options)[1], [])
        self.assertEqual(self.made([x], powers)[1], [])

    def test_loops_of_other_functions_do_not_count(self) -> None:
        streams = RandomStreams(1)
        draws: list[Any] = []

        def step() -> Any:
            draws.append(streams.normal(()))
            return draws[0]

        steps, _ = theano.scan(step, n_steps=3)
        self.assertEqual(self.made([], draws[0] + 1)[1], [])
        self.assertEqual(len(self.made([], [draws[0], steps])[1]), 1)


if __name__ == "__main__":
    unittest.main()
