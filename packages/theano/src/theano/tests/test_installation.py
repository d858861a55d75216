"""Whether an installation works: functions are compiled and right, on both machines, and use the BLAS at hand."""

from __future__ import annotations

import pickle
import unittest

import numpy as np

import theano
import theano.tensor as T
from theano.tensor.shared_randomstreams import RandomStreams
from theano_tensor.random.mrg import MRG_RandomStreams
from theano_testing.tensor import assert_allclose, verify_grad

MACHINES = (theano.Mode("cvm", "fast_run"), theano.Mode("py", "fast_run"))


class TestInstallation(unittest.TestCase):
    """One test for each thing that a broken installation would break."""

    def setUp(self) -> None:
        self.rng = np.random.default_rng(7)

    def test_elementwise_functions_and_reductions(self) -> None:
        x = T.dmatrix("x")
        value = self.rng.normal(size=(50, 40))
        for mode in MACHINES:
            f = theano.function([x], [T.tanh(x) * 2 + T.exp(-x), T.sqrt(abs(x)).sum(axis=0)], mode=mode)
            first, second = f(value)
            assert_allclose(first, np.tanh(value) * 2 + np.exp(-value))
            assert_allclose(second, np.sqrt(abs(value)).sum(axis=0))

    def test_products_of_matrices(self) -> None:
        for dtype in ("float32", "float64"):
            x, y = T.matrix("x", dtype), T.matrix("y", dtype)
            a, b = self.rng.normal(size=(2, 130, 130)).astype(dtype)
            for mode in MACHINES:
                product = theano.function([x, y], T.dot(x, y), mode=mode)(a, b)
                np.testing.assert_allclose(product, a @ b, rtol=1e-4, atol=1e-4)

    def test_linear_algebra(self) -> None:
        x, y = T.dmatrices("x", "y")
        a = self.rng.normal(size=(20, 20))
        a = a @ a.T + np.eye(20)
        f = theano.function([x, y], [T.slinalg.cholesky(x), T.slinalg.solve(x, y)])
        factor, solution = f(a, np.eye(20))
        assert_allclose(factor @ factor.T, a)
        assert_allclose(solution @ a, np.eye(20))

    def test_gradients(self) -> None:
        verify_grad(lambda x, y: T.nnet.sigmoid(T.dot(x, y)).sum(axis=1), [self.rng.normal(size=(3, 3))] * 2)

    def test_training(self) -> None:
        x, t = T.dmatrix("x"), T.dvector("t")
        w = theano.shared(np.zeros(4), "w")
        cost = ((T.dot(x, w) - t) ** 2).mean()
        step = theano.function([x, t], cost, updates={w: w - 0.1 * theano.grad(cost, w)})
        points, truth = self.rng.normal(size=(200, 4)), np.array([1.0, -2.0, 0.5, 3.0])
        for _ in range(200):
            step(points, points @ truth)
        np.testing.assert_allclose(w.get_value(), truth, atol=1e-3)

    def test_random_numbers(self) -> None:
        for streams in (RandomStreams(5), MRG_RandomStreams(5)):
            draw = theano.function([], streams.normal((2000,)))
            first, second = draw(), draw()
            self.assertFalse(np.array_equal(first, second))
            self.assertLess(abs(first.mean()) + abs(first.std() - 1), 0.2)

    def test_pickles(self) -> None:
        x = T.dscalar("x")
        f = pickle.loads(pickle.dumps(theano.function([x], x**3)))
        self.assertEqual(f(2.0), 8.0)

    def test_errors(self) -> None:
        x, y = T.dvectors("x", "y")
        f = theano.function([x, y], x + y)
        with self.assertRaisesRegex(ValueError, "length"):
            f([1.0, 2.0], [1.0, 2.0, 3.0])
