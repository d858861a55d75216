"""Reductions and elementwise functions over dtypes, long and empty axes and special values, against NumPy and SciPy.

The environment variable ``THEANO_ATTACK=long`` sweeps longer axes, in every mode.
"""

from __future__ import annotations

import os
import unittest
import warnings
from typing import Any

import numpy as np
from scipy import special

import theano_tensor as T
from theano_linker_c import function

LONG = os.environ.get("THEANO_ATTACK") == "long"
MODES = ("FAST_RUN", "FAST_COMPILE") if LONG else ("FAST_RUN",)
LENGTHS = (0, 1, 3, 70_001, 1_000_003) if LONG else (0, 3, 70_001)
FLOATS = ("float16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-7, 30.0, -30.0, np.inf, -np.inf, np.nan)
REDUCTIONS = ("sum", "mean", "var", "std", "max", "min", "prod", "all", "any")
#: Those that no array without elements has.
NEED_ELEMENTS = frozenset(("max", "min", "mean", "var", "std"))
OF_NUMPY = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "square", "sin", "cos", "tan", "arctan"),
    *("sinh", "cosh", "tanh", "arcsinh", "ceil", "floor", "trunc", "deg2rad", "rad2deg", "isnan", "isinf"),
)
OF_SCIPY = {"erf": special.erf, "erfc": special.erfc, "gammaln": special.gammaln, "sigmoid": special.expit}


def vector(dtype: str) -> Any:
    return T.TensorType(dtype, (None,))("x")


def close(found: Any, wanted: Any, dtype: str) -> None:
    """Compare with what is computed in float64; a dtype's rounding is permitted, and its overflow."""
    with np.errstate(all="ignore"):
        exact = np.asarray(wanted).astype(found.dtype)
    if found.dtype.kind != "f":
        np.testing.assert_array_equal(found, exact)
        return
    step = float(np.finfo(found.dtype if np.dtype(dtype).kind != "f" else dtype).eps)
    np.testing.assert_allclose(found.astype("float64"), exact.astype("float64"), rtol=64 * step, atol=8 * step)


class TestReductions(unittest.TestCase):
    def check(self, dtype: str, values: Any, mode: str) -> None:
        names = [name for name in REDUCTIONS if values.size or name not in NEED_ELEMENTS]
        x = vector(dtype)
        results = function([x], [getattr(T, name)(x) for name in names], mode=mode)(values)
        wide = values if values.dtype.kind in "iub" else values.astype("float64")
        for name, found in zip(names, results, strict=True):
            with self.subTest(name=name, dtype=dtype, length=values.size, mode=mode), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wanted = getattr(np, name)(wide)
                close(np.asarray(found), wanted, dtype)

    def test_lengths(self) -> None:
        for mode in MODES:
            for dtype in (*FLOATS, *INTEGERS):
                for length in LENGTHS:
                    self.check(dtype, (np.arange(length) % 2).astype(dtype), mode)

    def test_special_values(self) -> None:
        for mode in MODES:
            for dtype in FLOATS:
                for special_value in (np.inf, -np.inf, np.nan):
                    values = np.array([1.0, special_value, 0.5], dtype)
                    self.check(dtype, values, mode)

    def test_means_of_many_half_numbers_have_a_value(self) -> None:
        x = vector("float16")
        for name in ("mean", "var", "std"):
            found = function([x], getattr(T, name)(x))((np.arange(70_000) % 2).astype("float16"))
            with self.subTest(name=name):
                self.assertAlmostEqual(float(found), 0.25 if name == "var" else 0.5, places=3)


class TestElementwise(unittest.TestCase):
    def check(self, dtype: str, values: Any, mode: str) -> None:
        x = vector(dtype)
        forms = {name: getattr(np, name) for name in OF_NUMPY} | OF_SCIPY
        results = function([x], [getattr(T, name)(x) for name in forms], mode=mode)(values)
        wide = values.astype("float64")
        for (name, form), found in zip(forms.items(), results, strict=True):
            with self.subTest(name=name, dtype=dtype, mode=mode), np.errstate(all="ignore"):
                close(found, form(wide), str(found.dtype) if found.dtype.kind == "f" else dtype)

    def test_special_values_and_long_axes(self) -> None:
        for mode in MODES:
            for dtype in FLOATS:
                few = np.array(SPECIAL, dtype)
                self.check(dtype, few, mode)
                self.check(dtype, np.resize(few, 70_001), mode)
                self.check(dtype, few[:0], mode)

    def test_integers(self) -> None:
        for mode in MODES:
            for dtype in INTEGERS:
                self.check(dtype, np.array([0, 1, 2, 5], dtype), mode)
