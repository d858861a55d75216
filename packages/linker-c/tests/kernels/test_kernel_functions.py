"""Functions that kernels compute in place of the C library's."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

from theano_linker_c import scalar as sc
from theano_linker_c.kernels import ElementwiseKernel
from theano_linker_c.scalar import Composite, ScalarType, UnaryScalarOp

from .kernel_calls import Array, call, load

#: Every so many floats are tried; the number is odd, so that all exponents and low bits occur.
STEP = 1009


class Doubled(UnaryScalarOp):
    """A user's op whose support code declares the C library's functions, and calls one of them."""

    def c_support_code(self) -> str:
        return "#include <math.h>\nstatic float doubled(float x) { return 2 * expf(x); }"

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        return f"{outputs[0]} = doubled({inputs[0]});"


def exponentials(x: Array, op: Any = sc.exp) -> Array:
    kernel = ElementwiseKernel(op, ("float32",), ("float32",), ((False,),), 1)
    result = np.empty_like(x)
    call(load(kernel).address, len(x), [x, result])
    return result


class TestExp(unittest.TestCase):
    def test_all_floats(self) -> None:
        x = np.arange(0, 2**32, STEP, dtype=np.uint64).astype(np.uint32).view("float32")
        result = exponentials(x)
        with np.errstate(all="ignore"):
            exact = np.exp(x.astype("float64"))
            expected = exact.astype("float32")
        np.testing.assert_array_equal(np.isnan(result), np.isnan(x))
        np.testing.assert_array_equal(np.isinf(result), np.isinf(expected))
        normal = np.isfinite(expected) & (expected > 0)
        units = np.abs(result[normal] - exact[normal]) / np.spacing(expected[normal])
        self.assertLess(units.max(), 2.6)
        self.assertLess(result[expected == 0].max(), 2e-45)

    def test_subnormal_results(self) -> None:
        x = np.linspace(-103.9, -87.4, 1001, dtype="float32")
        result = exponentials(x)
        self.assertTrue(np.all((result > 0) & (result < np.finfo("float32").tiny)))
        np.testing.assert_allclose(result, np.exp(x.astype("float64")), rtol=0, atol=2e-45)

    def test_exact_values(self) -> None:
        x = np.array([0.0, -0.0, np.inf, -np.inf, 1e30, -1e30], "float32")
        np.testing.assert_array_equal(exponentials(x), np.array([1, 1, np.inf, 0, np.inf, 0], "float32"))

    def test_an_element_does_not_depend_on_its_place(self) -> None:
        x = np.linspace(-100, 88, 77, dtype="float32")
        together = exponentials(x)
        for length in (1, 7, 8, 9, 33):
            np.testing.assert_array_equal(exponentials(x[:length]), together[:length])

    def test_beside_the_library_function_of_users(self) -> None:
        x = ScalarType("float32")()
        values = np.linspace(-3, 3, 40, dtype="float32")
        result = exponentials(values, Composite([x], [sc.exp(x) + Doubled()(x)]))
        np.testing.assert_allclose(result, 3 * np.exp(values), rtol=1e-6)
