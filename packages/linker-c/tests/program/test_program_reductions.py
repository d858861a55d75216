"""Reductions: all sets of axes, layouts, dtypes, and nothing to reduce."""

from __future__ import annotations

import unittest
from itertools import chain, combinations

import numpy as np
from support import Reduce, array, machines

from theano_linker_c import _runtime
from theano_linker_c.scalar import add, maximum, minimum, mul

AXES = tuple(chain.from_iterable(combinations(range(3), n) for n in range(4)))
CASES = (("add", add, 0), ("mul", mul, 1), ("maximum", maximum, None), ("minimum", minimum, None))


class TestReductions(unittest.TestCase):
    def test_layouts(self) -> None:
        for axes in AXES:
            with self.subTest(axes=axes):
                self.check_layouts(axes)

    def check_layouts(self, axes: tuple[int, ...]) -> None:
        rng = np.random.default_rng(1)
        for dtype in ("float64", "float32", "int64"):
            for _, op, identity in CASES:
                x = array(dtype, None, None, None)
                native, plain = machines([x], [Reduce(op, axes, identity)(x)])
                for shape in ((3, 4, 5), (40, 3, 2), (2, 3, 300)):
                    value = (1 + rng.random(shape) / 999).astype(dtype)
                    for laid in (value, value.T, value[::-1], value[:, ::2], value[:1]):
                        np.testing.assert_allclose(native(laid), plain(laid), rtol=1e-5)

    def test_nothing_to_reduce(self) -> None:
        x = array("float64", None, None)
        for machine in machines([x], [Reduce(add, (0,), 0)(x)]):
            np.testing.assert_array_equal(machine(np.zeros((0, 3))), np.zeros(3))
            self.assertEqual(machine(np.zeros((3, 0))).shape, (0,))
        texts = []
        for machine in machines([x], [Reduce(maximum, (0,), None)(x)]):
            with self.assertRaisesRegex(ValueError, "no identity") as caught:
                machine(np.zeros((0, 3)))
            texts.append(str(caught.exception))
        self.assertEqual(texts[0], texts[1])

    def test_float32_accumulates_in_float64(self) -> None:
        x = array("float32", None)
        native, _ = machines([x], [Reduce(add, (0,), 0)(x)])
        self.assertEqual(native(np.array([1e8, 1, -1e8], "float32")), 1)

    def test_nan_wins_a_maximum(self) -> None:
        x = array("float64", None)
        native, _ = machines([x], [Reduce(maximum, (0,), None)(x)])
        for position in (0, 50, 99):
            value = np.zeros(100)
            value[position] = np.nan
            self.assertTrue(np.isnan(native(value)))

    def test_long_reductions_are_cut_in_chunks(self) -> None:
        rng = np.random.default_rng(5)
        for shape in ((300_001,), (2, 200_003), (200_003, 2), (70, 50, 90)):
            value = rng.normal(size=shape)
            x = array("float64", *[None] * len(shape))
            for axes in [(d,) for d in range(len(shape))] + [tuple(range(len(shape)))]:
                for _, op, identity in (CASES[0], CASES[2], CASES[3]):
                    native, plain = machines([x], [Reduce(op, axes, identity)(x)])
                    np.testing.assert_allclose(native(value), plain(value), rtol=1e-9, atol=1e-9)
                    np.testing.assert_allclose(native(value[::-1]), plain(value[::-1]), rtol=1e-9, atol=1e-9)

    def test_same_bits_for_any_number_of_threads(self) -> None:
        before, threshold = _runtime.get_num_threads(), _runtime.set_thread_threshold(1.0)
        try:
            for axes in ((0,), (1,), (0, 1)):
                x = array("float64", None, None)
                native, _ = machines([x], [Reduce(add, axes, 0)(x)])
                value = np.random.default_rng(2).normal(size=(700, 900))
                results = []
                for count in (1, 2, 5):
                    _runtime.set_num_threads(count)
                    results.append(native(value).copy())
                np.testing.assert_array_equal(results[0], results[1])
                np.testing.assert_array_equal(results[0], results[2])
                np.testing.assert_allclose(results[0], value.sum(axes), rtol=1e-9, atol=1e-10)
        finally:
            _runtime.set_num_threads(before)
            _runtime.set_thread_threshold(threshold)
