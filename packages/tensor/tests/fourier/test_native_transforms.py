"""Fourier transforms in the C runtime, against SciPy: lengths, layouts, vector instructions, threads, processes."""

from __future__ import annotations

import os
import threading
import unittest
from typing import Any

import numpy as np
import scipy.fft
from hypothesis import given, settings, strategies as st

import theano_tensor as tt
from theano_linker_c import function
from theano_linker_c.program import HAS_RUNTIME
from theano_tensor.fourier import Fourier, InverseRealFourier, RealFourier
from theano_testing.tiers import slow

RNG = np.random.default_rng(3)
COMPLEX = {"float32": "complex64", "float64": "complex128"}
#: Errors by the root of the logarithm of the length.
TOLERANCE = {"float32": 1e-6, "float64": 2e-15}
LENGTHS = (*range(1, 40), 49, 62, 64, 97, 100, 127, 128, 243, 256, 343, 961, 1009, 1024, 1200, 4096, 5041, 8192)
_FUNCTIONS: dict[object, Any] = {}


def compiled(*key: Any) -> Any:
    """Return the function of a transform; one for all cases of a kind."""
    if key not in _FUNCTIONS:
        kind, dtype, ndim, *options = key
        if kind == "complex":
            x = tt.tensor(COMPLEX[dtype], shape=[None] * ndim)
            _FUNCTIONS[key] = function([x], Fourier(*options)(x))
        elif kind == "real":
            x = tt.tensor(dtype, shape=[None] * ndim)
            _FUNCTIONS[key] = function([x], RealFourier()(x))
        else:
            x, n = tt.tensor(dtype, shape=[None] * (ndim + 1)), tt.lscalar()
            _FUNCTIONS[key] = function([x, n], InverseRealFourier()(x, n))
    return _FUNCTIONS[key]


def complex_numbers(shape: tuple[int, ...], dtype: str) -> Any:
    return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(COMPLEX[dtype])


class TestTransforms(unittest.TestCase):
    def close(self, actual: Any, expected: Any, dtype: str) -> None:
        self.assertEqual(actual.shape, expected.shape)
        scale = np.abs(expected).max() * np.log2(expected.size + 2) ** 0.5
        self.assertLessEqual(np.abs(actual - expected).max(), TOLERANCE[dtype] * scale)

    def check_complex(self, x: Any, axes: tuple[int, ...], dtype: str) -> None:
        wide = x.astype("complex128")
        forward = compiled("complex", dtype, x.ndim, axes, False)(x)
        self.assertEqual(forward.dtype, COMPLEX[dtype])
        self.close(forward, scipy.fft.fftn(wide, axes=axes), dtype)
        back = compiled("complex", dtype, x.ndim, axes, True)(x)
        self.close(back, scipy.fft.ifftn(wide, axes=axes, norm="forward"), dtype)

    def check_real(self, x: Any, dtype: str) -> None:
        axes, n = tuple(range(1, x.ndim)), x.shape[-1]
        pairs = compiled("real", dtype, x.ndim)(x)
        self.close(pairs[..., 0] + 1j * pairs[..., 1], scipy.fft.rfftn(x.astype("float64"), axes=axes), dtype)
        half = RNG.standard_normal(pairs.shape).astype(dtype)
        numbers = half[..., 0].astype("float64") + 1j * half[..., 1]
        expected = scipy.fft.irfftn(numbers, s=x.shape[1:], axes=axes, norm="forward")
        self.close(compiled("half", dtype, x.ndim)(half, n), expected, dtype)

    def test_lengths(self) -> None:
        for dtype in COMPLEX:
            for n in LENGTHS:
                for lines in (1, 3, 17):
                    with self.subTest(dtype=dtype, n=n, lines=lines):
                        self.check_real(RNG.standard_normal((lines, n)).astype(dtype), dtype)
                        x = complex_numbers((lines, n), dtype)
                        self.check_complex(x, (1,), dtype)
                        self.check_complex(x.T, (0,), dtype)

    def test_long_lines(self) -> None:
        for dtype in COMPLEX:
            for n in (2**16, 2**17 - 2, 65537, 3**10, 100_000):
                with self.subTest(dtype=dtype, n=n):
                    self.check_real(RNG.standard_normal((2, n)).astype(dtype), dtype)
                    self.check_complex(complex_numbers((1, n), dtype), (1,), dtype)

    def test_many_long_lines(self) -> None:
        self.check_complex(complex_numbers((20, 2**14), "float64"), (1,), "float64")
        self.check_complex(complex_numbers((2**13, 9), "float64"), (0,), "float64")

    def test_axes(self) -> None:
        for dtype in COMPLEX:
            x = complex_numbers((4, 5, 6, 7), dtype)
            for axes in ((0,), (2,), (0, 3), (3, 1), (1, 2, 3), (0, 1, 2, 3)):
                self.check_complex(x, axes, dtype)
            for shape in ((3, 6, 5), (3, 5, 6), (2, 3, 4, 5), (1, 1, 1), (2, 1, 8)):
                self.check_real(RNG.standard_normal(shape).astype(dtype), dtype)

    def test_layouts(self) -> None:
        x = complex_numbers((12, 10), "float64")
        for view in (x[::2], x[:, ::-1], x[::-1, 1::3], x.T, np.asfortranarray(x), np.broadcast_to(x[:1], (12, 10))):
            self.check_complex(view, (0,), "float64")
            self.check_complex(view, (1,), "float64")
            self.check_real(view.real, "float64")
        pairs = RNG.standard_normal((2, 6, 3)).transpose(2, 1, 0)[:, ::-1]
        expected = scipy.fft.irfft(pairs[..., 0] + 1j * pairs[..., 1], n=10, norm="forward")
        self.close(compiled("half", "float64", 2)(pairs, 10), expected, "float64")
        unaligned = np.frombuffer(b"0" + x.tobytes(), dtype="complex128", offset=1).reshape(x.shape)
        self.check_complex(unaligned, (1,), "float64")
        self.check_complex(x.astype(">c16"), (1,), "float64")

    def test_operands_stay(self) -> None:
        x, pairs = complex_numbers((3, 8), "float64"), RNG.standard_normal((3, 4, 5, 2))
        before, pairs_before = x.copy(), pairs.copy()
        compiled("complex", "float64", 2, (0, 1), True)(x)
        compiled("half", "float64", 3)(pairs, 8)
        np.testing.assert_array_equal(x, before)
        np.testing.assert_array_equal(pairs, pairs_before)

    def test_lines_are_independent(self) -> None:
        x = RNG.standard_normal((5, 12))
        x[1], x[2, 3], x[3] = x[1] * 1e200, np.nan, x[3] * 1e-200
        pairs = compiled("real", "float64", 2)(x)
        for k in (0, 1, 3, 4):
            expected = scipy.fft.rfft(x[k])
            np.testing.assert_allclose(pairs[k, :, 0] + 1j * pairs[k, :, 1], expected, rtol=1e-13)
        self.assertTrue(np.isnan(pairs[2]).any())

    def test_imaginary_parts_of_real_elements_are_not_read(self) -> None:
        for n in (1, 2, 7, 8, 1024, 4096):
            pairs = RNG.standard_normal((1, n // 2 + 1, 2))
            changed = pairs.copy()
            changed[0, 0, 1] = np.nan
            if n % 2 == 0:
                changed[0, -1, 1] = np.nan
            half = compiled("half", "float64", 2)
            np.testing.assert_array_equal(half(pairs, n), half(changed, n))

    def test_wrong_lengths(self) -> None:
        half = compiled("half", "float64", 2)
        for shape, n in (((2, 3, 2), 3), ((2, 3, 2), 8), ((2, 3, 2), -1), ((2, 0, 2), 0), ((2, 3, 3), 4)):
            with self.subTest(shape=shape, n=n), self.assertRaisesRegex(ValueError, "does not fit"):
                half(np.zeros(shape), n)
        with self.assertRaisesRegex(ValueError, "nothing to transform"):
            compiled("real", "float64", 2)(np.zeros((2, 0)))
        with self.assertRaisesRegex(ValueError, "nothing to transform"):
            compiled("complex", "float64", 2, (0,), False)(np.zeros((0, 2), "complex128"))
        self.assertEqual(compiled("real", "float64", 2)(np.zeros((0, 4))).shape, (0, 3, 2))

    @settings(max_examples=40, deadline=None)
    @given(st.lists(st.integers(1, 12), min_size=2, max_size=4), st.sampled_from(sorted(COMPLEX)), st.data())
    def test_shapes(self, shape: list[int], dtype: str, data: st.DataObject) -> None:
        axes = data.draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True))
        self.check_complex(complex_numbers(tuple(shape), dtype), tuple(axes), dtype)
        self.check_real(RNG.standard_normal(shape).astype(dtype), dtype)

    @slow
    def test_all_lengths(self) -> None:
        for n in range(1, 1200):
            with self.subTest(n=n):
                self.check_complex(complex_numbers((2, n), "float64"), (1,), "float64")
                self.check_real(RNG.standard_normal((9, n)), "float64")


@unittest.skipUnless(HAS_RUNTIME, "there is no C runtime")
class TestRuntime(unittest.TestCase):
    def test_threads_share_plans(self) -> None:
        x = tt.dmatrix()
        functions = [function([x], RealFourier()(x)) for _ in range(4)]
        wrong: list[int] = []

        def work(seed: int) -> None:
            rng = np.random.default_rng(seed)
            for _ in range(60):
                x = rng.standard_normal((3, int(rng.integers(1, 90))))
                pairs = functions[seed](x)
                if not np.allclose(pairs[..., 0] + 1j * pairs[..., 1], scipy.fft.rfft(x)):
                    wrong.append(seed)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork")
    def test_process_that_forks(self) -> None:
        f = compiled("real", "float64", 2)
        x = RNG.standard_normal((64, 1000))
        expected = f(x)
        child = os.fork()
        if child == 0:
            os._exit(0 if np.array_equal(f(x), expected) and f(x[:, :77]).shape == (64, 39, 2) else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
