"""Batch normalization by cuDNN: run by `test_cudnn` in a process of its own, which opens stand-ins for CUDA."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theano_gpuarray._runtime import DeviceError
from theano_gpuarray.arrays import asarray
from theano_gpuarray.codegen import DnnKernel
from theano_gpuarray.region import Region, Step, run_kernel

from .cudnn_support import Case, calls, fake

EPSILON, WEIGHT = 1e-3, 0.25
#: Shapes of batches with the mode of the library.
LAYOUTS = [((4, 3, 2, 5), 1), ((4, 3), 1), ((4, 3, 2, 2, 2), 1), ((4, 3, 2, 5), 0), ((4, 6), 0), ((5,), 0)]


class Left(Exception):
    """Cases that the library does not compute are left to kernels."""


def left(recorder: object, operands: Sequence[Any]) -> Sequence[Any]:
    raise Left


class TestNormalization(Case):
    def operands(self, shape: tuple[int, ...], mode: int, dtype: str = "float64") -> tuple[tuple[int, ...], list[Any]]:
        """Return the axes that are averaged over, and a batch with four parameters."""
        axes = (0, *range(2, len(shape))) if mode else (0,)
        small = tuple(1 if i in axes else n for i, n in enumerate(shape))
        arrays = [self.rng.normal(size=shape), *(self.rng.uniform(1, 2, size=small) for _ in range(4))]
        return axes, [v.astype(dtype) for v in arrays]

    def run_layer(self, task: str, mode: int, on_host: tuple[int, ...], values: Sequence[Any]) -> list[NDArray[Any]]:
        kernel = DnnKernel(task, values[0].dtype.name, (mode,), on_host, left)
        return [np.asarray(v) for v in run_kernel(kernel, self.context, values)]

    def test_training(self) -> None:
        for shape, mode in LAYOUTS:
            for dtype in ("float32", "float64"):
                axes, (x, scale, shift, old_mean, old_var) = self.operands(shape, mode, dtype)
                mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
                inverse, unbiased = 1 / np.sqrt(var + EPSILON), x.var(axes, keepdims=True, ddof=1)
                expected = [(x - mean) * inverse * scale + shift, mean, inverse]
                with self.subTest(shape=shape, mode=mode, dtype=dtype):
                    result = self.run_layer("norm_train", mode, (3,), [x, scale, shift, EPSILON])
                    for mine, theirs in zip(result, expected, strict=True):
                        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)
                        self.assertEqual((mine.dtype, mine.shape), (dtype, theirs.shape))
                    expected += [v * (1 - WEIGHT) + n * WEIGHT for v, n in ((old_mean, mean), (old_var, unbiased))]
                    values = [x, scale, shift, EPSILON, WEIGHT, old_mean, old_var]
                    result = self.run_layer("norm_train", mode, (3, 4), values)
                    for mine, theirs in zip(result, expected, strict=True):
                        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)
                    self.assertEqual(fake.fake_normalization()[:2], [mode, 250])

    def test_running_averages_are_not_overwritten(self) -> None:
        _, values = self.operands((4, 3, 2, 5), 1)
        operands = [asarray(v, context=self.context) for v in values]
        kernel = DnnKernel("norm_train", "float64", (1,), (3, 4), left)
        run_kernel(kernel, self.context, [*operands[:3], EPSILON, WEIGHT, *operands[3:]])
        for mine, theirs in zip(operands, values, strict=True):
            np.testing.assert_array_equal(np.asarray(mine), theirs)

    def test_given_averages(self) -> None:
        for shape, mode in LAYOUTS:
            _, (x, scale, shift, mean, var) = self.operands(shape, mode)
            (result,) = self.run_layer("norm_test", mode, (5,), [x, scale, shift, mean, var, EPSILON])
            np.testing.assert_allclose(result, (x - mean) / np.sqrt(var + EPSILON) * scale + shift)

    def test_gradients(self) -> None:
        for shape, mode in LAYOUTS:
            axes, (x, scale, shift, *_) = self.operands(shape, mode)
            dy = self.rng.normal(size=shape)
            _, mean, inverse = self.run_layer("norm_train", mode, (3,), [x, scale, shift, EPSILON])
            result = self.run_layer("norm_grad", mode, (5,), [x, dy, scale, mean, inverse, EPSILON])
            for k, (array, by) in enumerate(zip((x, scale, shift), result, strict=True)):
                direction = self.rng.normal(size=array.shape)
                costs = []
                for sign in (1, -1):
                    moved = [v + sign * 1e-6 * direction if i == k else v for i, v in enumerate((x, scale, shift))]
                    center, spread = moved[0].mean(axes, keepdims=True), moved[0].var(axes, keepdims=True)
                    costs.append(
                        ((moved[0] - center) / np.sqrt(spread + EPSILON) * moved[1] + moved[2]).ravel() @ dy.ravel()
                    )
                with self.subTest(shape=shape, mode=mode, k=k):
                    self.assertAlmostEqual((by * direction).sum(), (costs[0] - costs[1]) / 2e-6, places=5)

    def test_lists_are_captured(self) -> None:
        axes, (x, scale, shift, *_) = self.operands((4, 3, 2, 5), 1)
        step = Step(DnnKernel("norm_train", "float64", (1,), (3,), left), (0, 1, 2, 3), (4, 5, 6))
        region = Region(self.context, [step], [0, 1, 2], [4], {3: np.asarray(EPSILON)})
        for _ in range(5):
            x = self.rng.normal(size=x.shape)
            (result,) = region([asarray(v, context=self.context) for v in (x, scale, shift)])
            centered = x - x.mean(axes, keepdims=True)
            expected = centered / np.sqrt(x.var(axes, keepdims=True) + EPSILON) * scale + shift
            np.testing.assert_allclose(np.asarray(result), expected)

    def test_what_is_left_to_kernels(self) -> None:
        _, (x, scale, shift, mean, var) = self.operands((4, 3, 2, 5), 1)
        for values in ([x[:0], scale, shift, EPSILON], [x, scale[:, :1], shift, EPSILON]):
            with self.assertRaises(Left):
                self.run_layer("norm_train", 1, (3,), values)
        with self.assertRaises(Left):
            # There is no variance of one element.
            values = [x[:1, :, :1, :1], scale, shift, EPSILON, WEIGHT, mean, var]
            self.run_layer("norm_train", 1, (3, 4), values)
        with self.assertRaises(Left):
            self.run_layer("norm_grad", 1, (5,), [x, x[:1], scale, mean, var, EPSILON])
        with self.assertRaises(Left):
            self.run_layer(
                "norm_test", 1, (5,), [v.astype("float16") for v in (x, scale, shift, mean, var)] + [EPSILON]
            )
        with self.assertRaises(Left):
            self.run_layer("norm_train", 1, (3,), [x[0, 0, 0], scale, shift, EPSILON])
        with self.assertRaises(Left):
            self.run_layer("norm_test", 0, (5,), [np.ones((65536, 1)), *[np.ones((1, 1))] * 4, EPSILON])
        self.assertEqual(calls("cudnnBatchNormalizationForwardTraining"), 0)

    def test_failures(self) -> None:
        _, (x, scale, shift, *_) = self.operands((4, 3, 2, 5), 1)
        for call, text in (
            ("cudnnCreateTensorDescriptor", "describing normalization to cuDNN"),
            ("cudnnSetStream", "choosing the stream of cuDNN"),
            ("cudnnBatchNormalizationForwardTraining", "normalization by cuDNN"),
        ):
            fake.fake_fail(call.encode(), 5000, 0)
            with self.subTest(call), self.assertRaisesRegex(DeviceError, rf"{text} failed: CUDNN_STATUS_OF_THE_TEST"):
                self.run_layer("norm_train", 1, (3,), [x, scale, shift, EPSILON])
            fake.fake_reset()

    def test_wrong_calls(self) -> None:
        memory, native = self.context.allocate(64), self.context.native
        full, part = (memory, 0, 64), (memory, 0, 16)
        good = (1, 2, 4, 2, 0)
        native.call("norm_train", "float32", good, full, full, part, part, part, part)
        for numbers, places, text in (
            (good, (full, part, part, part, part, part), "array 1 has 16 bytes, too few"),
            (good, (full, full, part, part, part, (memory, 0, 12)), "array 5 has 12 bytes, too few"),
            ((*good, 0), (full, full, part, part, part, part), "norm_train has 8 arrays, not 6"),
            ((1, 2, 4, 0, 0), (full, full, part, part, part, part), "no norm_train of these lengths"),
        ):
            with self.subTest(text), self.assertRaisesRegex(DeviceError, text):
                native.call("norm_train", "float32", numbers, *places)


if __name__ == "__main__":
    unittest.main()
