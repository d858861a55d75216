"""Spatial transformers that cuDNN has, where it is not: the same values and derivatives by kernels."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.gpuarray._dnn_transformer import GridLayer, GridLayerGrad, SamplerLayer, SamplerLayerGrad
from theano_tensor.device.dnn import GpuDnnLayer, LayerOp
from theano_testing.tiers import slow

from .test_device_names import NAME, computes


class TestLayers(unittest.TestCase):
    def setUp(self) -> None:
        computes()
        self.rng = np.random.default_rng(6)

    def check(self, op: LayerOp, arrays: Sequence[Any], *more: Any) -> None:
        """Compare values, gradients, and results along directions, all of which one function computes."""
        x, gx = [theano.shared(v) for v in arrays], [theano.shared(v, target=NAME) for v in arrays]
        result: dict[str, Any] = {"return_list": True}
        y, gy = op.expression(*x, *more), GpuDnnLayer(op)(*gx, *more, **result)
        hosts = [T.as_tensor_variable(v) for v in gy]
        weights = [self.rng.normal(size=shape) for shape in theano.function([], [v.shape for v in y])()]
        costs: list[Any] = [
            sum(T.sum(T.sqr(v) * w) for v, w in zip(results, weights, strict=True)) for results in (y, hosts)
        ]
        by, gby = T.grad(costs[0], x), T.grad(costs[1], gx)
        directions = [T.as_tensor_variable(self.rng.normal(size=v.shape)) for v in arrays]
        pushed, gpushed = T.Rop(y, x, directions), T.Rop(hosts, gx, directions)
        on_host = theano.function([], [*y, *by, *pushed])()
        on_device = theano.function([], [v.transfer("cpu") for v in (*gy, *map(T.as_tensor_variable, gby), *gpushed)])()
        for got, expected in zip(on_device, on_host, strict=True):
            self.assertEqual((got.shape, got.dtype), (expected.shape, expected.dtype))
            if computes():
                np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-9)

    @slow
    def test_grids(self) -> None:
        theta = self.rng.normal(size=(2, 2, 3))
        for shape in ((2, 3, 4, 5), (2, 1, 1, 3)):
            self.check(GridLayer(), [theta], T.constant(np.array(shape)))
        self.check(GridLayerGrad(), [self.rng.normal(size=(2, 3, 4, 2))])

    @slow
    def test_samples(self) -> None:
        image, grid = self.rng.normal(size=(2, 3, 5, 4)), self.rng.uniform(-1.2, 1.2, size=(2, 3, 6, 2))
        self.check(SamplerLayer(), [image, grid])
        self.check(SamplerLayerGrad(), [image, grid, self.rng.normal(size=(2, 3, 3, 6))])

    def test_shapes(self) -> None:
        theta = theano.shared(np.zeros((2, 2, 3)), target=NAME)
        grid = GpuDnnLayer(GridLayer())(theta, T.constant(np.array([2, 3, 4, 5])))
        self.assertEqual(theano.function([], T.as_tensor_variable(grid).shape)().tolist(), [2, 4, 5, 2])
        image = theano.shared(np.zeros((2, 3, 7, 8)), target=NAME)
        result = GpuDnnLayer(SamplerLayer())(image, grid)
        self.assertEqual(theano.function([], T.as_tensor_variable(result).shape)().tolist(), [2, 3, 4, 5])


if __name__ == "__main__":
    unittest.main()
