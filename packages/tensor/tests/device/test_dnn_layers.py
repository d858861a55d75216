"""Layers that cuDNN has, where it is not: the same values by kernels, and the same derivatives."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano_tensor as T
from theano_linker_c import function, shared
from theano_tensor.device.dnn import GpuDnnLayer, GpuDnnPool, GpuDnnPoolGrad, SoftmaxLayer, library_results
from theano_tensor.signal.pool import pool_2d

from .contexts import NAME, computes, context


class Case(unittest.TestCase):
    def setUp(self) -> None:
        context()
        self.rng = np.random.default_rng(4)

    def compare(self, on_device: Any, on_host: Any, rtol: float = 1e-6) -> None:
        pairs = [(v if isinstance(v, (list, tuple)) else [v]) for v in (on_device, on_host)]
        for mine, theirs in zip(*pairs, strict=True):
            found, wanted = function([], mine.transfer("cpu"))(), function([], theirs)()
            self.assertEqual((found.shape, found.dtype), (wanted.shape, wanted.dtype))
            if computes():
                np.testing.assert_allclose(found, wanted, rtol=rtol, atol=1e-9)


class TestSoftmax(Case):
    def test_values_and_gradients(self) -> None:
        value, weight = self.rng.normal(size=(2, 2, 3, 4, 5))
        x, gx = shared(value), shared(value, target=NAME)
        for algo in ("fast", "accurate", "log"):
            for mode in ("instance", "channel"):
                with self.subTest(algo=algo, mode=mode):
                    op = SoftmaxLayer(algo, mode)
                    y, gy = op.expression(x)[0], GpuDnnLayer(op)(gx)
                    self.compare(gy, y)
                    cost, gcost = (T.sum(v * weight) for v in (y, T.as_tensor_variable(gy)))
                    by, gby = T.grad(cost, x), T.grad(gcost, gx)
                    self.compare(T.as_tensor_variable(gby), by)
                    second, gsecond = T.grad(T.sum(by**2), x), T.grad(T.sum(T.as_tensor_variable(gby) ** 2), gx)
                    self.compare(T.as_tensor_variable(gsecond), second)
                    pushed, gpushed = (
                        T.Rop(v, w, T.as_tensor_variable(weight)) for v, w in ((y, x), (T.as_tensor_variable(gy), gx))
                    )
                    self.compare(T.as_tensor_variable(gpushed), pushed)
        self.assertEqual(
            str(GpuDnnLayer(SoftmaxLayer("fast", "channel"))), "GpuDnnLayer{SoftmaxLayer{algo='fast', mode='channel'}}"
        )

    def test_shapes(self) -> None:
        gx = shared(np.zeros((0, 3, 4, 5)), target=NAME)
        y = GpuDnnLayer(SoftmaxLayer("log", "channel"))(gx)
        self.assertEqual(function([], T.as_tensor_variable(y).shape)().tolist(), [0, 3, 4, 5])
        self.assertEqual(function([], y.transfer("cpu"))().shape, (0, 3, 4, 5))

    def test_contexts_without_the_library_get_no_node(self) -> None:
        gx = shared(np.zeros((2, 3, 4, 5)), target=NAME)
        self.assertIsNone(library_results(SoftmaxLayer("fast", "channel"), NAME, gx))


class TestPooling(Case):
    def test_gradients_of_means_are_nodes_of_the_same_kind(self) -> None:
        value = self.rng.normal(size=(2, 3, 6, 5))
        x, gx = shared(value), shared(value, target=NAME)
        for mode in ("max", "sum", "average_inc_pad", "average_exc_pad"):
            y = pool_2d(x, (3, 2), stride=(2, 2), pad=(1, 1), mode=mode, ignore_border=True)
            gy = GpuDnnPool(mode)(gx, (3, 2), (2, 2), (1, 1))
            self.compare(gy, y)
            by = T.grad(T.sum(y**2), x)
            gby = T.grad(T.sum(T.as_tensor_variable(gy) ** 2), gx)
            self.compare(T.as_tensor_variable(gby), by)
            made = function([], T.as_tensor_variable(gby))
            ops = [type(node.op) for node in made.maker.fgraph.toposort()]
            self.assertEqual(GpuDnnPoolGrad in ops, mode.startswith("average"))


if __name__ == "__main__":
    unittest.main()
