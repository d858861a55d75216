"""Shape rules that fail, by the flag `on_shape_error`."""

from __future__ import annotations

import unittest
import warnings
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_graph import Apply, ConfigError, Op, config
from theano_linker_c import function
from theano_optimize import RewriteError, RewriteWarning


class Doubled(Op):
    """Twice its input, with a shape rule that cannot work."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        (x,) = inputs
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[0] * 2

    def infer_shape(self, node: Apply, shapes: Any) -> Any:
        raise KeyError("no such shape")


class TestShapeErrors(unittest.TestCase):
    def test_warn_and_take_the_value(self) -> None:
        x = tt.dmatrix("x")
        with self.assertWarnsRegex(RewriteWarning, "(?s)shape rule of Doubled.*KeyError.*no such shape.*Hint"):
            f = function([x], Doubled()(x).shape)
        self.assertEqual(f(np.ones((2, 3))).tolist(), [2, 3])

    def test_raise(self) -> None:
        x = tt.dmatrix("x")
        strict = config.change_flags(on_shape_error="raise", on_opt_error="raise")
        with strict, self.assertRaisesRegex(RewriteError, "no such shape"):
            function([x], Doubled()(x).shape)
        with config.change_flags(on_shape_error="raise", on_opt_error="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")
            f = function([x], Doubled()(x).shape)
        self.assertEqual(f(np.ones((2, 3))).tolist(), [2, 3])

    def test_values(self) -> None:
        with self.assertRaisesRegex(ConfigError, "'warn', 'raise'"):
            config.on_shape_error = "ignore"
