"""Exported operations on tensors that the machine in C leaves to Python: other dtypes, sorting, counting, diagonals."""

from __future__ import annotations

import unittest

import numpy as np

import theano
import theano.tensor as T

from .harness import Exported, check

RNG = np.random.default_rng(11)


class TestDtypes(unittest.TestCase):
    """Lengths, indices and values of any dtype."""

    def test_lengths(self) -> None:
        """Lengths of 8 and 32 bits."""
        x, n, m = T.dmatrix("x"), T.bscalar("n"), T.iscalar("m")
        out = [
            T.alloc(x[0, 0], n, m),
            x.reshape((m, n)),
            T.stack([T.cast(n, "int32"), m]),
            T.specify_shape(x, (m, n)),
            T.zeros((m, 2), "int8") + n,
        ]
        check(theano.function([x, n, m], out), (RNG.normal(size=(3, 4)), 4, 3))

    def test_joining(self) -> None:
        """Parts of other dtypes."""
        x, i = T.dvector("x"), T.bvector("i")
        check(theano.function([x, i], T.concatenate([x, i])), (RNG.normal(size=3), np.array([1, -2], "int8")))

    def test_values(self) -> None:
        """Values of narrower dtypes that are put into tensors, of half precision too."""
        x, v = T.dmatrix("x"), T.lvector("v")
        h, w = T.TensorType("float16", (False,) * 2)("h"), T.TensorType("float16", (False,))("w")
        i = T.lvector("i")
        out = [T.inc_subtensor(x[1], v), T.set_subtensor(x[i, i], v[:2]), T.inc_subtensor(h[:, i], w[0]), h[i]]
        halves = RNG.normal(size=(3, 3)).astype("float16"), RNG.normal(size=2).astype("float16")
        values = RNG.normal(size=(3, 4)), np.arange(4), *halves, np.array([2, 0])
        check(theano.function([x, v, h, w, i], out), values)

    def test_masks(self) -> None:
        """A mask beside numbers and slices."""
        x, m = T.dtensor3("x"), T.TensorType("bool", (False,))("m")
        i = T.lvector("i")
        f = theano.function([x, m, i], [x[m, 1], x[m, :, 1:], x[:, m, i], T.set_subtensor(x[m, i], 0.5)])
        check(f, (RNG.normal(size=(3, 3, 4)), np.array([True, False, True]), np.array([0, 2])))

    def test_products(self) -> None:
        """Products of integers and of half precision."""
        a, b, v = T.wmatrix("a"), T.lmatrix("b"), T.bvector("v")
        h = T.TensorType("float16", (False,) * 2)("h")
        values = [RNG.integers(-9, 9, s).astype(t) for s, t in (((3, 4), "int16"), ((4, 2), "int64"), (4, "int8"))]
        f = theano.function([a, b, v, h], [a.dot(b), a.dot(v), v.dot(v), h.dot(h.T)])
        check(f, (*values, RNG.normal(size=(2, 3)).astype("float16")))

    def test_cumulative(self) -> None:
        """Sums and products of narrow numbers become wider."""
        i, f, b = T.bmatrix("i"), T.fmatrix("f"), T.TensorType("bool", (False,))("b")
        out = [T.cumsum(i, 0), T.cumprod(i, 1), T.cumsum(f, 1), T.cumsum(b)]
        values = (
            RNG.integers(-9, 9, (3, 4)).astype("int8"),
            RNG.normal(size=(2, 5)).astype("float32"),
            RNG.random(7) > 0.4,
        )
        check(theano.function([i, f, b], out), values)

    def test_ranges(self) -> None:
        """Ranges of floats, forwards and backwards."""
        a, b, c = T.dscalars("a", "b", "c")
        f = theano.function([a, b, c], [T.arange(a, b, c), T.arange(a, b, c, dtype="float32")])
        check(f, (0.5, 3.1, 0.25), (3.0, -1.0, -0.5), (3.0, 2.0, 0.5))
        with self.assertRaisesRegex(ValueError, "step of a range is 0"):
            Exported(f)(0.0, 1.0, 0.0)

    def test_long_sums(self) -> None:
        """Sums of many elements in single precision are as exact as the function's."""
        x = T.fmatrix("x")
        f = theano.function([x], [x.sum(), x.sum(axis=0), x.sum(axis=1), x.mean()])
        check(f, (RNG.random((700, 900)).astype("float32"),), tolerance=2e-6)


class TestSorting(unittest.TestCase):
    """Sorting, and searching."""

    def test_sort(self) -> None:
        """All axes, floats with NaN and integers."""
        x, i = T.dtensor3("x"), T.TensorType("uint8", (False,) * 2)("i")
        out = [T.sort(x, 0), T.sort(x, 1), T.sort(x), T.argsort(x, 1), T.sort(i, 0), T.sort(x, None)]
        value = RNG.normal(size=(3, 7, 2))
        value[1, 2, 0] = np.nan
        check(theano.function([x, i], out), (value, RNG.integers(0, 9, (5, 4)).astype("uint8")))

    def test_float16(self) -> None:
        """In the order of their numbers, not of their bits."""
        x = T.TensorType("float16", (False,))("x")
        out = [T.sort(x), T.argsort(x), T.topk(x, 2), T.extra_ops.Unique()(x), T.extra_ops.searchsorted(T.sort(x), x)]
        check(theano.function([x], out), (np.array([1.5, -2, 65504, np.inf, -0.25, 1.5], "float16"),))

    def test_top(self) -> None:
        """The largest, and the smallest elements."""
        x, k = T.fmatrix("x"), T.lscalar("k")
        out = [*T.topk_and_argtopk(x, k, 0), T.topk(x, -2), T.argtopk(x, 3)]
        value = RNG.normal(size=(5, 6)).astype("float32")
        f = theano.function([x, k], out)
        check(f, (value, 3), (value, -2))
        with self.assertRaisesRegex(ValueError, "larger than the length"):
            Exported(f)(value, 6)

    def test_search(self) -> None:
        """Where elements would stand in a sorted vector."""
        x, v, i = T.dvector("x"), T.lmatrix("v"), T.lvector("i")
        out = [T.searchsorted(x, v), T.searchsorted(x, v, side="right"), T.searchsorted(x[i], v, sorter=T.argsort(i))]
        values = np.array([-1.0, 0, 0, 2, 5]), RNG.integers(-2, 7, (3, 4)), np.array([3, 0, 1, 4, 2])
        check(theano.function([x, v, i], out), values)

    def test_distinct(self) -> None:
        """Distinct elements, and how often there are of each."""
        x, i = T.dvector("x"), T.lmatrix("i")
        out = [*T.extra_ops.Unique(True, True, True)(x), T.extra_ops.Unique()(i), T.bincount(i.flatten())]
        f = theano.function([x, i], [*out, T.bincount(i[0], x[:4], minlength=12)])
        check(f, (RNG.integers(-2, 3, 9).astype("float64"), RNG.integers(0, 9, (3, 4))))
        with self.assertRaisesRegex(ValueError, "is negative"):
            Exported(f)(np.zeros(4), np.full((1, 4), -1))


class TestMoving(unittest.TestCase):
    """Diagonals, and elements that are moved."""

    def test_diagonals(self) -> None:
        """Elements taken out, put in, filled."""
        x, v = T.dtensor3("x"), T.dvector("v")
        out = [
            T.diagonal(x, 1, 0, 2),
            T.diagonal(x, -1, 2, 1),
            T.extra_ops.diag(v) if hasattr(T.extra_ops, "diag") else T.diag(v),
            T.fill_diagonal(x[0], 7.0),
            T.fill_diagonal_offset(x[1], 5.0, -1),
            T.basic.AllocDiag(1, 0, 1)(v) if hasattr(T.basic, "AllocDiag") else T.diag(v),
        ]
        check(theano.function([x, v], out), (RNG.normal(size=(3, 4, 3)), RNG.normal(size=4)))

    def test_moves(self) -> None:
        """Rolled and repeated elements, and where some are not 0."""
        x, k, r = T.dmatrix("x"), T.lscalar("k"), T.lvector("r")
        out = [
            T.roll(x, k, axis=1),
            T.roll(x, -1, axis=0),
            T.repeat(x, r, axis=0),
            *T.nonzero(x > 0),
            T.nonzero_values(x),
            T.flatnonzero(x < 0),
        ]
        value = RNG.normal(size=(3, 4))
        check(theano.function([x, k, r], out), (value, 2, np.array([2, 0, 1])), (value, -7, np.array([0, 0, 0])))


class TestOneElement(unittest.TestCase):
    """A vector of one element is a number in C, and compilers warn of numbers that are compared with themselves."""

    def test_sorted(self) -> None:
        """Distinct elements, and positions of a vector in itself."""
        x, y = T.lvector("x"), T.dvector("y")
        for v in (x.sum(keepdims=True), y.sum(keepdims=True)):
            out = [*T.unique(v, True, True, True), T.searchsorted(v, v), T.sort(v), T.argsort(v), T.topk(v, 1)]
            f = theano.function([x, y], out, on_unused_input="ignore")
            check(f, (np.arange(3), RNG.normal(size=2)), (np.arange(0), np.array([np.nan])))
