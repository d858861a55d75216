"""Gradients, R-operators and shapes of ops as methods that programs call, and that subclasses override and call."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

import theano
import theano.tensor as T


class DoubledDot(T.Dot):
    """The product, with twice its gradient by the first factor."""

    def grad(self, inputs: Sequence[Any], output_gradients: Sequence[Any]) -> list[Any]:
        """Double what the base gives."""
        by_x, by_y = super().grad(inputs, output_gradients)
        return [2 * by_x, by_y]


class TestMethods(unittest.TestCase):
    def test_grad_and_l_op(self) -> None:
        x, y, g = T.dmatrices("x", "y", "g")
        node = T.dot(x, y).owner
        values = [np.random.default_rng(k).normal(size=(2, 2)) for k in range(3)]
        for found in (node.op.grad([x, y], [g]), node.op.L_op([x, y], node.outputs, [g])):
            by_x, by_y = theano.function([x, y, g], found)(*values)
            np.testing.assert_allclose(by_x, values[2] @ values[1].T)
            np.testing.assert_allclose(by_y, values[0].T @ values[2])

    def test_a_subclass_calls_that_of_its_base(self) -> None:
        x, y = T.dmatrices("x", "y")
        ones = np.ones((2, 2))
        for op, factor in ((DoubledDot(), 2), (T.Dot(), 1)):
            by_x, by_y = theano.function([x, y], T.grad(op(x, y).sum(), [x, y]))(ones, ones)
            np.testing.assert_allclose(by_x, 2 * factor * ones)
            np.testing.assert_allclose(by_y, 2 * ones)

    def test_disconnected_inputs(self) -> None:
        x, n = T.dmatrix("x"), T.lscalar("n")
        by_x, by_n = x[n].owner.op.grad(x[n].owner.inputs, [T.dvector()])
        self.assertEqual(by_x.type.ndim, 2)
        self.assertIsInstance(by_n.type, theano.gradient.DisconnectedType)

    def test_r_op_and_shapes(self) -> None:
        x, e = T.dmatrices("x", "e")
        node = (x**2).owner
        (tangent,) = node.op.R_op(node.inputs, [e, None])
        self.assertEqual(theano.function([x, e], tangent)([[3.0]], [[1.0]]), 6.0)
        self.assertEqual(node.op.R_op(node.inputs, [None, None]), [None])
        total = T.elemwise.Sum(0).make_node(x)
        self.assertEqual(total.op.infer_shape(total, [(3, 4)]), [(4,)])


if __name__ == "__main__":
    unittest.main()
