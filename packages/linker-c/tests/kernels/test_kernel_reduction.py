"""Compiled reductions against NumPy."""

from __future__ import annotations

import math
import unittest
from typing import Any

import numpy as np

from theano_linker_c import scalar as sc
from theano_linker_c.kernels import ReductionKernel, reduction_seed
from theano_linker_c.scalar import Composite, ScalarOp, ScalarType
from theano_testing.tiers import slow

from .kernel_calls import LIBRARY, OPTIONS, Array, call, call_rows, layouts, load, matrices, reduction

NUMPY: tuple[tuple[ScalarOp, Any], ...] = (
    (sc.add, np.add),
    (sc.mul, np.multiply),
    (sc.maximum, np.maximum),
    (sc.minimum, np.minimum),
)
BITS: tuple[tuple[ScalarOp, Any], ...] = ((sc.and_, np.bitwise_and), (sc.or_, np.bitwise_or), (sc.xor, np.bitwise_xor))


def flat(combine: ScalarOp, dtype: str, acc: str, element: ScalarOp = sc.identity, count: int = 1) -> ReductionKernel:
    return reduction(combine, dtype, acc, element, ((False,),) * count)


def of_rows(combine: ScalarOp, dtype: str, acc: str, element: ScalarOp = sc.identity) -> ReductionKernel:
    """Describe the reduction of a matrix along its first axis."""
    return reduction(combine, dtype, acc, element, ((False, False),))


def seed_of(kernel: ReductionKernel) -> float | int:
    return kernel.reductions[0].seed


def reduce(kernel: ReductionKernel, *arrays: Array) -> Any:
    total = np.array(seed_of(kernel), kernel.reductions[0].acc_dtype)
    call(load(kernel).address, len(arrays[0]), [*arrays, total])
    return total[()]


class TestInner(unittest.TestCase):
    def setUp(self) -> None:
        self.rng = np.random.default_rng(4)

    def values(self, dtype: str, length: int) -> Array:
        if dtype == "bool":
            return self.rng.integers(0, 2, length).astype(bool)
        if dtype.startswith("float"):
            return self.rng.uniform(0.5, 1.5, length).astype(dtype)
        return self.rng.integers(0 if dtype[0] == "u" else -50, 50, length).astype(dtype)

    def test_dtypes_and_strides(self) -> None:
        cases = [
            (op, ufunc, d) for op, ufunc in NUMPY for d in ("float64", "float32", "int64", "int8", "uint16", "bool")
        ]
        cases += [(op, ufunc, d) for op, ufunc in BITS for d in ("int32", "uint8", "bool")]
        LIBRARY.build([flat(op, d, d) for op, _, d in cases], OPTIONS)
        for op, ufunc, dtype in cases:
            for length in (0, 1, 7, 100, 1300):
                values = self.values(dtype, length)
                kernel = flat(op, dtype, dtype)
                expected = ufunc.reduce(values, dtype=dtype, initial=seed_of(kernel))
                for name, array in layouts(values):
                    with self.subTest(op=str(op), dtype=dtype, length=length, strides=name):
                        np.testing.assert_allclose(
                            reduce(kernel, array), expected, rtol=2e-5 if dtype == "float32" else 1e-12
                        )

    def test_wide_accumulator(self) -> None:
        self.assertEqual(reduce(flat(sc.add, "float32", "float64"), np.array([1e8, 1, -1e8], np.float32)), 1.0)
        self.assertEqual(reduce(flat(sc.add, "int8", "int64"), np.full(1000, 127, np.int8)), 127000)
        self.assertEqual(reduce(flat(sc.add, "bool", "int64"), np.ones(700, bool)), 700)

    def test_sums_are_accurate(self) -> None:
        for dtype, bound in (("float64", 4), ("float32", 8)):
            values = self.rng.normal(size=10**6).astype(dtype)
            exact = math.fsum(values.astype(float))
            unit = float(np.finfo(dtype).eps) * float(np.abs(values).astype(float).sum()) / 10
            with self.subTest(dtype=dtype):
                self.assertLessEqual(abs(float(reduce(flat(sc.add, dtype, dtype), values)) - exact), bound * unit)

    def test_large_sum_of_equal_floats(self) -> None:
        values = np.full(10**6, 0.1, np.float32)
        # One running sum would be off by a hundredth. Compilers that do not vectorise lose a little within each block.
        self.assertAlmostEqual(float(reduce(flat(sc.add, "float32", "float32"), values)) / 1e5, 1.0, delta=1e-5)

    def test_nan_goes_through(self) -> None:
        for op in (sc.maximum, sc.minimum, sc.add, sc.mul):
            for dtype in ("float64", "float32"):
                for position in (0, 5, 699, 1299):
                    values = self.values(dtype, 1300)
                    values[position] = np.nan
                    with self.subTest(op=str(op), dtype=dtype, place=position):
                        self.assertTrue(np.isnan(reduce(flat(op, dtype, dtype), values)))

    def test_infinities(self) -> None:
        inf = float("inf")
        kernel = flat(sc.add, "float64", "float64")
        ones = np.ones(2000)
        ones[3] = inf
        self.assertEqual(reduce(kernel, ones), inf)
        ones[1700] = -inf
        self.assertTrue(np.isnan(reduce(kernel, ones)))
        self.assertEqual(reduce(flat(sc.maximum, "float64", "float64"), np.full(3, -inf)), -inf)

    def test_fused_element(self) -> None:
        x, y = ScalarType("float64")(), ScalarType("float64")()
        element = Composite([x, y], [sc.exp(-x * y)])
        kernel = flat(sc.add, "float64", "float64", element, 2)
        a, b = self.rng.normal(size=(2, 3000))
        expected = np.exp(-a * b).sum()
        for name, array in layouts(a):
            with self.subTest(strides=name):
                np.testing.assert_allclose(reduce(kernel, array, b), expected, rtol=1e-12)

    def test_scalar_input(self) -> None:
        x, y = ScalarType("float64")(), ScalarType("float64")()
        kernel = reduction(sc.add, "float64", "float64", Composite([x, y], [x * y]), ((False,), (True,)))
        self.assertEqual(reduce(kernel, np.arange(1000.0), np.array(2.0)), 999000.0)

    def test_all_and_any_of_a_comparison(self) -> None:
        x = ScalarType("float64")()
        element = Composite([x], [x > 0.0])
        values = np.ones(900)
        self.assertTrue(reduce(flat(sc.and_, "float64", "bool", element), values))
        values[800] = -1
        self.assertFalse(reduce(flat(sc.and_, "float64", "bool", element), values))
        self.assertTrue(reduce(flat(sc.or_, "float64", "bool", element), values))

    def test_continues_from_the_accumulator(self) -> None:
        kernel = flat(sc.add, "float64", "float64")
        total = np.array(10.0)
        for _ in range(3):
            call(load(kernel).address, 4, [np.arange(4.0), total])
        self.assertEqual(total, 28.0)


class TestOuter(unittest.TestCase):
    @slow
    def test_rows_into_accumulators(self) -> None:
        rng = np.random.default_rng(5)
        for count in (0, 1, 3, 4, 11):
            rows = rng.normal(size=(count, 700))
            rows[count // 2 :, 5] = np.nan
            for op, ufunc in NUMPY:
                kernel = of_rows(op, "float64", "float64")
                for name, acc in layouts(np.full(700, float(seed_of(kernel)))):
                    for order, matrix in matrices(rows):
                        result = dict(layouts(acc))[name]
                        call_rows(load(kernel).outer_address, [matrix], result)
                        with self.subTest(op=str(op), accumulators=name, rows=order, count=count):
                            expected = ufunc.reduce(rows, axis=0, initial=seed_of(kernel))
                            np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-13)

    def test_fused_element_in_a_wider_accumulator(self) -> None:
        x = ScalarType("float32")()
        rows = np.linspace(-1, 1, 3000, dtype=np.float32).reshape(5, 600)
        for element, reference in ((sc.exp(x), np.exp), (x * x + x, lambda v: v * v + v)):
            kernel = of_rows(sc.add, "float32", "float64", Composite([x], [element]))
            for order, matrix in matrices(rows):
                acc = np.zeros(600)
                call_rows(load(kernel).outer_address, [matrix], acc)
                with self.subTest(element=str(element), rows=order):
                    np.testing.assert_allclose(acc, reference(rows).sum(axis=0, dtype="float64"), rtol=1e-6)

    def test_an_input_that_broadcasts_along_the_row_is_loaded_once(self) -> None:
        x, y = ScalarType("float64")(), ScalarType("float64")()
        element = Composite([x, y], [sc.exp(x - y)])
        kernel = reduction(sc.add, "float64", "float64", element, ((False, False), (False, True)), (1,))
        for length in (1, 7, 3000):
            row, shift = np.linspace(-1, 1, length), np.array(0.5)
            for name, array in layouts(row):
                total = np.zeros(1)
                call(load(kernel).address, length, [array, shift, total])
                with self.subTest(length=length, strides=name):
                    np.testing.assert_allclose(total, np.exp(row - 0.5).sum(), rtol=1e-12)
            full = np.zeros(1)
            call(load(kernel).address, length, [row, np.full(length, 0.5), full])
            np.testing.assert_allclose(full, np.exp(row - 0.5).sum(), rtol=1e-12)


class TestSeeds(unittest.TestCase):
    def test_seed_changes_nothing(self) -> None:
        for op, _ in (*NUMPY, *BITS):
            for dtype in ("bool", "int8", "uint8", "int64"):
                seed = np.array(reduction_seed(op, dtype), dtype)
                for value in np.array([0, 1], dtype):
                    with self.subTest(op=str(op), dtype=dtype, value=value):
                        self.assertEqual(op.impl(seed[()], value), value)

    def test_op_without_seed(self) -> None:
        with self.assertRaisesRegex(TypeError, r"no starting value(.|\n)*Hint"):
            reduction_seed(sc.sub, "float64")
