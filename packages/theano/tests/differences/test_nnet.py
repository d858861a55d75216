"""Differences from Theano 1.0 in neural networks and signals, row by row."""

from __future__ import annotations

import pickle
import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
import theano.tensor.signal.pool
from theano.tensor.nnet import neighbours, sigmoid
from theano.tensor.nnet.conv import conv2d
from theano.tests import unittest_tools


def op_names(f: Any) -> set[str]:
    """Return the names of the classes of the ops of a compiled function."""
    return {type(node.op).__name__ for node in f.maker.fgraph.toposort()}


class TestSoftmaxInLoops(unittest.TestCase):
    difference = "softmax-in-loops"

    def test_compiled_functions_have_exponentials_in_its_place(self) -> None:
        x, b = T.dmatrix("x"), T.dvector("b")
        built = T.nnet.softmax_with_bias(x, b)
        self.assertIsInstance(built.owner.op, T.nnet.SoftmaxWithBias)
        f = theano.function([x, b], built)
        self.assertFalse({name for name in op_names(f) if "Softmax" in name})
        values, bias = np.array([[1.0, 2.0], [0.0, 1000.0]]), np.array([0.5, 0.0])
        saved = theano.function([x, b], built, mode=theano.Mode(optimizer=None))
        self.assertIn("SoftmaxWithBias", op_names(saved))
        np.testing.assert_allclose(f(values, bias), saved(values, bias))


class TestLossesInLoops(unittest.TestCase):
    difference = "losses-in-loops"

    def test_loss_and_gradient_are_expressions(self) -> None:
        x, y = T.dmatrix("x"), T.lvector("y")
        loss = T.nnet.categorical_crossentropy(T.nnet.softmax(x), y).sum()
        f = theano.function([x, y], [loss, T.grad(loss, x)])
        self.assertFalse({name for name in op_names(f) if "Crossentropy" in name or "Softmax" in name})
        result, gradient = f([[0.0, 1000.0]], [0])
        self.assertEqual((float(result), gradient.tolist()), (1000.0, [[-1.0, 1.0]]))


class TestPoolingTies(unittest.TestCase):
    difference = "pooling-ties"

    def test_first_of_the_largest_elements_gets_the_gradient(self) -> None:
        x = T.dmatrix("x")
        pooled = theano.tensor.signal.pool.pool_2d(x, (2, 2), ignore_border=True)
        gradient = T.grad(pooled.sum(), x)
        np.testing.assert_array_equal(gradient.eval({x: np.ones((2, 2))}), [[1, 0], [0, 0]])


class TestMoreGradients(unittest.TestCase):
    difference = "more-gradients"

    def test_former_convolution_with_steps(self) -> None:
        rng = np.random.RandomState(1)
        arrays = [rng.rand(1, 1, 6, 6), rng.rand(1, 1, 3, 3)]
        unittest_tools.verify_grad(lambda x, w: conv2d(x, w, subsample=(2, 1)), arrays, rng=rng)

    def test_neighbourhoods_that_wrap_around(self) -> None:
        rng = np.random.RandomState(1)
        images = rng.rand(1, 1, 3, 3)
        unittest_tools.verify_grad(
            lambda x: neighbours.images2neibs(x, (3, 3), (1, 1), "wrap_centered"), [images], rng=rng
        )


class TestNormalizationWrittenOut(unittest.TestCase):
    difference = "normalization-written-out"

    def test_graph_is_made_of_elementwise_ops(self) -> None:
        x, scale, shift = T.dmatrix("x"), T.drow("scale"), T.drow("shift")
        out, mean, _ = T.nnet.bn.batch_normalization_train(x, scale, shift)
        self.assertIsInstance(getattr(out.owner, "op", None), T.Elemwise)
        former = T.nnet.bn.AbstractBatchNormTrain()(x, scale, shift)[1]
        values = np.array([[1.0, 2.0], [3.0, 6.0]])
        np.testing.assert_allclose(mean.eval({x: values}), [[2.0, 4.0]])
        row = np.ones((1, 2))
        np.testing.assert_allclose(former.eval({x: values, scale: row, shift: row}), [[2.0, 4.0]])


class TestPickledFunctions(unittest.TestCase):
    difference = "pickled-functions"

    def test_internals_of_former_functions_are_not_there(self) -> None:
        former = b"ctheano.compile.function_module\n_constructor_Function\n."
        with self.assertRaisesRegex(AttributeError, "_constructor_Function"):
            pickle.loads(former)


class TestSigmoidsCollected(unittest.TestCase):
    difference = "sigmoids-collected"

    def test_a_sigmoid_twice_is_its_square(self) -> None:
        x = T.dvector("x")
        product = T.exp(x) / ((1 + T.exp(x)) * (1 + T.exp(-x)))
        f = theano.function([x], product, mode=theano.compile.get_default_mode().excluding("fusion"))
        texts = [str(node.op) for node in f.maker.fgraph.toposort()]
        self.assertEqual(len(texts), 2)
        self.assertIn("qr", texts[1])
        values = np.array([-1.0, 2.0])
        np.testing.assert_allclose(f(values), sigmoid(values).eval() ** 2)


class TestNumpyOfTests(unittest.TestCase):
    difference = "numpy-of-tests"

    def test_numpy_stacks_lists(self) -> None:
        rows = [np.arange(2), np.arange(2)]
        if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
            with self.assertRaisesRegex(TypeError, "sequence"):
                np.stack(row for row in rows)  # type: ignore[call-overload]  # this is refused
        self.assertEqual(np.stack(rows).shape, (2, 2))
