"""Lengths along a chain are worked out once each, however many links ask for them."""

from __future__ import annotations

import unittest

import numpy as np

import theano_tensor as T
from theano_graph import FunctionGraph
from theano_linker_c import FAST_RUN, function
from theano_testing.tiers import slow


class TestLengthsOfChains(unittest.TestCase):
    def chain(self, links: int) -> tuple[T.Tensor, T.Tensor]:
        x = T.dvector("x")
        y = x
        for _ in range(links):
            y = T.tanh(y)[1:] * y.shape[0]
        return x, y

    def firings(self, links: int) -> int:
        x, y = self.chain(links)
        rules: dict[str, int] = FAST_RUN.rewrite(FunctionGraph([x], [y])).total_rules()
        return rules["length_from_inputs"]

    @slow
    def test_the_number_of_steps_is_linear(self) -> None:
        few, many = self.firings(20), self.firings(80)
        self.assertLessEqual(many, 4 * few + 40)

    def test_values(self) -> None:
        x, y = self.chain(6)
        expected = operand = np.linspace(-1, 1, 9)
        for _ in range(6):
            expected = np.tanh(expected)[1:] * len(expected)
        np.testing.assert_allclose(function([x], y)(operand), expected)
