"""The dtypes that Python numbers take, and how the rule is changed."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

import theano_tensor as T
from theano_graph import config
from theano_tensor import DTypeError
from theano_testing.tiers import examples


class TestSmallestDtypes(unittest.TestCase):
    def test_ints(self) -> None:
        for value, dtype in (
            (1, "int8"),
            (-128, "int8"),
            (128, "int16"),
            (2**15, "int32"),
            (-(2**31) - 1, "int64"),
            (2**63, "uint64"),
            (True, "bool"),
        ):
            with self.subTest(value):
                result = T.constant(value)
                self.assertEqual((result.dtype, result.ndim, result.data.item()), (dtype, 0, value))
        with self.assertRaisesRegex(OverflowError, "does not fit in 64 bits"):
            T.constant(2**64)

    def test_floats(self) -> None:
        self.assertEqual([T.constant(x).dtype for x in (0.5, 0.1, 1e300)], ["float32", "float64", "float64"])
        self.assertEqual([T.constant(x).dtype for x in (float("nan"), float("inf"))], ["float32"] * 2)
        with config.change_flags(floatX="float32"):
            self.assertEqual([T.constant(x).dtype for x in (0.5, 0.1)], ["float32"] * 2)

    def test_sequences_are_taken_as_numpy_takes_them(self) -> None:
        self.assertEqual(T.constant([1, 2]).dtype, "int64")
        self.assertEqual(T.as_tensor_variable((0.5, 1)).dtype, "float64")
        self.assertEqual(T.constant([[1], [2]]).broadcastable, (False, True))

    def test_arrays_are_copied(self) -> None:
        value = np.zeros(3)
        x = T.constant(value)
        value[0] = 1
        self.assertEqual(x.data.tolist(), [0.0, 0.0, 0.0])

    @settings(deadline=None, max_examples=examples(60))
    @given(st.one_of(st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False)))
    def test_no_number_changes(self, value: Any) -> None:
        self.assertEqual(T.constant(value).data.item(), value)


class TestPolicies(unittest.TestCase):
    def test_numpy_and_floatx(self) -> None:
        with config.change_flags(cast_policy="numpy+floatX", floatX="float32"):
            self.assertEqual([T.constant(x).dtype for x in (1, 0.1)], ["int64", "float32"])
            self.assertEqual((T.fvector() + 0.1).dtype, "float32")

    def test_floats_as_others_for_a_while(self) -> None:
        x = T.fvector("x")
        with T.autocast_float_as("float32"):
            self.assertEqual((x + 1.1).dtype, "float32")
            with T.autocast_float_as("float64"):
                self.assertEqual((x + 1.0).dtype, "float64")
            self.assertEqual((x + 1.1).dtype, "float32")
        self.assertEqual((x + 1.1).dtype, "float64")

    def test_an_error_inside_takes_the_rule_back(self) -> None:
        with self.assertRaises(KeyError), T.autocast_float_as("float32"):
            raise KeyError
        self.assertEqual(T.constant(0.1).dtype, "float64")

    def test_dtypes_that_hold_no_floats_are_refused(self) -> None:
        for dtypes in ((), ("int32",), ("float31",)):
            with self.subTest(dtypes), self.assertRaises(DTypeError):
                T.autocast_float_as(*dtypes)

    def test_casters_make_arrays(self) -> None:
        self.assertEqual(T.autocast_float(0.1).dtype, np.dtype("float64"))
        self.assertEqual(T.autocast_int(300).dtype, np.dtype("int16"))
        self.assertEqual(T.autocast_float.dtypes, ("float32", "float64"))
