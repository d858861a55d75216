"""Draws from streams on devices: bit for bit those of the generator's definition."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

from theano_gpuarray.codegen.random import MRGKernel
from theano_testing.device import on_device

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


if __name__ == "__main__":
    unittest.main()
