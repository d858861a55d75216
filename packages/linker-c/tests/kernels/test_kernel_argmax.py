"""Positions of extrema along contiguous and strided rows, against NumPy."""

from __future__ import annotations

import ctypes
import unittest
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from theano_linker_c.kernels import ArgmaxKernel
from theano_testing.tiers import slow

from .kernel_calls import load

LENGTHS = (1, 7, 31, 32, 63, 64, 65, 100, 128, 200, 256, 257, 1000, 4095, 4096, 4097, 9000)


def samples(rng: np.random.Generator, dtype: str, length: int) -> list[npt.NDArray[np.generic]]:
    """Rows with ties, extreme values, zeros of both signs, infinities of both signs and NaN."""
    if dtype == "bool":
        return [rng.random(length) < 0.5, rng.random(length) < 0.5 / length, np.zeros(length, bool)]
    if np.issubdtype(np.dtype(dtype), np.integer):
        bounds = np.iinfo(dtype)
        return [
            rng.integers(bounds.min, bounds.max, length, dtype=dtype, endpoint=True),
            rng.integers(0, 3, length).astype(dtype),
            np.full(length, bounds.min, dtype),
            np.full(length, bounds.max, dtype),
        ]
    plain = rng.standard_normal(length).astype(dtype)
    infinite, missing = plain.copy(), plain.copy()
    infinite[rng.random(length) < 0.3] = np.inf
    infinite[rng.random(length) < 0.3] = -np.inf
    missing[rng.integers(length)] = np.nan
    zeros = np.where(rng.random(length) < 0.5, 0.0, -0.0).astype(dtype)
    return [plain, np.round(plain), infinite, missing, zeros]


class TestPositions(unittest.TestCase):
    @slow
    def test_positions_are_those_of_numpy(self) -> None:
        rng = np.random.default_rng(0)
        for dtype in ("float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "bool"):
            for largest in (True, False):
                search = _search(dtype, largest)
                for length in LENGTHS:
                    for row in samples(rng, dtype, length):
                        expected = row.argmax() if largest else row.argmin()
                        shifted = np.concatenate([row[:1], row])[1:]  # not at the beginning of a line of the cache
                        for x in (row, shifted, np.repeat(row, 2)[::2]):
                            with self.subTest(dtype=dtype, largest=largest, length=length):
                                self.assertEqual(search(x.size, x.ctypes.data, x.strides[0]), expected)


def _search(dtype: str, largest: bool) -> Callable[[int, int, int], int]:
    kernel = load(ArgmaxKernel(dtype, 1, (0,), largest))
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(kernel.address)


if __name__ == "__main__":
    unittest.main()
