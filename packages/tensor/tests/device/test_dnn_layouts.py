"""Convolutions by documented names in odd layouts: steps, distances, groups, borders, dtypes, views, no elements."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano_tensor as T
from theano_gpuarray.types import host_from_gpu
from theano_linker_c import function, shared
from theano_tensor.device import dnn
from theano_tensor.nnet.convolution import conv2d, conv3d
from theano_testing.tiers import each_value, slow

from .contexts import NAME, computes
from .test_device_variables import DeviceTestCase

#: Shapes of images and filters, border, steps, distances, groups, and whether filters are flipped.
LAYOUTS: tuple[tuple[Any, ...], ...] = (
    ((2, 4, 7, 6), (6, 2, 3, 2), "half", (2, 1), (1, 2), 2, True),
    ((1, 1, 1, 1), (1, 1, 1, 1), "valid", (1, 1), (1, 1), 1, False),
    ((2, 6, 9, 5), (6, 1, 2, 5), (3, 1), (3, 2), (2, 1), 6, False),
    ((0, 3, 5, 5), (2, 3, 2, 2), "full", (1, 1), (1, 1), 1, True),
    ((2, 3, 5, 5), (2, 3, 2, 2), ((1, 0), (0, 2)), (1, 2), (1, 1), 1, True),
    ((2, 2, 4, 5, 3), (4, 1, 2, 3, 2), "full", (1, 2, 1), (1, 1, 2), 2, True),
    ((1, 2, 4, 5, 3), (3, 2, 2, 3, 2), (1, 0, 2), (1, 2, 1), (1, 1, 1), 1, False),
)
TOLERANCES = {"float32": 1e-4, "float64": 1e-10}


class LayoutCase(DeviceTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.rng = np.random.default_rng(11)

    def values(self, *shapes: tuple[int, ...], dtype: str = "float64") -> list[Any]:
        return [self.rng.normal(size=shape).astype(dtype) for shape in shapes]

    def close(self, result: Any, expected: Any, tolerance: float) -> None:
        for one, other in zip(function([], result)(), function([], expected)(), strict=True):
            got = np.asarray(one)
            self.assertEqual((got.shape, got.dtype), (other.shape, other.dtype))
            if computes():
                np.testing.assert_allclose(got, other, rtol=tolerance, atol=tolerance)


class TestLayouts(LayoutCase):
    def check(self, layout: tuple[Any, ...], dtype: str) -> None:
        images, filters, border, subsample, dilation, groups, flip = layout
        volumes = len(images) == 5
        x, w = self.values(images, filters, dtype=dtype)
        host: dict[str, Any] = {"border_mode": border, "subsample": subsample, "num_groups": groups}
        how: dict[str, Any] = {**host, "dilation": dilation, "conv_mode": "conv" if flip else "cross"}
        cx, cw = T.constant(x), T.constant(w)
        y = (conv3d if volumes else conv2d)(cx, cw, filter_flip=flip, filter_dilation=dilation, **host)
        (top,) = self.values(tuple(function([], y)().shape), dtype=dtype)
        by_x, by_w = T.grad((y * top).sum(), [cx, cw])
        gx, gw, gtop = (shared(v, target=NAME) for v in (x, w, top))
        names = [f"dnn_{name}{'3d' if volumes else ''}" for name in ("conv", "gradinput", "gradweight")]
        convolve, by_images, by_filters = (getattr(dnn, name) for name in names)
        results = [convolve(gx, gw, **how), by_images(gw, gtop, images, **how), by_filters(gx, gtop, filters, **how)]
        self.close(results, [y, by_x, by_w], TOLERANCES[dtype])

    @slow
    def test_single_and_double_precision(self) -> None:
        for layout, dtype in each_value(LAYOUTS, TOLERANCES):
            with self.subTest(dtype, layout=layout):
                self.check(layout, dtype)

    def test_half_precision(self) -> None:
        x, w = self.values((2, 3, 6, 5), (4, 3, 3, 2), dtype="float16")
        expected = conv2d(T.constant(x.astype("float64")), T.constant(w.astype("float64"))).astype("float16")
        for precision in ("as_input_f32", "as_input", "float32", "float64"):
            result = dnn.dnn_conv(shared(x, target=NAME), shared(w, target=NAME), precision=precision)
            self.close([result], [expected], 1e-2)

    def test_hints_change_nothing(self) -> None:
        x, w = self.values((2, 3, 6, 5), (4, 3, 3, 2))
        gx, gw = shared(x, target=NAME), shared(w, target=NAME)
        for border in ("valid", "full"):
            expected = conv2d(T.constant(x), T.constant(w), border_mode=border)
            hints = ("forward", "forward!", "bprop weights", "bprop inputs")
            results = [dnn.dnn_conv(gx, gw, border, direction_hint=hint) for hint in hints]
            self.close(results, [expected] * len(hints), 1e-10)

    def test_views(self) -> None:
        x, w = self.values((6, 5, 3, 4), (2, 3, 4, 4))
        gx, gw = shared(x, target=NAME), shared(w, target=NAME)
        result = dnn.dnn_conv(gx.transpose(3, 2, 1, 0)[::2, :, ::-1].transfer(NAME), gw[:, :, ::-1, 1:3])
        expected = conv2d(T.constant(x.transpose(3, 2, 1, 0)[::2, :, ::-1]), T.constant(w[:, :, ::-1, 1:3]))
        self.close([result], [expected], 1e-10)


class TestOps(LayoutCase):
    """The arguments of the ops besides images, filters and descriptor."""

    def setUp(self) -> None:
        super().setUp()
        x, w, out = self.values((2, 4, 6, 6), (4, 2, 3, 3), (2, 4, 4, 4))
        self.hosts = [T.constant(v) for v in (x, w, out)]
        self.x, self.w, self.out = (shared(v, target=NAME) for v in (x, w, out))
        self.desc = dnn.GpuDnnConvDesc("valid", num_groups=2)((4, 2, 3, 3))

    def test_outputs_and_factors(self) -> None:
        x, w, out = self.hosts
        y = conv2d(x, w, num_groups=2)
        by_x, by_w = T.grad((y * out).sum(), [x, w])
        op = dnn.GpuDnnConv(num_groups=2)
        results = [
            op(self.x, self.w, self.out, self.desc),
            op(self.x, self.w, self.out, self.desc, 2.0, 0.5),
            op(self.x, self.w, self.out, self.desc, T.constant(3.0), T.constant(2.0)),
            dnn.GpuDnnConvGradI(num_groups=2)(self.w, self.out, self.x, self.desc, 2, 1),
            dnn.GpuDnnConvGradW(num_groups=2)(self.x, self.out, self.w, self.desc, 1, 3),
        ]
        self.close(results, [y, 2 * y + 0.5 * out, 3 * y + 2 * out, 2 * by_x + x, by_w + 3 * w], 1e-9)

    def test_operands_that_cannot_be(self) -> None:
        op, by_images = dnn.GpuDnnConv(num_groups=2), dnn.GpuDnnConvGradI(num_groups=2)
        for call, text in (
            (lambda: op(self.x, self.w, self.out, self.desc, 1, 2, 3), "takes at most 6 operands, got 7"),
            (lambda: op(self.x, self.w, self.out, self.out), "is no descriptor of a convolution"),
            (lambda: op.make_node(self.x, self.w, self.out, self.desc, 1), "takes at most 6 operands, got 5"),
            (lambda: by_images(self.w, self.out, [2, 4, 6, 6], self.desc, 1, 2), "beta multiplies the third operand"),
        ):
            with self.subTest(text), self.assertRaisesRegex(TypeError, text):
                call()

    def test_shapes_of_gradients(self) -> None:
        for expected in ([3, 4, 6, 6], [2, 5, 6, 6]):
            f = function([], dnn.dnn_gradinput(self.w, self.out, expected, num_groups=2))
            with self.assertRaisesRegex(ValueError, "GpuDnnConvGradI: the first two numbers of the wanted shape"):
                f()
        lengths = T.lvector()
        f = function([lengths], dnn.dnn_gradweight(self.x, self.out, lengths, num_groups=2))
        self.assertEqual(f([4, 2, 3, 3]).shape, (4, 2, 3, 3))
        for wrong in ([4, 4, 3, 3], [2, 2, 3, 3]):
            with self.assertRaisesRegex(ValueError, "GpuDnnConvGradW: the first two numbers of the wanted shape"):
                f(wrong)
        with self.assertRaisesRegex(ValueError, r"the result of the convolution has the shape \(2, 4, 5, 4\)"):
            f([4, 2, 2, 3])

    def test_shapes_of_results(self) -> None:
        shape = dnn.GpuDnnConv.get_out_shape((2, 3, 8, 9), (5, 3, 3, 3), "half", (2, 1), (1, 2))
        self.assertEqual(shape, (2, 5, 4, 9))
        x = T.tensor4()
        result = dnn.GpuDnnConv.get_out_shape(x.shape, (5, 3, 3, 3), "valid", (1, 1), (1, 1))
        got = [
            int(n) for n in function([x], [T.as_tensor_variable(n) for n in result])(np.zeros((2, 3, 8, 9), x.dtype))
        ]
        self.assertEqual(got, [2, 5, 6, 7])
        outcome = host_from_gpu(dnn.dnn_conv(self.x, self.w, num_groups=2))
        self.assertEqual(tuple(function([], outcome.shape)()), (2, 4, 4, 4))


if __name__ == "__main__":
    unittest.main()
