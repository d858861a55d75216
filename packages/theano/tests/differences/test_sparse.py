"""Where random numbers differ from Theano 1.0 on purpose."""

from __future__ import annotations

import unittest

import theano
import theano.tensor as T
from theano.sandbox.rng_mrg import MRG_RandomStreams


class TestRandomGradients(unittest.TestCase):
    difference = "random-gradients"

    def test_gradients_go_through_the_mean(self) -> None:
        mean = T.dscalar("mean")
        slope = T.grad(MRG_RandomStreams(1).normal((9,), mean).sum(), mean)
        self.assertEqual(theano.function([mean], slope, on_unused_input="ignore")(2.0), 9.0)


class TestRandomEmptySizes(unittest.TestCase):
    difference = "random-empty-sizes"

    def test_nothing_is_drawn(self) -> None:
        self.assertEqual(theano.function([], MRG_RandomStreams(1).uniform((0, 3)))().shape, (0, 3))
