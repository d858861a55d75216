"""Ops and functions for neural networks on devices against those of the host."""

from __future__ import annotations

import pickle
import unittest
from typing import Any

import numpy as np

import theano_tensor as T
from theano_gpuarray.types import GpuArrayType, host_from_gpu
from theano_linker_c import function, shared
from theano_tensor.device import dnn
from theano_tensor.nnet.bn import batch_normalization_test, batch_normalization_train
from theano_tensor.nnet.convolution import conv2d, conv3d
from theano_tensor.signal.pool import pool_2d, pool_3d
from theano_testing.tiers import slow

from .contexts import NAME
from .test_device_variables import DeviceTestCase


class DnnTestCase(DeviceTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.rng = np.random.default_rng(5)

    def pair(self, *shape: int, dtype: str = "float64") -> tuple[Any, Any]:
        """Return numbers as a constant of the host and as a variable on the device."""
        value = self.rng.normal(size=shape).astype(dtype)
        return T.constant(value), shared(value, target=NAME)

    def check(self, result: Any, expected: Any, **options: Any) -> None:
        self.assertIsInstance(result.type, GpuArrayType)
        self.assertEqual(result.type.context_name, NAME)
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            self.assertValues(function([], result, mode=mode)(), function([], expected)(), **options)


class TestConvolutions(DnnTestCase):
    def test_images(self) -> None:
        (x, gx), (w, gw) = self.pair(2, 4, 7, 6), self.pair(6, 2, 3, 2)
        for border in ("valid", "full", "half", 1, (1, 2)):
            for mode in ("conv", "cross"):
                with self.subTest(border=border, mode=mode):
                    how: dict[str, Any] = {"border_mode": border, "subsample": (2, 1), "num_groups": 2}
                    expected = conv2d(x, w, filter_flip=mode == "conv", **how)
                    self.check(dnn.dnn_conv(gx, gw, conv_mode=mode, **how), expected)
        self.check(
            dnn.dnn_conv(gx, gw, dilation=(2, 3), num_groups=2), conv2d(x, w, filter_dilation=(2, 3), num_groups=2)
        )

    def test_volumes(self) -> None:
        (x, gx), (w, gw) = self.pair(2, 2, 4, 5, 3), self.pair(3, 2, 2, 3, 2)
        self.check(
            dnn.dnn_conv3d(gx, gw, "full", (1, 2, 1), conv_mode="cross"),
            conv3d(x, w, border_mode="full", subsample=(1, 2, 1), filter_flip=False),
        )
        top, gtop = self.pair(2, 3, 3, 3, 2)
        cost = (conv3d(x, w) * top).sum()
        by_x, by_w = T.grad(cost, [x, w])
        self.check(dnn.dnn_gradinput3d(gw, gtop, gx.shape), by_x)
        self.check(dnn.dnn_gradweight3d(gx, gtop, (3, 2, 2, 3, 2)), by_w)

    @slow
    def test_gradients(self) -> None:
        (x, gx), (w, gw) = self.pair(2, 3, 7, 6), self.pair(4, 3, 3, 2)
        for border, flip in (("valid", True), ("half", False), ("full", True)):
            with self.subTest(border=border, flip=flip):
                how: dict[str, Any] = {"border_mode": border, "subsample": (2, 1)}
                named: dict[str, Any] = {**how, "conv_mode": "conv" if flip else "cross"}
                out = conv2d(x, w, filter_flip=flip, **how)
                top, gtop = self.pair(*out.shape.eval())
                by_x, by_w = T.grad((out * top).sum(), [x, w])
                self.check(dnn.dnn_gradinput(gw, gtop, (2, 3, 7, 6), **named), by_x)
                self.check(dnn.dnn_gradweight(gx, gtop, gw.shape, **named), by_w)
                cost = (host_from_gpu(dnn.dnn_conv(gx, gw, **named)) * top).sum()
                for item, expected in zip(T.grad(cost, [gx, gw]), (by_x, by_w), strict=True):
                    self.assertValues(function([], item)(), function([], expected)())

    def test_precision(self) -> None:
        (x, gx), (w, gw) = self.pair(1, 1, 4, 4, dtype="float32"), self.pair(1, 1, 2, 2, dtype="float32")
        for precision in ("as_input", "as_input_f32", "float32", "float64"):
            result = dnn.dnn_conv(gx, gw, precision=precision)
            self.assertEqual(result.type.dtype, "float32")
            self.check(result, conv2d(x, w))
        (x, gx), (w, gw) = self.pair(1, 1, 4, 4, dtype="float16"), self.pair(1, 1, 2, 2, dtype="float16")
        self.check(dnn.dnn_conv(gx, gw), conv2d(x, w), rtol=1e-2, atol=1e-2)

    def test_ops(self) -> None:
        (x, gx), (w, gw) = self.pair(2, 3, 7, 6), self.pair(4, 3, 3, 2)
        op = dnn.GpuDnnConvDesc("valid", conv_mode="cross")
        desc = op(gw.shape)
        out = conv2d(x, w, filter_flip=False)
        self.check(dnn.GpuDnnConv("none")(gx, gw, desc), out)
        self.assertEqual(function([], desc)(), op)
        top, gtop = self.pair(2, 4, 5, 5)
        by_x, by_w = T.grad((out * top).sum(), [x, w])
        by_images = dnn.GpuDnnConvGradI()(gw, gtop, gx, desc)
        self.check(by_images, by_x)
        self.check(dnn.GpuDnnConvGradW()(gx, gtop, gw, op), by_w)
        result = by_images.owner.op
        self.assertEqual(pickle.loads(pickle.dumps(result)), result)
        self.assertEqual(result.make_node(*by_images.owner.inputs).op, result)
        self.assertEqual(str(dnn.GpuDnnConv("none")), "GpuDnnConv{algo='none', inplace=False}")

    def test_shapes(self) -> None:
        result = dnn.GpuDnnConv.get_out_shape((2, 3, 8, 9), (5, 3, 3, 3), "half", (2, 1), (1, 1))
        self.assertEqual(result, (2, 5, 4, 9))
        x, w = T.tensor4("x"), T.tensor4("w")
        lengths = dnn.GpuDnnConv.get_out_shape(x.shape, w.shape, (1, 0), (1, 2), (2, 1))
        values = np.zeros((2, 3, 8, 9)), np.zeros((5, 3, 3, 2))
        f = function([x, w], list(lengths), allow_input_downcast=True)
        self.assertEqual([int(n) for n in f(*values)], [2, 5, 6, 4])

    def test_wrong_arguments(self) -> None:
        (_, gx), (_, gw) = self.pair(1, 1, 4, 4), self.pair(1, 1, 2, 2)
        for options, message in (
            ({"conv_mode": "turned"}, "unknown conv_mode 'turned'"),
            ({"algo": "best"}, "unknown algo 'best'"),
            ({"precision": "double"}, "unknown precision 'double'"),
            ({"direction_hint": "up"}, "unknown direction_hint 'up'"),
            ({"workmem": "none", "algo": "none"}, "workmem and algo are one argument"),
            ({"subsample": (1, 1, 1)}, "subsample has 3 entries, dilation 2"),
        ):
            with self.subTest(options=options), self.assertRaisesRegex(ValueError, message):
                dnn.dnn_conv(gx, gw, **options)
        with self.assertRaisesRegex(TypeError, "is no descriptor of a convolution"):
            dnn.GpuDnnConv()(gx, gw, "valid")
        with self.assertRaisesRegex(ValueError, "num_groups=1, the descriptor has 2"):
            dnn.GpuDnnConv()(gx, gw, dnn.GpuDnnConvDesc("valid", num_groups=2))
        with self.assertRaisesRegex(ValueError, "must have 4 dimensions"):
            dnn.GpuDnnConvGradW()(gx, gx, T.dtensor3(), dnn.GpuDnnConvDesc("valid"))
        with self.assertRaises(ValueError):
            dnn.dnn_conv(gx, shared(np.zeros((2, 2)), target=NAME))


class TestPooling(DnnTestCase):
    def test_values(self) -> None:
        (x, gx), (y, gy) = self.pair(2, 3, 7, 6), self.pair(1, 2, 4, 5, 6)
        for mode in ("max", "max_deterministic", "sum", "average", "average_inc_pad", "average_exc_pad"):
            host = {"average": "average_inc_pad", "max_deterministic": "max"}.get(mode, mode)
            with self.subTest(mode=mode):
                self.check(dnn.dnn_pool(gx, (3, 2), mode=mode), pool_2d(x, (3, 2), True, (1, 1), mode=host))
                self.check(
                    dnn.dnn_pool(gx, (3, 2), (2, 3), mode, (1, 1)), pool_2d(x, (3, 2), True, (2, 3), (1, 1), host)
                )
                self.check(
                    dnn.dnn_pool(gy, (2, 3, 2), (1, 1, 2), mode), pool_3d(y, (2, 3, 2), True, (1, 1, 2), mode=host)
                )

    def test_gradients(self) -> None:
        x, gx = self.pair(2, 3, 7, 6)
        layout = (3, 2), (2, 1), (1, 1)
        for mode in ("max", "sum", "average_inc_pad", "average_exc_pad"):
            with self.subTest(mode=mode):
                out = pool_2d(x, layout[0], True, layout[1], layout[2], mode)
                top, gtop = self.pair(*out.shape.eval())
                expected = T.grad((out * top).sum(), x)
                result = dnn.GpuDnnPoolGrad(mode)(gx, dnn.GpuDnnPool(mode)(gx, *layout), gtop, *layout)
                self.check(result, expected)
                node = result.owner
                self.assertEqual(node.op.make_node(*node.inputs).op, node.op)
                cost = (host_from_gpu(dnn.GpuDnnPool(mode)(gx, *layout)) * top).sum()
                self.assertValues(function([], T.grad(cost, gx))(), function([], expected)())

    def test_descriptor(self) -> None:
        op = dnn.GpuDnnPoolDesc((2, 2), (1, 1), "average")
        self.assertEqual((op.ws, op.stride, op.mode, op.pad), ((2, 2), (1, 1), "average_inc_pad", (0, 0)))
        self.assertEqual(function([], op())(), op)
        with self.assertRaisesRegex(ValueError, "do not fit"):
            dnn.GpuDnnPoolDesc((2, 2, 2))

    def test_wrong_arguments(self) -> None:
        _, gx = self.pair(2, 3, 7, 6)
        with self.assertRaisesRegex(ValueError, "unknown mode 'median'"):
            dnn.dnn_pool(gx, (2, 2), mode="median")
        with self.assertRaisesRegex(ValueError, "has 3 entries for 2 axes"):
            dnn.dnn_pool(gx, (2, 2, 2))
        with self.assertRaisesRegex(TypeError, "images have 3 dimensions"):
            dnn.GpuDnnPool()(shared(np.zeros((2, 2, 2)), target=NAME), (2, 2))
        with self.assertRaisesRegex(TypeError, "takes 6 operands, got 2"):
            dnn.GpuDnnPoolGrad()(gx, gx)


class TestBatchNormalization(DnnTestCase):
    @slow
    def test_values(self) -> None:
        x, gx = self.pair(3, 2, 4, 5)
        for mode, shape in (("per-activation", (1, 2, 4, 5)), ("spatial", (1, 2, 1, 1))):
            with self.subTest(mode=mode):
                (g, gg), (b, gb), (m, gm), (v, gv) = (self.pair(*shape) for _ in range(4))
                result = dnn.dnn_batch_normalization_train(gx, gg, gb, mode)
                self.assertEqual(len(result), 3)
                result = dnn.dnn_batch_normalization_train(gx, gg, gb, mode, 1e-3, 0.3, gm, gv)
                expected = batch_normalization_train(x, g, b, mode, 1e-3, 0.3, m, v)
                for one, other in zip(result, expected, strict=True):
                    self.check(one, other)
                self.check(
                    dnn.dnn_batch_normalization_test(gx, gg, gb, gm, gv**2, mode),
                    batch_normalization_test(x, g, b, m, v**2, mode),
                )

    @slow
    def test_gradients(self) -> None:
        (x, gx), (g, gg), (b, gb) = self.pair(3, 2, 4, 5), self.pair(1, 2, 1, 1), self.pair(1, 2, 1, 1)
        cost = (host_from_gpu(dnn.dnn_batch_normalization_train(gx, gg, gb, "spatial")[0]) ** 3).sum()
        expected = T.grad((batch_normalization_train(x, g, b, "spatial")[0] ** 3).sum(), [x, g, b])
        for a, c in zip(T.grad(cost, [gx, gg, gb]), expected, strict=True):
            self.assertValues(function([], a)(), function([], c)(), atol=1e-9)

    def test_wrong_arguments(self) -> None:
        _, gx = self.pair(3, 2)
        _, g = self.pair(1, 2)
        with self.assertRaisesRegex(ValueError, "unknown mode 'rows'"):
            dnn.dnn_batch_normalization_train(gx, g, g, "rows")
        with self.assertRaisesRegex(ValueError, "epsilon=1e-07 is too small"):
            dnn.dnn_batch_normalization_test(gx, g, g, g, g, epsilon=1e-7)
        with self.assertRaisesRegex(ValueError, "one of running_mean and running_var is missing"):
            dnn.dnn_batch_normalization_train(gx, g, g, running_mean=g)


if __name__ == "__main__":
    unittest.main()
