"""Products that libraries multiply, and products left to kernels."""

from __future__ import annotations

import unittest

import numpy as np

from theano_gpuarray.codegen import DeviceOperand, contiguous_strides
from theano_gpuarray.region._execution import library_product
from theano_graph import config


def operand(dtype: str, *shape: int) -> DeviceOperand:
    return DeviceOperand(0, dtype, shape, contiguous_strides(shape, np.dtype(dtype).itemsize))


class TestLibraryProducts(unittest.TestCase):
    def test_the_flag_asks_for_tf32(self) -> None:
        for flag, expected in ((False, "float32"), (True, "tf32")):
            with config.change_flags(gpuarray__tf32=flag):
                for dtype, named in (("float32", expected), ("float64", "float64"), ("float16", "float16")):
                    x = operand(dtype, 2, 2)
                    result = library_product(x, x, x)
                    assert result is not None, "rows lie one behind the other"
                    self.assertEqual((result.dtype, result.sizes), (named, (2, 2, 2, 1)))

    def test_factors_of_float16_are_taken_from_the_host_alone(self) -> None:
        for dtype in ("float16", "float32"):
            x, factor = operand(dtype, 2, 2), operand(dtype)
            self.assertIsNotNone(library_product(x, x, x, (2.0, 0.0)))
            for factors in ((factor, 0.0), (1.0, factor)):
                self.assertEqual(library_product(x, x, x, factors) is None, dtype == "float16")

    def test_lengths_beyond_32_bits_are_left_to_kernels(self) -> None:
        for inner, taken in ((2**31 - 1, True), (2**31, False)):
            z, a, b = operand("float32", 2, 2), operand("float32", 2, inner), operand("float32", inner, 2)
            self.assertEqual(library_product(z, a, b) is not None, taken)
        far = DeviceOperand(0, "float32", (2, 2), (2**33, 4))
        self.assertIsNone(library_product(z, far, z))
