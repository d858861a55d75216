"""Programs with convolutions, pooling and losses, as they were written for Theano 1.0."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.tensor.nnet import conv2d, h_softmax
from theano.tensor.nnet.neighbours import images2neibs, neibs2images
from theano.tensor.signal import pool
from theano_testing.tiers import slow


def images(rng: np.random.RandomState, count: int) -> tuple[Any, Any]:
    """Return small images with a bright row, and where it is."""
    rows = np.arange(count, dtype="int32") % 4
    x = rng.rand(count, 1, 12, 12).astype(theano.config.floatX)
    for image, row in zip(x, rows, strict=True):
        image[0, 3 * row : 3 * row + 2] += 1
    return x, rows


class TestConvolutionalNets(unittest.TestCase):
    def test_a_net_learns(self) -> None:
        rng = np.random.RandomState(23455)
        floatX = theano.config.floatX

        def weights(*shape: int) -> Any:
            return theano.shared((rng.randn(*shape) * 0.2).astype(floatX))

        x, y = T.tensor4("x"), T.ivector("y")
        w1, b1, w2, b2 = weights(6, 1, 3, 3), weights(6), weights(6 * 5 * 5, 4), weights(4)
        filtered = conv2d(input=x, filters=w1, input_shape=(20, 1, 12, 12), filter_shape=(6, 1, 3, 3))
        pooled = pool.pool_2d(filtered, ws=(2, 2), ignore_border=True)
        hidden = T.tanh(pooled + b1.dimshuffle("x", 0, "x", "x")).flatten(2)
        p_y_given_x = T.nnet.softmax(T.dot(hidden, w2) + b2)
        cost = -T.mean(T.log(p_y_given_x)[T.arange(y.shape[0]), y])
        params = [w1, b1, w2, b2]
        updates = [(p, p - T.cast(0.1, floatX) * g) for p, g in zip(params, T.grad(cost, params), strict=True)]
        train = theano.function([x, y], cost, updates=updates)
        predict = theano.function([x], T.argmax(p_y_given_x, axis=1))
        values, classes = images(rng, 20)
        costs = [float(train(values, classes)) for _ in range(60)]
        self.assertLess(costs[-1], 0.2 * costs[0])
        self.assertEqual(predict(values).tolist(), classes.tolist())

    def test_the_example_of_the_tutorial_on_arithmetic(self) -> None:
        x, w = T.tensor4("x"), T.tensor4("w")
        output = conv2d(x, w, input_shape=(1, 1, 5, 5), filter_shape=(1, 1, 3, 3), border_mode=(1, 1), subsample=(2, 2))
        f = theano.function([x, w], output)
        self.assertEqual(
            f(np.ones((1, 1, 5, 5)), np.ones((1, 1, 3, 3)))[0, 0].tolist(), [[4, 6, 4], [6, 9, 6], [4, 6, 4]]
        )
        grown = T.nnet.abstract_conv.conv2d_grad_wrt_inputs(
            output, w, input_shape=(9, 9), filter_shape=(None, None, 4, 4), border_mode="valid", subsample=(2, 2)
        )
        g = theano.function([x, w], T.nnet.conv2d(x, w).sum() + grown.shape.sum(), on_unused_input="ignore")
        self.assertEqual(g(np.zeros((1, 1, 5, 5)), np.zeros((1, 1, 3, 3))), 1 + 1 + 9 + 9)

    def test_gradients_insist_on_lengths(self) -> None:
        x, y = T.tensor4("x"), T.tensor4("y")
        module: Any = T.nnet.abstract_conv
        gradient: Any
        for gradient in (module.conv2d_grad_wrt_inputs, module.conv2d_grad_wrt_weights, T.nnet.conv2d_transpose):
            self.assertEqual(gradient(x, y, (None, None, 3, T.lscalar())).ndim, 4)
            for error, shape in ((TypeError, None), (ValueError, (None,) * 4), (ValueError, (1, 2, 3, None))):
                with self.assertRaises(error):
                    gradient(x, y, shape)
            with self.assertRaises(TypeError):
                gradient(x, y)

    def test_former_convolution_takes_constant_lengths_only(self) -> None:
        x, y = T.tensor4("x"), T.tensor4("y")
        operand: Any
        for operand in ({"image_shape": (3, 2, 8, T.iscalar())}, {"filter_shape": (3, 2, 8, T.iscalar())}):
            with self.assertRaises(T.basic.NotScalarConstantError):
                T.nnet.conv.conv2d(x, y, **operand)
        self.assertEqual(T.nnet.conv.conv2d(x, y, filter_shape=(3, None, T.constant(2), 2)).ndim, 4)

    def test_neighbours_as_in_the_manual(self) -> None:
        x = T.tensor4("images")
        neibs = images2neibs(x, neib_shape=(5, 5))
        window_function = theano.function([x], neibs)
        value = np.arange(100.0).reshape((1, 1, 10, 10))
        rows = window_function(value)
        self.assertEqual(rows.shape, (4, 25))
        inverse = theano.function([neibs], neibs2images(neibs, (5, 5), value.shape))
        np.testing.assert_array_equal(inverse(rows), value)

    def test_hierarchical_softmax_as_in_the_manual(self) -> None:
        batch_size, n_outputs, dim_x = 32, 100, 10
        n_classes = int(np.ceil(np.sqrt(n_outputs)))
        rng, floatX = np.random.RandomState(0), theano.config.floatX
        w1 = theano.shared(rng.normal(0, 0.001, (dim_x, n_classes)).astype(floatX))
        b1 = theano.shared(np.zeros((n_classes,), floatX))
        w2 = theano.shared(rng.normal(0, 0.001, (n_classes, dim_x, n_classes)).astype(floatX))
        b2 = theano.shared(np.zeros((n_classes, n_classes), floatX))
        x, target = T.imatrix("x"), T.imatrix("target")
        sizes = (batch_size, n_outputs, n_classes, n_classes)
        chosen = h_softmax(x, *sizes, w1, b1, w2, b2, target)
        every = h_softmax(x, *sizes, w1, b1, w2, b2)
        negll = -T.mean(T.log(chosen))
        f = theano.function([x, target], [chosen, every, negll, T.grad(negll, w2)])
        values, expected = rng.randint(0, 5, (32, 10)), rng.randint(0, 100, (32, 1))
        one, all_, loss, gradient = f(values.astype("int32"), expected.astype("int32"))
        np.testing.assert_allclose(one, np.take_along_axis(all_, expected, 1)[:, 0])
        np.testing.assert_allclose(all_.sum(axis=1), 1)
        self.assertEqual((loss.shape, gradient.shape), ((), (10, 10, 10)))

    def test_names_of_old_programs(self) -> None:
        with self.assertWarnsRegex(DeprecationWarning, "signal.pool"):
            old = importlib.reload(importlib.import_module("theano.tensor.signal.downsample"))
        x = np.random.RandomState(0).rand(1, 1, 4, 4)
        with self.assertWarnsRegex(DeprecationWarning, "ds is called ws"):
            result = old.max_pool_2d(T.constant(x), ds=(2, 2), ignore_border=True).eval()
        np.testing.assert_array_equal(result, x.reshape(1, 1, 2, 2, 2, 2).max(axis=(3, 5)))
        self.assertIs(T.signal.pool, pool)
        self.assertIs(T.nnet.conv.conv2d, importlib.import_module("theano.tensor.nnet.conv").conv2d)
        self.assertTrue(callable(T.nnet.conv3d2d.conv3d))

    def test_arguments_in_documented_orders(self) -> None:
        x, w = np.random.RandomState(0).rand(1, 1, 6, 6), np.ones((1, 1, 2, 2))
        shared_start = (x, w, None, None, "valid", (1, 1), True)
        expected = conv2d(x, w, filter_dilation=(2, 2)).eval()
        np.testing.assert_array_equal(conv2d(*shared_start, None, (2, 2), 1).eval(), expected)
        np.testing.assert_array_equal(T.nnet.abstract_conv.conv2d(*shared_start, (2, 2), 1).eval(), expected)

    def test_sigmoids_by_names_of_rewrites(self) -> None:
        x = T.dvector()
        for name, expected in (("local_hard_sigmoid", 1.0), ("local_ultra_fast_sigmoid", 0.99752738)):
            mode = theano.compile.get_default_mode().including(name)
            result = theano.function([x], T.nnet.sigmoid(x), mode=mode)([9.0])[0]
            self.assertAlmostEqual(float(result), expected, places=6)

    @slow
    def test_nothing_of_this_is_imported_with_theano(self) -> None:
        program = (
            "import sys, theano.tensor;"
            "print([m for m in sys.modules if 'convolution' in m or 'theano_tensor.signal' in m])"
        )
        run = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=_environment()
        )
        self.assertEqual(run.stdout.strip(), "[]")


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONWARNINGS": "ignore"}
