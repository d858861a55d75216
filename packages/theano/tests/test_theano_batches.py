"""Batches by the names that programs use."""

from __future__ import annotations

import unittest

import numpy as np

import theano
import theano.tensor as T
from theano.sandbox.minimal import Minimal
from theano_graph import batch_rule
from theano_testing.gaps import without_batch_rule
from theano_testing.tiers import slow


class TestBatches(unittest.TestCase):
    def test_names(self) -> None:
        x, xs = T.dvector("x"), T.dmatrix("xs")
        graph = theano.vectorize_graph(x.sum(), {x: xs})
        signature = T.vectorize(T.sum, "(n)->()")(xs)
        mapped = T.vmap(T.sum)(xs)
        value = np.arange(6.0).reshape(2, 3)
        for result in theano.function([xs], [graph, signature, mapped])(value):
            np.testing.assert_allclose(result, value.sum(1))

    def test_functions_of_programs(self) -> None:
        @theano.compile.ops.as_op(itypes=[T.dvector], otypes=[T.dvector])
        def ranks(x: np.ndarray) -> np.ndarray:
            return np.argsort(np.argsort(x)).astype(float)

        xs = T.dmatrix("xs")
        result = T.vmap(ranks)(xs).eval({xs: [[0.3, 0.1], [1.0, 2.0]]})
        np.testing.assert_allclose(result, [[1, 0], [0, 1]])

    @slow
    def test_every_op_says_something(self) -> None:
        lacking = [c for c in without_batch_rule(["theano"]) if batch_rule.absence(object.__new__(c)) is None]
        self.assertEqual(lacking, [Minimal])  # the example of an op with nothing but values
