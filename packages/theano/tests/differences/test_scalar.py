"""Scalars where they differ on purpose from Theano 1.0; one class for each row of the page."""

from __future__ import annotations

import importlib.util
import unittest
from typing import ClassVar

import theano
from theano.scalar import basic_sympy


class TestNoSympy(unittest.TestCase):
    difference: ClassVar[str] = "no-sympy"

    def test_module_tells_whether_it_is_there(self) -> None:
        self.assertIs(basic_sympy.imported_sympy, importlib.util.find_spec("sympy") is not None)
        self.assertTrue(issubclass(basic_sympy.SymPyCCode, theano.scalar.ScalarOp))
