"""Elementwise functions on dtypes and shapes of all kinds: an error in words, or NumPy's result."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st
from tensor_cases import as_numpy, run

import theano_tensor as tt
import theano_tensor.rewrites  # the full pipeline is under test
from theano_testing.tiers import examples, slow

DTYPES = ("bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128")
BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "true_div": np.true_divide,
    "int_div": np.floor_divide,
    "mod": np.remainder,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "eq": np.equal,
    "lt": np.less,
    "and_": np.bitwise_and,
    "xor": np.bitwise_xor,
    "arctan2": np.arctan2,
    "hypot": np.hypot,
    "logaddexp": np.logaddexp,
}
#: In these the result for integers is wider than NumPy's, which follows the size of the integers.
WIDER = ("true_div", "arctan2", "hypot", "logaddexp")


class TestDtypes(unittest.TestCase):
    @slow
    @settings(max_examples=examples(150), deadline=None)
    @given(st.sampled_from(sorted(BINARY)), st.sampled_from(DTYPES), st.sampled_from(DTYPES))
    def test_two_inputs(self, name: str, first: str, second: str) -> None:
        a, b = np.array([1, 3, 0]).astype(first), np.array([2, 1, 1]).astype(second)
        x, y = tt.tensor(first, shape=(None,)), tt.tensor(second, shape=(None,))
        try:
            z = getattr(tt, name)(x, y)
        except TypeError as error:
            self.assertIn("Hint", str(error))
            return
        result = run([x, y], z, a, b)
        with np.errstate(all="ignore"):
            expected = as_numpy(BINARY[name])(a, b)
        if name not in WIDER and first != "bool" and second != "bool":
            self.assertEqual(result.dtype, expected.dtype)
        np.testing.assert_allclose(result, expected, rtol=2e-3 if expected.dtype == "float16" else 1e-5)

    @slow
    @settings(max_examples=examples(100), deadline=None)
    @given(st.sampled_from(sorted(tt.elemwise.inplace.__all__)), st.data())
    def test_every_function(self, name: str, data: Any) -> None:
        names = (name.removesuffix("_inplace"), name.replace("_inplace", "_"))
        function = next(getattr(position, n) for position in (tt, tt.nnet) for n in names if hasattr(position, n))
        op = function.scalar_op if hasattr(function, "scalar_op") else None
        if op is None:
            return
        count = 2 if op.nin < 0 else op.nin
        dtypes = [data.draw(st.sampled_from(DTYPES)) for _ in range(count)]
        inputs = [tt.tensor(dtype, shape=(None,)) for dtype in dtypes]
        try:
            output = function(*inputs)
        except TypeError as error:
            self.assertIn("Hint", str(error))
            return
        values = [np.array([1, 0, 2]).astype(dtype) for dtype in dtypes]
        result = run(inputs, output, *values, mode="FAST_RUN")
        self.assertEqual((result.dtype.name, result.shape), (output.dtype, (3,)))

    def test_what_is_no_tensor(self) -> None:
        some: list[Any] = [object(), "text", {"a": 1}, [object()]]
        for wrong in some:
            for function in (tt.exp, tt.gammaln, tt.isnan, tt.sgn, tt.angle, tt.real):
                with self.subTest(wrong=str(wrong)), self.assertRaises(TypeError):
                    function(wrong)

    def test_number_of_arguments(self) -> None:
        x = tt.dvector("x")
        for function, arguments in ((tt.exp, (x, x)), (tt.gammainc, (x,)), (tt.betainc, (x, x)), (tt.switch, (x,))):
            with self.subTest(function=str(function)), self.assertRaisesRegex(TypeError, "takes . argument"):
                function(*arguments)

    def test_round_modes(self) -> None:
        x = tt.dvector("x")
        value = np.array([0.5, 1.5, 2.5, -0.5, -2.5, 2.4])
        self.assertEqual(run([x], tt.round(x), value).tolist(), [1.0, 2.0, 3.0, -1.0, -3.0, 2.0])
        self.assertEqual(run([x], tt.round(x, "half_to_even"), value).tolist(), [0.0, 2.0, 2.0, -0.0, -2.0, 2.0])
        self.assertEqual(run([x], tt.iround(x), value).dtype, "int64")
        with self.assertRaisesRegex(ValueError, "unknown mode"):
            tt.round(x, mode="up")


class TestShapes(unittest.TestCase):
    @settings(max_examples=examples(80), deadline=None)
    @given(
        st.lists(st.integers(0, 3), max_size=3), st.lists(st.integers(0, 3), max_size=3), st.booleans(), st.booleans()
    )
    def test_broadcasting(self, first: list[int], second: list[int], reference: bool, other_known: bool) -> None:
        """A length of 1 broadcasts where it is declared only."""
        x = tt.tensor("float64", shape=tuple(n if reference else None for n in first))
        y = tt.tensor("float64", shape=tuple(n if other_known else None for n in second))
        a, b = np.ones(first), np.full(second, 2.0)
        try:
            expected = a - b
        except ValueError:
            expected = None
        try:
            result = run([x, y], x - y, a, b, mode="FAST_RUN")
        except ValueError as error:
            self.assertRegex(str(error), "mis-match|lengths of dimension")
            broadcasted = any(1 in (n, m) and n != m for n, m in zip(first[::-1], second[::-1], strict=False))
            self.assertTrue(expected is None or (broadcasted and not (reference and other_known)))
            return
        assert expected is not None, "arguments that NumPy refuses are refused"
        np.testing.assert_array_equal(result, expected)


class TestClose(unittest.TestCase):
    def test_integers_do_not_wrap_around(self) -> None:
        x, y = tt.tensor("uint8", shape=(None,)), tt.tensor("uint8", shape=(None,))
        a, b = np.array([1, 5], "uint8"), np.array([2, 9], "uint8")
        np.testing.assert_array_equal(run([x, y], tt.isclose(x, y, atol=2), a, b), [True, False])

    def test_truth_values(self) -> None:
        x = tt.tensor("bool", shape=(None,))
        np.testing.assert_array_equal(run([x], tt.isclose(x, True), np.array([True, False])), [True, False])

    def test_infinities_and_nan(self) -> None:
        x, y = tt.dvector("x"), tt.dvector("y")
        a, b = np.array([np.inf, np.inf, np.nan, 1.0]), np.array([np.inf, -np.inf, np.nan, 1.0 + 1e-9])
        for equal_nan in (False, True):
            expected = np.isclose(a, b, equal_nan=equal_nan)
            np.testing.assert_array_equal(run([x, y], tt.isclose(x, y, equal_nan=equal_nan), a, b), expected)
            self.assertEqual(run([x, y], tt.allclose(x, y, equal_nan=equal_nan), a, b), expected.all())


class TestDimShuffleArguments(unittest.TestCase):
    def test_documented_attributes(self) -> None:
        op = tt.DimShuffle((False, True, False), ["x", 2, "x", 0])
        self.assertEqual((op.input_broadcastable, op.new_order), ((False, True, False), ("x", 2, "x", 0)))
        self.assertEqual((op.shuffle, op.augment, op.drop, op.inplace), ((2, 0), (0, 2), (1,), True))

    def test_copy(self) -> None:
        x = tt.dmatrix("x")
        op = tt.DimShuffle((False, False), (1, 0), inplace=False)
        self.assertEqual((op.view_map, str(op)), ({}, "DimShuffle{1,0}"))
        self.assertNotEqual(op, tt.DimShuffle((False, False), (1, 0)))
        value = np.arange(6.0).reshape(2, 3)
        np.testing.assert_array_equal(run([x], op(x), value), value.T)

    def test_dropped_dimension_must_be_broadcastable(self) -> None:
        with self.assertRaisesRegex(ValueError, "dimension 0 is left out"):
            tt.DimShuffle((False, True), [1])
