"""Cumulative sums and products, diagonals, ranges and unit matrices in the runtime, against NumPy."""

from __future__ import annotations

import unittest
from contextlib import ExitStack
from typing import Any
from unittest import mock

import numpy as np

import theano_tensor as T
import theano_tensor.rewrites  # the full pipeline is under test
from theano_graph import Apply, Op
from theano_linker_c import Mode, function
from theano_linker_c.kernels import ArrayRoutineKernel
from theano_tensor.creation import ARange, Eye
from theano_tensor.extra_ops import Cumulative, ExtractDiag

RNG = np.random.RandomState(4)
NATIVE, PYTHON = Mode("cvm", "fast_run"), Mode("vm", "fast_run")
DTYPES = ("float32", "float64", "int64", "uint64")


def routines(f: Any) -> list[str]:
    kernels = [instruction.kernel for instruction in f.fn.program.instructions]
    return [kernel.task for kernel in kernels if isinstance(kernel, ArrayRoutineKernel)]


class TestCumulative(unittest.TestCase):
    def test_each_axis_dtype_and_layout(self) -> None:
        for dtype in DTYPES:
            base = (RNG.rand(4, 6, 5) * 3).astype(dtype)
            layouts = [base, base[::-1, ::2], base.transpose(2, 0, 1), np.asfortranarray(base), base[:, :0], base[:1]]
            x = T.TensorType(dtype, (None,) * 3)("x")
            for axis in range(3):
                f: Any = function([x], [T.cumsum(x, axis), T.cumprod(x, axis)], mode=NATIVE)
                self.assertEqual(routines(f), ["cumsum", "cumprod"])
                for value in layouts:
                    with self.subTest(dtype=dtype, axis=axis, shape=value.shape):
                        total, product = f(value)
                        wide = "float64" if dtype == "float32" else dtype
                        np.testing.assert_array_equal(total, np.cumsum(value, axis, wide).astype(dtype))
                        np.testing.assert_array_equal(product, np.cumprod(value, axis, wide).astype(dtype))
                        self.assertEqual(str(total.dtype), dtype)

    def test_integers_wrap_around(self) -> None:
        x = T.lvector("x")
        f = function([x], [T.cumsum(x), T.cumprod(x)])
        value = np.array([2**62, 2**62, 2**62, 3])
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(f(value)[0], np.cumsum(value))
            np.testing.assert_array_equal(f(value)[1], np.cumprod(value))

    def test_large_arrays_and_repeated_calls(self) -> None:
        x = T.dmatrix("x")
        f = function([x], T.cumsum(x, 0))
        values = [RNG.randn(700, 300) for _ in range(3)]
        results = [f(value) for value in values]
        for value, result in zip(values, results, strict=True):
            np.testing.assert_array_equal(result, np.cumsum(value, 0))

    def test_narrow_integers_are_widened_by_numpy(self) -> None:
        x = T.bvector("x")
        f: Any = function([x], T.cumsum(x))
        self.assertEqual(routines(f), [])
        np.testing.assert_array_equal(f(np.full(300, 100, "int8")), 100 * np.arange(1, 301))

    def test_an_argument_is_not_written_to(self) -> None:
        x = T.dvector("x")
        f = function([x], T.cumsum(x * 2) + x)
        value = np.ones(4)
        np.testing.assert_array_equal(f(value), [3, 5, 7, 9])
        np.testing.assert_array_equal(value, np.ones(4))

    def test_no_python_is_run(self) -> None:
        x, n = T.dvector("x"), T.lscalar("n")
        outputs = [T.cumsum(x), T.diagonal(T.outer(x, x)), T.arange(n), T.eye(n)]
        f = function([x, n], outputs, mode=NATIVE)
        expected = ([0, 1, 3], [0, 1, 4], [0, 1], np.eye(2))
        with ExitStack() as stack:
            for op in (Cumulative, ExtractDiag, ARange, Eye):
                stack.enter_context(mock.patch.object(op, "perform", None))
            for got, numbers in zip(f(np.arange(3.0), 2), expected, strict=True):
                np.testing.assert_array_equal(got, numbers)


class TestDiagonals(unittest.TestCase):
    def test_diagonals_far_outside(self) -> None:
        x = T.dmatrix()
        for mode in (None, "FAST_COMPILE", Mode(linker="py")):
            for offset in (2**31 - 1, 2**31, 2**63 - 1, -(2**31), -(2**63)):
                f = function([x], T.diagonal(x, offset), mode=mode)
                self.assertEqual(f(np.ones((2, 3))).shape, (0,), (mode, offset))

    def test_each_diagonal_and_layout(self) -> None:
        for dtype in ("bool", "int16", "float32", "float64", "complex128"):
            base = (RNG.rand(5, 8) * 4).astype(dtype)
            x = T.TensorType(dtype, (None, None))("x")
            for offset in (-7, -5, -2, 0, 3, 8, 20):
                f: Any = function([x], [T.diagonal(x, offset), T.diagonal(x, offset, 1, 0)])
                self.assertEqual(routines(f), ["diagonal", "diagonal"])
                for value in (base, base[::-1], base[:, ::3], np.asfortranarray(base), base.T, base[:0], base[:, :0]):
                    with self.subTest(dtype=dtype, offset=offset, shape=value.shape):
                        np.testing.assert_array_equal(f(value)[0], np.diagonal(value, offset))
                        np.testing.assert_array_equal(f(value)[1], np.diagonal(value, offset, 1, 0))

    def test_stacks_are_left_to_numpy(self) -> None:
        x = T.dtensor3("x")
        f: Any = function([x], T.diagonal(x, 1))
        self.assertEqual(routines(f), [])
        value = RNG.rand(3, 4, 2)
        np.testing.assert_array_equal(f(value), np.diagonal(value, 1))


class TestRanges(unittest.TestCase):
    def test_whole_numbers(self) -> None:
        a, b, c = T.lscalar("a"), T.iscalar("b"), T.bscalar("c")
        f: Any = function([a, b, c], T.arange(a, b, c, dtype="int64"))
        self.assertEqual(routines(f), ["arange"])
        for bounds in ((0, 5, 1), (3, 20, 4), (5, 0, 1), (5, 0, -2), (-4, 4, 3), (0, 0, 1), (7, -8, -5)):
            with self.subTest(bounds=bounds):
                result = f(*bounds)
                np.testing.assert_array_equal(result, np.arange(*bounds))
                self.assertEqual(str(result.dtype), "int64")

    def test_what_is_refused(self) -> None:
        a = T.lscalar("a")
        for mode in (NATIVE, PYTHON):
            with self.assertRaisesRegex(ValueError, "steps of zero"):
                function([a], T.arange(0, 5, a), mode=mode)(0)

    def test_numbers_near_the_limit(self) -> None:
        a, b = T.lscalar("a"), T.lscalar("b")
        f = function([a, b], T.arange(a, b))
        top = 2**63 - 1
        np.testing.assert_array_equal(f(top - 3, top), np.arange(top - 3, top))

    def test_other_dtypes(self) -> None:
        a = T.dscalar("a")
        np.testing.assert_allclose(function([a], T.arange(0.5, a, 1.5))(7.0), np.arange(0.5, 7.0, 1.5))


class TestUnitMatrices(unittest.TestCase):
    def test_each_dtype_and_diagonal(self) -> None:
        n, m, k = T.lscalars("n", "m", "k")
        for dtype in ("bool", "int8", "float16", "float32", "float64", "complex64", "complex128"):
            f: Any = function([n, m, k], T.eye(n, m, k, dtype=dtype))
            self.assertEqual(routines(f), ["eye"])
            for lengths in ((3, 3, 0), (2, 5, 1), (5, 2, -3), (4, 4, 9), (4, 4, -9), (0, 3, 0), (3, 0, 1)):
                with self.subTest(dtype=dtype, lengths=lengths):
                    result = f(*lengths)
                    np.testing.assert_array_equal(result, np.eye(*lengths, dtype=dtype))
                    self.assertEqual(str(result.dtype), dtype)

    def test_negative_lengths(self) -> None:
        n = T.lscalar("n")
        for mode in (NATIVE, PYTHON):
            with self.assertRaises(ValueError):
                function([n], T.eye(n), mode=mode)(-1)


class Swapped(Op):
    """The same numbers in the other byte order, as an op of users may give them."""

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[0].astype(inputs[0].dtype.newbyteorder())


class TestByteOrder(unittest.TestCase):
    def test_diagonals_totals_and_single_numbers(self) -> None:
        for dtype in ("float64", "float32", "int64"):
            x = T.TensorType(dtype, (None, None))("x")
            y = Swapped()(x)
            value = np.arange(12).reshape(3, 4).astype(dtype)
            expected = [np.diag(value), np.cumsum(value, 0), value[1, 2], value[[2, 0]], value.sum(), value + value]
            for mode in (NATIVE, PYTHON):
                outputs = [T.diag(y), T.cumsum(y, 0), y[1, 2], y[[2, 0]], T.sum(y), y + y]
                for item, other in zip(function([x], outputs, mode=mode)(value), expected, strict=True):
                    np.testing.assert_array_equal(item, other)
