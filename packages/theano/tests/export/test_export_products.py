"""Exported products: lengths beside those of tiles and blocks, all layouts, sums with old contents, new state."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano_testing.tiers import slow

from .harness import check

RNG = np.random.default_rng(9)


def _numbers(*shape: int, dtype: str = "float64") -> Any:
    return RNG.normal(size=shape).astype(dtype)


class TestMatrices(unittest.TestCase):
    """Products of two matrices."""

    @slow
    def test_layouts(self) -> None:
        """Factors as they are and transposed, of lengths that no tile divides; one is copied in two parts."""
        for dtype in ("float32", "float64"):
            a, b, c, d = (T.matrix(name, dtype=dtype) for name in "abcd")
            out = [a.dot(b), c.T.dot(b), a.dot(d.T), c.T.dot(d.T), d.dot(a.T), a[::2, ::3].dot(b[::3, ::2])]
            for m, k, n in ((37, 300, 67),) if dtype == "float32" else ((13, 260, 130),):
                shapes = ((m, k), (k, n), (k, m), (n, k))
                values = tuple(_numbers(*shape, dtype=dtype) for shape in shapes)
                tolerance = 1e-3 if dtype == "float32" else 1e-9
                check(theano.function([a, b, c, d], out), values, tolerance=tolerance)

    def test_vectors(self) -> None:
        """Products with vectors, rows and columns, and of two vectors."""
        a, x, y, r = T.dmatrix("a"), T.dvector("x"), T.dvector("y"), T.drow("r")
        out = [a.dot(x), y.dot(a), a.T.dot(y), T.outer(y, x), a[:, ::2].dot(x[::2]), a[::-1].dot(x) + y, r.dot(a)]
        check(theano.function([a, x, y, r], out), (_numbers(39, 31), _numbers(31), _numbers(39), _numbers(1, 39)))

    @slow
    def test_nothing(self) -> None:
        """A product over no terms is 0, and one of no rows is empty."""
        a, b = T.dmatrix("a"), T.dmatrix("b")
        check(theano.function([a, b], a.dot(b)), (np.zeros((9, 0)), np.zeros((0, 70))))
        check(theano.function([a, b], a.dot(b)), (np.zeros((0, 9)), np.zeros((9, 70))))


class TestState(unittest.TestCase):
    """Shared variables whose new values are written over the old ones."""

    @slow
    def test_products(self) -> None:
        """A product is added in place; the old value is read before."""
        x = T.dmatrix("x")
        w = theano.shared(_numbers(40, 50))
        out = x.dot(w)
        step = theano.function([x], out.sum(), updates=[(w, w - 0.1 * x.T.dot(T.tanh(out)))])
        check(step, (_numbers(30, 40),), (_numbers(30, 40),))

    def test_readers(self) -> None:
        """Values that are read after, elsewhere, or in another order are computed beside the old ones."""
        x = T.dvector("x")
        v, w, u = (theano.shared(_numbers(20)) for _ in range(3))
        square = theano.shared(_numbers(5, 5))
        new = v * x
        updates = [(v, new), (w, v + w), (u, u[::-1] + u), (square, square.T * 2 + square)]
        step = theano.function([x], [v.sum(), new, w, u * 2], updates=updates)
        check(step, (_numbers(20),), (_numbers(20),))

    def test_exchange(self) -> None:
        """Two variables get each other's values, and a third one a value that two get."""
        x = T.dvector("x")
        a, b, c, d = (theano.shared(_numbers(12)) for _ in range(4))
        both = c + x
        step = theano.function([x], a[0], updates=[(a, b), (b, a), (c, both), (d, both)])
        check(step, (_numbers(12),), (_numbers(12),), (_numbers(12),))


if __name__ == "__main__":
    unittest.main()
