"""Device forms of pooling and its gradients, against loops over windows."""

from __future__ import annotations

import itertools
import unittest
from typing import Any

import numpy as np

from theano_linker_c.kernels import PoolingKernel, PoolingMode
from theano_testing.gpuarray import needs_opencl
from theano_testing.tiers import slow

from .form_support import Recorder, on_card

MODES: tuple[PoolingMode, ...] = ("max", "sum", "average_inc_pad", "average_exc_pad")


def count_of(length: int, window: int, step: int, pad: int, ignore_border: bool) -> int:
    """Return the number of windows that begin before the end, up to the first one that reaches it."""
    starts = range(-pad, length + pad, step)
    if ignore_border:
        return sum(start + window <= length + pad for start in starts)
    result = 0
    for start in starts:
        if start >= length:
            break
        result += 1
        if start + window >= length:
            break
    return result


class Windows:
    """All windows of the last axes of an array."""

    def __init__(self, lengths: Any, layout: tuple[Any, Any, Any], ignore_border: bool) -> None:
        self.lengths, self.layout = lengths, layout
        axes = zip(lengths, *layout, strict=True)
        self.counts = tuple(count_of(n, w, s, p, ignore_border) for n, w, s, p in axes)

    def __iter__(self) -> Any:
        """Yield the place of a window, where its elements are, and how many it has with those of its padding."""
        for position in itertools.product(*map(range, self.counts)):
            inside, full = [], 1
            for at, n, w, s, p in zip(position, self.lengths, *self.layout, strict=True):
                begin = at * s - p
                inside.append(slice(max(begin, 0), min(begin + w, n)))
                full *= min(begin + w, n + p) - begin
            yield position, tuple(inside), full


def first_hit(window: Any, largest: Any) -> int | None:
    """Return the place of the first element of a window that is equal to its largest one."""
    result = np.flatnonzero(window.reshape(-1) == largest)
    return int(result[0]) if result.size else None


@needs_opencl
class TestPooling(unittest.TestCase):
    def check(
        self, mode: PoolingMode, shape: tuple[int, ...], layout: tuple[Any, Any, Any], ignore_border: bool, dtype: str
    ) -> None:
        """Compare pooling and its gradients on planes of small numbers, many of which are equal."""
        rng, axes = np.random.default_rng(0), len(layout[0])
        x = rng.integers(0, 5, shape).astype(dtype)
        windows = Windows(shape[-axes:], layout, ignore_border)
        numbers = [np.array(v) for v in layout]
        pooled = np.zeros((*shape[:-axes], *windows.counts))
        spread, g = np.zeros(shape), rng.integers(-5, 5, pooled.shape).astype(dtype)
        for plane in np.ndindex(shape[:-axes]):
            for position, inside, full in windows:
                seen = x[plane][inside]
                divisor = {"average_inc_pad": full, "average_exc_pad": seen.size}.get(mode, 1)
                pooled[(*plane, *position)] = seen.max() if mode == "max" else seen.sum(dtype="float64") / divisor
                spread[plane][inside] += g[(*plane, *position)] / divisor
        recorder = Recorder()
        tolerance = 2e-3 if dtype == "float16" else 1e-5

        def compare(task: Any, values: list[Any], expected: Any) -> None:
            kernel = PoolingKernel(task, dtype, axes, mode, ignore_border)
            (result,) = recorder.run(kernel, [*values, *numbers])
            np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)

        compare("pool", [on_card(x)], pooled)
        if mode != "max":
            compare("average_pool_grad", [on_card(g), np.array(shape[-axes:])], spread)
            return
        self.check_largest(compare, x, pooled.astype(dtype), g, windows)

    def check_largest(self, compare: Any, x: Any, y: Any, g: Any, windows: Windows) -> None:
        axes = len(windows.counts)
        t = np.random.default_rng(1).integers(-5, 5, x.shape).astype(x.dtype)
        operands, taken = np.zeros(x.shape), np.zeros(y.shape)
        for plane in np.ndindex(x.shape[:-axes]):
            for position, inside, _ in windows:
                hit = first_hit(x[plane][inside], y[(*plane, *position)])
                if hit is not None:
                    at = np.unravel_index(hit, x[plane][inside].shape)
                    operands[plane][inside][at] += g[(*plane, *position)]
                    taken[(*plane, *position)] = t[plane][inside][at]
        compare("max_pool_grad", [on_card(x), y, on_card(g)], operands)
        compare("max_pool_grad_grad", [x, on_card(y), t], taken)

    def test_squares_side_by_side(self) -> None:
        for mode in MODES:
            with self.subTest(mode):
                self.check(mode, (2, 3, 8, 9), ((2, 2), (2, 2), (0, 0)), True, "float32")

    @slow
    def test_borders(self) -> None:
        for mode in MODES:
            for layout, ignore_border in (
                (((2, 3), (2, 1), (0, 0)), False),
                (((3, 3), (2, 1), (2, 1)), True),
                (((2, 2), (5, 5), (0, 0)), False),
            ):
                with self.subTest(mode=mode, layout=layout):
                    self.check(mode, (2, 3, 8, 9), layout, ignore_border, "float32")

    @slow
    def test_other_axes_and_dtypes(self) -> None:
        for mode in MODES:
            with self.subTest(mode):
                self.check(mode, (3, 8, 9, 4), ((3, 2, 2), (1, 2, 1), (1, 0, 1)), True, "float64")
        self.check("max", (8,), ((3,), (5,), (0,)), False, "float16")

    def test_nan_is_largest(self) -> None:
        x = np.array([[1, np.nan, 2, 3]])
        (result,) = Recorder().run(
            PoolingKernel("pool", "float64", 1, "max", True), [x, *map(np.array, ([2], [2], [0]))]
        )
        np.testing.assert_array_equal(result, [[np.nan, 3]])

    def test_nothing_to_do(self) -> None:
        kernel = PoolingKernel("pool", "float64", 1, "max", True)
        (result,) = Recorder().run(kernel, [np.zeros((3, 1)), *map(np.array, ([2], [2], [0]))])
        self.assertEqual(result.shape, (3, 0))


@needs_opencl
class TestRefusals(unittest.TestCase):
    def refuse(self, task: Any, values: list[Any], text: str, layout: Any = ([2], [2], [0])) -> None:
        with self.assertRaisesRegex(ValueError, text):
            Recorder().run(PoolingKernel(task, "float64", 1, "max", True), [*values, *map(np.array, layout)])

    def test_windows_that_cannot_be(self) -> None:
        x = np.zeros((2, 6))
        self.refuse("pool", [x], "windows and steps must be at least 1, padding at least 0", ([0], [1], [0]))
        self.refuse("pool", [x], "the padding must be smaller than the windows", ([2], [1], [2]))
        kernel = PoolingKernel("pool", "float64", 1, "sum", False)
        with self.assertRaisesRegex(ValueError, "padding needs ignore_border=True"):
            Recorder().run(kernel, [x, np.array([2]), np.array([1]), np.array([1])])

    def test_shapes_that_do_not_fit(self) -> None:
        x, y = np.zeros((2, 6)), np.zeros((2, 3))
        text = r"pooling: shapes \(2, 6\), \(2, 2\) and \(2, 3\) do not belong together"
        self.refuse("max_pool_grad", [x, y[:, :2], y], text)
        text = r"pooling: there are \(3,\) windows, got numbers for \(2,\)"
        kernel = PoolingKernel("average_pool_grad", "float64", 1, "sum", True)
        with self.assertRaisesRegex(ValueError, text):
            Recorder().run(kernel, [y[:, :2], np.array([6]), np.array([2]), np.array([2]), np.array([0])])
