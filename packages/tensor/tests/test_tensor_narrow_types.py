"""Reductions and conversions whose steps leave the range of a narrow type, and powers at the ends of the range."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano_tensor as T
from theano_linker_c import Mode, function
from theano_testing.tiers import slow

MODES = ("FAST_RUN", "FAST_COMPILE", Mode("py", None))


class TestHalfPrecision(unittest.TestCase):
    """Sums and counts beyond 65504 do not spoil means, variances and norms."""

    def test_means_of_long_axes(self) -> None:
        x = T.TensorType("float16", (None, None))("x")
        rng = np.random.default_rng(5)
        value = rng.normal(1, 2, size=(2, 70000)).astype("float16")
        wide = value.astype("float64")
        for mode in MODES:
            for axis in (None, 1):
                outputs: list[Any] = [T.mean(x, axis=axis), T.var(x, axis=axis), T.std(x, axis=axis)]
                results = function([x], outputs, mode=mode)(value)
                for result, expected in zip(results, (wide.mean(axis), wide.var(axis), wide.std(axis)), strict=True):
                    self.assertEqual(result.dtype, "float16")
                    np.testing.assert_allclose(result.astype("float64"), expected, rtol=2e-3)

    def test_norms(self) -> None:
        x = T.TensorType("float16", (None,))("x")
        value = np.full(100, 300, "float16")
        for order in (1, 2, 3):
            result = function([x], T.norm(x, order))(value)
            np.testing.assert_allclose(float(result), np.linalg.norm(value.astype("float64"), order), rtol=1e-3)

    def test_gradients_have_the_dtype_of_the_input(self) -> None:
        x = T.TensorType("float16", (None,))("x")
        for make in (T.mean, T.var, T.std):
            gradient = T.grad(make(x), x)
            self.assertEqual(gradient.dtype, "float16")
            self.assertTrue(
                np.isfinite(function([x], gradient)(np.resize(np.arange(7), 70000).astype("float16"))).all()
            )


class TestConversionsToUnsigned(unittest.TestCase):
    """Floats that an unsigned type cannot hold become the same numbers in kernels, constants and NumPy's loops."""

    VALUES = (-1.5, 300.7, 1e20, -3e10, 3e9, 5e9, 1.5e19, -1e19, np.inf, -np.inf, np.nan, -0.0)

    @slow
    def test_all_modes_and_constants_agree(self) -> None:
        for kind in ("float16", "float32", "float64"):
            with np.errstate(all="ignore"):
                value = np.array(self.VALUES * 5).astype(kind)
            x = T.TensorType(kind, (None,))("x")
            for dtype in ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"):
                with self.subTest(kind=kind, dtype=dtype):
                    results = [function([x], x.astype(dtype), mode=mode)(value) for mode in MODES]
                    results.append(function([], T.constant(value).astype(dtype))())
                    results += [np.array([function([x], x.astype(dtype))(value[i : i + 1])[0] for i in range(12)] * 5)]
                    for result in results[1:]:
                        np.testing.assert_array_equal(result, results[0])

    def test_values(self) -> None:
        x = T.dvector("x")
        values = np.array([-1.0, 2.0**32 + 9, -(2.0**33) - 3])
        self.assertEqual(function([x], x.astype("uint32"))(values).tolist(), [2**32 - 1, 9, 2**32 - 3])
        values = np.array([-1.0, 2.0**63, 2.0**64, np.nan, -3e10])
        expected = [2**64 - 1, 2**63, 0, 2**63, 2**64 - 30000000000]
        self.assertEqual(function([x], x.astype("uint64"))(values).tolist(), expected)


class TestReciprocalRoots(unittest.TestCase):
    """``x ** -0.5`` is computed by a root, and right at its ends."""

    def test_ends(self) -> None:
        for kind in ("float32", "float64"):
            x = T.TensorType(kind, (None,))("x")
            values = np.array([-0.0, 0.0, -np.inf, np.inf, 4.0, -1.0, np.nan, 1e-40], kind)
            with np.errstate(all="ignore"):
                expected = np.power(values, np.array(-0.5, kind))
            for mode in MODES:
                np.testing.assert_allclose(function([x], x**-0.5, mode=mode)(values), expected, rtol=1e-6)
        names = [str(node.op) for node in function([x], x**-0.5).maker.fgraph.apply_nodes]
        self.assertIn("sqrt", " ".join(names))
