"""Spatial transformers by cuDNN: run by `test_cudnn` in a process of its own, which opens stand-ins for CUDA."""

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
from theano_graph import config

from .cudnn_support import Case, calls, fake


class Left(Exception):
    """Cases that the library does not compute are left to kernels."""


def left(recorder: object, operands: Sequence[Any]) -> Sequence[Any]:
    raise Left


def points(theta: NDArray[Any], rows: int, columns: int) -> NDArray[Any]:
    """Return the points at which images are sampled."""
    y, x = np.meshgrid(np.linspace(-1, 1, rows), np.linspace(-1, 1, columns), indexing="ij")
    result: NDArray[Any] = np.einsum("hwk,nik->nhwi", np.stack([x, y, np.ones_like(x)], 2), theta)
    return result


def sampled(image: NDArray[Any], grid: NDArray[Any]) -> NDArray[Any]:
    """Return images at points, pixel by pixel."""
    batch, channels, rows, columns = image.shape
    result = np.zeros((batch, channels, *grid.shape[1:3]))
    for n, i, j in np.ndindex(grid.shape[:3]):
        x, y = (grid[n, i, j] + 1) * (np.array([columns, rows]) - 1) / 2
        for row, column in np.ndindex(rows, columns):
            share = max(0, 1 - abs(x - column)) * max(0, 1 - abs(y - row))
            result[n, :, i, j] += share * image[n, :, row, column]
    return result


class TestTransformers(Case):
    def run_layer(self, task: str, values: Sequence[Any], on_host: tuple[int, ...] = ()) -> list[NDArray[Any]]:
        kernel = DnnKernel(task, values[0].dtype.name, (), on_host, left)
        return [np.asarray(v) for v in run_kernel(kernel, self.context, values)]

    def operands(self, dtype: str = "float64") -> list[NDArray[Any]]:
        image, theta = self.rng.normal(size=(2, 3, 5, 4)), self.rng.normal(size=(2, 2, 3)) / 3
        return [image.astype(dtype), theta.astype(dtype)]

    def test_values(self) -> None:
        for dtype in ("float32", "float64"):
            image, theta = self.operands(dtype)
            (grid,) = self.run_layer("grid", [theta, np.array([2, 3, 6, 3])], (1,))
            np.testing.assert_allclose(grid, points(theta, 6, 3), rtol=1e-4, atol=1e-5)
            (result,) = self.run_layer("sample", [image, grid])
            np.testing.assert_allclose(result, sampled(image, grid), rtol=1e-4, atol=1e-5)
            self.assertEqual((grid.dtype, result.dtype), (dtype, dtype))

    def test_gradients(self) -> None:
        image, theta = self.operands()
        grid = points(theta, 6, 3)
        dy, dgrid = self.rng.normal(size=(2, 3, 6, 3)), self.rng.normal(size=grid.shape)
        (by_theta,) = self.run_layer("grid_grad", [dgrid])
        self.assertAlmostEqual((by_theta * theta).sum(), (dgrid * grid).sum())
        by_image, by_grid = self.run_layer("sample_grad", [image, grid, dy])
        self.assertAlmostEqual((by_image * image).sum(), (dy * sampled(image, grid)).sum())
        direction = self.rng.normal(size=grid.shape)
        costs = [(sampled(image, grid + sign * 1e-7 * direction) * dy).sum() for sign in (1, -1)]
        self.assertAlmostEqual((by_grid * direction).sum(), (costs[0] - costs[1]) / 2e-7, places=4)

    def test_lists_are_captured(self) -> None:
        steps = [
            Step(DnnKernel("grid", "float64", (), (1,), left), (1, 2), (3,)),
            Step(DnnKernel("sample", "float64", (), (), left), (0, 3), (4,)),
        ]
        region = Region(self.context, steps, [0, 1], [4], {2: np.array([2, 3, 6, 3])})
        for _ in range(5):
            values = self.operands()
            (result,) = region([asarray(v, context=self.context) for v in values])
            np.testing.assert_allclose(np.asarray(result), sampled(values[0], points(values[1], 6, 3)))

    def test_what_is_left_to_kernels(self) -> None:
        image, theta = self.operands()
        grid = points(theta, 6, 3)
        dy = self.rng.normal(size=(2, 3, 6, 3))
        for task, values, on_host in (
            ("grid", [theta, np.array([2, 3, 1, 3])], (1,)), ("grid", [theta, np.array([2, 3, 6, 1])], (1,)),
            ("grid", [theta, np.array([3, 3, 6, 3])], (1,)), ("sample", [image[:, :, :1], grid], ()),
            ("sample", [image[:1], grid], ()), ("sample", [np.zeros((2, 1025, 2, 2)), grid], ()),
            ("sample", [image, grid[..., :1]], ()), ("sample_grad", [image, grid, dy[..., :1]], ()),
            ("grid_grad", [grid[..., :1]], ()), ("sample", [v.astype("float16") for v in (image, grid)], ()),
        ):  # fmt: skip
            with self.subTest(task), self.assertRaises(Left):
                self.run_layer(task, values, on_host)
        with config.change_flags(deterministic="more"), self.assertRaises(Left):
            # Gradients are added up in any order.
            self.run_layer("sample_grad", [image, grid, dy])
        self.assertEqual(calls("cudnnSpatialTfSamplerForward") + calls("cudnnSpatialTfGridGeneratorForward"), 0)

    def test_failures(self) -> None:
        _, theta = self.operands()
        for call, text in (
            ("cudnnCreateSpatialTransformerDescriptor", "describing a spatial transformer to cuDNN"),
            ("cudnnSetSpatialTransformerNdDescriptor", "describing a spatial transformer to cuDNN"),
            ("cudnnCreateTensorDescriptor", "describing a spatial transformer to cuDNN"),
            ("cudnnSpatialTfGridGeneratorForward", "a spatial transformer by cuDNN"),
        ):
            fake.fake_fail(call.encode(), 5000, 0)
            with self.subTest(call), self.assertRaisesRegex(DeviceError, f"{text} failed: CUDNN_STATUS_OF_THE_TEST"):
                self.run_layer("grid", [theta, np.array([2, 3, 6, 3])], (1,))
            fake.fake_reset()

    def test_wrong_calls(self) -> None:
        memory, native = self.context.allocate(256), self.context.native
        room, small = (memory, 0, 256), (memory, 0, 4)
        for name, numbers, count in (
            ("grid", (1, 1, 2, 2), 2), ("grid_grad", (1, 1, 2, 2), 2), ("sample", (1, 1, 2, 2, 2, 2), 3),
            ("sample_grad", (1, 1, 2, 2, 2, 2), 5),
        ):  # fmt: skip
            native.call(name, "float32", numbers, *[room] * count)
            for k in range(count):
                with self.subTest(name, k=k), self.assertRaisesRegex(DeviceError, f"array {k} has 4 bytes, too few"):
                    native.call(name, "float32", numbers, *(small if i == k else room for i in range(count)))
            with self.assertRaisesRegex(DeviceError, f"{name} has {count} arrays, not {count + 1}"):
                native.call(name, "float32", numbers, *[room] * (count + 1))
            with self.assertRaisesRegex(DeviceError, f"cuDNN has no {name} of these lengths"):
                native.call(name, "float32", (0, *numbers[1:]), *[room] * count)


if __name__ == "__main__":
    unittest.main()
