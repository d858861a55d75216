"""Scalars where they differ on purpose from Theano 1.0; one class for each row of the page."""

from __future__ import annotations

import importlib.util
import unittest
from typing import ClassVar
from unittest import mock

import theano
from theano.scalar import basic_sympy


class TestNoSympy(unittest.TestCase):
    difference: ClassVar[str] = "no-sympy"

    def test_module_tells_whether_it_is_there(self) -> None:
        self.assertIs(basic_sympy.imported_sympy, importlib.util.find_spec("sympy") is not None)
        self.assertTrue(issubclass(basic_sympy.SymPyCCode, theano.scalar.ScalarOp))

    def test_gradient_of_the_result_itself(self) -> None:
        class Square:
            def diff(self, symbol: str) -> str:
                return f"2 * {symbol}"

        with mock.patch("theano.scalar._historical.sympy_dtype", return_value="double"):
            x = theano.scalar.float64("x")
            square = basic_sympy.SymPyCCode(["x"], Square())(x)
            self.assertEqual(theano.grad(square, x).owner.op.expr, "2 * x")
            self.assertEqual(str(theano.grad(square * 3, x).owner.op), "mul")
