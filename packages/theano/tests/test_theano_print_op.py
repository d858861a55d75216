"""Printing of values of arrays while functions run."""

from __future__ import annotations

import contextlib
import io
import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
from theano_cases import in_each_mode

import theano
import theano.tensor as T
from theano import Mode
from theano.printing import Print, debugprint, pp


def printed(run: Callable[..., Any], *args: Any) -> tuple[Any, str]:
    """Return the result of a call and its standard output."""
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        result = run(*args)
    return result, stream.getvalue()


class TestPrint(unittest.TestCase):
    @in_each_mode
    def test_the_manuals_example(self, mode: str | Mode) -> None:
        x = T.dvector()
        f = theano.function([x], Print("hello world")(x), mode=mode)
        result, text = printed(f, [1, 2, 3])
        np.testing.assert_array_equal(result, [1.0, 2.0, 3.0])
        self.assertEqual(text, "hello world __str__ = [1. 2. 3.]\n")

    @in_each_mode
    def test_inside_expressions_that_are_fused(self, mode: str | Mode) -> None:
        x = T.dmatrix("x")
        inner = Print("inner", attrs=("shape", "sum"))(T.exp(x) + 1)
        f = theano.function([x], (inner * 2 - x).sum(), mode=mode)
        value = np.zeros((2, 3))
        result, text = printed(f, value)
        self.assertEqual((float(result), text), (24.0, "inner shape = (2, 3)\ninner sum = 12.0\n"))

    @in_each_mode
    def test_gradients_are_those_of_the_identity(self, mode: str | Mode) -> None:
        x, v = T.dvector("x"), T.dvector("v")
        loud = (Print("x")(x) ** 2).sum()
        f = theano.function([x], T.grad(loud, x), mode=mode)
        np.testing.assert_allclose(printed(f, [1.0, 2.0])[0], [2.0, 4.0])
        forward = theano.function([x, v], theano.Rop(Print("x")(x) ** 2, x, v), mode=mode)
        np.testing.assert_allclose(printed(forward, [1.0, 2.0], [1.0, 1.0])[0], [2.0, 4.0])

    @in_each_mode
    def test_updates(self, mode: str | Mode) -> None:
        total = theano.shared(np.zeros(2), "total")
        x = T.dvector("x")
        f = theano.function([x], updates=[(total, Print("total")(total + x))], mode=mode)
        self.assertEqual(printed(f, [1.0, 2.0])[1], "total __str__ = [1. 2.]\n")
        self.assertEqual(printed(f, [1.0, 2.0])[1], "total __str__ = [2. 4.]\n")
        np.testing.assert_array_equal(total.get_value(), [2.0, 4.0])

    def test_shapes_do_not_need_the_value(self) -> None:
        x = T.dmatrix("x")
        f = theano.function([x], Print("never")(x).shape)
        result, text = printed(f, np.ones((2, 3)))
        self.assertEqual((list(result), text), ([2, 3], ""))

    def test_texts(self) -> None:
        x = T.dvector("x")
        out = Print("here")(x)
        self.assertEqual(pp(out), "Print{here}(x)")
        self.assertEqual(str(debugprint(out, file="str")).splitlines()[0], "Print{here} [id A] ''   ")
