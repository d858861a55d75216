"""Pooling in the runtime against pooling in Python, for any layout of windows."""

from __future__ import annotations

import unittest
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import given, settings, strategies as st

import theano_tensor as tt
from theano_linker_c import Mode, function
from theano_linker_c.kernels import PoolingKernel
from theano_tensor.signal import pool
from theano_testing.tensor import fetch_seed
from theano_testing.tiers import examples, slow

RNG = np.random.RandomState(fetch_seed())
NATIVE, PYTHON = Mode("cvm", None), Mode("vm", None)
MODES = ("max", "sum", "average_inc_pad", "average_exc_pad")


def tensor(dtype: str, ndim: int) -> Any:
    return tt.TensorType(dtype, (None,) * ndim)()


def tasks(f: Any) -> list[str]:
    """Return the pooling that a function leaves to the runtime."""
    kernels = [instruction.kernel for instruction in f.fn.program.instructions]
    return [kernel.task for kernel in kernels if isinstance(kernel, PoolingKernel)]


def forms(dtype: str, shape: Any, ndim: int, mode: str, ignore: bool, linker: Mode) -> dict[str, Any]:
    """Return pooling and the parts of its derivatives as functions of tensors and a layout."""
    x, y, other = (tensor(dtype, len(shape)) for _ in range(3))
    lengths, *layout = operands = [tt.lvector() for _ in range(4)]
    vectors = [[v[i] for i in range(ndim)] for v in operands]
    results = {"pool": function([x, *layout], pool.Pool(ignore, mode, ndim)(x, *vectors[1:]), mode=linker)}
    if mode != "max":
        op = pool.AveragePoolGrad(ignore, mode, ndim)
        return results | {"average_pool_grad": function([y, lengths, *layout], op(y, *vectors), mode=linker)}
    for name, kind in (("max_pool_grad", pool.MaxPoolGrad), ("max_pool_grad_grad", pool.MaxPoolGradGrad)):
        results[name] = function([x, y, other, *layout], kind(ignore, ndim)(x, y, other, *vectors[1:]), mode=linker)
    return results


@st.composite
def layouts(draw: Any) -> tuple[tuple[int, ...], Any, bool]:
    """Draw a shape, sizes of windows with their steps and padding, and whether borders are ignored."""
    ndim, ignore = draw(st.integers(1, 3)), draw(st.booleans())
    longest = {1: 40, 2: 20, 3: 7}[ndim]

    def each(low: int, high: int) -> list[int]:
        result: list[int] = draw(st.lists(st.integers(low, high), min_size=ndim, max_size=ndim))
        return result

    lengths, windows, steps = each(4, longest), each(1, 4), each(1, 5)
    pads = [draw(st.integers(0, w - 1)) for w in windows] if ignore else [0] * ndim
    lead = draw(st.lists(st.integers(1, 3), max_size=2))
    return (*lead, *lengths), (windows, steps, pads), ignore


class TestAgainstPython(unittest.TestCase):
    def check(self, x: Any, layout: Any, ignore: bool, mode: str) -> None:
        ndim, dtype = len(layout[0]), str(x.dtype)
        native, python = (forms(dtype, x.shape, ndim, mode, ignore, linker) for linker in (NATIVE, PYTHON))
        y = python["pool"](x, *layout)
        g = RNG.randn(*y.shape).astype(dtype)
        arguments: dict[str, tuple[Any, ...]] = {
            "pool": (x, *layout),
            "average_pool_grad": (g, x.shape[-ndim:], *layout),
            "max_pool_grad": (x, y, g, *layout),
            "max_pool_grad_grad": (x, y, RNG.randn(*x.shape).astype(dtype), *layout),
        }
        tolerance = 1e-5 if dtype == "float32" else 1e-12
        for task, f in native.items():
            self.assertEqual(tasks(f), [task])
            with mock.patch.object(f.fn.program.instructions[-1].node.op, "perform", side_effect=AssertionError):
                result = f(*arguments[task])
            expected = python[task](*arguments[task])
            self.assertEqual((result.dtype, result.shape), (expected.dtype, expected.shape))
            if task in ("average_pool_grad", "max_pool_grad"):
                np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance * 10)
            elif mode.startswith("average"):
                np.testing.assert_allclose(result, expected, rtol=tolerance)
            else:
                np.testing.assert_array_equal(result, expected)

    @slow
    @given(layouts(), st.sampled_from(MODES), st.sampled_from(["float32", "float64"]), st.booleans())
    @settings(deadline=None, max_examples=examples(150))
    def test_any_layout(self, case: Any, mode: str, dtype: str, ties: bool) -> None:
        shape, layout, ignore = case
        x = RNG.randint(-2, 2, shape) if ties else RNG.randn(*shape)
        self.check(x.astype(dtype), layout, ignore, mode)

    @slow
    def test_squares_side_by_side(self) -> None:
        for shape in ((3, 2, 24, 24), (5, 7, 9), (2, 70, 70), (40, 16, 64, 64)):
            for mode in MODES:
                self.check(RNG.randn(*shape).astype("float32"), ([2, 2], [2, 2], [0, 0]), True, mode)

    def test_infinite_and_missing_elements(self) -> None:
        x = RNG.randn(6, 9, 9)
        for value in (np.nan, np.inf, -np.inf):
            x[RNG.rand(*x.shape) < 0.2] = value
        x[0], x[1] = -np.inf, np.nan
        for layout, ignore in (
            (([2, 2], [2, 2], [0, 0]), True),
            (([3, 2], [2, 1], [2, 1]), True),
            (([3, 4], [2, 3], [0, 0]), False),
        ):
            for dtype in ("float32", "float64"):
                self.check(x.astype(dtype), layout, ignore, "max")

    def test_views_are_read_as_they_are(self) -> None:
        x = RNG.randn(8, 10, 12)
        f = forms("float64", x.shape, 2, "max", True, NATIVE)["pool"]
        g = forms("float64", x.shape, 2, "max", True, PYTHON)["pool"]
        layout = [2, 3], [2, 2], [1, 0]
        for view in (x[::-1, ::2], x.transpose(2, 0, 1), np.asfortranarray(x), x[:, 1:, 3:]):
            np.testing.assert_array_equal(f(view, *layout), g(view, *layout))

    def test_results_do_not_depend_on_calls_before(self) -> None:
        for mode in MODES:
            f = forms("float32", (2,) * 4, 2, mode, True, NATIVE)["pool"]
            x = RNG.randn(9, 3, 20, 20).astype("float32")
            layout = [3, 3], [2, 2], [1, 1]
            first = f(x, *layout)
            saved = first.copy()
            f(2 * x, *layout)
            np.testing.assert_array_equal(first, saved)


class TestPaddingIsNoElement(unittest.TestCase):
    def test_gradient_of_windows_of_the_lowest_numbers(self) -> None:
        for dtype, lowest in (("float64", -np.inf), ("float16", -np.inf), ("int8", -128)):
            x = np.full((1, 4), lowest).astype(dtype)
            layout = ([1, 2], [1, 2], [0, 1])
            for mode in (NATIVE, PYTHON):
                operand = forms(dtype, x.shape, 2, "max", True, mode)
                y = operand["pool"](x, *layout)
                result = operand["max_pool_grad"](x, y, np.array([[1, 2, 3]]).astype(dtype), *layout)
                self.assertEqual(result.tolist(), [[1, 2, 0, 3]])


class TestWithoutNativeForm(unittest.TestCase):
    def test_what_stays_in_python(self) -> None:
        for dtype, ndim in (("float16", 2), ("int32", 2), ("float64", 4)):
            x = tensor(dtype, 4)
            f: Any = function([x], pool.Pool(True, "max", ndim)(x, *((2,) * ndim,) * 2, (0,) * ndim), mode=NATIVE)
            self.assertEqual(tasks(f), [])
            self.assertEqual(f(np.ones((2, 2, 2, 2), dtype)).ravel()[0], 1)

    def test_no_windows(self) -> None:
        f = forms("float64", (2,) * 3, 2, "max", True, NATIVE)["pool"]
        self.assertEqual(f(np.ones((2, 1, 5)), [2, 2], [1, 1], [0, 0]).shape, (2, 0, 4))
        self.assertEqual(f(np.ones((0, 4, 5)), [2, 2], [1, 1], [0, 0]).shape, (0, 3, 4))

    def test_the_same_errors(self) -> None:
        x, y = np.ones((2, 4, 4)), np.ones((2, 2, 2))
        good = [2, 2], [2, 2], [0, 0]
        cases: tuple[tuple[str, str, tuple[Any, ...]], ...] = (
            ("max", "pool", (x, [0, 2], [1, 1], [0, 0])),
            ("max", "pool", (x, [2, 2], [1, -1], [0, 0])),
            ("max", "pool", (x, [2, 2], [1, 1], [0, 2])),
            ("max", "max_pool_grad", (x, x, y, *good)),
            ("max", "max_pool_grad", (x, y, x, *good)),
            ("max", "max_pool_grad_grad", (x, y, y, *good)),
            ("sum", "average_pool_grad", (x, [4, 4], *good)),
            ("average_inc_pad", "average_pool_grad", (y, [9, 4], *good)),
        )
        for mode, task, values in cases:
            texts = []
            for linker in (NATIVE, PYTHON):
                with self.subTest(task=task, mode=mode), self.assertRaises(ValueError) as caught:
                    forms("float64", x.shape, 2, mode, True, linker)[task](*values)
                texts.append(str(caught.exception).splitlines()[0])
            self.assertEqual(*texts)
