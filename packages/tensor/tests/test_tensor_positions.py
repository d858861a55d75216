"""Positions of extrema, in machine code and in Python, against NumPy."""

from __future__ import annotations

import itertools
import unittest
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

import theano_tensor as T
from theano_linker_c import Mode, function
from theano_testing.tiers import examples

OPS = ((T.argmax, np.argmax), (T.argmin, np.argmin))
DTYPES = ("float64", "float32", "int8", "int32", "int64", "uint16", "uint8", "bool")


def expected(reference: Any, x: Any, axes: tuple[int, ...]) -> Any:
    references = [i for i in range(x.ndim) if i not in axes]
    return reference(x.transpose([*references, *axes]).reshape([*(x.shape[i] for i in references), -1]), axis=-1)


def compiled(op: Any, dtype: str, ndim: int, axis: Any) -> Any:
    x = T.TensorType(dtype, (None,) * ndim)("x")
    return function([x], op(x, axis=axis), mode=Mode("cvm", None))


class TestPositions(unittest.TestCase):
    def setUp(self) -> None:
        self.rng = np.random.default_rng(8)

    def test_every_dtype_axis_and_memory_order(self) -> None:
        for dtype, shape, (op, reference) in itertools.product(DTYPES, ((1030,), (40, 300), (7, 9, 11)), OPS):
            for count in range(1, len(shape) + 1):
                for axes in itertools.combinations(range(len(shape)), count):
                    f = compiled(op, dtype, len(shape), axes)
                    for order in itertools.permutations(range(len(shape))):
                        x = (self.rng.normal(size=[shape[i] for i in order]) * 3).astype(dtype)
                        x = x.transpose(np.argsort(order))
                        with self.subTest(op=op.__name__, dtype=dtype, axes=axes, order=order):
                            np.testing.assert_array_equal(f(x), expected(reference, x, axes))

    def test_the_first_nan_wins(self) -> None:
        for dtype, length, (op, reference) in itertools.product(("float64", "float32"), (3, 70, 5000), OPS):
            f, g = compiled(op, dtype, 1, None), compiled(op, dtype, 2, 0)
            for position in {0, 1, length // 2, length - 1}:
                x = self.rng.normal(size=length).astype(dtype)
                x[position:] = np.where(self.rng.random(length - position) < 0.5, np.nan, x[position:])
                x[position] = np.nan
                matrix = np.stack([x] * 9, axis=1)
                with self.subTest(op=op.__name__, dtype=dtype, length=length, place=position):
                    self.assertEqual(f(x), reference(x))
                    np.testing.assert_array_equal(g(matrix), reference(matrix, axis=0))

    def test_of_equal_elements_the_first_wins(self) -> None:
        for dtype, (op, reference) in itertools.product(DTYPES, OPS):
            f, g = compiled(op, dtype, 1, None), compiled(op, dtype, 2, 0)
            for length in (1, 2, 63, 64, 65, 255, 257, 4097, 9000):
                for x in (np.zeros(length, dtype), self.rng.integers(0, 2, length).astype(dtype)):
                    with self.subTest(op=op.__name__, dtype=dtype, length=length):
                        self.assertEqual(f(x), reference(x))
                        matrix = np.stack([x] * 10, axis=1)
                        np.testing.assert_array_equal(g(matrix), reference(matrix, axis=0))

    def test_infinities_and_extreme_integers(self) -> None:
        for values in ([-np.inf] * 70, [np.inf] * 70, [-np.inf, np.inf] * 40):
            x = np.array(values)
            self.assertEqual(compiled(T.argmax, "float64", 1, None)(x), x.argmax())
            self.assertEqual(compiled(T.argmin, "float64", 1, None)(x), x.argmin())
        x = np.array([np.iinfo("int64").min] * 70)
        self.assertEqual(compiled(T.argmax, "int64", 1, None)(x), 0)

    @settings(deadline=None, max_examples=examples(60))
    @given(st.lists(st.integers(0, 40), min_size=1, max_size=3), st.integers(0, 2**31), st.integers(1, 3))
    def test_any_shape(self, shape: list[int], seed: int, step: int) -> None:
        x = np.random.default_rng(seed).integers(-3, 4, [n * step for n in shape]).astype("float32")
        x = x[tuple(slice(None, None, -step) for _ in shape)]
        for axis in range(x.ndim):
            f = compiled(T.argmax, "float32", x.ndim, axis)
            if x.shape[axis]:
                np.testing.assert_array_equal(f(x), x.argmax(axis=axis))
            else:
                with self.assertRaisesRegex(ValueError, "empty sequence"):
                    f(x)

    def test_many_rows_use_all_threads_alike(self) -> None:
        x = self.rng.normal(size=(700, 900)).astype("float32")
        for axis in (0, 1):
            np.testing.assert_array_equal(compiled(T.argmax, "float32", 2, axis)(x), x.argmax(axis=axis))
