"""Errors of `export_c` and `c_pointer` for wrong arguments."""

from __future__ import annotations

import os
import tempfile
import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano_linker_c.export import export_c


class TestArguments(unittest.TestCase):
    """Nothing is written then."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(folder.name, "model")
        self.x = T.dvector("x")
        self.f = theano.function([self.x], self.x * 2, mode="FAST_COMPILE")

    def tearDown(self) -> None:
        self.assertEqual(os.listdir(self.folder), [])

    def check(self, kind: type[Exception], text: str, *args: Any, **kwargs: Any) -> None:
        with self.assertRaisesRegex(kind, f"(?s){text}"):
            export_c(*args, **kwargs)

    def test_functions(self) -> None:
        """Expressions, functions of Python, and arguments in another order."""
        for fn in (self.x * 2, lambda x: x, self.path):
            self.check(TypeError, "a compiled function is exported", fn, self.path)

    def test_folder(self) -> None:
        self.check(FileNotFoundError, "there is no folder", self.f, os.path.join(self.path, "model"))

    def test_lengths(self) -> None:
        """Lengths are integers from 0 on that C can count, and truth values are none."""
        length: Any
        for length in (-3, 2**63, np.int64(-1)):
            self.check(ValueError, "no array has the length", self.f, self.path, shapes={self.x: (length,)})
            with self.assertRaisesRegex(ValueError, "no array has the length"):
                self.f.c_pointer(shapes={self.x: (length,)})
        for length in (2.5, 3.0, "3", True, None):
            self.check(TypeError, "is no length", self.f, self.path, shapes={"x": (length,)})

    def test_shapes(self) -> None:
        """Shapes are a dict of tuples."""
        for shape in (3, "33", None, self.x):
            self.check(TypeError, "is no shape", self.f, self.path, shapes={self.x: shape})
        self.check(TypeError, "expected a dict", self.f, self.path, shapes=[(3,)])

    def test_derivatives(self) -> None:
        """They are CasADi's; and the argument that asks for lengths is named."""
        self.check(ValueError, "is for abi='casadi'", self.f, self.path, derivatives=2)
        self.check(TypeError, "abi='casadi': the lengths .* leave out abi='casadi'", self.f, self.path, abi="casadi")
        self.check(TypeError, "static=True: the lengths .* leave out static=True", self.f, self.path, static=True)


if __name__ == "__main__":
    unittest.main()
