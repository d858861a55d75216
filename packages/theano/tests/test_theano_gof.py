"""Programs written against `theano.gof` and test values."""

from __future__ import annotations

import os
import unittest
from collections import deque
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano import gof


class TestTestValues(unittest.TestCase):
    def test_error_at_the_users_line(self) -> None:
        x = T.matrix("x")
        x.tag.test_value = np.ones((5, 10))
        w = theano.shared(np.ones((20, 3)), "w")
        with theano.config.change_flags(compute_test_value="raise"), self.assertRaises(ValueError) as caught:
            T.dot(x, w)
        self.assertRegex(str(caught.exception), "dot failed on test values.*\n")
        self.assertIn(f"applied at {os.path.basename(__file__)}:", str(caught.exception))

    def test_gradient_and_function(self) -> None:
        x = T.matrix("x")
        x.tag.test_value = np.full((5, 10), 0.1)
        w = theano.shared(np.ones((10, 3)), "w")
        with theano.config.change_flags(compute_test_value="raise"):
            cost = T.tanh(T.dot(x, w)).sum()
            slope = T.grad(cost, w)
            compiled = theano.function([x], [cost, slope])
        for value, symbol in zip(compiled(x.tag.test_value), (cost, slope), strict=True):
            np.testing.assert_allclose(symbol.tag.test_value, value)

    def test_directional_derivative(self) -> None:
        x, v = T.dvector("x"), T.dvector("v")
        x.tag.test_value, v.tag.test_value = np.arange(3.0), np.ones(3)
        with theano.config.change_flags(compute_test_value="raise"):
            slope = theano.gradient.Rop(T.tanh(x), x, v)
        np.testing.assert_allclose(slope.tag.test_value, 1 - np.tanh(np.arange(3.0)) ** 2)

    def test_printed_value(self) -> None:
        x = T.dscalar("x")
        x.tag.test_value = 42
        with theano.config.change_flags(print_test_value=True):
            self.assertEqual(repr(x), "x\narray(42.)")
        self.assertEqual(repr(x), "x")


class TestNames(unittest.TestCase):
    def test_search_and_text(self) -> None:
        x = T.dscalar("x")
        out: Any = T.exp(T.tanh(x))
        result = gof.graph.stack_search(deque([out]), lambda v: v.owner.inputs if v.owner else None, "bfs")
        self.assertEqual(result[0], out)
        self.assertEqual(result[-1], x)
        self.assertEqual(gof.graph.io_connection_pattern([x], [out]), [[True]])
        self.assertIs(out.owner.run_params(), gof.graph.NoParams)
        text = gof.graph.op_as_string([x], out.owner, node_formatter=lambda node, parts: f"f{list(parts)}")
        self.assertEqual(text, "f[\"f['x']\"]")

    def test_feature_methods(self) -> None:
        x = T.dscalar("x")
        fgraph: Any = gof.FunctionGraph([x], [T.exp(x)])
        fgraph.attach_feature(gof.toolbox.ReplaceValidate())
        mark = fgraph.checkpoint()
        fgraph.replace_validate(fgraph.outputs[0], fgraph.inputs[0])
        self.assertEqual(len(fgraph.apply_nodes), 0)
        fgraph.revert(mark)
        self.assertEqual(len(fgraph.apply_nodes), 1)
        fgraph.disown()

    def test_pure_type_names_its_variables(self) -> None:
        class Mine(gof.Variable):
            pass

        class Kind(gof.type.PureType):
            Variable = Mine

        self.assertIsInstance(Kind()("x"), Mine)
        self.assertIs(Kind.Constant, gof.Constant)
        self.assertIsInstance(Kind().make_constant(3), gof.Constant)

    def test_method_not_defined(self) -> None:
        with self.assertRaises(gof.utils.MethodNotDefined):
            gof.Op().make_node()
