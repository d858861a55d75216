"""The breakpoint op, with a debugger of our own in the place of pdb."""

from __future__ import annotations

import contextlib
import io
import pdb
import unittest
from typing import Any
from unittest import mock

import numpy as np

import theano
import theano.tensor as T
from theano.tests.breakpoint import PdbBreakpoint


class TestBreakpoint(unittest.TestCase):
    def setUp(self) -> None:
        self.given, self.target = T.fvectors("given", "target")
        self.errors = (self.given - self.target) ** 2

    def run_function(self, f: Any, *values: Any) -> tuple[Any, str, int]:
        text = io.StringIO()
        only_pdb = mock.patch("theano_linker_c.ops._DEBUGGERS", ("pdb",))
        with only_pdb, mock.patch.object(pdb, "set_trace") as debugger, contextlib.redirect_stdout(text):
            result = f(*(np.array(v, "float32") for v in values))
        return result, text.getvalue(), debugger.call_count

    def test_the_chapter_in_each_mode(self) -> None:
        stop = PdbBreakpoint("error too high")
        for mode in ("FAST_RUN", "FAST_COMPILE", theano.Mode("py", None)):
            errors, operands, _ = stop(T.gt(self.errors.sum(), 100), self.errors, self.given, self.target)
            f = theano.function([self.given, self.target], [errors, operands], mode=mode)
            with self.subTest(mode=str(mode)):
                (result, _), text, calls = self.run_function(f, [10, 0], [10, 5])
                self.assertEqual((list(result), text, calls), ([0.0, 25.0], "", 0))
                (result, _), text, calls = self.run_function(f, [0, 0], [10, 5])
                self.assertEqual((list(result), calls), ([100.0, 25.0], 1))
                self.assertIn("'error too high' activated", text)

    def test_gradients_and_shapes_pass_through(self) -> None:
        errors, _ = PdbBreakpoint("never")(T.gt(self.errors.sum(), 1e9), self.errors, self.given)
        f = theano.function([self.given, self.target], [theano.grad(errors.sum(), self.given), errors.shape])
        (gradient, shape), _, calls = self.run_function(f, [3, 0], [1, 0])
        self.assertEqual((list(gradient), list(shape), calls), ([4.0, 0.0], [2], 0))

    def test_results_are_no_aliases(self) -> None:
        (same,) = [PdbBreakpoint("one")(T.constant(0), self.given)]
        value = np.ones(3, "float32")
        self.assertFalse(np.shares_memory(theano.function([self.given], same)(value), value))

    def test_wrong_input(self) -> None:
        with self.assertRaisesRegex(TypeError, "is no text"):
            PdbBreakpoint(3)  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, "a condition and one or more"):
            PdbBreakpoint("x")(self.given)
        with self.assertRaisesRegex(TypeError, "condition is no scalar"):
            PdbBreakpoint("x")(self.given, self.target)
