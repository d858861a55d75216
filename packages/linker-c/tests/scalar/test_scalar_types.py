"""Scalar types, constants, operators and the promotion rule."""

from __future__ import annotations

import pickle
import unittest

import numpy as np
from hypothesis import given, settings, strategies as st

from theano_linker_c import scalar as sc
from theano_linker_c.scalar import ALL_DTYPES, ScalarConstant, ScalarType, as_scalar, upcast
from theano_testing.tiers import examples

dtypes = st.sampled_from(sorted(ALL_DTYPES))


class TestPromotion(unittest.TestCase):
    @settings(deadline=None, max_examples=examples(100))
    @given(dtypes, dtypes)
    def test_agrees_with_numpy(self, a: str, b: str) -> None:
        self.assertEqual(upcast(a, b), np.result_type(a, b).name)
        self.assertEqual(sc.add.result_dtypes(a, b), ((np.zeros(1, a) + np.zeros(1, b)).dtype.name,))

    def test_functions_of_integers_are_floats(self) -> None:
        self.assertEqual([sc.exp.result_dtypes(d) for d in ("bool", "int8", "uint16")], [("float32",)] * 3)
        self.assertEqual([sc.floor.result_dtypes(d) for d in ("int32", "uint64")], [("float64",)] * 2)
        self.assertEqual(sc.arctan2.result_dtypes("bool", "float16"), ("float32",))
        self.assertEqual(sc.exp.result_dtypes("float16"), ("float16",))

    def test_no_dtype(self) -> None:
        with self.assertRaisesRegex(TypeError, "Hint"):
            upcast()

    def test_wrong_dtype(self) -> None:
        with self.assertRaisesRegex(TypeError, "'float33' is not an element type"):
            ScalarType("float33")

    def test_truth_values_are_not_subtracted(self) -> None:
        x = ScalarType("bool")()
        with self.assertRaisesRegex(TypeError, r"sub: not defined for bool(.|\n)*Hint"):
            x - x

    def test_bits_of_floats(self) -> None:
        with self.assertRaisesRegex(TypeError, r"and_: works on bool and integers only(.|\n)*Hint"):
            ScalarType("float64")() & ScalarType("int8")()

    def test_order_of_complex_numbers(self) -> None:
        self.assertEqual(sc.lt(ScalarType("complex64")(), 1).type, ScalarType("bool"))
        self.assertEqual([bool(sc.lt.impl(a, 1 + 0j)) for a in (0 + 9j, 1 - 1j, 1 + 1j)], [True, True, False])
        self.assertEqual(sc.maximum.impl(1 + 2j, 1 + 1j), 1 + 2j)
        with self.assertRaisesRegex(TypeError, "complex"):
            sc.clip(ScalarType("complex64")(), 0, 1)

    def test_clip_where_bounds_cross(self) -> None:
        result = sc.clip.impl(np.array([-2.0, 0.0, 3.0]), 1.0, -1.0)
        np.testing.assert_array_equal(result, [1.0, 1.0, -1.0])

    def test_preference_of_conversions(self) -> None:
        self.assertEqual(sc.cast("int32").output_types_preference.spec, (ScalarType("int32"),))


class TestTypes(unittest.TestCase):
    def test_value_semantics(self) -> None:
        self.assertEqual(ScalarType("int8"), ScalarType("int8"))
        self.assertNotEqual(ScalarType("int8"), ScalarType("uint8"))
        self.assertEqual(len({ScalarType("int8"), ScalarType("int8")}), 1)

    def test_filter(self) -> None:
        self.assertEqual(ScalarType("float32").filter(0.1), np.float32(0.1))
        self.assertEqual(ScalarType("int8").filter(127).dtype.name, "int8")
        with self.assertRaisesRegex(TypeError, "may lose information"):
            ScalarType("int8").filter(128)
        with self.assertRaisesRegex(TypeError, "not one number"):
            ScalarType("int8").filter([1, 2])
        with self.assertRaisesRegex(TypeError, "strict"):
            ScalarType("float64").filter(1.0, strict=True)
        with self.assertRaisesRegex(TypeError, "may lose information"):
            ScalarType("float32").filter(np.float64(0.1))
        self.assertEqual(ScalarType("float32").filter(np.float64(0.1), allow_downcast=True), np.float32(0.1))

    def test_equality_of_values(self) -> None:
        kind = ScalarType("float64")
        nan = np.float64("nan")
        self.assertTrue(kind.values_eq(nan, nan))
        self.assertTrue(kind.values_eq_approx(np.float64(1.0), np.float64(1.0 + 1e-15)))
        self.assertFalse(kind.values_eq_approx(np.float64(1.0), np.float64(1.001)))
        self.assertFalse(kind.values_eq_approx(np.float64("inf"), np.float64(1.0)))

    def test_constants_are_told_apart_by_sign_of_zero(self) -> None:
        kind = ScalarType("float64")
        self.assertNotEqual(kind.make_constant(0.0).signature(), kind.make_constant(-0.0).signature())
        self.assertEqual(kind.make_constant(float("nan")).signature(), kind.make_constant(float("nan")).signature())

    def test_pickle(self) -> None:
        x = ScalarType("float32")("x")
        y = pickle.loads(pickle.dumps(sc.tanh(x)))
        self.assertEqual((y.owner.op, y.owner.inputs[0].name, y.type), (sc.tanh, "x", ScalarType("float32")))


class TestNumbers(unittest.TestCase):
    def test_smallest_type(self) -> None:
        results = [as_scalar(n).dtype for n in (1, 200, 70000, 2**40, 2**63, 0.5, 0.1, True, 1j)]
        expected = ["int8", "int16", "int32", "int64", "uint64", "float32", "float64", "bool", "complex128"]
        self.assertEqual(results, expected)

    def test_too_large(self) -> None:
        with self.assertRaisesRegex(OverflowError, "64 bits"):
            as_scalar(2**64)

    def test_not_a_number(self) -> None:
        for value in (None, "1", [1]):
            with self.subTest(value=value), self.assertRaisesRegex(TypeError, "Hint"):
                as_scalar(value)

    def test_numbers_beside_variables(self) -> None:
        x, i = ScalarType("float32")(), ScalarType("int8")()
        self.assertEqual([(x * 0.1).dtype, (2 * x).dtype, (i + 1).dtype, (i + 300).dtype, (i * 0.5).dtype],
                         ["float32", "float32", "int8", "int16", "float64"])  # fmt: skip

    def test_operators(self) -> None:
        x, y = ScalarType("int64")(), ScalarType("int64")()
        results = [x + y, x - y, x * y, x // y, x % y, x**y, -x, abs(x), x & y, x | y, x ^ y, ~x, 1 - x, x < y, x >= y]
        values = sc.Composite([x, y], results).impl(np.int64(7), np.int64(3))
        self.assertEqual([int(v) for v in values], [10, 4, 21, 2, 1, 343, -7, 7, 3, 7, 4, -8, -6, 0, 1])

    def test_no_truth_value(self) -> None:
        with self.assertRaisesRegex(TypeError, "switch"):
            bool(ScalarType("bool")())

    def test_wrong_count(self) -> None:
        with self.assertRaisesRegex(TypeError, "tanh takes 1 inputs, not 2"):
            sc.tanh(1.0, 2.0)

    def test_constant_class(self) -> None:
        self.assertIsInstance(as_scalar(3), ScalarConstant)
