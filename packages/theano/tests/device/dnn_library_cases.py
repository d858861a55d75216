"""Functions whose layers cuDNN computes: run by `test_cuda_libraries` in a process of its own, on a stand-in."""

from __future__ import annotations

import ctypes
import os
import unittest
from typing import Any

import numpy as np
from numpy.typing import NDArray

import theano
import theano.tensor as T
from theano.gpuarray import dnn
from theano_gpuarray.contexts import open_context, reg_context
from theano_graph import config

NAME = "stand_in"
FAKE = os.environ["THEANO_TEST_FAKE"]
fake = ctypes.CDLL(FAKE)
fake.fake_log.restype = ctypes.c_char_p
reg_context(NAME, open_context("cuda0"))


def calls(name: str) -> int:
    log: bytes = fake.fake_log()
    return log.decode().split().count(name)


class TestLayers(unittest.TestCase):
    def setUp(self) -> None:
        self.rng = np.random.default_rng(8)
        fake.fake_reset()

    def shared(self, *shape: int) -> Any:
        return theano.shared(self.rng.normal(size=shape), target=NAME)

    def values(self, variables: Any) -> list[NDArray[Any]]:
        """Return the values of variables, which a function computes again and again."""
        outcome = theano.function([], [v.transfer("cpu") for v in variables])
        for _ in range(4):
            result: list[NDArray[Any]] = outcome()
        return result

    def check_gradient(self, cost: Any, array: Any, by: NDArray[Any]) -> None:
        """Compare a gradient with differences of a cost, which is a function of values."""
        value, direction = array.get_value(), self.rng.normal(size=by.shape)
        sides = [cost(np.asarray(value) + sign * 1e-6 * direction) for sign in (1, -1)]
        np.testing.assert_allclose((by * direction).sum(), (sides[0] - sides[1]) / 2e-6, rtol=1e-4)

    def test_softmax(self) -> None:
        x, dy = self.shared(2, 3, 4, 5), self.shared(2, 3, 4, 5)
        for algo in ("fast", "accurate", "log"):
            y = dnn.GpuDnnSoftmax(algo, "channel")(x)
            result, by = self.values([y, T.grad(None, x, known_grads={y: dy})])

            def softmax(v: NDArray[Any], algo: str = algo) -> Any:
                p = np.exp(v) / np.exp(v).sum(1, keepdims=True)
                return np.log(p) if algo == "log" else p

            np.testing.assert_allclose(result, softmax(np.asarray(x.get_value())))
            self.check_gradient(lambda v, f=softmax: (f(v) * np.asarray(dy.get_value())).sum(), x, by)
        self.assertGreater(min(calls("cudnnSoftmaxForward"), calls("cudnnSoftmaxBackward")), 0)

    def test_batch_normalization(self) -> None:
        x, dy = self.shared(4, 3, 2, 5), self.shared(4, 3, 2, 5)
        scale, shift, mean, var = (self.shared(1, 3, 1, 1) for _ in range(4))
        for moving in ([], [0.2, mean, var]):
            y, *averages = dnn.dnn_batch_normalization_train(x, scale, shift, "spatial", 1e-3, *moving)
            by = T.grad(None, [x, scale, shift], known_grads={y: dy})
            result = self.values([y, *averages, *by])

            def normalized(v: NDArray[Any]) -> Any:
                centered = v - v.mean((0, 2, 3), keepdims=True)
                inverse = 1 / np.sqrt(v.var((0, 2, 3), keepdims=True) + 1e-3)
                return centered * inverse * np.asarray(scale.get_value()) + np.asarray(shift.get_value())

            np.testing.assert_allclose(result[0], normalized(np.asarray(x.get_value())))
            self.check_gradient(lambda v: (normalized(v) * np.asarray(dy.get_value())).sum(), x, result[-3])
            np.testing.assert_allclose(result[-1], np.asarray(dy.get_value()).sum((0, 2, 3), keepdims=True))
            self.assertEqual(len(result), 8 if moving else 6)
        op = dnn.GpuDnnBatchNormInference("spatial")
        (by_given,) = self.values([op(x, scale, shift, mean, T.as_tensor_variable(np.ones((1, 3, 1, 1))), 1e-3)])
        self.assertEqual(by_given.shape, (4, 3, 2, 5))
        self.assertGreater(calls("cudnnBatchNormalizationBackward"), 0)
        self.assertGreater(calls("cudnnBatchNormalizationForwardInference"), 0)

    def test_pooling(self) -> None:
        x, dy = self.shared(2, 3, 4, 6), self.shared(2, 3, 2, 3)
        y = dnn.dnn_pool(x, (2, 2), (2, 2), "average_exc_pad")
        result, by = self.values([y, T.grad(None, x, known_grads={y: dy})])
        np.testing.assert_allclose(result, np.asarray(x.get_value()).reshape(2, 3, 2, 2, 3, 2).mean((3, 5)))
        np.testing.assert_allclose(by, np.asarray(dy.get_value()).repeat(2, 2).repeat(2, 3) / 4)
        self.assertGreater(min(calls("cudnnPoolingForward"), calls("cudnnPoolingBackward")), 0)

    def test_spatial_transformers(self) -> None:
        image, theta = self.shared(2, 3, 5, 4), theano.shared(self.rng.normal(size=(2, 2, 3)) / 3, target=NAME)
        dy = self.shared(2, 3, 5, 8)
        y = dnn.dnn_spatialtf(image, theta, scale_width=2)
        by = T.grad(None, [image, theta], known_grads={y: dy})
        result = self.values([y, *by])

        self.assertEqual([v.shape for v in result], [(2, 3, 5, 8), (2, 3, 5, 4), (2, 2, 3)])
        # Results are linear in images.
        sides = [result[1] * np.asarray(image.get_value()), result[0] * np.asarray(dy.get_value())]
        np.testing.assert_allclose(sides[0].sum(), sides[1].sum())
        for name in ("GridGenerator", "Sampler"):
            for way in ("Forward", "Backward"):
                self.assertGreater(calls(f"cudnnSpatialTf{name}{way}"), 0)

    def test_networks(self) -> None:
        # The stand-in takes this network as a linear one.
        block = dnn.RNNBlock("float64", 3, 1, "rnn_tanh")
        w, x, h = self.shared(block.get_param_size((5, 2))), self.shared(4, 5, 2), self.shared(1, 5, 3)
        dy, dh = self.shared(4, 5, 3), self.shared(1, 5, 3)
        y, last = block.apply(w, x, h)
        by = T.grad(None, [w, x, h], known_grads={y: dy, last: dh})
        result = self.values([y, last, *by])
        arrays = [np.asarray(v.get_value()) for v in (w, x, h)]

        def network(w: NDArray[Any], x: NDArray[Any], h: NDArray[Any]) -> NDArray[Any]:
            a, b, u, c = block.split_params(w, 0, (5, 2))
            state, states = h[0], []
            for step in x:
                state = step @ a + b + state @ u + c
                states.append(state)
            return np.array(states)

        np.testing.assert_allclose(result[0], network(*arrays))
        np.testing.assert_allclose(result[1][0], network(*arrays)[-1])
        for k, array in enumerate((w, x, h)):

            def cost(v: NDArray[Any], k: int = k) -> Any:
                states = network(*(v if i == k else array for i, array in enumerate(arrays)))
                return (states * np.asarray(dy.get_value())).sum() + (states[-1] * np.asarray(dh.get_value())[0]).sum()

            self.check_gradient(cost, array, result[2 + k])
        self.assertGreater(calls("cudnnRNNBackwardWeights_v8"), 0)

    def test_networks_of_each_mode(self) -> None:
        # Kinds of inputs and directions are the same in all modes.
        networks = [
            ("lstm", direction, kind)
            for direction in ("unidirectional", "bidirectional")
            for kind in ("linear", "skip")
        ]
        networks += [(mode, "bidirectional", "linear") for mode in ("rnn_relu", "rnn_tanh", "gru")]
        for mode, direction, kind in networks:
            block, both = dnn.RNNBlock("float32", 3, 2, mode, kind, direction), direction == "bidirectional"
            w, x = (theano.shared(np.zeros(n, "float32"), target=NAME) for n in (
                block.get_param_size((5, 3)), (4, 5, 3)))  # fmt: skip
            states = [
                theano.shared(np.ones((2 + 2 * both, 5, 3), "float32"), target=NAME)
                for _ in range(2 if mode == "lstm" else 1)
            ]
            results = block.apply(w, x, *states)
            reference = dict(zip(results, results, strict=True))
            by = T.grad(None, [w, x, *states], known_grads=reference)
            with self.subTest(mode=mode, direction=direction, kind=kind):
                result = self.values([*results, *by])
                shapes = [(4, 5, 3 + 3 * both), *[(2 + 2 * both, 5, 3)] * len(states)]
                shapes += [v.get_value().shape for v in (w, x, *states)]
                self.assertEqual([v.shape for v in result], shapes)

    def test_derivatives_that_the_library_has_not(self) -> None:
        block = dnn.RNNBlock("float64", 3, 1, "gru")
        w, x, h = self.shared(block.get_param_size((5, 2))), self.shared(4, 5, 2), self.shared(1, 5, 3)
        y, _ = block.apply(w, x, h)
        pushed = T.Rop(T.as_tensor_variable(y), x, T.ones_like(T.as_tensor_variable(x)))
        by = T.grad(None, x, known_grads={y: self.shared(4, 5, 3)})
        second = T.grad(None, [w, h], known_grads={by: self.shared(4, 5, 2)})
        # They are loops, which the stand-in has no kernels for.
        results = [pushed.type.ndim, *(v.type.ndim for v in second)]
        self.assertEqual(results, [3, 1, 3])
        self.assertTrue(all(v.owner is not None for v in (pushed, *second)))

    def test_operands_that_do_not_fit(self) -> None:
        block = dnn.RNNBlock("float64", 3, 1, "gru")
        w, h = self.shared(block.get_param_size((5, 2))), self.shared(1, 5, 3)
        for wrong in ((self.shared(7), self.shared(4, 5, 2), h), (w, self.shared(4, 5, 2), self.shared(1, 4, 3))):
            with self.assertRaisesRegex(ValueError, "cuDNN has no such network for parameters of shape"):
                theano.function([], block.apply(*wrong)[0].transfer("cpu"))()

    def test_the_flag(self) -> None:
        x = self.shared(2, 3, 4, 5)
        with config.change_flags(dnn__enabled="False"):
            result = theano.function([], dnn.GpuDnnSoftmax("fast", "channel")(x))
        self.assertFalse(any("Dnn" in str(node.op) for node in result.maker.fgraph.toposort()))
        result = theano.function([], dnn.GpuDnnSoftmax("fast", "channel")(x))
        self.assertTrue(any("GpuDnnLayer" in str(node.op) for node in result.maker.fgraph.toposort()))


if __name__ == "__main__":
    unittest.main()
