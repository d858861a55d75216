"""Device forms of sorting, and of the largest or smallest elements."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

from theano_gpuarray.codegen import NoDeviceForm
from theano_gpuarray.codegen.sorting import SortKernel, TopKKernel
from theano_testing.gpuarray import needs_opencl
from theano_testing.tiers import each_value, slow

from .form_support import Recorder, on_card


def numbers(shape: tuple[int, ...], dtype: str) -> Any:
    """Return numbers among which many are equal, and NaN."""
    x = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 40, shape).astype(dtype)
    if x.dtype.kind == "f" and x.size > 9:
        x.reshape(-1)[[1, 7]] = np.nan
    return x


@needs_opencl
class TestSorting(unittest.TestCase):
    def check(
        self, shape: tuple[int, ...], axis: int, dtype: str = "float32", forms: tuple[bool, ...] = (False, True)
    ) -> None:
        x = numbers(shape, dtype)
        for by_number in forms:
            (result,) = Recorder().run(SortKernel(dtype, axis, by_number), [on_card(x)])
            expected = (np.argsort if by_number else np.sort)(x, axis, kind="stable")
            np.testing.assert_array_equal(result, expected)
            self.assertEqual(result.dtype, expected.dtype)

    @slow
    def test_dtypes(self) -> None:
        for dtype, by_number in each_value(("bool", "int8", "uint64", "float16", "float64"), (False, True)):
            with self.subTest(dtype):
                self.check((2, 1300), 1, dtype, (by_number,))
        self.check((2, 1300), 1)

    @slow
    def test_shapes_and_axes(self) -> None:
        for shape, axis in (((7,), 0), ((1,), 0), ((0,), 0), ((0, 4), 1), ((3, 0), 1), ((5, 600, 2), 1), ((30, 4), 0)):
            with self.subTest(shape=shape, axis=axis):
                self.check(shape, axis)

    def test_long_rows(self) -> None:
        self.check((100003,), 0)

    def test_complex_numbers(self) -> None:
        with self.assertRaisesRegex(NoDeviceForm, "SortKernel has no device form"):
            Recorder().run(SortKernel("complex64", 0, False), [np.zeros(3, "complex64")])


@needs_opencl
class TestTopK(unittest.TestCase):
    def check(self, shape: tuple[int, ...], axis: int, k: int, dtype: str = "float32", index: str = "int32") -> None:
        x = numbers(shape, dtype)
        kernel = TopKKernel(dtype, axis, index, True, True)
        values, where = Recorder().run(kernel, [on_card(x), np.int64(k)])
        ascending = np.sort(x, axis)
        expected = (np.flip(ascending, axis) if k > 0 else ascending).take(range(abs(k)), axis)
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(np.take_along_axis(x, where.astype("int64"), axis), expected)
        self.assertEqual(where.dtype, np.dtype(index))

    def test_largest_and_smallest(self) -> None:
        for k in (1, -1, 20, -20, 1300, -1300):
            with self.subTest(k):
                self.check((2, 1300), 1, k)

    @slow
    def test_other_axes_and_dtypes(self) -> None:
        self.check((30, 4), 0, 5, "float16", "int64")
        self.check((3, 700, 2), 1, -600, "uint8", "int16")

    def test_one_result(self) -> None:
        x = numbers((50,), "int32")
        (result,) = Recorder().run(TopKKernel("int32", 0, "int64", True, False), [x, np.int64(3)])
        np.testing.assert_array_equal(result, np.sort(x)[::-1][:3])
        (result,) = Recorder().run(TopKKernel("int32", 0, "int64", False, True), [x, np.int64(-3)])
        np.testing.assert_array_equal(x[result], np.sort(x)[:3])

    def test_numbers_that_cannot_be(self) -> None:
        for k in (0, 8, -8):
            with (
                self.subTest(k),
                self.assertRaisesRegex(ValueError, f"topk: k is {k}, the length of axis 0 is 7"),
            ):
                Recorder().run(TopKKernel("float32", 0, "int64", True, True), [np.zeros(7, "float32"), np.int64(k)])
