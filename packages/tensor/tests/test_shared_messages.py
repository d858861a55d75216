"""Values that shared variables refuse, and lists that they hold as they are: the messages."""

from __future__ import annotations

import unittest
import warnings
from typing import Any

import numpy as np

import theano_tensor as T
from theano_graph import generic
from theano_linker_c import shared


class TestRefusedValues(unittest.TestCase):
    def test_error_names_the_variable_and_a_mend_for_set_value(self) -> None:
        w = shared(np.zeros(3, "float32"), "w")
        cases: tuple[tuple[Any, str, str], ...] = (
            (np.zeros(3), "float64 to float32", r"w\.set_value\(numpy\.asarray\(value, dtype='float32'\)\)"),
            (np.zeros(3, "complex64"), "imaginary part", r"w\.set_value\(numpy\.real\(value\)\)"),
            (np.zeros((2, 2), "float32"), "expected 1, got 2", r"1 dimension, or .*theano\.shared\(value\)"),
            (T.dvector("v"), "symbolic variable", r"w\.set_value\(v\.eval\(\)\)"),
            ("text", "holds no numbers", "a number or an array"),
            (None, "None is no value", "a number or an array"),
        )
        for value, reason, hint in cases:
            with self.subTest(reason), self.assertRaises(TypeError) as caught:
                w.set_value(value)
            text = str(caught.exception)
            self.assertRegex(text, f"(?s)^set_value of `w`: .*{reason}.*Hint: .*{hint}")
            self.assertRegex(text, r"`w`: float32\[None\] made at test_shared_messages\.py:\d+")
            self.assertNotIn("allow_input_downcast", text)
        self.assertEqual(w.get_value().tolist(), [0.0, 0.0, 0.0])

    def test_complex_values_of_inputs(self) -> None:
        with self.assertRaisesRegex(TypeError, r"imaginary part\n  Hint: pass numpy\.real"):
            T.dvector.filter(np.zeros(3, "complex64"))


class TestLists(unittest.TestCase):
    def test_a_list_of_numbers_is_told_of_once_a_line(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for _ in range(3):
                variable = shared([1, 2, 3], "w")
        self.assertEqual((variable.type, variable.get_value()), (generic, [1, 2, 3]))
        self.assertEqual([(w.category, w.filename) for w in caught], [(UserWarning, __file__)])
        self.assertRegex(str(caught[0].message), r"(?s)list of numbers.*'w'.*Hint: .*numpy\.asarray")

    def test_other_objects_are_held_in_silence(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            values: tuple[Any, ...] = (["a"], [], {"a": 1}, [{}], "text", np.zeros(2), 3)
            for value in values:
                shared(value)
