"""Products of vectors, matrices and tensors; functions for neural networks."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
from scipy import special
from tensor_cases import MODES, check_gradient, compiled, run, variables_for

import theano_tensor as T
from theano_tensor import nnet

RNG = np.random.default_rng(5)


class TestDot(unittest.TestCase):
    def test_values(self) -> None:
        shapes = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((2, 0), (0, 4)), ((0, 3), (3,))]
        for left, right in shapes:
            for dtype in ("float64", "float32"):
                with self.subTest(left=left, right=right, dtype=dtype):
                    a, b = RNG.normal(size=left).astype(dtype), RNG.normal(size=right).astype(dtype)
                    x, y = variables_for([a, b])
                    result = run([x, y], T.dot(x, y), a, b)
                    np.testing.assert_allclose(result, a @ b, rtol=1e-5, atol=1e-6)
                    self.assertEqual(result.dtype, dtype)

    def test_strided_and_integer_operands(self) -> None:
        a, b = RNG.normal(size=(6, 4)), RNG.normal(size=(4, 6))
        x, y = T.dmatrices("x", "y")
        np.testing.assert_allclose(run([x, y], x.dot(y), a[::2], b[:, ::-2]), a[::2] @ b[:, ::-2])
        np.testing.assert_allclose(run([x, y], T.dot(y.T, x.T), a, b), b.T @ a.T)
        i = T.imatrix("i")
        m = np.arange(4, dtype="int32").reshape(2, 2)
        np.testing.assert_array_equal(run([i], T.dot(i, i), m), m @ m)

    def test_scalars_multiply_and_more_dimensions_follow_numpy(self) -> None:
        a, b = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(5, 4, 6))
        x, y = T.dtensor3s("x", "y")
        np.testing.assert_allclose(run([x, y], T.dot(x, y), a, b), np.dot(a, b))
        np.testing.assert_allclose(run([x], T.dot(x, 2.0), a), a * 2)

    def test_known_mismatch_is_an_error_when_compiled(self) -> None:
        x, w = T.tensor(shape=(None, 128), name="x"), T.tensor(shape=(512, 32), name="W1")
        with self.assertRaises(ValueError) as caught:
            compiled(x.dot(w))
        text = str(caught.exception)
        for part in ("128 (axis 1 of `x`) and 512 (axis 0 of `W1`)", "test_tensor_linear.py:", "Hint", "`W1.T`"):
            self.assertIn(part, text)

    def test_mismatch_at_run_time(self) -> None:
        x, y = T.dmatrices("x", "y")
        for mode in MODES:
            with self.subTest(mode=mode), self.assertRaises(ValueError):
                run([x, y], x.dot(y), np.zeros((2, 3)), np.zeros((2, 3)), mode=mode)

    def test_gradients(self) -> None:
        for left, right in [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4))]:
            with self.subTest(left=left, right=right):
                check_gradient(T.dot, RNG.normal(size=left), RNG.normal(size=right))


class TestTensorProducts(unittest.TestCase):
    def test_tensordot(self) -> None:
        a, b = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(5, 6, 4, 3))
        x, y = variables_for([a, b])
        axes = [[1, 2], [3, 2]]
        np.testing.assert_allclose(run([x, y], T.tensordot(x, y, axes), a, b), np.tensordot(a, b, (axes[0], axes[1])))
        np.testing.assert_allclose(
            run([x, y], T.tensordot(x, y, np.array(axes)), a, b), np.tensordot(a, b, (axes[0], axes[1]))
        )
        c = RNG.normal(size=(4, 5))
        z = T.dmatrix("z")
        for n in (0, 1, np.int64(1), np.array(1)):
            np.testing.assert_allclose(run([x, z], T.tensordot(x, z, n), a, c), np.tensordot(a, c, int(n)))
        np.testing.assert_allclose(run([x], T.tensordot(x, x, 3), a), np.tensordot(a, a, 3))
        check_gradient(lambda u, v: T.tensordot(u, v, [[1], [0]]), RNG.normal(size=(2, 3)), RNG.normal(size=(3, 2)))

    def test_tensordot_errors(self) -> None:
        x, y = T.dmatrix("x"), T.dvector("y")
        for axes in (2, [[0, 1], [0]], [[2], [0]], "ab", [[0]]):
            with self.subTest(axes=axes), self.assertRaises((ValueError, TypeError)):
                T.tensordot(x, y, axes)

    def test_outer_and_batched(self) -> None:
        a, b = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(2, 4, 5))
        x, y = T.dtensor3s("x", "y")
        np.testing.assert_allclose(run([x, y], T.batched_dot(x, y), a, b), a @ b)
        np.testing.assert_allclose(run([x, y], x @ y, a, b), a @ b)
        check_gradient(T.batched_dot, a, b[:, :, 0])
        v, w = T.dvectors("v", "w")
        np.testing.assert_allclose(run([v, w], T.outer(v, w), a[0, 0], b[0, 0]), np.outer(a[0, 0], b[0, 0]))
        u, c = T.dtensor4("u"), RNG.normal(size=(2, 6, 3, 4))
        np.testing.assert_allclose(run([u, y], T.batched_dot(u, y), c, b), np.einsum("bijk,bkl->bijl", c, b))
        with self.assertRaisesRegex(ValueError, "tensors with dimensions"):
            T.batched_dot(T.dscalar(), x)
        with self.assertRaisesRegex(ValueError, "use \\* with scalars"):
            _ = v @ 2


class TestNeuralNetworkFunctions(unittest.TestCase):
    def test_activations(self) -> None:
        a = np.array([-1000.0, -2.0, -0.5, 0.5, 3.0, 1000.0])
        x = T.dvector("x")
        table: list[tuple[Any, Any]] = [
            (nnet.sigmoid(x), special.expit(a)),
            (nnet.softplus(x), np.logaddexp(0, a)),
            (nnet.relu(x), np.maximum(a, 0)),
            (nnet.relu(x, 0.1), np.where(a > 0, a, 0.1 * a)),
            (nnet.elu(x, 2.0), np.where(a > 0, a, 2 * np.expm1(np.minimum(a, 0)))),
            (nnet.softsign(x), a / (1 + abs(a))),
            (nnet.hard_sigmoid(x), np.clip(0.2 * a + 0.5, 0, 1)),
            (nnet.selu(x), 1.0507009873554805 * np.where(a > 0, a, 1.6732632423543772 * np.expm1(np.minimum(a, 0)))),
        ]
        for (_, expected), result in zip(table, run([x], [e for e, _ in table], a), strict=True):
            np.testing.assert_allclose(result, expected)

    def test_activation_gradients(self) -> None:
        a = np.array([-2.0, -0.5, 0.5, 3.0])
        for function in (nnet.relu, nnet.elu, nnet.selu, nnet.softsign, nnet.sigmoid, nnet.softplus):
            with self.subTest(function=str(function)):
                check_gradient(function, a)

    def test_gradient_of_elu_is_finite_for_large_numbers(self) -> None:
        x = T.dvector("x")
        np.testing.assert_array_equal(run([x], T.grad(nnet.elu(x).sum(), x), np.array([1000.0])), [1.0])

    def test_softmax(self) -> None:
        a = np.array([[1.0, 2.0, 3.0], [1000.0, 0.0, -1000.0]])
        x, v = T.dmatrix("x"), T.dvector("v")
        np.testing.assert_allclose(run([x], nnet.softmax(x), a), special.softmax(a, axis=1))
        np.testing.assert_allclose(run([x], nnet.logsoftmax(x), a), special.log_softmax(a, axis=1))
        self.assertEqual(run([v], nnet.softmax(v), a[0]).shape, (1, 3))
        np.testing.assert_allclose(run([x], nnet.softmax(x, axis=0), a), special.softmax(a, axis=0))
        check_gradient(nnet.softmax, RNG.normal(size=(2, 3)))
        with self.assertRaisesRegex(ValueError, "a vector or a matrix, not 3(.|\n)*axis=-1"):
            nnet.softmax(T.dtensor3())

    def test_cross_entropies(self) -> None:
        logits, target = np.array([-800.0, -1.0, 2.0, 800.0]), np.array([0.0, 1.0, 0.5, 1.0])
        x, t = T.dvectors("x", "t")
        expected = np.logaddexp(0, logits) - target * logits
        np.testing.assert_allclose(run([x, t], nnet.sigmoid_binary_crossentropy(x, t), logits, target), expected)
        p = special.expit(logits[1:3])
        direct = run([x, t], nnet.binary_crossentropy(x, t), p, target[1:3])
        np.testing.assert_allclose(direct, expected[1:3])
        check_gradient(lambda u: nnet.sigmoid_binary_crossentropy(u, target[1:3]), logits[1:3])

    def test_saturated_probabilities_stay_finite_in_compiled_functions(self) -> None:
        x, t = T.dvectors("x", "t")
        logits, target = np.array([-800.0, 800.0]), np.array([1.0, 0.0])
        cost = nnet.binary_crossentropy(nnet.sigmoid(x), t)
        value, gradient = run([x, t], [cost, T.grad(cost.sum(), x)], logits, target, mode="FAST_RUN")
        np.testing.assert_allclose(value, [800.0, 800.0])
        np.testing.assert_allclose(gradient, [-1.0, 1.0])

    def test_categorical(self) -> None:
        coding = np.array([[0.2, 0.8], [1.0, 0.0]])
        x, true, labels = T.dmatrix("x"), T.dmatrix("true"), T.lvector("labels")
        hot = np.array([[0.5, 0.5], [0.25, 0.75]])
        result = run([x, true], nnet.categorical_crossentropy(x, true), coding + 0.1, hot)
        np.testing.assert_allclose(result, -(hot * np.log(coding + 0.1)).sum(axis=1))
        result = run([x, labels], nnet.categorical_crossentropy(x, labels), coding, np.array([1, 0]))
        np.testing.assert_allclose(result, [-np.log(0.8), 0.0])
        with self.assertRaisesRegex(ValueError, "matrix, or as a vector of integers"):
            nnet.categorical_crossentropy(x, T.dvector("v"))
