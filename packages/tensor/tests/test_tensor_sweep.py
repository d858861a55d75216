"""Reductions and elementwise functions over dtypes, long and empty axes and special values, against NumPy and SciPy.

The environment variable ``THEANO_ATTACK=long`` sweeps every dtype and longer axes, in every mode.
"""

from __future__ import annotations

import os
import unittest
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special
from sweep_table import COMPLEX, COMPOSED, DTYPES, FLOATS, INTEGERS, TABLES, Form, arguments_for, faults

import theano_tensor as T
from theano_linker_c import function
from theano_tensor import elemwise, reduce
from theano_testing.tiers import slow

LONG = os.environ.get("THEANO_ATTACK") == "long"
MODES = ("FAST_RUN", "FAST_COMPILE") if LONG else ("FAST_RUN",)
LENGTHS = (0, 1, 3, 70_001, 1_000_003) if LONG else (0, 3, 70_001)
SHAPES: tuple[tuple[int, int], ...] = ((0, 3), (3, 0), (2, 3), (5, 1))
SHAPES += ((2, 70_001), (70_001, 2)) if LONG else ((2, 20_001),)
#: The dtypes of the short form: one of each kind, and the narrow ones.
SWEPT = DTYPES if LONG else ("bool", "int8", "uint64", "float16", "float64", "complex64")
#: Functions that give no number of their own: they join others, or give pairs or checks.
NOT_NUMBERS = frozenset(("cast", "dimshuffle", "broadcast_static", "check_broadcast", "inplace", "shuffled"))


def tensor(dtype: str, ndim: int = 1) -> Any:
    return T.TensorType(dtype, (None,) * ndim)("x")


def close(result: Any, expected: Any, dtype: str) -> None:
    """Compare with values of float64; a dtype's rounding is permitted, and its overflow."""
    with np.errstate(all="ignore"):
        exact = np.asarray(expected).astype(result.dtype)
    if result.dtype.kind not in "fc":
        np.testing.assert_array_equal(result, exact)
        return
    step = float(np.finfo(result.dtype if np.dtype(dtype).kind not in "fc" else dtype).eps)
    wide = "complex128" if result.dtype.kind == "c" else "float64"
    np.testing.assert_allclose(result.astype(wide), exact.astype(wide), rtol=max(64 * step, 4e-12), atol=8 * step)


def _norm(x: Any, axis: Any) -> Any:
    return np.sqrt((np.abs(x) ** 2).sum(axis=axis))


def _count(values: Any, axis: Any) -> Any:
    return values.size if axis is None else values.shape[axis]


#: Each reduction: the expression, the expected value, the kinds of dtypes it takes, whether it needs elements.
REDUCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any], str, bool]] = {
    **{name: (getattr(T, name), getattr(np, name), "biufc", False) for name in ("sum", "prod")},
    **{name: (getattr(T, name), getattr(np, name), "biuf", False) for name in ("all", "any")},
    "mean": (T.mean, np.mean, "biufc", True),
    **{name: (getattr(T, name), getattr(np, name), "iuf", True) for name in ("var", "std")},
    **{name: (getattr(T, name), getattr(np, name), "biuf", True) for name in ("max", "min", "argmax", "argmin")},
    "max_and_argmax": (lambda x, axis: T.max_and_argmax(x, axis)[1], np.argmax, "biuf", True),
    "ptp": (T.ptp, np.ptp, "iuf", True),
    "logsumexp": (T.logsumexp, lambda x, axis: special.logsumexp(x.astype("float64"), axis), "f", True),
    "norm": (lambda x, axis: T.norm(x, 2, axis), _norm, "f", False),
    "cumsum": (T.cumsum, np.cumsum, "biufc", False),
    "cumprod": (T.cumprod, np.cumprod, "biufc", False),
}
#: The rest of the package of reductions: comparisons of two arguments, and a rule of dtypes.
NO_REDUCTIONS = frozenset(("allclose", "sum_dtype"))


class TestReductions(unittest.TestCase):
    def check(self, dtype: str, values: Any, mode: str, axis: Any = None) -> None:
        names = [
            name
            for name, (_, _, kinds, needs) in REDUCTIONS.items()
            if values.dtype.kind in kinds and (_count(values, axis) or not needs)
        ]
        x = tensor(dtype, values.ndim)
        results = function([x], [REDUCTIONS[name][0](x, axis=axis) for name in names], mode=mode)(values)
        wide = values if values.dtype.kind in "iub" else values.astype("complex128" if dtype in COMPLEX else "float64")
        for name, item in zip(names, results, strict=True):
            about = {"name": name, "dtype": dtype, "shape": values.shape, "axis": axis, "mode": mode}
            with self.subTest(**about), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                close(np.asarray(item), REDUCTIONS[name][1](wide, axis=axis), dtype)

    def test_nothing_is_missing(self) -> None:
        names = {name for name in reduce.__all__ if name.islower()} | {"cumsum", "cumprod"}
        self.assertEqual(names - NO_REDUCTIONS, set(REDUCTIONS))

    def test_lengths(self) -> None:
        for mode in MODES:
            for dtype in SWEPT:
                for length in LENGTHS:
                    self.check(dtype, (np.arange(length) % 2).astype(dtype), mode)

    @slow
    def test_axes(self) -> None:
        for mode in MODES:
            for dtype in SWEPT if LONG else ("int8", "float16", "float64"):
                for shape in SHAPES:
                    values = (np.arange(shape[0] * shape[1]) % 3 == 1).astype(dtype).reshape(shape)
                    for axis in (0, 1, None):
                        self.check(dtype, values, mode, axis)

    def test_special_values(self) -> None:
        for mode in MODES:
            for dtype in (*FLOATS, *COMPLEX):
                for number in (np.inf, -np.inf, np.nan):
                    if dtype in FLOATS:
                        self.check(dtype, np.array([1.0, number, 0.5], dtype), mode)
                        self.check(dtype, np.array([[1.0, number], [0.5, -0.0]], dtype), mode, 0)

    def test_ends_of_integers(self) -> None:
        for mode in MODES:
            for dtype in INTEGERS:
                ends = np.iinfo(dtype)
                x = tensor(dtype)
                values = np.array([ends.min, 1, ends.max, ends.max], dtype)
                for name in ("sum", "prod", "max", "min", "argmax", "argmin", "cumsum", "cumprod"):
                    wide = values.astype("uint64" if dtype.startswith("u") else "int64")
                    with self.subTest(name=name, dtype=dtype, mode=mode):
                        result = np.asarray(function([x], getattr(T, name)(x), mode=mode)(values))
                        np.testing.assert_array_equal(result, getattr(np, name)(wide).astype(result.dtype))

    def test_means_of_many_half_numbers_have_a_value(self) -> None:
        x = tensor("float16")
        for name in ("mean", "var", "std"):
            result = function([x], getattr(T, name)(x))((np.arange(70_000) % 2).astype("float16"))
            with self.subTest(name=name):
                self.assertAlmostEqual(float(result), 0.25 if name == "var" else 0.5, places=3)

    def test_totals_of_narrow_floats_go_on(self) -> None:
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            for dtype, first, add in (("float16", 2048.0, 1.0), ("float32", 2.0**24, 1.0), ("complex64", 2.0**24, 1.0)):
                x = tensor(dtype, 2)
                column = np.array([first, add, add, add, add, add, add], dtype)
                for values, axis in ((column[:, None] * np.ones(3, dtype), 0), (column[None], 1), (column[:, None], 0)):
                    result = function([x], T.cumsum(x, axis), mode=mode)(values)
                    with self.subTest(dtype=dtype, mode=mode, shape=values.shape):
                        self.assertEqual(np.take(result, -1, axis).real.flat[0], first + 6)


class TestElementwise(unittest.TestCase):
    def check(self, calls: dict[str, tuple[Callable[..., Any], Form]], arguments: list[Any], mode: str) -> None:
        dtype = arguments[0].dtype
        taken = {name: pair for name, pair in calls.items() if dtype.kind in pair[1].kinds}
        variables = [tensor(dtype.name) for _ in arguments]
        outputs = [make(*variables) for make, _ in taken.values()]
        results = function(variables, outputs, mode=mode, on_unused_input="ignore")(*arguments)
        for (name, (_, form)), item in zip(taken.items(), results, strict=True):
            wrong = faults(form, np.asarray(item), arguments)[:5]
            messages = [(*(x[i] for x in arguments), item[i]) for i in wrong]
            self.assertEqual(messages, [], f"{name} of {dtype} in {mode}: arguments and results")

    def test_nothing_is_missing(self) -> None:
        ops = {name for name in dir(T) if isinstance(getattr(T, name), T.Elemwise)}
        self.assertEqual(ops, set().union(*TABLES.values()))
        functions = set(elemwise.__all__) - ops - NOT_NUMBERS - {"DimShuffle", "Elemwise"}
        pairs = {"complex", "complex_from_polar", "divmod", "int_or_true_div", "isclose", "mod_check"}
        self.assertEqual(functions - pairs, set(COMPOSED))

    def test_special_values(self) -> None:
        for mode in MODES:
            for dtype in SWEPT:
                for count, table in TABLES.items():
                    calls = {name: (getattr(T, name), form) for name, form in table.items()}
                    self.check(calls, arguments_for(dtype, count, more=500), mode)

    def test_composed_functions(self) -> None:
        for mode in MODES:
            for dtype in SWEPT:
                self.check(COMPOSED, arguments_for(dtype, 1), mode)

    def test_long_and_empty_axes(self) -> None:
        calls = {name: (getattr(T, name), form) for name, form in TABLES[1].items()}
        for mode in MODES:
            for dtype in FLOATS if LONG else ("float32",):
                few = arguments_for(dtype, 1)[0]
                for length in (0, 1, 70_001) if LONG else (0, 9001):
                    self.check(calls, [np.resize(few, length)], mode)

    def test_functions_of_two_that_give_more(self) -> None:
        left, right = (x for x in arguments_for("float64", 2))
        x, y = tensor("float64"), tensor("float64")
        for mode in MODES:
            outputs = [*T.divmod(x, y), T.mod_check(x, y), T.int_or_true_div(x, y), T.isclose(x, y)]
            outputs += [T.complex(x, y), T.complex_from_polar(x, y)]
            result = function([x, y], outputs, mode=mode)(left, right)
            with np.errstate(all="ignore"):
                expected = [*np.divmod(left, right), np.mod(left, right), left / right, np.isclose(left, right)]
                pair = np.empty(len(left), "complex128")
                pair.real, pair.imag = left, right
                polar = np.empty(len(left), "complex128")
                polar.real, polar.imag = left * np.cos(right), left * np.sin(right)
            for one, other in zip(result, [*expected, pair, polar], strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12)
