"""Gradients, R-operators and shapes of ops as methods that programs call, and that subclasses override and call."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

import theano
import theano.tensor as T


class DoubledDot(T.Dot):
    """The product, with twice its gradient by the first factor."""

    def grad(self, inputs: Sequence[Any], output_gradients: Sequence[Any]) -> list[Any]:
        """Double the base's result."""
        base: Any = super()
        by_x, by_y = base.grad(inputs, output_gradients)
        return [2 * by_x, by_y]


class GradOnly(theano.Op):
    """Twice its input, with `grad` alone."""

    __props__ = ()

    def make_node(self, x: Any) -> Any:
        """Apply the op to a variable."""
        return theano.Apply(self, [x], [x.type()])

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        """Double the value."""
        output_storage[0][0] = 2 * inputs[0]

    def grad(self, inputs: Any, output_gradients: Any) -> list[Any]:
        """Double the gradient."""
        return [2 * output_gradients[0]]


class Bare(theano.Op):
    """An op that says nothing about its gradient."""

    __props__ = ()

    def make_node(self, x: Any) -> Any:
        """Apply the op to a variable."""
        return theano.Apply(self, [x], [x.type()])

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        """Double the value."""
        output_storage[0][0] = 2 * inputs[0]


class SteepSoftmax(T.nnet.Softmax):
    """The softmax, with thrice its gradient, and the methods of the base for the rest."""

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> list[Any]:
        """Triple the base's result."""
        base: Any = super()
        return [3 * g for g in base.L_op(inputs, outputs, output_gradients)]

    def infer_shape(self, node: Any, shapes: Any) -> list[Any]:
        """Return the base's result."""
        base: Any = super()
        return list(base.infer_shape(node, shapes))


class SteepExp(theano.scalar.Exp):
    """The exponential, with twice its gradient."""

    def grad(self, inputs: Any, output_gradients: Any) -> list[Any]:
        """Double the base's result."""
        return [2 * g for g in super().grad(inputs, output_gradients)]


class TestBase(unittest.TestCase):
    def test_every_op_has_l_op_and_r_op(self) -> None:
        x = T.dvector("x")
        bases: list[Any] = [theano.Op, theano.gof.op.PureOp, theano.gof.COp, theano.compile.ops.FromFunctionOp]
        for base in bases:
            self.assertTrue(callable(base.L_op) and callable(base.R_op))
            self.assertFalse(hasattr(base, "grad") or hasattr(base, "infer_shape"))
        op: Any = GradOnly()
        (by_x,) = op.L_op([x], [op(x)], [x])
        (along,) = op.R_op([x], [x])
        for item in (by_x, along, T.Rop(op(x), x, x), T.Lop(op(x), x, x)):
            np.testing.assert_allclose(item.eval({x: [1.0, 2.0]}), [2.0, 4.0])

    def test_an_op_without_gradient(self) -> None:
        x, op = T.dvector("x"), cast(Any, Bare())
        with self.assertRaisesRegex(NotImplementedError, "R-op"):
            op.R_op([x], [x])
        with self.assertRaisesRegex(AttributeError, "grad"):
            op.L_op([x], [op(x)], [x])
        with self.assertRaises(theano.gradient.NullTypeGradError):
            T.grad(op(x).sum(), x)

    def test_subclasses_of_softmax_and_of_a_scalar_op(self) -> None:
        x, w = T.dmatrices("x", "w")
        values = np.random.default_rng(5).normal(size=(2, 2, 3))
        plain = T.grad((w * T.nnet.softmax(x)).sum(), x).eval({x: values[0], w: values[1]})
        steep = SteepSoftmax()(x)
        np.testing.assert_allclose(T.grad((w * steep).sum(), x).eval({x: values[0], w: values[1]}), 3 * plain)
        np.testing.assert_array_equal(theano.function([x], steep.shape)(values[0]), [2, 3])
        by_x = T.grad(T.Elemwise(SteepExp(theano.scalar.upgrade_to_float))(x).sum(), x)
        np.testing.assert_allclose(by_x.eval({x: values[0]}), 2 * np.exp(values[0]))

    def test_methods_of_common_ops(self) -> None:
        x, v = T.dmatrix("x"), T.dvector("v")
        scanned = theano.scan(lambda a: 2 * a, sequences=v)[0]
        inner = theano.OpFromGraph([x], [2 * x])(x)
        for y in (T.exp(x), T.dot(x, x), x.sum(), x[1:], x[[0, 1]], T.nnet.softmax(x), scanned, inner):
            with self.subTest(y=str(y)):
                node: Any = y.owner
                by_inputs = node.op.grad(node.inputs, [y.ones_like()])
                self.assertEqual(len(by_inputs), len(node.inputs))
                self.assertEqual(len(node.op.R_op(node.inputs, node.inputs)), 1)
                (lengths,) = node.op.infer_shape(node, [tuple(i.shape) if i.type.ndim else () for i in node.inputs])
                self.assertEqual(len(lengths), y.type.ndim)


class TestMethods(unittest.TestCase):
    def test_grad_and_l_op(self) -> None:
        x, y, g = T.dmatrices("x", "y", "g")
        node: Any = T.dot(x, y).owner
        values = [np.random.default_rng(k).normal(size=(2, 2)) for k in range(3)]
        for item in (node.op.grad([x, y], [g]), node.op.L_op([x, y], node.outputs, [g])):
            by_x, by_y = theano.function([x, y, g], item)(*values)
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
        node: Any = x[n].owner
        by_x, by_n = node.op.grad(node.inputs, [T.dvector()])
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
