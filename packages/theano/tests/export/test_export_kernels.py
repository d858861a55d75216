"""Exported C computes the function's values, kernel by kernel, with known and unknown lengths."""

from __future__ import annotations

import unittest

import numpy as np

import theano
import theano.tensor as T
from theano_testing.tiers import slow

from .harness import Exported, check

RNG = np.random.default_rng(5)


class TestElementwise(unittest.TestCase):
    """Elementwise operations, broadcast and on views."""

    def test_broadcast(self) -> None:
        """Rows, columns and scalars."""
        x, y, z = T.dmatrix("x"), T.dvector("y"), T.dscalar("z")
        f = theano.function([x, y, z], [T.exp(x) * y + z, T.tanh(x.T) + y.dimshuffle(0, "x") * 2])
        check(f, (RNG.normal(size=(3, 4)), RNG.normal(size=4), 0.5), (RNG.normal(size=(2, 4)), RNG.normal(size=4), 2.0))

    def test_dtypes(self) -> None:
        """Integers, truth values, single and half precision."""
        i, b, f, h = (
            T.ivector("i"),
            T.TensorType("bool", (False,))("b"),
            T.fvector("f"),
            T.TensorType("float16", (False,))("h"),
        )
        out = [i // 3, i % 4, T.switch(b, f, -f), h * 2, T.cast(f, "int8"), i > 2, b & (f > 0), T.maximum(f, 0), i**2]
        values = (
            np.arange(-4, 5, dtype="int32"),
            RNG.random(9) > 0.5,
            RNG.normal(size=9).astype("float32"),
            RNG.normal(size=9).astype("float16"),
        )
        check(theano.function([i, b, f, h], out), values)

    def test_in_place(self) -> None:
        """Memory that is written again while views of it are still to be read."""
        x = T.dmatrix("x")
        y = x * 2
        check(
            theano.function([x], [(y + y.T) / 2, y[::-1] + y, T.inc_subtensor(y[1:], y[:-1])]),
            (RNG.normal(size=(4, 4)),),
        )


class TestReductions(unittest.TestCase):
    """Sums, products, extrema, along each axis."""

    @slow
    def test_axes(self) -> None:
        """All kinds over all axes."""
        x = T.TensorType("float64", (False,) * 3)("x")
        axes = [None, 0, 1, 2, (0, 2), (1, 2), (0, 1)]
        out = [getattr(x, kind)(axis=axis) for kind in ("sum", "prod", "max", "min", "mean") for axis in axes]
        out += [T.argmax(x, axis=axis) for axis in (None, 0, 1, 2)] + [
            T.argmin(x, axis=1),
            (x > 0).any(axis=0),
            x.var(),
        ]
        check(theano.function([x], out), (RNG.normal(size=(3, 20, 5)),), (RNG.normal(size=(1, 2, 40)),))

    def test_nan(self) -> None:
        """NaN is the extremum, and where it is."""
        x = T.dvector("x")
        value = RNG.normal(size=40)
        value[7] = np.nan
        check(theano.function([x], [x.max(), x.min(), T.argmax(x), T.sum(x)]), (value,))

    def test_no_elements(self) -> None:
        """The sum of nothing is 0, and its maximum an error."""
        x = T.dmatrix("x")
        check(theano.function([x], [x.sum(axis=0), x.prod(axis=1)]), (np.zeros((0, 3)),))


class TestIndexing(unittest.TestCase):
    """Views, gathers and scatters."""

    def test_views(self) -> None:
        """Slices with all signs, numbers, new axes."""
        x, i = T.dmatrix("x"), T.lscalar("i")
        out = [x[1:, ::-1], x[-1], x[i], x[:, i], x[:i], x[i:, 1:-1:2], x[::-2, None], x[0, i] * 2, x[-2:50], x[i:0:-1]]
        check(theano.function([x, i], out), (RNG.normal(size=(5, 6)), 2), (RNG.normal(size=(5, 6)), -1))

    def test_arrays(self) -> None:
        """Arrays of indices, masks, and mixtures."""
        x, i, m = T.TensorType("float64", (False,) * 3)("x"), T.ivector("i"), T.TensorType("bool", (False,))("m")
        out = [x[i], x[:, i], x[i, i], x[:, i, i], x[i, :, i], x[m], x[:, 1, m.nonzero()[0] * 0], x[i, 1:, 0]]
        values = RNG.normal(size=(3, 3, 3)), np.array([0, -1, 2, 2], "int32"), np.array([True, False, True])
        check(theano.function([x, i, m], out), values)

    @slow
    def test_a_single_true_element_broadcasts(self) -> None:
        """Beside other arrays of indices, and beside other masks."""
        x, i, y = T.dmatrix("x"), T.ivector("i"), T.dvector("y")
        m, k = T.vector("m", dtype="bool"), T.vector("k", dtype="bool")
        parts = [x[m, i], x.T[i, m], x[m, k]]
        out = [*parts, T.set_subtensor(parts[0], y), T.inc_subtensor(parts[1], y), T.inc_subtensor(parts[2], y)]
        f = theano.function([x, i, y, m, k], out)
        one, three = np.array([False, True, False]), np.array([True, False, True, True])
        i_, y_ = np.array([0, -1, 2], "int32"), RNG.normal(size=3)
        check(f, (RNG.normal(size=(3, 4)), i_, y_, one, three))
        check(f, (RNG.normal(size=(3, 3)), i_, y_, np.ones(3, bool), one))  # parts[2] has three elements, too
        exported = Exported(theano.function([x, i, m], x[m, i]))
        with self.assertRaisesRegex(ValueError, "arrays of indices differ in length"):
            exported(RNG.normal(size=(3, 4)), i_, np.array([True, False, True]))

    def test_writes(self) -> None:
        """Elements that are named twice are incremented twice."""
        x, y, i = T.dmatrix("x"), T.dvector("y"), T.ivector("i")
        out = [
            T.set_subtensor(x[1], y),
            T.inc_subtensor(x[:, 1:], 5.0),
            T.inc_subtensor(x[i], y),
            T.set_subtensor(x[::2, i], 1.5),
            T.set_subtensor(x[x > 0], 0.0),
        ]
        check(
            theano.function([x, y, i], out),
            (RNG.normal(size=(3, 4)), RNG.normal(size=4), np.array([1, 1, -1], "int32")),
        )

    @slow
    def test_known_indices(self) -> None:
        """Constant indices, also negative ones, in loops that look elements up, and in sums in another order."""
        x, y = T.dvector("x"), T.fvector("y")
        for groups in (
            RNG.integers(-7, 7, 90),
            np.zeros(40, "int64"),
            np.repeat(np.arange(7), 5),
            np.array([], "int64"),
        ):
            a, b = x[groups], T.exp(x * 2)[::-1][groups]
            terms = (a * b + y[groups] ** 2) / 3
            out = [terms, terms.sum(), a.max() if groups.size else a, T.grad(terms.sum(), [x, y]), a[::-1] + b]
            out += [
                T.inc_subtensor(x[::-1][groups], terms),
                T.inc_subtensor(x[groups], 0.5),
                T.inc_subtensor(x[groups], a),
            ]
            out += [T.set_subtensor((x * 2)[groups], terms), (x * 3)[groups[:10]].dimshuffle(0, "x") * y]
            flat = [part for each in out for part in (each if isinstance(each, list) else [each])]
            check(theano.function([x, y], flat), (RNG.normal(size=7), RNG.normal(size=7).astype("float32")))

    def test_many_known_indices(self) -> None:
        """More sums than are put in order at a time, bit by bit as one after the other."""
        groups = np.sort(RNG.integers(0, 50, 2500))
        x, y = T.dvector("x"), T.dvector("y")
        f = theano.function([x, y], T.inc_subtensor(x[groups], y))
        values = RNG.normal(size=50), RNG.normal(size=2500)
        want = values[0].copy()
        np.add.at(want, groups, values[1])
        self.assertEqual(Exported(f, {x: (50,), y: (2500,)}, static=True)(*values)[0].tobytes(), want.tobytes())

    def test_known_indices_of_what_changes(self) -> None:
        """Elements that are looked up are those from before an update of the variable."""
        groups = np.array([1, 0, 2, 2, 1, 1])
        w, y = theano.shared(np.arange(3.0)), T.dvector("y")
        result = w[groups]
        f = theano.function([y], T.exp(result) * y, updates=[(w, w * 2 + (result * y).sum())])
        check(f, (RNG.normal(size=6),), (RNG.normal(size=6),))

    def test_out_of_bounds_of_a_table(self) -> None:
        """A constant index that is not there is an error of the call."""
        x = T.dvector("x")
        exported = Exported(theano.function([x], T.exp(x[np.array([0, 3])])), {x: (3,)})
        with self.assertRaisesRegex(ValueError, "an index is out of bounds"):
            exported(np.zeros(3))

    def test_out_of_bounds(self) -> None:
        """A call says which operation, and the line that made it."""
        x, i = T.dvector("x"), T.lscalar("i")
        exported = Exported(theano.function([x, i], x[i]))
        with self.assertRaisesRegex(ValueError, r"test_export_kernels\.py:\d+\): an index is out of bounds"):
            exported(np.zeros(3), 3)


class TestVersions(unittest.TestCase):
    """Loops for AVX2, which a call takes where the processor has it, and one form for all processors."""

    @slow
    def test_both(self) -> None:
        """Both compile without a warning, optimised and with sanitizers, and compute the same."""
        groups = RNG.integers(0, 5, 60)
        x, y, n = T.dvector("x"), T.dmatrix("y"), T.lscalar("body")
        out = [T.tanh(y).dot(x), (x[groups] * y[1, 0]).sum(), T.inc_subtensor(x[groups], y.max()), x * n]
        f = theano.function([x, y, n], out)
        values = RNG.normal(size=5), RNG.normal(size=(40, 5)), 3
        for arguments in (("-O3",), ("-O3", "-DTHEANO_PORTABLE"), ("-O2", "-mavx2"), ("-Og", "-g")):
            check(f, values, arguments=arguments)


class TestShapes(unittest.TestCase):
    """Joining, splitting, reshaping, making."""

    def test_joining(self) -> None:
        """Concatenation, stacks, splits."""
        x, y = T.dmatrix("x"), T.dmatrix("y")
        a, b = T.split(x, [1, 2], 2, axis=0)
        out = [
            T.concatenate([x, y], axis=0),
            T.concatenate([x, y, x], axis=1),
            T.stack([x, y]),
            a,
            b * 2,
            T.join(0, a, b),
        ]
        check(theano.function([x, y], out), (RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4))))

    def test_reshaping(self) -> None:
        """Static and computed shapes, of views too."""
        x = T.dmatrix("x")
        out = [
            x.reshape((2, -1)),
            x.T.reshape((-1,)),
            x.flatten(),
            x.reshape((x.shape[1], x.shape[0])),
            x.T.flatten(2),
            T.zeros_like(x) + 1,
            x.shape,
            T.repeat(x, 2, axis=0),
        ]
        check(theano.function([x], out), (RNG.normal(size=(4, 6)),), (RNG.normal(size=(2, 5)),))

    def test_making(self) -> None:
        """Ranges, unit matrices, cumulative sums, diagonals."""
        x, n = T.dmatrix("x"), T.lscalar("n")
        out = [
            T.arange(n),
            T.arange(n, 0, -2),
            T.eye(n, 4, 1),
            T.cumsum(x, axis=0),
            T.cumprod(x, axis=1),
            T.diagonal(x, 1),
        ]
        check(theano.function([x, n], [*out, T.cumsum(x)]), (RNG.normal(size=(4, 5)), 7))


class TestProducts(unittest.TestCase):
    """Vectors and matrices, small and large, in every layout."""

    @slow
    def test_kinds(self) -> None:
        """All kinds of products."""
        for dtype in ("float64", "float32"):
            a, b, v, w = T.matrix("a", dtype), T.matrix("b", dtype), T.vector("v", dtype), T.vector("w", dtype)
            out = [
                a.dot(b),
                b.T.dot(a.T),
                a.dot(v),
                w.dot(a),
                v.dot(v),
                T.outer(w, v),
                2 * a.dot(b) + T.outer(w, w),
                a[::2].dot(b),
            ]
            for m, k in ((3, 4), (37, 70)):
                values = (RNG.normal(size=s).astype(dtype) for s in ((m, k), (k, m), (k,), (m,)))
                check(theano.function([a, b, v, w], out), tuple(values))

    def test_batched(self) -> None:
        """Stacks of matrices."""
        a, b = T.TensorType("float64", (False,) * 3)("a"), T.TensorType("float64", (False,) * 3)("b")
        check(theano.function([a, b], T.batched_dot(a, b)), (RNG.normal(size=(3, 2, 4)), RNG.normal(size=(3, 4, 5))))


class TestState(unittest.TestCase):
    """Shared variables and their updates."""

    @slow
    def test_training(self) -> None:
        """Steps of a softmax regression."""
        x, y = T.dmatrix("x"), T.ivector("y")
        w, b = theano.shared(RNG.normal(size=(5, 4)), "w"), theano.shared(np.zeros(4), "b")
        p = T.nnet.softmax(x.dot(w) + b)
        loss = -T.log(p[T.arange(y.shape[0]), y]).mean()
        updates = [(v, v - 0.1 * g) for v, g in zip((w, b), T.grad(loss, [w, b]), strict=True)]
        f = theano.function([x, y], [loss, p], updates=updates)
        check(f, *[(RNG.normal(size=(7, 5)), RNG.integers(0, 4, 7).astype("int32")) for _ in range(3)])

    def test_swap(self) -> None:
        """New values are computed from the old ones of all variables."""
        a, b = theano.shared(np.arange(3.0), "a"), theano.shared(np.ones(3), "b")
        check(theano.function([], [a + b, a], updates=[(a, b), (b, a[::-1])]), (), (), ())
