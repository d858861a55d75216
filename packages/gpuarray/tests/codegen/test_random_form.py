"""Draws from streams on devices: bit for bit those of the generator's definition."""

from __future__ import annotations

import unittest
from typing import Any, Literal

import numpy as np

from theano_gpuarray.codegen.random import _LINES, CategoriesKernel, MRGKernel
from theano_testing.device import on_device
from theano_testing.gpuarray import needs_opencl

from .device_cases import DeviceCase

M1, M2 = 2**31 - 1, 2**31 - 21069
SCALES = {"float64": 2.0**-31, "float32": np.float32(4.6566126e-10), "float16": float(np.float16(3.0458e-05))}


def step(state: list[int]) -> int:
    """Move one stream by the recurrence, in whole numbers of Python."""
    x11, x12, x13, x21, x22, x23 = state
    first = (2**22 * x12 + (2**7 + 1) * x13) % M1
    second = (2**15 * x21 + (2**15 + 1) * x23) % M2
    state[:] = [first, x11, x12, second, x21, x22]
    return first - second if first > second else first - second + M1


def draws(states: Any, total: int, dtype: str) -> tuple[Any, Any]:
    moving = [[int(n) for n in row] for row in states]
    numbers = np.array([step(moving[i % len(moving)]) for i in range(total)], "int64")
    if dtype == "float16":
        numbers = (numbers & 0x7FFF) + 1
    if dtype == "float32":
        numbers = numbers.astype("float32")
    return np.array(moving, "int32").reshape(len(states), 6), (numbers * SCALES[dtype]).astype(dtype)


@needs_opencl
class TestMRG(DeviceCase):
    def test_same_numbers_and_states(self) -> None:
        states = np.random.default_rng(3).integers(1, M2, size=(300, 6)).astype("int32")
        for dtype in SCALES:
            for count, shape in ((7, (5,)), (7, (40, 3)), (300, (100, 11)), (5, ()), (3, (0, 4)), (1, (17,))):
                with self.subTest(dtype=dtype, streams=count, shape=shape):
                    moved, numbers = draws(states[:count], int(np.prod(shape)), dtype)
                    lengths = np.array(shape, "int64")
                    self.check(MRGKernel(dtype, len(shape)), [states[:count], lengths], [moved, numbers.reshape(shape)])

    def test_numbers_stay_between_the_bounds(self) -> None:
        # The draw is 1 and M1, the smallest and the largest number that there are.
        for context in self.each():
            for dtype in SCALES:
                states = np.array([[0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1]], "int32")
                numbers = on_device(MRGKernel(dtype, 1), [states, np.array([64])], context)[1]
                self.assertTrue(np.all((numbers > 0) & (numbers < 1)))

    def test_states_of_a_view(self) -> None:
        states = np.random.default_rng(3).integers(1, M2, size=(12, 8)).astype("int32")[::-2, 1:7]
        moved, numbers = draws(states, 20, "float32")
        self.check(MRGKernel("float32", 1), [states, np.array([20])], [moved, numbers])

    def test_refusals(self) -> None:
        states, kernel = np.ones((4, 6), "int32"), MRGKernel("float32", 1)
        self.refused(kernel, [states, np.array([-1])], "MRGUniform: length -1 in the size of a draw is negative")
        self.refused(kernel, [states, np.array([2, 3])], "2 lengths, states of 6 numbers; not 1 and 6")
        self.refused(kernel, [states[:, :5], np.array([2])], "1 lengths, states of 5 numbers; not 1 and 6")
        self.refused(kernel, [states[:0], np.array([2])], "MRGUniform: there is no stream to draw from")
        self.refused(kernel, [states, np.array([2**31])], "one draw takes at most 2147483647 numbers, not 2147483648")


def category(chances: list[float], u: float, closed: bool) -> int:
    """Return the category that a number falls into, -1 for none."""
    total = 0.0
    for j, p in enumerate(chances):
        total += p
        if u < total:
            return j
    possible = [j for j, p in enumerate(chances) if p > 0]
    return possible[-1] if closed and possible else -1


@needs_opencl
class TestCategories(DeviceCase):
    CHANCES = np.array([[0.25, 0.0, 0.5, 0.25], [0.0, 0.0, 0.0, 0.0], [0.1, 0.2, 0.1, 0.0]])
    NUMBERS = np.array([0.1, 0.9, 0.3, 0.25, 0.5, 0.99, 0.76, 0.0, 0.2])

    def test_counts(self) -> None:
        expected = np.zeros((3, 4))
        for c, row in np.ndindex(3, 3):
            result = category(list(self.CHANCES[row]), self.NUMBERS[3 * c + row], row == 0)
            if result >= 0:
                expected[row, result] += 1
        for dtype in ("float16", "float32", "float64", "int8", "int64"):
            with self.subTest(dtype=dtype):
                operands = [self.CHANCES[:, ::-1][:, ::-1], self.NUMBERS, np.int64(3)]
                self.check(CategoriesKernel(dtype, "count"), operands, [expected.astype(dtype)])

    def test_choices(self) -> None:
        expected = np.zeros((3, 3), "int64")
        for c, row in np.ndindex(3, 3):
            chances, total = list(self.CHANCES[row]), self.CHANCES[row].cumsum()[-1]
            if total > 0:
                expected[row, c] = category(chances, self.NUMBERS[3 * c + row] * total, True)
        self.check(CategoriesKernel("int64", "choose"), [self.CHANCES, self.NUMBERS, np.int64(3)], [expected])

    def test_compilers_have_nothing_to_warn_of(self) -> None:
        tasks: tuple[Literal["count", "choose", "choose_once"], ...] = ("count", "choose", "choose_once")
        for task in tasks:
            with self.subTest(task):
                text = "\n".join(_LINES[task](CategoriesKernel("int64", task), "float32", "float32", "float"))
                self.assertNotRegex(text, r"&& \(?1\b")
                self.assertRegex(text, r"if \(found < 0")

    def test_choices_of_which_none_comes_twice(self) -> None:
        numbers = np.concatenate([self.NUMBERS, [0.5, 0.5, 0.5]])
        expected = np.zeros((3, 4), "int64")
        for row in (0, 2):
            chances, taken = list(self.CHANCES[row]), list[int]()
            for c in range(4):
                left = np.cumsum(chances)[-1]
                result = category(chances, numbers[3 * c + row] * left, True) if left > 0 else -1
                result = result if result >= 0 else min(set(range(4)) - set(taken))
                taken.append(result)
                chances[result] = 0.0
            expected[row] = taken
        self.check(CategoriesKernel("int64", "choose_once"), [self.CHANCES, numbers, np.int64(4)], [expected])

    def test_refusals(self) -> None:
        operands = [self.CHANCES, self.NUMBERS, np.int64(2)]
        self.refused(
            CategoriesKernel("int64", "count"), operands, "2 draws from 3 rows need as many uniform numbers, got 9"
        )
        self.refused(CategoriesKernel("int64", "count"), [*operands[:2], np.int64(-3)], "need as many uniform numbers")
        many = [self.CHANCES, np.zeros(15), np.int64(5)]
        self.refused(CategoriesKernel("int64", "choose_once"), many, "5 draws from 4 categories: there are not so many")
        none = [self.CHANCES[:, :0], self.NUMBERS, np.int64(3)]
        self.refused(CategoriesKernel("int64", "choose"), none, "3 draws from 0 categories")


if __name__ == "__main__":
    unittest.main()
