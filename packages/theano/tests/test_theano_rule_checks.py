"""The checks for authors of rules, with the whole pipeline, tensors and compiled functions."""

from __future__ import annotations

import random
import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano import gof
from theano.compile import optdb
from theano_optimize import PatternRewriter
from theano_testing.optimize import check_commute, check_fires, check_values


def draw(variable: Any, rng: random.Random) -> Any:
    """Return a random array for a tensor variable."""
    return np.random.default_rng(rng.getrandbits(32)).normal(size=(3,) * variable.ndim)


def compiled(fgraph: Any, values: Sequence[Any]) -> Any:
    """Compute the outputs of a graph with a compiled function that rewrites nothing."""
    copy = fgraph.clone()
    return theano.function(copy.inputs, copy.outputs, mode=theano.Mode("py", None))(*values)


class TestChecks(unittest.TestCase):
    def setUp(self) -> None:
        self.x, self.y = T.dmatrix("x"), T.dmatrix("y")

    def test_a_rule_of_the_pipeline_fires(self) -> None:
        v = T.dvector("v")
        (event, *_) = check_fires("constant_folding", optdb.query("fast_run"), [v], [v * (T.constant(2.0) + 3)])
        self.assertEqual(event.path[:2], ("optdb", "constants_first"))

    def test_a_rule_that_is_not_registered(self) -> None:
        with self.assertRaisesRegex(AssertionError, "unknown did not fire in optdb: it is not part of the pipeline"):
            check_fires("unknown", optdb.query("fast_run"), [self.x], [T.exp(self.x)])

    def test_values_of_formulas(self) -> None:
        x, y = self.x, self.y
        rule = PatternRewriter.from_expressions(T.exp(x) * T.exp(y), T.exp(x + y), [x, y], name="product_of_exp")
        check_values(rule, [x, y], [T.exp(x) * T.exp(T.tanh(y))], draw, trials=3, evaluate=compiled)
        wrong = PatternRewriter.from_expressions(T.exp(x) * T.exp(y), T.exp(x * y), [x, y], name="wrong")
        with self.assertRaisesRegex(AssertionError, "wrong .* changed a value"):
            check_values(wrong, [x, y], [T.exp(x) * T.exp(y)], draw, trials=3, evaluate=compiled)

    def test_values_of_the_whole_pipeline(self) -> None:
        x, y = self.x, self.y
        outputs = [T.log(1 + T.exp(x)) - y, T.sqr(x) * 2 / x]
        check_values(optdb.query("fast_run"), [x, y], outputs, draw, trials=3, evaluate=compiled)

    def test_orders(self) -> None:
        x = self.x
        rules = [
            PatternRewriter.from_expressions(T.log(T.exp(x)), x, [x], name="log_of_exp"),
            gof.PatternSub((T.neg, (T.neg, "x")), "x"),
        ]
        self.assertEqual(str(check_commute(rules, [x], [T.log(T.exp(T.neg(T.neg(x))))])), "[x]")


if __name__ == "__main__":
    unittest.main()
