"""Layers by cuDNN: run by `test_cudnn` in a process of its own, which opens stand-ins for the libraries of CUDA."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theano_gpuarray._runtime import DeviceError
from theano_gpuarray.arrays import asarray
from theano_gpuarray.codegen import DnnKernel, DnnPoolingKernel
from theano_gpuarray.region import Region, Step, run_kernel
from theano_graph import config
from theano_linker_c.kernels import PoolingKernel

from .cudnn_support import Case, calls, fake


class Left(Exception):
    """Cases that the library does not compute are left to kernels, which the stand-in of the driver has not."""


def left(recorder: object, operands: Sequence[Any]) -> Sequence[Any]:
    raise Left


def windows(x: NDArray[Any], layout: Sequence[Sequence[int]], fill: float) -> tuple[NDArray[Any], tuple[int, ...]]:
    """Return all windows of images with borders, of shape (images, channels, windows..., elements)."""
    sizes, steps, pads = layout
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pads)], constant_values=fill)
    axes = tuple(range(2, x.ndim))
    result = np.lib.stride_tricks.sliding_window_view(x, sizes, axis=axes)
    result = result[(slice(None), slice(None), *(slice(None, None, s) for s in steps))]
    return result.reshape(*result.shape[: x.ndim], -1), result.shape


def pooled(x: NDArray[Any], mode: str, layout: Sequence[Sequence[int]]) -> NDArray[Any]:
    if mode == "max":
        result: NDArray[Any] = windows(x, layout, -np.inf)[0].max(-1)
        return result
    total = windows(x, layout, 0)[0].sum(-1)
    counted = np.ones_like(x) if mode == "average_exc_pad" else np.ones_like(np.pad(x, 0))
    if mode == "average_inc_pad":
        return total / np.prod(layout[0])  # type: ignore[no-any-return]
    return total / windows(counted, layout, 0)[0].sum(-1)  # type: ignore[no-any-return]


LAYOUTS = [((2, 3), (1, 2), (0, 0)), ((3, 2), (2, 2), (1, 1)), ((2, 2, 3), (2, 1, 1), (1, 0, 2))]


class TestPooling(Case):
    def kernel(self, task: Any, mode: Any, layout: Any, dtype: str = "float64", more: bool = False) -> DnnPoolingKernel:
        return DnnPoolingKernel(PoolingKernel(task, dtype, len(layout[0]), mode, True), more)

    def pool(self, x: NDArray[Any], mode: str, layout: Any, more: bool = False) -> NDArray[Any]:
        kernel = self.kernel("pool", mode, layout, x.dtype.name, more)
        return np.asarray(run_kernel(kernel, self.context, [x, *map(np.asarray, layout)])[0])

    def test_values(self) -> None:
        for layout in LAYOUTS:
            for number, mode in enumerate(("max", "average_inc_pad", "average_exc_pad")):
                for dtype in ("float32", "float64"):
                    x = self.rng.normal(size=(2, 3, 6, 5, 4)[: 2 + len(layout[0])]).astype(dtype)
                    with self.subTest(layout=layout, mode=mode, dtype=dtype):
                        result = self.pool(x, mode, layout)
                        np.testing.assert_allclose(result, pooled(x, mode, layout), rtol=1e-5, atol=1e-6)
                        self.assertEqual((fake.fake_layer()[0], result.dtype), (number, dtype))

    def test_gradients_of_means(self) -> None:
        for layout in LAYOUTS:
            for mode in ("average_inc_pad", "average_exc_pad"):
                x = self.rng.normal(size=(2, 3, 6, 5, 4)[: 2 + len(layout[0])])
                expected = pooled(x, mode, layout)
                top = self.rng.normal(size=expected.shape)
                kernel = self.kernel("average_pool_grad", mode, layout)
                values = [top, np.asarray(x.shape[2:]), *map(np.asarray, layout)]
                result = np.asarray(run_kernel(kernel, self.context, values)[0])
                # A linear map, and its transpose.
                self.assertAlmostEqual((result * x).sum(), (expected * top).sum())
        self.assertEqual(calls("cudnnPoolingBackward"), 6)

    def test_largest_elements_that_are_always_the_same(self) -> None:
        x = self.rng.normal(size=(1, 1, 4, 4))
        self.pool(x, "max", LAYOUTS[0], more=True)
        self.assertEqual(fake.fake_layer()[0], 3)
        self.pool(x, "max", LAYOUTS[0])
        self.assertEqual(fake.fake_layer()[0], 0)
        with config.change_flags(deterministic="more"):
            self.pool(x, "max", LAYOUTS[0])
        self.assertEqual(fake.fake_layer()[0], 3)

    def test_nan(self) -> None:
        x = np.zeros((1, 1, 3, 3))
        x[0, 0, 0, 0] = np.nan
        self.assertEqual(np.isnan(self.pool(x, "max", ((2, 2), (1, 1), (0, 0)))).sum(), 1)

    def test_what_is_left_to_kernels(self) -> None:
        x, layout = self.rng.normal(size=(1, 2, 4, 4)), LAYOUTS[0]
        y, wide = pooled(x, "max", layout), ((2, 2),) * 3
        for kernel, arrays, pads in (
            (self.kernel("pool", "sum", layout), [x], layout),
            (self.kernel("pool", "average_inc_pad", wide), [x], wide),
            (self.kernel("max_pool_grad", "max", layout), [x, y, y], layout),
            (DnnPoolingKernel(PoolingKernel("pool", "float64", 2, "max", False)), [x], layout),
            (self.kernel("pool", "max", layout), [x[0]], layout),
        ):
            with self.subTest(kernel):
                values = [*arrays, *map(np.asarray, pads)]
                result, expected = (run_kernel(k, self.context, values)[0] for k in (kernel, kernel.pooling))
                np.testing.assert_array_equal(np.asarray(result), np.asarray(expected))
        self.assertEqual(calls("cudnnPoolingForward") + calls("cudnnPoolingBackward"), 0)
        # Nothing is computed of no elements.
        self.assertEqual(self.pool(x[:0], "max", layout).shape, (0, 2, 3, 1))

    def test_lists_are_captured(self) -> None:
        layout = LAYOUTS[1]
        step = Step(self.kernel("pool", "average_exc_pad", layout), (0, 1, 2, 3), (4,))
        constants = {k + 1: np.asarray(v) for k, v in enumerate(layout)}
        region = Region(self.context, [step], [0], [4], constants)
        for _ in range(5):
            x = self.rng.normal(size=(2, 1, 6, 5))
            result = np.asarray(region([asarray(x, context=self.context)])[0])
            np.testing.assert_allclose(result, pooled(x, "average_exc_pad", layout))

    def test_failures(self) -> None:
        for call, text in (
            ("cudnnCreatePoolingDescriptor", "describing pooling to cuDNN"),
            ("cudnnSetPoolingNdDescriptor", "describing pooling to cuDNN"),
            ("cudnnGetPoolingNdForwardOutputDim", "describing pooling to cuDNN"),
            ("cudnnSetTensorNdDescriptor", "describing pooling to cuDNN"),
            ("cudnnSetStream", "choosing the stream of cuDNN"),
            ("cudnnPoolingForward", "pooling by cuDNN"),
        ):
            with self.subTest(call), self.assertRaises(DeviceError) as caught:
                fake.fake_fail(call.encode(), 5000, 0)
                self.pool(self.rng.normal(size=(1, 1, 4, 4)), "max", LAYOUTS[0])
            self.assertIn(f"{text} failed: CUDNN_STATUS_OF_THE_TEST (5000)", str(caught.exception))
            fake.fake_reset()
        fake.fake_fail(b"cudnnSetPoolingNdDescriptor", 3000, 0)
        x = self.rng.normal(size=(1, 1, 4, 4))
        np.testing.assert_array_equal(self.pool(x, "max", LAYOUTS[0]), pooled(x, "max", LAYOUTS[0]))
        self.assertEqual(calls("cudnnPoolingForward"), 0)

    def test_wrong_calls(self) -> None:
        memory, native = self.context.allocate(64), self.context.native
        good = (0, 2, 1, 1, 4, 4, 2, 2, 0, 0, 2, 2)
        self.assertEqual(native.workspace("pool", "float32", good), 0)
        native.call("pool", "float32", good, (memory, 0, 64), (memory, 0, 16))
        for at, value in ((1, 4), (3, 0), (4, 1), (6, 0), (8, 2), (10, 0), (3, 2**31)):
            wrong = (*good[:at], value, *good[at + 1 :])
            with self.subTest(wrong):
                self.assertIsNone(native.workspace("pool", "float32", wrong))
                with self.assertRaisesRegex(DeviceError, "cuDNN has no pool of these lengths"):
                    native.call("pool", "float32", wrong, (memory, 0, 64), (memory, 0, 16))
        for places in (((memory, 0, 60), (memory, 0, 16)), ((memory, 0, 64), (memory, 0, 12))):
            with self.assertRaisesRegex(DeviceError, "too few for"):
                native.call("pool", "float32", good, *places)


def softmax(x: NDArray[Any], axes: tuple[int, ...]) -> NDArray[Any]:
    result = np.exp(x - x.max(axes, keepdims=True))
    return result / result.sum(axes, keepdims=True)  # type: ignore[no-any-return]


class TestSoftmax(Case):
    def run_layer(self, task: str, options: tuple[int, ...], *values: NDArray[Any]) -> NDArray[Any]:
        kernel = DnnKernel(task, values[0].dtype.name, options, (), left)
        return np.asarray(run_kernel(kernel, self.context, values)[0])

    def test_values(self) -> None:
        x, dy = self.rng.normal(size=(2, 2, 3, 4, 5))
        for algorithm in range(3):
            for mode, axes in enumerate(((1, 2, 3), (1,))):
                p = softmax(x, axes)
                expected, by = (np.log(p) if algorithm == 2 else p), p * (dy - (dy * p).sum(axes, keepdims=True))
                if algorithm == 2:
                    by = dy - p * dy.sum(axes, keepdims=True)
                with self.subTest(algorithm=algorithm, mode=mode):
                    result = self.run_layer("softmax", (algorithm, mode), x)
                    np.testing.assert_allclose(result, expected)
                    self.assertEqual(fake.fake_layer()[1:3], [algorithm, mode])
                    np.testing.assert_allclose(self.run_layer("softmax_grad", (algorithm, mode), dy, expected), by)

    def test_other_layouts(self) -> None:
        x = self.rng.normal(size=(5, 4, 3, 2)).astype("float32")
        operand = asarray(x, context=self.context).transpose(3, 1, 2, 0)
        kernel = DnnKernel("softmax", "float32", (1, 1), (), left)
        # It is copied first, by a kernel.
        result = np.asarray(run_kernel(kernel, self.context, [operand])[0])
        np.testing.assert_allclose(result, softmax(x.transpose(3, 1, 2, 0), (1,)), rtol=1e-5)

    def test_what_is_left_to_kernels(self) -> None:
        x = self.rng.normal(size=(2, 3, 4, 5))
        for options, values in (((0, 0), [x[:0]]), ((0, 0), [x[0]])):
            with self.assertRaises(Left):
                self.run_layer("softmax", options, *values)
        with self.assertRaises(Left):
            self.run_layer("softmax_grad", (0, 0), x[:1], x)
        with config.change_flags(dnn__enabled="False"), self.assertRaises(Left):
            self.run_layer("softmax", (0, 0), x)
        self.assertEqual(calls("cudnnSoftmaxForward") + calls("cudnnSoftmaxBackward"), 0)

    def refused(self, call: str, action: Callable[[], object]) -> str:
        fake.fake_fail(call.encode(), 5000, 0)
        with self.assertRaises(DeviceError) as caught:
            action()
        fake.fake_reset()
        return str(caught.exception)

    def test_failures(self) -> None:
        x = self.rng.normal(size=(2, 3, 4, 5))
        for call, text in (
            ("cudnnCreateTensorDescriptor", "describing softmax to cuDNN"),
            ("cudnnSetTensorNdDescriptor", "describing softmax to cuDNN"),
            ("cudnnSoftmaxForward", "softmax by cuDNN"),
        ):
            with self.subTest(call):
                message = self.refused(call, lambda: self.run_layer("softmax", (0, 0), x))
                self.assertIn(f"{text} failed: CUDNN_STATUS_OF_THE_TEST (5000)", message)
        message = self.refused("cudnnSoftmaxBackward", lambda: self.run_layer("softmax_grad", (0, 0), x, x))
        self.assertIn("softmax by cuDNN failed", message)

    def test_wrong_calls(self) -> None:
        memory, native = self.context.allocate(64), self.context.native
        with self.assertRaisesRegex(DeviceError, "too few for 16 elements"):
            native.call("softmax", "float32", (0, 0, 1, 4, 2, 2), (memory, 0, 64), (memory, 0, 32))
        with self.assertRaisesRegex(DeviceError, "cuDNN has no softmax of these lengths"):
            native.call("softmax", "float32", (0, 0, 1, 4, 0, 2), (memory, 0, 64), (memory, 0, 64))
        with self.assertRaisesRegex(DeviceError, "BAD|TEST"):
            native.call("softmax", "float32", (9, 0, 1, 4, 2, 2), (memory, 0, 64), (memory, 0, 64))


if __name__ == "__main__":
    unittest.main()
