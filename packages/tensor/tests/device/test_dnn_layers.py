"""Layers that cuDNN has, where it is not: the same values by kernels, and the same derivatives."""

from __future__ import annotations

import unittest
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

import theano_tensor as T
from theano_linker_c import function, shared
from theano_tensor.device.dnn import (
    GpuDnnLayer,
    GpuDnnPool,
    GpuDnnPoolGrad,
    NormalizationLayer,
    NormalizationLayerTest,
    SoftmaxLayer,
    dnn_batch_normalization_test,
    dnn_batch_normalization_train,
    library_results,
)
from theano_tensor.nnet.bn import batch_normalization_test, batch_normalization_train
from theano_tensor.signal.pool import pool_2d
from theano_testing.tiers import each_value, is_long, slow

from .contexts import NAME, computes, context


class Case(unittest.TestCase):
    def setUp(self) -> None:
        context()
        self.rng = np.random.default_rng(4)

    def compare(self, on_device: Any, on_host: Any, rtol: float = 1e-6) -> None:
        pairs = [(v if isinstance(v, (list, tuple)) else [v]) for v in (on_device, on_host)]
        for mine, theirs in zip(*pairs, strict=True):
            result, expected = function([], mine.transfer("cpu"))(), function([], theirs)()
            self.assertEqual((result.shape, result.dtype), (expected.shape, expected.dtype))
            if computes():
                np.testing.assert_allclose(result, expected, rtol=rtol, atol=1e-9)


class TestSoftmax(Case):
    @slow
    def test_values_and_gradients(self) -> None:
        value, weight = self.rng.normal(size=(2, 2, 3, 4, 5))
        x, gx = shared(value), shared(value, target=NAME)
        for algo, mode in each_value(("fast", "accurate", "log"), ("instance", "channel")):
            with self.subTest(algo=algo, mode=mode):
                op = SoftmaxLayer(algo, mode)
                y, gy = op.expression(x)[0], T.as_tensor_variable(GpuDnnLayer(op)(gx))
                by, gby = T.grad(T.sum(y * weight), x), T.as_tensor_variable(T.grad(T.sum(gy * weight), gx))
                second, gsecond = T.grad(T.sum(by**2), x), T.as_tensor_variable(T.grad(T.sum(gby**2), gx))
                pushed, gpushed = (T.Rop(v, w, T.as_tensor_variable(weight)) for v, w in ((y, x), (gy, gx)))
                self.compare([gy, gby, gsecond, T.as_tensor_variable(gpushed)], [y, by, second, pushed])
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


class TestNormalization(Case):
    def operands(self, mode: str, running: bool, shape: tuple[int, ...] = (3, 2, 4, 2)) -> list[Any]:
        axes = (0,) if mode == "per-activation" else (0, *range(2, len(shape)))
        small = tuple(1 if i in axes else n for i, n in enumerate(shape))
        arrays = [self.rng.normal(size=shape), *(self.rng.uniform(1, 2, size=small) for _ in range(2))]
        if running:
            arrays += [self.rng.normal(size=small), self.rng.uniform(1, 2, size=small)]
        return arrays

    @slow
    def test_values_and_gradients(self) -> None:
        for mode, running in (("per-activation", False), ("spatial", True)):
            arrays = self.operands(mode, running)
            numbers = [T.constant(v) for v in ((1e-3, 0.2) if running else (1e-3,))]
            op = NormalizationLayer(mode, running)
            x, gx = [shared(v) for v in arrays], [shared(v, target=NAME) for v in arrays]
            with self.subTest(mode=mode, running=running):
                expected = op.expression(*x[:3], *numbers, *x[3:])
                outcome: dict[str, Any] = {"return_list": True}
                result = GpuDnnLayer(op)(*gx[:3], *numbers, *gx[3:], **outcome)
                self.compare(result, expected)
                weights = [self.rng.normal(size=np.shape(v)) for v in arrays]
                # The results on which a cost depends: the batch alone, which the library differentiates, or others.
                every = (0,), (0, 1, 2)
                for used in every if is_long() else every[running:][:1]:
                    costs: list[Any] = [
                        sum(T.sum(T.sqr(T.as_tensor_variable(values[k])) * weights[k]) for k in used)
                        for values in (expected, result)
                    ]
                    by, gby = T.grad(costs[0], x[:3]), T.grad(costs[1], gx[:3])
                    self.compare([T.as_tensor_variable(v) for v in gby], by, 1e-5)
                second = T.grad(T.sum(T.grad(T.sum(expected[0] ** 2 * weights[0]), x[0]) ** 2), x[0])
                inner = T.grad(T.sum(T.as_tensor_variable(result[0]) ** 2 * weights[0]), gx[0])
                gsecond = T.grad(T.sum(T.as_tensor_variable(inner) ** 2), gx[0])
                self.compare(T.as_tensor_variable(gsecond), second, 1e-5)

    def test_gradients_by_epsilon(self) -> None:
        arrays = self.operands("spatial", False)
        x, gx = [shared(v) for v in arrays], [shared(v, target=NAME) for v in arrays]
        epsilon, op = shared(0.1), NormalizationLayer("spatial", False)
        expected = T.grad(T.sum(op.expression(*x, epsilon)[0] ** 2), epsilon)
        result = T.grad(T.sum(T.as_tensor_variable(GpuDnnLayer(op)(*gx, epsilon)[0]) ** 2), epsilon)
        self.compare(T.as_tensor_variable(result), expected)

    @slow
    def test_given_averages(self) -> None:
        for mode in ("per-activation", "spatial"):
            arrays = self.operands(mode, True)
            op, epsilon = NormalizationLayerTest(mode), T.constant(1e-3)
            x, gx = [shared(v) for v in arrays], [shared(v, target=NAME) for v in arrays]
            y, gy = op.expression(*x, epsilon)[0], GpuDnnLayer(op)(*gx, epsilon)
            self.compare(gy, y)
            by, gby = T.grad(T.sum(y**2), x), T.grad(T.sum(T.as_tensor_variable(gy) ** 2), gx)
            self.compare([T.as_tensor_variable(v) for v in gby], by)

    def test_shapes(self) -> None:
        arrays = self.operands("spatial", True)
        gx = [shared(v, target=NAME) for v in arrays]
        outcome: dict[str, Any] = {"return_list": True}
        op = NormalizationLayer("spatial", True)
        result = GpuDnnLayer(op)(*gx[:3], T.constant(1e-3), T.constant(0.1), *gx[3:], **outcome)
        shapes = function([], [T.as_tensor_variable(v).shape for v in result])()
        self.assertEqual([tuple(s) for s in shapes], [(3, 2, 4, 2)] + [(1, 2, 1, 1)] * 4)
        self.assertFalse(op.takes([T.dtensor4(), T.dvector()]))
        self.assertFalse(op.takes([T.dvector(), T.dvector()]))
        self.assertTrue(NormalizationLayer("per-activation", False).takes([T.dvector(), T.dvector()]))


class TestChoice(Case):
    """Functions of batches, where the library is said to be there; kernels compute, since it is not."""

    def check(self, on_device: Any, on_host: Any, arrays: list[Any], count: int) -> None:
        x, gx = [shared(v) for v in arrays], [shared(v, target=NAME) for v in arrays]
        with patch("theano_tensor.device.dnn._library.has_cudnn", return_value=True):
            result = on_device(*gx)
        self.compare(result, on_host(*x))
        outcome = function([], list(result) if isinstance(result, tuple) else result)
        nodes = [node for node in outcome.maker.fgraph.toposort() if isinstance(node.op, GpuDnnLayer)]
        self.assertEqual(len(nodes), count)

    def moving(self, function: Any, x: Any, scale: Any, shift: Any, mean: Any, var: Any) -> Any:
        """Normalize with running averages."""
        factor = {"epsilon": 1e-3, "running_average_factor": 0.3}
        return function(x, scale, shift, running_mean=mean, running_var=var, **factor)

    @slow
    def test_batches(self) -> None:
        for mode in ("per-activation", "spatial"):
            axes: Any = (0,) if mode == "per-activation" else (0, 2, 3)
            small = tuple(1 if i in axes else n for i, n in enumerate((3, 2, 4, 2)))
            arrays = [self.rng.normal(size=(3, 2, 4, 2)), *(self.rng.uniform(1, 2, size=small) for _ in range(4))]
            test = partial(dnn_batch_normalization_test, mode=mode), partial(batch_normalization_test, axes=mode)
            train = partial(dnn_batch_normalization_train, mode=mode), partial(batch_normalization_train, axes=mode)
            self.check(*train, arrays[:3], 1)
            moving = [partial(self.moving, f) for f in train]
            self.check(moving[0], moving[1], arrays, 1)
            self.check(*test, arrays, 1)
            # Parameters without the axes that are averaged over are none that the library takes.
            self.check(*test, [arrays[0], *(v.squeeze(axes) for v in arrays[1:])], 0)

    def test_dtypes(self) -> None:
        x = shared(np.zeros((2, 3, 4, 5), "int32"), target=NAME)
        with patch("theano_tensor.device.dnn._library.has_cudnn", return_value=True):
            self.assertIsNone(library_results(SoftmaxLayer("fast", "channel"), NAME, x))
            y = shared(np.zeros((1,) * 4), target=NAME)
            self.assertIsNotNone(library_results(SoftmaxLayer("fast", "channel"), NAME, y))


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
            result = function([], T.as_tensor_variable(gby))
            ops = [type(node.op) for node in result.maker.fgraph.toposort()]
            self.assertEqual(GpuDnnPoolGrad in ops, mode.startswith("average"))


if __name__ == "__main__":
    unittest.main()
