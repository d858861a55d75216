"""The manual's examples of derivatives, and the names of :mod:`theano.gradient`."""

from __future__ import annotations

import subprocess
import sys
import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano import pp
from theano.gradient import (
    ConsiderConstant,
    DisconnectedType,
    GradientError,
    NullType,
    consider_constant,
    grad_clip,
    grad_not_implemented,
    grad_scale,
    grad_sources_inputs,
    grad_undefined,
    numeric_grad,
    verify_grad,
)
from theano.tests import test_rop, unittest_tools
from theano_testing.tiers import slow


class DoubleOp(theano.Op):
    """The op that the manual tests: it multiplies by two."""

    __props__ = ()

    def make_node(self, x: Any) -> theano.Apply:
        x = T.as_tensor_variable(x)
        return theano.Apply(self, [x], [x.type()])

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[0] * 2

    def infer_shape(self, node: Any, i0_shapes: Any) -> Any:
        return i0_shapes

    def grad(self, inputs: Any, output_grads: Any) -> Any:
        return [output_grads[0] * 2]

    def R_op(self, inputs: Any, eval_points: Any) -> Any:
        if eval_points[0] is None:
            return eval_points
        return self.grad(inputs, eval_points)


class TestTutorial(unittest.TestCase):
    def test_gradient_of_a_square(self) -> None:
        x = T.dscalar("x")
        gy = T.grad(x**2, x)
        self.assertEqual(
            pp(gy),
            "((fill((x ** TensorConstant{2}), TensorConstant{1.0}) * TensorConstant{2}) * "
            "(x ** (TensorConstant{2} - TensorConstant{1})))",
        )
        f = theano.function([x], gy)
        self.assertEqual(f(4), 8.0)
        self.assertTrue(np.allclose(f(94.2), 188.4))

    def test_logistic(self) -> None:
        x = T.dmatrix("x")
        s = T.sum(1 / (1 + T.exp(-x)))
        f = theano.function([x], T.grad(s, x))
        expected = [[0.25, 0.19661193], [0.19661193, 0.10499359]]
        np.testing.assert_allclose(f([[0, 1], [-1, -2]]), expected, rtol=1e-7)

    def test_jacobian_and_hessian(self) -> None:
        x = T.dvector("x")
        y = x**2
        np.testing.assert_array_equal(theano.function([x], theano.gradient.jacobian(y, x))([4, 4]), [[8, 0], [0, 8]])
        H = theano.gradient.hessian(y.sum(), x)
        np.testing.assert_array_equal(theano.function([x], H)([4, 4]), [[2, 0], [0, 2]])
        self.assertIs(T.jacobian, theano.gradient.jacobian)
        self.assertIs(T.hessian, theano.gradient.hessian)

    def test_products_with_jacobians(self) -> None:
        W, V, x, v = T.dmatrix("W"), T.dmatrix("V"), T.dvector("x"), T.dvector("v")
        y = T.dot(x, W)
        f = theano.function([W, V, x], T.Rop(y, W, V))
        np.testing.assert_array_equal(f([[1, 1], [1, 1]], [[2, 2], [2, 2]], [0, 1]), [2.0, 2.0])
        g = theano.function([v, x], T.Lop(y, W, v))
        np.testing.assert_array_equal(g([2, 2], [0, 1]), [[0, 0], [2, 2]])

    def test_hessian_times_a_vector(self) -> None:
        x, v = T.dvector("x"), T.dvector("v")
        gy = T.grad(T.sum(x**2), x)
        for product in (T.grad(T.sum(gy * v), x), T.Rop(gy, x, v)):
            np.testing.assert_array_equal(theano.function([x, v], product)([4, 4], [2, 2]), [4.0, 4.0])

    def test_clipped_and_scaled(self) -> None:
        x = T.scalar()
        z, z2 = T.grad(grad_clip(x, -1, 1) ** 2, x), T.grad(x**2, x)
        self.assertEqual(theano.function([x], outputs=[z, z2])(2.0), [1.0, 4.0])
        x = T.fscalar()
        fx = T.sin(x)
        fprime = theano.function([x], T.grad(fx, wrt=x))
        self.assertAlmostEqual(float(fprime(2)), -0.416, places=3)
        turned = theano.function([x], T.grad(grad_scale(fx, -1.0), wrt=x))
        self.assertAlmostEqual(float(turned(2)), 0.416, places=3)

    def test_layer_by_layer(self) -> None:
        rng = np.random.RandomState(3)
        x, t = T.fvector("x"), T.fvector("t")
        w1, w2 = theano.shared(rng.randn(3, 4)), theano.shared(rng.randn(4, 2))
        a1 = T.tanh(T.dot(x, w1))
        a2 = T.tanh(T.dot(a1, w2))
        cost2 = T.sqr(a2 - t).sum()
        cost2 += T.sqr(w2.sum())
        cost1 = T.sqr(w1.sum())
        params: list[list[Any]] = [[w2], [w1]]
        grad_ends: list[list[Any]] = [[a1], [x]]
        next_grad: Any = None
        param_grads: list[Any] = []
        for i, cost in enumerate([cost2, cost1]):
            param_grad, next_grad = theano.subgraph_grad(wrt=params[i], end=grad_ends[i], start=next_grad, cost=cost)
            next_grad = dict(zip(grad_ends[i], next_grad, strict=True))
            param_grads.extend(param_grad)
        expected = T.grad(cost1 + cost2, [w2, w1])
        f = theano.function([x, t], [*param_grads, *expected], allow_input_downcast=True)
        values = f([0.1, 0.2, 0.3], [1.0, -1.0])
        for item, want in zip(values[:2], values[2:], strict=True):
            np.testing.assert_allclose(item, want, rtol=1e-7)

    def test_verification_as_in_the_manual(self) -> None:
        verify_grad(T.tanh, np.asarray([[2, 3, 4], [-1, 3.3, 9.9]]), rng=np.random)

        def fun(x: Any, y: Any, z: Any) -> Any:
            return (x + T.cos(y)) / (4 * z) ** 2

        points = [np.asarray([[1], [1.1], [1.2]]), np.asarray([0.1, 0.2]), np.asarray(2.0)]
        T.verify_grad(fun, points, rng=np.random.RandomState(42))


class TestNames(unittest.TestCase):
    def test_constants(self) -> None:
        x = T.dscalar("x")
        with self.assertWarns(DeprecationWarning):
            y = consider_constant(x)
        node: Any = y.owner
        self.assertIsInstance(node.op, ConsiderConstant)
        self.assertEqual(theano.function([x], T.grad(y * x, x))(3.0), 3.0)

    def test_gradients_that_cannot_be_had(self) -> None:
        x = T.dvector("x")
        for make, error in (
            (grad_not_implemented, NotImplementedError),
            (grad_undefined, theano.gradient.NullTypeGradError),
        ):
            null = make(DoubleOp(), 0, x, "because")
            self.assertIsInstance(null.type, NullType)
            with self.assertRaisesRegex(error, "because"):
                theano.function([x], null)
        missing = T.grad(x.sum(), T.dvector(), disconnected_inputs="ignore", return_disconnected="Disconnected")
        self.assertIsInstance(missing.type, DisconnectedType)

    def test_sources(self) -> None:
        x, g = T.dvector("x"), T.dvector("g")
        result = grad_sources_inputs([(x**2, g)], [x])
        np.testing.assert_array_equal(theano.function([x, g], result[x])([1.0, 2.0], [3.0, 4.0]), [6.0, 16.0])

    def test_numeric_gradient(self) -> None:
        numeric = numeric_grad(lambda a: (a**2).sum(), [np.array([1.0, -2.0])])
        np.testing.assert_allclose(numeric.gf[0], [2.0, -4.0], rtol=1e-6)
        arg, position, *errors = numeric.max_err([np.array([2.0, -4.5])], 1e-4, 1e-4)
        self.assertEqual((arg, position), (0, 1))
        np.testing.assert_allclose(errors, [0.5, 0.5 / 8.5], rtol=1e-5)
        self.assertEqual(numeric_grad.abs_rel_err(0.0, 0.0), (0.0, 0.0))
        for wrong in ([], [np.zeros(3)]):
            with self.assertRaises(ValueError):
                numeric.abs_rel_errors(wrong)
        error = GradientError(0, 1, (2,), 1.0, 2.0, 1.0, 1 / 3, 1e-4, 1e-4)
        self.assertEqual((error.arg, error.val2, error.abs_tol), (0, 2.0, 1e-4))

    @slow
    def test_importing_theano_imports_no_test_helpers(self) -> None:
        code = "import sys, theano.gradient; print('theano_testing' in sys.modules, 'unittest' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.split(), ["False", "False"])


class TestDouble(unittest_tools.InferShapeTester, test_rop.RopLop_checker):
    """The tests of the manual for its op."""

    def setUp(self) -> None:
        unittest_tools.InferShapeTester.setUp(self)
        test_rop.RopLop_checker.setUp(self)

    def test_shape(self) -> None:
        x = T.matrix()
        value = np.asarray(np.random.rand(5, 4), dtype=theano.config.floatX)  # noqa: NPY002  # as in the manual
        self._compile_and_check([x], [DoubleOp()(x)], [value], DoubleOp)

    def test_gradient(self) -> None:
        unittest_tools.verify_grad(DoubleOp(), [np.random.rand(5, 7, 2)])  # noqa: NPY002  # as in the manual

    def test_double_rop(self) -> None:
        self.check_rop_lop(DoubleOp()(self.x), self.in_shape)
