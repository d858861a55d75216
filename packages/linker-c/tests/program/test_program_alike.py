"""Arrays beside those of an earlier call."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

from theano_linker_c.program import arrays_alike, dimensions
from theano_linker_c.runtime._native_machine import _alike


class TestAlike(unittest.TestCase):
    """Classes, dtypes, and which dimensions have length 1, in C and in Python."""

    def test_answers(self) -> None:
        x, row = np.ones((2, 3)), np.ones((1, 3))
        kinds: Any = (x.dtype, dimensions(x.shape), row.dtype, dimensions(row.shape))
        self.assertEqual(kinds[1::2], (2, (True, False)))
        others = (row, x[0], x.astype("float32"), x.view(np.matrix), x.tolist(), x.astype(">f8"), np.float64(1), None)
        for alike in (arrays_alike, _alike):
            for first in (x, x[:0], np.ones((5, 7)).T):
                self.assertIs(alike(kinds, first, row), True)
            for other in others:
                self.assertIs(alike(kinds, other, row), False)
            for other in (x, x[:, :1], x[:1, :1], row[0]):
                self.assertIs(alike(kinds, x, other), False)
            number = np.array(2.0)
            self.assertTrue(alike((number.dtype, dimensions(())), number))
            self.assertTrue(alike(()))

    def test_a_kind_for_each_array(self) -> None:
        for alike in (arrays_alike, _alike):
            with self.assertRaises((TypeError, ValueError)):
                alike((np.dtype("float64"), 1), np.ones(2), np.ones(2))
