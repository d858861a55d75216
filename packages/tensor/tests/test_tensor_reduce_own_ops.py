"""Reductions by any scalar op, products without zeros, and arguments that reductions refuse."""

from __future__ import annotations

import pickle
import unittest
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st
from tensor_cases import check_gradient, node_of, run

import theano_tensor as tt
import theano_tensor.rewrites  # the full pipeline is under test
from theano_graph import pullback, pushforward, shape_rule
from theano_linker_c import scalar
from theano_linker_c.scalar import BinaryScalarOp
from theano_tensor import CAReduce, CAReduceDtype, ProdWithoutZeros
from theano_tensor.reduce import Reduce, Supremum
from theano_testing.tiers import examples

A = np.random.default_rng(4).integers(-4, 5, (2, 3, 4))


class Longest(BinaryScalarOp):
    """An op of a user: the number of the larger size."""

    commutative = associative = True

    def impl(self, a: Any, b: Any) -> Any:
        return a if abs(a) >= abs(b) else b


class TestReductions(unittest.TestCase):
    def test_every_documented_op(self) -> None:
        x = tt.tensor("int32", shape=(None, None, None))
        pairs = [
            (scalar.add, np.add),
            (scalar.mul, np.multiply),
            (scalar.maximum, np.maximum),
            (scalar.minimum, np.minimum),
            (scalar.or_, np.bitwise_or),
            (scalar.and_, np.bitwise_and),
            (scalar.xor, np.bitwise_xor),
        ]
        value = A.astype("int32")
        for op, ufunc in pairs:
            outputs = [CAReduce(op, axis)(x) for axis in (None, 0, -1, [0, 2])]
            reference = [ufunc.reduce(value, axis=axis) for axis in ((0, 1, 2), 0, -1, (0, 2))]
            for item, expected in zip(run([x], outputs, value), reference, strict=True):
                with self.subTest(op=str(op)):
                    self.assertEqual(item.dtype, "int32")
                    np.testing.assert_array_equal(item, expected)

    def test_empty(self) -> None:
        x = tt.imatrix("x")
        empty = np.zeros((0, 2), "int32")
        for op, value in ((scalar.add, 0), (scalar.mul, 1), (scalar.or_, 0), (scalar.xor, 0), (scalar.and_, -1)):
            with self.subTest(op=str(op)):
                np.testing.assert_array_equal(run([x], CAReduce(op, 0)(x), empty), [value, value])
        starts_from_elements: list[scalar.ScalarOp] = [scalar.maximum, Longest()]
        for other in starts_from_elements:
            with self.subTest(op=str(other)), self.assertRaises(ValueError):
                run([x], CAReduce(other, 0)(x), empty)

    def test_op_of_a_user(self) -> None:
        x = tt.dmatrix("x")
        value = np.array([[1.0, -5.0], [-2.0, 4.0], [1.5, 0.0]])
        np.testing.assert_array_equal(run([x], CAReduce(Longest(), 0)(x), value), [-2.0, -5.0])
        self.assertEqual(run([x], CAReduce(Longest())(x), value), -5.0)

    def test_dtypes(self) -> None:
        i, f = tt.bvector("i"), tt.fvector("f")
        self.assertEqual(CAReduce(scalar.add)(i).dtype, "int8")
        self.assertEqual(CAReduceDtype(scalar.add)(i).dtype, "int64")
        self.assertEqual(CAReduceDtype(scalar.add)(f).dtype, "float32")
        self.assertEqual(CAReduceDtype(scalar.add, dtype="float64")(f).dtype, "float64")
        op = node_of(CAReduceDtype(scalar.add)(f)).op
        self.assertEqual((op.dtype, op.acc_dtype), ("float32", "float64"))
        self.assertEqual(run([f], CAReduceDtype(scalar.add)(f), np.array([1e8, 1, -1e8], "float32")), 1)

    def test_gradient(self) -> None:
        value = np.array([[1.0, 2.0, 0.0], [3.0, -1.0, 2.0]])
        for op in (scalar.add, scalar.mul, scalar.maximum, scalar.minimum):
            check_gradient(CAReduce(op, 1), value)
        x = tt.dmatrix("x")
        with self.assertRaisesRegex(Exception, "says nothing about its derivative"):
            tt.grad(CAReduce(Longest())(x), x)

    def test_equal_printed_pickled(self) -> None:
        op = CAReduce(scalar.add, (1,))
        self.assertEqual(op, CAReduce(scalar.add, 1))
        self.assertNotEqual(op, CAReduce(scalar.mul, 1))
        self.assertEqual(str(op), "CAReduce{add}{1}")
        for other in (op, CAReduceDtype(scalar.add, 0, "int8", "int64"), ProdWithoutZeros(0)):
            copy = pickle.loads(pickle.dumps(other))
            self.assertEqual((copy, hash(copy), str(copy)), (other, hash(other), str(other)))

    def test_scalar_op_is_checked(self) -> None:
        for wrong in (scalar.exp, np.add, scalar.switch, None):
            with self.subTest(op=str(wrong)), self.assertRaisesRegex(TypeError, "does not join two numbers"):
                CAReduce(wrong)  # type: ignore[arg-type]  # wrong on purpose
        other = Longest(lambda a, b: (scalar.ScalarType("int8" if a.dtype == "float64" else "float64"),))
        with self.assertRaisesRegex(TypeError, "no one dtype"):
            CAReduce(other)(tt.dvector("x"))

    def test_scalar_op_of_others(self) -> None:
        self.assertEqual(tt.Sum().scalar_op, scalar.add)
        self.assertEqual(ProdWithoutZeros().scalar_op, scalar.mul_without_zeros)


class TestProducts(unittest.TestCase):
    def test_without_zeros(self) -> None:
        x = tt.dmatrix("x")
        value = np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 0.0], [1.0, -1.0, 4.0]])
        np.testing.assert_array_equal(run([x], ProdWithoutZeros(1)(x), value), [6.0, 1.0, -4.0])
        self.assertEqual(run([x], ProdWithoutZeros()(x), value), -24.0)
        np.testing.assert_array_equal(run([x], ProdWithoutZeros(1)(x * 2), value), [24.0, 1.0, -32.0])
        self.assertEqual(ProdWithoutZeros()(tt.ivector("i")).dtype, "int64")

    def test_gradient_without_zeros(self) -> None:
        x = tt.dvector("x")
        result = run([x], tt.grad(ProdWithoutZeros()(x), x), np.array([2.0, 0.0, 3.0]))
        np.testing.assert_array_equal(result, [3.0, 0.0, 2.0])

    def test_gradient_with_zeros(self) -> None:
        x = tt.dmatrix("x")
        value = np.array([[2.0, 3.0, 4.0], [0.0, 3.0, 4.0], [0.0, 0.0, 4.0]])
        expected = [[12.0, 8.0, 6.0], [12.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        np.testing.assert_array_equal(run([x], tt.grad(x.prod(axis=1).sum(), x), value), expected)
        t = tt.dmatrix("t")
        moved = run([x, t], tt.Rop(x.prod(axis=1), x, t), value, np.ones((3, 3)))
        np.testing.assert_array_equal(moved, [26.0, 12.0, 0.0])

    def test_second_derivative(self) -> None:
        x = tt.dvector("x")
        value = np.array([2.0, 3.0, 5.0])
        first = tt.grad(tt.prod(x, no_zeros_in_input=True), x)
        second = run([x], tt.grad(first.sum(), x), value)
        np.testing.assert_allclose(second, [8.0, 7.0, 5.0])

    def test_documented_method(self) -> None:
        x = tt.dvector("x")
        product = tt.Prod()(x)
        op = node_of(product).op
        (gradient,) = op.L_op([x], [product], [tt.as_tensor_variable(1.0)])
        np.testing.assert_array_equal(run([x], gradient, np.array([2.0, 5.0])), [5.0, 2.0])
        y = tt.dvector("y")  # outputs of another application are not used
        (gradient,) = op.L_op([y], [product], [tt.as_tensor_variable(1.0)])
        np.testing.assert_array_equal(run([y], gradient, np.array([3.0, 7.0])), [7.0, 3.0])

    def test_other_dtypes_of_results(self) -> None:
        for private, expected in (("float32", "float64"), ("float64", "float32"), ("int32", "float32")):
            x = tt.tensor(private, shape=(None, None))
            for reduce in (tt.sum, tt.prod, tt.mean):
                y = reduce(x, axis=0, dtype=expected)
                gradient = tt.grad(y.sum(), x)
                with self.subTest(own=private, wanted=expected, op=reduce.__name__):
                    self.assertEqual(y.dtype, expected)
                    self.assertIn(gradient.dtype, (private, "float32", "float64"))
                    self.assertTrue(np.isfinite(run([x], gradient, (A[0] + 9).astype(private))).all())


class TestRules(unittest.TestCase):
    def test_every_reduction_has_all_rules(self) -> None:
        ops: list[Reduce] = [tt.Sum(), tt.Prod(), tt.Max(), tt.Min(), tt.All(), tt.Any(), ProdWithoutZeros()]
        ops += [CAReduce(scalar.add), CAReduceDtype(scalar.add), Supremum()]
        for op in ops:
            for table in (pullback, pushforward, shape_rule):
                with self.subTest(op=str(op), table=table.name):
                    self.assertIsNotNone(table.get(op))

    def test_supremum_inside_a_fused_kernel(self) -> None:
        x = tt.dmatrix("x")
        result = run([x], Supremum(1)(x * 2), np.zeros((2, 0)))
        np.testing.assert_array_equal(result, [-np.inf, -np.inf])


AXIS = st.one_of(
    st.none(),
    st.integers(-5, 5),
    st.lists(st.integers(-4, 4), max_size=4),
    st.sampled_from(["0", 1.5, True, b"1", object(), (0.5,), ("x",), [[0]], {1: 2}]),
)


class TestBadInput(unittest.TestCase):
    """An error of a documented class, or NumPy's result; never anything else."""

    @settings(max_examples=examples(120), deadline=None)
    @given(st.integers(0, 3), AXIS, st.booleans(), st.sampled_from(["sum", "prod", "max", "mean", "any", "argmin"]))
    def test_axes(self, ndim: int, axis: Any, keepdims: bool, name: str) -> None:
        x = tt.tensor("float64", shape=(None,) * ndim)
        try:
            y = getattr(tt, name)(x, axis=axis, keepdims=keepdims)
        except (TypeError, ValueError) as error:
            self.assertIn("Hint", str(error))
            return
        value = np.arange(1.0, 1.0 + 2**ndim).reshape((2,) * ndim)
        if name == "argmin":
            self.assertEqual(y.ndim, run([x], y, value, mode="FAST_COMPILE").ndim)
            return
        expected = tuple(axis) if isinstance(axis, (list, dict)) else axis
        reference = getattr(np, name)(value, axis=expected, keepdims=keepdims)
        np.testing.assert_allclose(run([x], y, value, mode="FAST_COMPILE"), reference)

    @settings(max_examples=examples(60), deadline=None)
    @given(st.sampled_from([None, "float32", "int8", "bool", "complex64", "text", 3, object]), st.booleans())
    def test_dtypes(self, dtype: Any, accumulate: bool) -> None:
        x = tt.zvector("z")
        try:
            y = tt.sum(x, acc_dtype=dtype) if accumulate else tt.sum(x, dtype=dtype)
        except (TypeError, ValueError) as error:
            self.assertTrue(str(error))
            return
        self.assertIn(y.dtype, ("complex64", "complex128"))

    def test_norms(self) -> None:
        x = tt.dvector("x")
        for order in (tt.dvector("v"), 1j):
            with self.subTest(order=str(order)), self.assertRaisesRegex(TypeError, "one real number"):
                tt.norm(x, order)
        self.assertEqual(tt.norm(tt.fvector("x"), 0.1).dtype, "float32")
        self.assertAlmostEqual(float(run([x], tt.norm(x, 3), np.array([1.0, 2.0]))), 9 ** (1 / 3), places=12)

    def test_what_is_no_tensor(self) -> None:
        for function in (tt.sum, tt.max, tt.argmax, tt.all, tt.var, tt.logsumexp):
            with self.subTest(function=function.__name__), self.assertRaises(TypeError):
                function(object())  # type: ignore[arg-type]
