"""Elementwise ops: broadcasting, dtypes, errors, gradients."""

from __future__ import annotations

import itertools
import pickle
import unittest
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st
from tensor_cases import MODES, check_gradient, node_of, run

import theano_tensor as T
from theano_graph import pushforward, shape_rule
from theano_linker_c import scalar
from theano_tensor import Elemwise, TensorType
from theano_testing.tiers import examples

SHAPES = st.lists(st.sampled_from([0, 1, 2, 3]), max_size=3).map(tuple)

RNG = np.random.default_rng(11)


class TestStaticShape(unittest.TestCase):
    def test_table(self) -> None:
        table: list[tuple[tuple[int | None, ...], tuple[int | None, ...], tuple[int | None, ...]]] = [
            ((None,), (None,), (None,)),
            ((1,), (None,), (None,)),
            ((3,), (None,), (3,)),
            ((3,), (1,), (3,)),
            ((1,), (1,), (1,)),
            ((), (2, 3), (2, 3)),
            ((3,), (2, 1), (2, 3)),
            ((0,), (1,), (0,)),
        ]
        for left, right, expected in table:
            with self.subTest(left=left, right=right):
                x, y = T.tensor(shape=left), T.tensor(shape=right)
                self.assertEqual((x + y).static_shape, expected)
                self.assertEqual((y * x).static_shape, expected)

    def test_conflict_names_both_variables_types_and_hint(self) -> None:
        x, y = T.tensor(shape=(None, 3), name="x"), T.tensor(shape=(4,), name="y")
        with self.assertRaises(T.ShapeError) as caught:
            run([x, y], x + y, np.ones((2, 3)), np.ones(4))
        text = str(caught.exception)
        for part in (
            "add: the lengths of dimension 1 differ: 3 (`x`) and 4 (`y`)",
            "`x`: float64[None, 3] made at",
            "`y`: float64[4] made at",
            "test_tensor_elemwise.py:",
            "Hint",
        ):
            self.assertIn(part, text)

    def test_number_of_arguments(self) -> None:
        with self.assertRaisesRegex(TypeError, "exp takes 1 argument, got 2"):
            T.exp(T.dvector("x"), T.dvector("y"))

    def test_dtype_error_names_the_variable(self) -> None:
        with self.assertRaisesRegex(TypeError, "`c`: complex64"):
            T.clip(T.cvector("c"), 0, 1)


class TestRunTimeBroadcast(unittest.TestCase):
    def test_length_one_that_is_not_declared_does_not_broadcast(self) -> None:
        x, y = T.dmatrices("x", "y")
        for mode in MODES:
            with self.subTest(mode=mode), self.assertRaisesRegex(ValueError, r"Input dimension mis-match\."):
                run([x, y], x + y, np.ones((1, 3)), np.ones((2, 3)), mode=mode)

    def test_lengths_that_differ(self) -> None:
        x, y = T.dvectors("x", "y")
        for mode in MODES:
            with (
                self.subTest(mode=mode),
                self.assertRaisesRegex(ValueError, r"input\[0\]\.shape\[0\] = 3, input\[1\]\.shape\[0\] = 2"),
            ):
                run([x, y], x * y, np.ones(3), np.ones(2), mode=mode)

    def test_declared_row_broadcasts(self) -> None:
        x, r = T.dmatrix("x"), T.drow("r")
        a, b = np.arange(6.0).reshape(2, 3), np.arange(3.0)[None]
        np.testing.assert_array_equal(run([x, r], x + r, a, b), a + b)

    @settings(max_examples=examples(40), deadline=None)
    @given(SHAPES, st.data())
    def test_broadcast_follows_numpy_where_declared(self, shape: tuple[int, ...], data: Any) -> None:
        keep = data.draw(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)))
        other = tuple(n if k else 1 for n, k in zip(shape, keep, strict=True))
        a, b = RNG.random(shape), RNG.random(other)
        x, y = T.tensor(shape=shape), T.tensor(shape=other)
        result = run([x, y], x - y, a, b, mode="FAST_COMPILE")
        np.testing.assert_allclose(result, a - b)
        self.assertEqual(result.shape, (x - y).static_shape)


class TestDtypes(unittest.TestCase):
    def test_common_dtype_is_that_of_numpy(self) -> None:
        names = ("int8", "uint8", "int32", "int64", "float32", "float64", "complex64")
        for left, right in itertools.product(names, names):
            with self.subTest(left=left, right=right):
                self.assertEqual((T.scalar(dtype=left) + T.scalar(dtype=right)).dtype, np.result_type(left, right).name)

    def test_constants_do_not_widen_where_they_fit(self) -> None:
        x = T.fmatrix("x")
        self.assertEqual((x * 2).dtype, "float32")
        self.assertEqual((x * 0.5).dtype, "float32")
        self.assertEqual((x * 0.1).dtype, "float64")
        self.assertEqual((T.bvector() + 1).dtype, "int8")
        self.assertEqual((T.bvector() + 1000).dtype, "int16")

    def test_functions_of_integers_and_comparisons(self) -> None:
        self.assertEqual(T.exp(T.ivector()).dtype, "float64")
        self.assertEqual((T.ivector() < 2).dtype, "bool")
        self.assertEqual((T.ivector() / T.ivector()).dtype, "float64")
        self.assertEqual(T.switch(T.ivector(), T.fvector(), 1).dtype, "float32")

    def test_cast(self) -> None:
        x = T.dvector("x")
        self.assertIs(T.cast(x, "float64"), x)
        np.testing.assert_array_equal(run([x], T.cast(x, "int32"), np.array([1.7, -1.7])), [1, -1])
        with self.assertRaisesRegex(TypeError, "ambiguous"):
            T.cast(T.zvector("z"), "float64")
        with self.assertRaisesRegex(TypeError, "not a dtype"):
            T.cast(x, "text")


class TestOp(unittest.TestCase):
    def test_equality_and_name(self) -> None:
        self.assertEqual(Elemwise(scalar.add), T.add)
        self.assertEqual(hash(Elemwise(scalar.add)), hash(T.add))
        self.assertNotEqual(T.add, T.mul)
        self.assertEqual(str(T.add), "Elemwise{add,no_inplace}")

    def test_pickle_carries_no_hash_of_this_process(self) -> None:
        for op in (T.add, Elemwise(scalar.cast("int8")), Elemwise(scalar.add, name="plus")):
            pickled = pickle.dumps(op)
            self.assertNotIn(b"_hash", pickled)
            again = pickle.loads(pickled)
            self.assertEqual((again, hash(again), str(again)), (op, hash(op), str(op)))

    def test_any_number_of_terms(self) -> None:
        x, y, z = T.dvectors("x", "y", "z")
        a, b, c = RNG.random((3, 4))
        np.testing.assert_allclose(run([x, y, z], T.add(x, y, z), a, b, c), a + b + c)
        np.testing.assert_allclose(run([x, y, z], T.mul(x, y, z), a, b, c), a * b * c)

    def test_result_owns_its_memory(self) -> None:
        x = T.dvector("x")
        a = np.zeros(3)
        result = run([x], T.tensor_copy(x), a, mode="FAST_COMPILE")
        self.assertFalse(np.shares_memory(a, result))

    def test_shape_rule(self) -> None:
        x, y = T.tensor(shape=(None, 1)), T.tensor(shape=(None,))
        node = node_of(x + y)
        rows, columns = T.lscalars("r", "c")
        (shape,) = shape_rule.lookup(node.op)(node, [(rows, 1), (1, columns)])
        self.assertEqual(shape, (rows, columns))

    def test_round(self) -> None:
        x = T.dvector("x")
        a = np.array([0.5, 1.5, -0.5, 2.4])
        np.testing.assert_array_equal(run([x], x.round(), a), [1, 2, -1, 2])
        np.testing.assert_array_equal(run([x], x.round("half_to_even"), a), [0, 2, -0.0, 2])
        self.assertEqual(T.iround(x).dtype, "int64")
        with self.assertRaisesRegex(ValueError, "unknown mode 'up'"):
            T.round(x, "up")

    def test_is_close(self) -> None:
        x, y = T.dvectors("x", "y")
        a, b = np.array([1.0, np.inf, np.nan, 2.0]), np.array([1.0 + 1e-9, np.inf, np.nan, 2.1])
        for nan in (False, True):
            np.testing.assert_array_equal(
                run([x, y], T.isclose(x, y, equal_nan=nan), a, b), np.isclose(a, b, equal_nan=nan)
            )

    def test_complex_parts(self) -> None:
        z = T.zvector("z")
        a = np.array([1 + 2j, -3j])
        for function, reference in ((T.real, np.real), (T.imag, np.imag), (T.conj, np.conj), (T.angle, np.angle)):
            np.testing.assert_allclose(run([z], function(z), a), reference(a))
        x = T.dvector("x")
        self.assertIs(T.real(x), x)


class TestGradients(unittest.TestCase):
    def test_broadcast_inputs_are_summed_over(self) -> None:
        r = np.random.default_rng(1)
        check_gradient(lambda x, v: x * v + v, r.normal(size=(2, 3)), r.normal(size=3))
        check_gradient(lambda x, s: x / s, r.normal(size=(2, 3)), np.asarray(1.5))
        check_gradient(lambda x, v: x * v.dimshuffle(0, "x"), r.normal(size=(2, 3)), r.normal(size=2))

    def test_functions(self) -> None:
        a = np.array([[0.3, 0.7], [0.2, 0.9]])
        for function in (T.exp, T.log, T.tanh, T.sqrt, T.sigmoid, T.softplus, T.arcsin, T.erf, T.sqr, T.inv, T.log1p):
            with self.subTest(function=str(function)):
                check_gradient(function, a)

    def test_power_and_choice(self) -> None:
        a, b = np.array([0.5, 2.0]), np.array([1.5, -0.5])
        check_gradient(lambda x, y: x**y, a, b)
        check_gradient(lambda x, y: T.switch(x > 1, x * y, y), a, b)
        check_gradient(lambda x, y: T.maximum(x, y) + T.minimum(x, y) * 2 + T.clip(x, 0.6, 1.8), a, b)

    def test_extremes_are_told_by_their_inputs(self) -> None:
        """A loop that computes an input anew may round it otherwise, and it would equal neither of them."""
        x, y = T.dvectors("x", "y")
        values = np.array([1.0, 2.0, 3.0, np.nan, 1.0]), np.array([2.0, 2.0, 2.0, 1.0, np.nan])
        for function, expected in ((T.maximum, [0, 1, 1, 0, 0]), (T.minimum, [1, 1, 0, 0, 0])):
            by_x, by_y = T.grad(function(x, y).sum(), [x, y])
            self.assertEqual(by_x.owner.inputs[0].owner.inputs, [x, y])
            result = run([x, y], [by_x, by_y], *values)
            np.testing.assert_array_equal(result, [expected, 1 - np.array(expected)])

    def test_a_fill_depends_on_its_value_only(self) -> None:
        x, v = T.dvector("x"), T.dscalar("v")
        cost = T.second(x, v).sum()
        self.assertEqual(float(run([x, v], T.grad(cost, v), np.ones(3), 2.0)), 3.0)
        with self.assertRaisesRegex(ValueError, "disconnected"):
            T.grad(cost, x)

    def test_piecewise_constant_result_has_zero_gradient(self) -> None:
        x = T.dvector("x")
        np.testing.assert_array_equal(run([x], T.grad((T.floor(x) * 2).sum(), x), np.ones(3)), np.zeros(3))

    def test_pushforward_agrees_with_differences(self) -> None:
        x, y, dx, dy = T.dvectors("x", "y", "dx", "dy")
        node = node_of(T.tanh(x) * y)
        (tangent,) = pushforward.lookup(node.op)(node, [dx, dy])
        assert tangent is not None
        a, b, da, db = RNG.random((4, 3))
        result = run([x, y, dx, dy], tangent, a, b, da, db)
        np.testing.assert_allclose(result, da * b + np.tanh(a) * db)

    def test_float32_stays_float32(self) -> None:
        x = T.fvector("x")
        self.assertEqual(T.grad((T.tanh(x) * 2).sum(), x).dtype, "float32")


class TestDimShuffle(unittest.TestCase):
    def test_values(self) -> None:
        x = T.tensor(shape=(None, 1, None))
        a = RNG.random((2, 1, 3))
        for order, expected in (
            ((0, 2), a[:, 0]),
            ((2, "x", 0), a[:, 0].T[:, None]),
            (("x", 2, 1, 0), a.transpose(2, 1, 0)[None]),
        ):
            with self.subTest(order=order):
                np.testing.assert_array_equal(run([x], x.dimshuffle(*order), a), expected)

    def test_result_without_dimensions_is_an_array(self) -> None:
        x = T.tensor(shape=(1, 1))
        self.assertEqual(run([x], x.dimshuffle(), np.ones((1, 1))).shape, ())

    def test_identity_is_another_variable(self) -> None:
        x = T.dmatrix("x")
        self.assertIsNot(x.dimshuffle(0, 1), x)
        self.assertEqual(x.dimshuffle([0, "x", 1]).type, TensorType("float64", (None, 1, None)))

    def test_errors(self) -> None:
        x = T.dmatrix("x")
        for order, text in (((0,), "dimension 1 cannot be dropped"), ((0, 0, 1), "twice"), ((0, 2), "no dimension")):
            with self.subTest(order=order), self.assertRaisesRegex(ValueError, text):
                x.dimshuffle(*order)
        with self.assertRaisesRegex(ValueError, "`x`: float64"):
            T.DimShuffle(1, (0,))(x)

    def test_gradient(self) -> None:
        check_gradient(lambda x: x.dimshuffle(1, "x", 0) * np.arange(1.0, 3.0)[None, :, None], RNG.random((2, 3)))
        check_gradient(lambda x: x.T, RNG.random((2, 3)))
