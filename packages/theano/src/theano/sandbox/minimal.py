"""The smallest op: a start for one's own."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from theano import function, gof, tensor


class Minimal(gof.Op):
    """Prints how many arguments there are, and the largest element of the first; the result is 0."""

    __props__ = ()

    def make_node(self, *args: Any) -> gof.Apply:
        """Apply to variables."""
        return gof.Apply(op=self, inputs=args, outputs=[tensor.lscalar()])

    def perform(
        self, node: gof.Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Print, and give 0."""
        print(f"perform got {len(inputs)} arguments")
        print("Max of input[0] is ", np.max(inputs[0]))
        output_storage[0][0] = np.asarray(0, dtype="int64")


minimal = Minimal()


class T_minimal(unittest.TestCase):
    """Runs the op."""

    def setUp(self) -> None:
        """Make random numbers."""
        self.rng = np.random.RandomState(import_module("theano.tests.unittest_tools").fetch_seed(666))

    def test0(self) -> None:
        """Apply it to a vector and a matrix."""
        A, b = tensor.matrix(), tensor.vector()
        f = function([A, b], minimal(A, A, b, b, A))
        self.assertEqual(f(self.rng.randn(5, 5), -np.arange(5, dtype=tensor.config.floatX)), 0)
