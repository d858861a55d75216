"""Types of tensors: equality, values, errors, printing."""

from __future__ import annotations

import pickle
import unittest
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

import theano_tensor as T
from theano_graph import TheanoError, config
from theano_tensor import TensorType
from theano_testing.tiers import examples

LENGTHS = st.lists(st.one_of(st.none(), st.integers(0, 3)), max_size=4).map(tuple)


class TestConstruction(unittest.TestCase):
    def test_booleans_give_the_broadcast_pattern(self) -> None:
        self.assertEqual(TensorType("float64", (True, False)).shape, (1, None))

    def test_shape_keeps_lengths(self) -> None:
        kind = TensorType("int8", (None, 3, 1))
        self.assertEqual((kind.shape, kind.broadcastable, kind.ndim), ((None, 3, 1), (False, False, True), 3))

    def test_third_positional_argument_that_is_no_name_is_accepted(self) -> None:
        self.assertEqual(TensorType("complex64", [False, True, False], False).broadcastable, (False, True, False))

    def test_keyword_broadcastable(self) -> None:
        self.assertEqual(TensorType(dtype="int32", broadcastable=())("myvar").ndim, 0)

    def test_unknown_dtype_is_an_error_that_lists_dtypes(self) -> None:
        with self.assertRaisesRegex(TypeError, "'float65' is not a dtype of tensors(.|\n)*float64"):
            TensorType("float65", ())

    def test_string_dtype_of_numpy_is_refused(self) -> None:
        with self.assertRaises(TypeError):
            TensorType("str", ())

    def test_missing_shape(self) -> None:
        with self.assertRaisesRegex(TypeError, "Hint"):
            TensorType("float64")

    def test_negative_length(self) -> None:
        with self.assertRaisesRegex(TypeError, "no static length"):
            TensorType("float64", (-1,))

    def test_float_x(self) -> None:
        with config.change_flags(floatX="float32"):
            self.assertEqual(TensorType("floatX", ()).dtype, "float32")


class TestComparison(unittest.TestCase):
    def test_equal_by_value_whatever_the_name(self) -> None:
        self.assertEqual(TensorType("float64", (False,) * 2), T.dmatrix)
        self.assertEqual(hash(TensorType("float64", (None, None), "m")), hash(T.dmatrix))

    def test_is_super_follows_refinement(self) -> None:
        general, special = TensorType("float64", (None, 3)), TensorType("float64", (2, 3))
        self.assertTrue(general.is_super(special))
        self.assertFalse(special.is_super(general))
        self.assertFalse(general.is_super(TensorType("float32", (2, 3))))
        self.assertFalse(general.is_super(TensorType("float64", (2,))))

    @settings(deadline=None, max_examples=examples(100))
    @given(LENGTHS)
    def test_is_super_is_reflexive_and_equality_is_hashable(self, shape: tuple[int | None, ...]) -> None:
        kind = TensorType("float32", shape)
        self.assertTrue(kind.is_super(TensorType("float32", shape)))
        self.assertEqual(pickle.loads(pickle.dumps(kind)), kind)

    def test_more_general_variable_is_narrowed_with_a_check(self) -> None:
        x = T.dmatrix("x")
        narrow = T.drow.filter_variable(x)
        self.assertEqual(narrow.type, T.drow)
        with self.assertRaisesRegex(AssertionError, "dimension 0 has length 2, expected 1"):
            narrow.eval({x: np.zeros((2, 2))})

    def test_other_dtype_is_not_converted(self) -> None:
        with self.assertRaisesRegex(TypeError, "cannot stand where"):
            T.fmatrix.filter_variable(T.dmatrix("x"))


#: type, value, allow_downcast -> accepted
FILTER_TABLE: list[tuple[TensorType, Any, bool | None, bool]] = [
    (T.dscalar, 1.5, None, True),
    (T.dscalar, 1, None, True),
    (T.fscalar, 0.5, None, True),
    (T.fscalar, 0.1, None, False),
    (T.fscalar, 0.1, True, True),
    (T.fscalar, np.float64(0.1), None, False),
    (T.fvector, np.zeros(3), None, False),
    (T.fvector, np.zeros(3), True, True),
    (T.fvector, [0.5, 1.0], None, True),
    (T.fvector, [0.1, 1.0], None, False),
    (T.dvector, np.zeros(3, "float32"), None, True),
    (T.dvector, np.zeros(3, "int64"), False, True),
    (T.iscalar, 1.5, None, False),
    (T.iscalar, 2**40, None, False),
    (T.bscalar, 127, None, True),
    (T.bscalar, 128, None, False),
    (T.lvector, np.zeros(2, "int32"), False, True),
    (T.ivector, np.zeros(2, "int64"), None, False),
    (T.dscalar, None, None, False),
    (T.dscalar, "a", True, False),
    (T.dscalar, 1j, True, False),
    (T.zscalar, 1.0, None, True),
    (T.dmatrix, np.zeros(3), None, False),
    (T.drow, np.zeros((1, 3)), None, True),
    (T.drow, np.zeros((2, 3)), None, False),
    (TensorType("float64", (2,)), np.zeros(3), None, False),
]


class TestFilter(unittest.TestCase):
    def test_table(self) -> None:
        for kind, value, allow, accepted in FILTER_TABLE:
            with self.subTest(type=str(kind), value=value, allow_downcast=allow):
                if accepted:
                    result = kind.filter(value, allow_downcast=allow)
                    self.assertEqual((result.dtype, result.ndim), (np.dtype(kind.dtype), kind.ndim))
                else:
                    with self.assertRaises(TypeError):
                        kind.filter(value, allow_downcast=allow)

    def test_what_holds_no_numbers(self) -> None:
        for value in ("text", ["a", "b"], np.array(["a"]), [[1.0], [1.0, 2.0]]):
            for error in (TypeError, ValueError):
                with self.assertRaises(error):
                    T.dvector.filter(value)

    def test_only_python_floats_become_float_x(self) -> None:
        with config.change_flags(floatX="float32"):
            self.assertEqual(T.fscalar.filter(0.1), np.float32(0.1))
            for value, allow in ((0.1, False), (np.asarray(0.1), None), ([0.1], None)):
                with self.assertRaises(TypeError):
                    T.fscalar.filter(value, allow_downcast=allow)

    def test_array_of_the_type_is_returned_itself(self) -> None:
        value = np.zeros((2, 2))
        self.assertIs(T.dmatrix.filter(value), value)
        self.assertIs(T.dmatrix.filter(value, strict=True), value)

    def test_strict_converts_nothing(self) -> None:
        for value in (1.0, [1.0], np.float64(1), np.zeros(1, "float32")):
            with self.assertRaisesRegex(TypeError, "strict"):
                T.dscalar.filter(value, strict=True)

    def test_memory_map_is_accepted_and_other_byte_order_is_converted(self) -> None:
        swapped = np.arange(3.0).astype(">f8")
        self.assertTrue(T.dvector.filter(swapped).dtype.isnative)

    def test_error_names_what_and_how(self) -> None:
        with self.assertRaisesRegex(TypeError, r"array of dtype float64 and shape \(3,\).*float32\[None\](.|\n)*Hint"):
            T.fvector.filter(np.zeros(3))

    def test_mask_is_not_dropped(self) -> None:
        masked = np.ma.masked_array([1.0, 2.0], mask=[False, True])
        for use in (T.dvector("x").type.filter, T.constant, T.as_tensor_variable, lambda v: T.dvector("x") + v):
            with self.assertRaisesRegex(TypeError, r"masked array of shape \(2,\)(.|\n)*filled"):
                use(masked)

    def test_symbolic_value_is_refused_with_its_name(self) -> None:
        with self.assertRaisesRegex(TypeError, "symbolic variable\n  `v`"):
            T.dvector.filter(T.dvector("v"))

    def test_broadcastable_dimension_is_named(self) -> None:
        with self.assertRaisesRegex(TypeError, "broadcastable dimension 0 must have length 1, got 2"):
            T.drow.filter(np.zeros((2, 3)))

    def test_is_valid_value(self) -> None:
        self.assertTrue(T.dvector.is_valid_value(np.zeros(2)))
        self.assertFalse(T.dvector.is_valid_value([0.0]))
        self.assertTrue(T.dvector.is_valid_value([0.0], strict=False))


class TestValues(unittest.TestCase):
    def test_nan_equals_nan(self) -> None:
        a = np.array([1.0, np.nan])
        self.assertTrue(T.dvector.values_eq(a, a.copy()))
        self.assertFalse(T.dvector.values_eq(a, np.array([1.0, 2.0])))
        self.assertFalse(T.dvector.values_eq(a, a.astype("float32")))
        self.assertFalse(T.dvector.values_eq(a, a[:1]))

    def test_approximate(self) -> None:
        a = np.array([1.0, np.inf, np.nan])
        self.assertTrue(T.dvector.values_eq_approx(a, a * (1 + 1e-12)))
        self.assertFalse(T.dvector.values_eq_approx(a, a * 1.001))
        self.assertFalse(T.dvector.values_eq_approx(a, np.array([1.0, -np.inf, np.nan])))
        self.assertTrue(T.dvector.values_eq_approx(a, np.array([1.0, 2.0, 3.0]), True, True))
        self.assertFalse(T.lvector.values_eq_approx(np.array([1]), np.array([2])))

    def test_memory(self) -> None:
        a = np.zeros((3, 3))
        self.assertTrue(T.dmatrix.may_share_memory(a, a[1:]))
        self.assertFalse(T.dmatrix.may_share_memory(a, a.copy()))


class TestPrinting(unittest.TestCase):
    def test_forms(self) -> None:
        self.assertEqual(TensorType("float64", (None, 3)).describe(), "float64[None, 3]")
        self.assertEqual(str(T.dvector), "TensorType(float64, vector)")
        self.assertEqual(str(TensorType("float64", (1,))), "TensorType(float64, (True,))")
        self.assertEqual(str(TensorType("float32", (False, True, False))), "TensorType(float32, (False, True, False))")
        self.assertEqual(str(TensorType("int8", (None,) * 6)), "TensorType(int8, 6D)")
        self.assertEqual(repr(T.dmatrix), "TensorType(float64, matrix)")
        self.assertEqual(repr(T.lscalar), "TensorType(int64, scalar)")
        self.assertEqual(repr(T.frow), "TensorType(float32, row)")
        self.assertEqual(repr(TensorType("int8", (2,))), "TensorType(int8, (2,))")
        self.assertEqual(str(T.dscalar()), "<TensorType(float64, scalar)>")


class TestWarnFloat64(unittest.TestCase):
    def test_raise_and_warn(self) -> None:
        with config.change_flags(warn_float64="raise"), self.assertRaisesRegex(TheanoError, "float64"):
            T.dmatrix("x")
        with config.change_flags(warn_float64="warn"), self.assertWarnsRegex(UserWarning, "float64"):
            T.dmatrix("x")
        with config.change_flags(warn_float64="raise"):
            self.assertEqual(T.fmatrix("x").dtype, "float32")


class TestArraysOfTheType(unittest.TestCase):
    @settings(max_examples=examples(30), deadline=None)
    @given(st.sampled_from(["int8", "uint16", "int64", "float32", "float64"]), st.lists(st.integers(0, 3), max_size=3))
    def test_filter_keeps_values(self, dtype: str, shape: list[int]) -> None:
        value = np.ones(shape, dtype)
        self.assertTrue(np.array_equal(TensorType("float64", shape).filter(value), value))
