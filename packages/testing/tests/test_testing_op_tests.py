"""The base classes for tests of ops."""

from __future__ import annotations

import unittest
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import theano_tensor as tt
import theano_tensor.rewrites  # shapes are inferred by rewrites
from theano_graph import Apply, Op
from theano_testing.tensor import InferShapeTester, MockRandomState, RopLopChecker


class Double(Op):
    """An op whose methods are in the historical form."""

    __props__ = ("right",)

    def __init__(self, right: float = 2.0) -> None:
        self.right = right

    def make_node(self, *inputs: Any) -> Apply:
        x = tt.as_tensor_variable(inputs[0])
        return Apply(self, [x], [x.type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        output_storage[0][0] = inputs[0] * 2

    def grad(self, inputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [output_gradients[0] * 2]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        return [eval_points[0] * self.right]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> Sequence[Any]:
        return [shapes[0] if self.right == 2 else tuple(reversed(shapes[0]))]


class NoDerivative(Op):
    """An op without a gradient and a shape."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        x = tt.as_tensor_variable(inputs[0])
        return Apply(self, [x], [x.type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        output_storage[0][0] = inputs[0] + 1


class TestRopLopChecker(RopLopChecker):
    def test_double(self) -> None:
        self.check_rop_lop(Double()(self.x), self.in_shape)
        self.check_mat_rop_lop(Double()(self.mx).sum(axis=0), (self.mat_in_shape[1],))
        self.check_rop_lop(tt.exp(self.x)[1:3], (2,))

    def test_wrong_right_product(self) -> None:
        with self.assertRaisesRegex(AssertionError, "R-op is not the Jacobian"):
            self.check_rop_lop(Double(2.5)(self.x), self.in_shape)

    def test_op_without_derivative(self) -> None:
        self.check_nondiff_rop(NoDerivative()(self.x))
        with self.assertRaises(AssertionError):
            self.check_nondiff_rop(Double()(self.x))


class TestInferShapeTester(InferShapeTester):
    def test_double(self) -> None:
        x = tt.dmatrix()
        self._compile_and_check([x], [Double()(x)], [np.zeros((5, 4))], Double)

    def test_wrong_shape(self) -> None:
        x = tt.dmatrix()
        with self.assertRaises(AssertionError):
            self._compile_and_check([x], [Double(2.5)(x)], [np.zeros((5, 4))], Double)

    def test_op_that_is_left(self) -> None:
        x = tt.dmatrix()
        with self.assertRaisesRegex(AssertionError, "infer_shape"):
            self._compile_and_check([x], [NoDerivative()(x)], [np.zeros((5, 4))], NoDerivative)
        self._compile_and_check([x], [NoDerivative()(x)], [np.zeros((5, 4))], NoDerivative, check_topo=False)

    def test_equal_lengths(self) -> None:
        x = tt.dmatrix()
        with self.assertWarnsRegex(UserWarning, r"\(4, 4\)"):
            self._compile_and_check([x], [Double()(x)], [np.zeros((4, 4))], Double)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self._compile_and_check([x], [Double()(x)], [np.zeros((4, 4))], Double, warn=False)


class TestMockRandomState(unittest.TestCase):
    def test_bounds(self) -> None:
        least, greatest = MockRandomState(0), MockRandomState(0.99)
        np.testing.assert_array_equal(least.rand(2, 1), [[0.0], [0.0]])
        np.testing.assert_array_equal(greatest.rand(2), [0.99, 0.99])
        self.assertEqual((least.randint(4)[0], greatest.randint(4)[0]), (0, 3))
        self.assertEqual((least.randint(2, 9, (2, 2)).max(), greatest.randint(2, 9, 3).min()), (2, 8))
        self.assertEqual((least.uniform(-1, 2), greatest.uniform(-1, 2, 2)[1]), (-1.0, 2.0))


del InferShapeTester, RopLopChecker  # bases are no tests
