"""Sizes that exported C computes from values: a size beyond C's range is an error, and nothing is written then."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.tensor.signal.pool import pool_2d

from .harness import Exported

_LARGEST = 2**63 - 1
#: Undefined behaviour of C ends the process.
_TRAPS = ("-O1", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")


class TestSizes(unittest.TestCase):
    def refuse(self, inputs: list[Any], result: Any, *calls: list[Any]) -> None:
        """Check that calls end with an error, with the undefined behaviour of C looked for."""
        exported = Exported(theano.function(inputs, result), arguments=_TRAPS)
        for values in calls:
            with self.subTest(values=values), self.assertRaises(ValueError):
                exported(*values)
        exported.free()

    def test_repetitions(self) -> None:
        n, u = T.lvector("n"), T.vector("u", "uint64")
        x = T.arange(4)
        self.refuse([n], T.repeat(x, n), [np.full(4, 2**62)], [np.array([_LARGEST, 1, 0, 0])])
        self.refuse([u], T.repeat(x, u), [np.full(4, 2**63, "uint64")])

    def test_numbers_counted(self) -> None:
        n, u = T.lvector("n"), T.vector("u", "uint64")
        self.refuse([n], T.bincount(n), [np.array([_LARGEST, 0])])
        self.refuse([u], T.bincount(u), [np.array([2**64 - 1, 0], "uint64")], [np.array([_LARGEST, 0], "uint64")])

    def test_shapes(self) -> None:
        """Products that wrap around to the number of elements, or to one that divides it."""
        x, n = T.dvector("x"), T.lvector("n")
        a = next(a for a in range(2**61 + 1, 2**61 + 99, 2) if 3 * pow(a, -1, 2**64) % 2**64 < 2**63)
        b = 3 * pow(a, -1, 2**64) % 2**64
        self.refuse([x, n], x.reshape((n[0], n[1])), [np.ones(3), np.array([a, b])])
        self.refuse([x, n], x.reshape((n[0], n[1], -1)), [np.ones(6), np.array([a, b])])

    def test_parts(self) -> None:
        x, n = T.dvector("x"), T.lvector("n")
        parts = T.split(x, n, 3)
        self.refuse([x, n], parts, [np.ones(2), np.array([_LARGEST, _LARGEST, 4])])

    def test_joined(self) -> None:
        """Arrays without elements have any lengths, but not their sum."""
        n = T.lscalar("n")
        x = T.zeros((n, 0))
        self.refuse([n], T.concatenate([x, x, x, x]), [np.array(2**62)])

    def test_diagonals(self) -> None:
        """A diagonal that is not in the matrix leaves it as it is."""
        x, k = T.dmatrix("x"), T.lscalar("k")
        fn = theano.function([x, k], T.fill_diagonal_offset(x, 1.0, k))
        exported = Exported(fn, arguments=_TRAPS)
        for number in (-_LARGEST - 1, -_LARGEST, _LARGEST):
            for function in (exported, fn):
                result = np.reshape(function(np.zeros((2, 3)), np.array(number)), (2, 3))
                np.testing.assert_array_equal(result, np.zeros((2, 3)))
        exported.free()

    def test_windows(self) -> None:
        """Windows that reach far behind the border are not walked through."""
        x, w = T.dtensor4("x"), T.lvector("w")
        value = np.arange(6.0).reshape(1, 1, 2, 3)
        for mode in ("max", "sum"):
            fn = theano.function([x, w], pool_2d(x, w, ignore_border=False, stride=(1, 1), mode=mode))
            exported = Exported(fn, arguments=_TRAPS)
            expected = fn(value, np.array([2, 3]))
            for number in (2**31, 2**40 + 1, 2**62, _LARGEST):
                for function in (fn, exported):
                    result = function(value, np.array([number, number]))
                    np.testing.assert_array_equal(np.reshape(result, (-1,))[0], expected.ravel()[0])
            exported.free()


if __name__ == "__main__":
    unittest.main()
