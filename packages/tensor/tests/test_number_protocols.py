"""Python's requests to numbers: symbolic tensors name the code to write instead, and rounding is symbolic."""

from __future__ import annotations

import math
import numbers
import operator
import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_graph import TheanoError
from theano_linker_c import function, shared
from theano_tensor.builders import note_updates, traced, tracing


class TestAskedForANumber(unittest.TestCase):
    def test_error_names_the_variable_its_line_and_what_to_write(self) -> None:
        x, s, i = tt.dvector("x"), tt.dscalar("s"), tt.iscalar("i")
        items: list[int] = [1, 2]
        asked: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
            "float": (lambda: float(s), ("`s`", "astype('float64')", "eval")),
            "int": (lambda: int(i), ("`i`", "astype('int64')")),
            "complex": (lambda: complex(s), ("`s`", "complex128")),
            "index": (lambda: operator.index(i), ("`i`",)),
            "item": (lambda: items[i], ("`i`", "as_tensor_variable")),
            "slice": (lambda: items[:i], ("`i`",)),
            "range": (lambda: range(i), ("`i`", "T.arange")),
            "exp": (lambda: math.exp(s), ("`s`", "T.exp")),
            "zeros": (lambda: np.zeros(x.shape), ("`x`", "T.zeros")),
            "format": (lambda: "%.2f" % s, ("`s`", "eval")),  # noqa: UP031 - as in programs
            "vector": (lambda: float(x), ("`x`", "1 dimensions")),
            "shared": (lambda: float(shared(2.0, "w")), ("`w`", "get_value")),
            "constant": (lambda: int(tt.constant(2)), ("x.data",)),
        }
        for name, (ask, words) in asked.items():
            with self.subTest(name), self.assertRaises(TheanoError) as caught:
                ask()
            self.assertIsInstance(caught.exception, TypeError)
            self.assertIsInstance(caught.exception, ValueError)
            for word in (*words, "Hint", "test_number_protocols.py:"):
                self.assertIn(word, str(caught.exception), name)

    def test_variables_are_still_no_numbers(self) -> None:
        i = tt.iscalar("i")
        self.assertNotIsInstance(i, numbers.Number)
        self.assertFalse(np.isscalar(i))
        axes: tuple[Any, ...] = (i, tt.dscalar())
        for axis in axes:
            with self.assertRaisesRegex(TypeError, "axis"):
                tt.cumsum(tt.dvector(), axis=axis)
            with self.assertRaisesRegex(ValueError, "axis"):
                tt.take(tt.dmatrix(), [0], axis=axis)

    def test_numpy_keeps_variables_as_objects(self) -> None:
        x, s, i = tt.dvector("x"), tt.dscalar("s"), tt.iscalar("i")
        pair = np.array([s, 1.0])
        self.assertEqual((pair.dtype, pair.shape), (np.dtype(object), (2,)))
        self.assertIs(pair[0], s)
        table = np.array([[s, 1.0], [2, i]])
        self.assertEqual((table.dtype, table.shape), (np.dtype(object), (2, 2)))
        for one in (s, x):
            self.assertIs(np.asarray(one).item(), one)
        with self.assertRaises(ValueError):
            np.asarray(x, dtype="float64")
        with self.assertRaises(IndexError):
            np.ones(3)[i]
        self.assertEqual(tt.as_tensor_variable(pair.tolist()).ndim, 1)

    def test_arithmetic_with_numbers_of_numpy_stays_symbolic(self) -> None:
        s, i = tt.dscalar("s"), tt.iscalar("i")
        result = [
            np.float64(2) * s,
            np.float32(2) + s,
            np.int64(2) * i,
            np.int8(3) // i,
            np.float64(2) ** s,
            [1, 2] * i,
        ]
        for x in result:
            self.assertIsInstance(x, tt.Tensor)


class TestTracing(unittest.TestCase):
    """Requests to a variable while a function is called to be compiled."""

    def test_a_variable_has_no_truth_value(self) -> None:
        x = tt.dscalar("x")
        asked: list[Callable[[], Any]] = [lambda: bool(x), lambda: bool(x > 0), lambda: not x]
        with tracing("f"):
            for ask in asked:
                with self.assertRaisesRegex(TypeError, r"(?s)asked at test_number_protocols.py:\d+, in `f`.*T\.switch"):
                    ask()
        self.assertTrue(x)

    def test_numbers_say_where_they_are_asked_for(self) -> None:
        x = tt.dvector("x")
        asked: list[Callable[[], Any]] = [lambda: int(x[0]), lambda: float(x[0]), lambda: range(x[0])]
        with tracing("f"):
            for ask in asked:
                with self.assertRaisesRegex(TypeError, r"(?s)asked at .*in `f`.*static_argnames"):
                    ask()
            with self.assertRaisesRegex(TypeError, r"(?s)asked at .*theano\.scan"):
                list(x)
            self.assertEqual(tt.dot(x, x).ndim, 0)

    def test_updates_go_to_the_call_around(self) -> None:
        state, new = tt.dscalar("state"), tt.dscalar("new")
        note_updates({state: new})
        with tracing("f") as outer:
            with tracing("g"):
                note_updates({state: new})
            self.assertEqual(outer.updates, {state: new})
        self.assertIsNone(traced())


class TestRound(unittest.TestCase):
    def test_halves_go_to_the_even_number(self) -> None:
        x, k = tt.dvector("x"), tt.ivector("k")
        operand = np.array([-2.5, -1.5, 0.5, 1.5, 2.4])
        np.testing.assert_array_equal(function([x], round(x))(operand), np.round(operand))
        np.testing.assert_array_equal(function([k], round(k))(np.array([3, -4], "int32")), [3, -4])

    def test_digits_are_refused_with_a_hint(self) -> None:
        with self.assertRaisesRegex(TypeError, r"(?s)2 digits.*`x`.*Hint: scale it"):
            round(tt.dvector("x"), 2)
