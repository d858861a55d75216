"""Requests of programs to reductions and types, as in Theano 1.0."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.tensor.elemwise import CAReduce, CAReduceDtype
from theano.tensor.extra_ops import RepeatOp


def op_of(variable: Any) -> Any:
    """Return the op that makes a variable."""
    return variable.owner.op


class TestReductions(unittest.TestCase):
    def test_reductions_with_a_name_are_careduce(self) -> None:
        x = T.fmatrix("x")
        for result in (x.sum(), x.prod(axis=0), T.any(x > 0), CAReduce(theano.scalar.add)(x)):
            self.assertIsInstance(op_of(result), CAReduce)
        self.assertIsInstance(op_of(x.sum()), CAReduceDtype)
        self.assertNotIsInstance(CAReduce(theano.scalar.add), CAReduceDtype)
        self.assertNotIsInstance(op_of(T.exp(x)), CAReduce)

    def test_narrow_accumulators_are_refused(self) -> None:
        for build in (T.sum, T.prod, lambda x, acc_dtype: T.elemwise.ProdWithoutZeros(acc_dtype=acc_dtype)(x)):
            with self.assertRaises(TypeError):
                build(T.fvector(), acc_dtype="int8")
            self.assertEqual(op_of(build(T.ivector(), acc_dtype="float32")).acc_dtype, "float32")

    def test_default_accumulators(self) -> None:
        for dtype, expected in (("float16", "float32"), ("float32", "float64"), ("bool", "int64")):
            self.assertEqual(op_of(T.vector(dtype=dtype).sum()).acc_dtype, expected)

    def test_means_are_no_integers(self) -> None:
        self.assertEqual(T.vector(dtype="float16").mean(dtype="bool").dtype, "float64")


class _Scaled(theano.scalar.ScalarOp):
    """A product whose first factor has no gradient."""

    nin, nout = 2, 1

    def __init__(self) -> None:
        self.output_types_preference = theano.scalar.upgrade_to_float

    def impl(self, n: Any, x: Any) -> Any:
        return x * n

    def grad(self, inputs: Any, cotangents: Any) -> list[Any]:
        n, _ = inputs
        return [theano.gradient.grad_not_implemented(self, 0, n), cotangents[0] * n]


class TestMissingGradients(unittest.TestCase):
    def test_only_what_has_none_is_refused(self) -> None:
        op, x = T.Elemwise(_Scaled()), T.dscalar("x")
        self.assertEqual(T.grad(op(2, x), x).eval({x: 3.0}), 2)
        with self.assertRaises(theano.gradient.NullTypeGradError):
            T.grad(op(x, 2), x)


class TestPatterns(unittest.TestCase):
    def test_zeros_and_ones_are_flags(self) -> None:
        for pattern in ([0, 1], (False, True), (None, 1)):
            kind = T.TensorType("float64", pattern)
            self.assertEqual(kind, T.dcol)
            self.assertEqual(kind.filter(np.ones((5, 1))).shape, (5, 1))
        self.assertEqual(T.TensorType("float64", shape=(0, 1)).shape, (0, 1))

    def test_one_repetition_keeps_a_known_length(self) -> None:
        x = T.TensorType("float64", [False, True])("x")
        self.assertEqual(RepeatOp(axis=1)(x, 1).broadcastable, (False, True))
        self.assertEqual(RepeatOp(axis=1)(x, 2).broadcastable, (False, False))
        np.testing.assert_array_equal(RepeatOp(axis=1)(x, 1).eval({x: np.ones((2, 1))}), np.ones((2, 1)))


if __name__ == "__main__":
    unittest.main()
