"""Loops in exported C."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano_testing.tiers import slow

from .harness import Exported, check

RNG = np.random.default_rng(11)


def _normal(*shape: int, dtype: str = "float64") -> Any:
    return RNG.normal(size=shape).astype(dtype)


class TestLoops(unittest.TestCase):
    """The loops of the manual."""

    def test_accumulation(self) -> None:
        """Running sums, all of them and the last one, and no steps at all."""
        x = T.dvector("x")
        sums, _ = theano.scan(lambda v, total: total + v, sequences=x, outputs_info=T.zeros(()))
        check(theano.function([x], sums), (_normal(5),), (_normal(0),))
        check(theano.function([x], sums[-1]), (_normal(5),))
        check(theano.function([x], sums), (_normal(0),))

    def test_power(self) -> None:
        """A ** k, with its gradient."""
        a, k = T.dvector("a"), T.iscalar("k")
        powers, _ = theano.scan(lambda p, a: p * a, outputs_info=T.ones_like(a), non_sequences=a, n_steps=k)
        last = powers[-1]
        check(theano.function([a, k], [last, T.grad(last.sum(), a)]), (_normal(4), 3), (_normal(2), 1))

    def test_polynomial(self) -> None:
        """A map, and a sum of its results."""
        c, x = T.fvector("c"), T.fscalar("x")
        terms, _ = theano.map(lambda c, k, x: c * x**k, sequences=[c, T.arange(1000)], non_sequences=x)
        f = theano.function([c, x], [terms.sum(), T.grad(terms.sum(), c)])
        check(f, (_normal(5, dtype="float32"), np.float32(0.7)))

    def test_taps(self) -> None:
        """Earlier and later elements of a sequence, and several earlier states."""
        x, y0 = T.dvector("x"), T.dvector("y0")
        y, _ = theano.scan(
            lambda before, now, after, y2, y1: T.tanh(before - now + 2 * after) + y1 * 0.5 - y2,
            sequences={"input": x, "taps": [-1, 0, 2]},
            outputs_info={"initial": y0, "taps": [-3, -1]},
        )
        check(theano.function([x, y0], [y, T.grad(y.sum(), x)]), (_normal(9), _normal(3)))

    def test_until(self) -> None:
        """The number of steps follows from the values."""
        top = T.dscalar("top")

        def double(x: Any, top: Any) -> Any:
            return x * 2, theano.scan_module.until(x * 2 > top)

        values, _ = theano.scan(double, outputs_info=T.constant(1.0), non_sequences=top, n_steps=40)
        check(theano.function([top], [values, values[-1]]), (45.0,), (1e30,), (0.5,))

    def test_until_backwards(self) -> None:
        """Rows of the last elements of a sequence."""
        x = T.dmatrix("x")
        rows, _ = theano.scan(
            lambda row: (row * 2, theano.scan_module.until(row[0] > 0)), sequences=x, go_backwards=True
        )
        check(theano.function([x], rows), (np.array([[1.0, 2], [3, 4], [-1, 0], [-2, 3]]),), (-np.ones((3, 2)),))

    def test_backwards(self) -> None:
        """From the last element to the first one; foldr, foldl, reduce."""
        x = T.dmatrix("x")
        back, _ = theano.scan(lambda v, s: s * 0.5 + v, sequences=x, outputs_info=T.zeros_like(x[0]), go_backwards=True)
        right, _ = theano.foldr(lambda v, s: T.tanh(s) + v, x, T.zeros_like(x[0]))
        check(theano.function([x], [back, right, T.grad(right.sum(), x)]), (_normal(4, 3),))

    @slow
    def test_jacobian(self) -> None:
        """A mapped Jacobian, and a Hessian."""
        x = T.dvector("x")
        y = T.tanh(T.outer(x, x).sum(axis=0)) * x[0]
        check(theano.function([x], [T.jacobian(y, x), T.hessian((x**3).sum() * x[1], x)]), (_normal(4),))

    def test_no_array_made_before(self) -> None:
        """Rows whose lengths a step tells."""
        x, n = T.dvector("x"), T.lscalar("n")
        rows, _ = theano.map(lambda v, x, n: T.concatenate([x[1:], x[:n] * v]), [x], [x, n])
        odd, _ = theano.map(lambda v, x: x[x > 0] * v, [x], [x])
        check(theano.function([x, n], [rows, odd]), (_normal(6), 2), (_normal(5), 0))


class TestStates(unittest.TestCase):
    """States of several kinds."""

    def test_swapped(self) -> None:
        """New states that are old ones, or views of them."""
        x, y = T.dmatrix("x"), T.dmatrix("y")
        (a, b, c), _ = theano.scan(lambda a, b, c: [b, a.T[::-1], c[::-1] + b[0]], outputs_info=[x, y, x[0]], n_steps=5)
        out = [a[-1], b[-1], c[-1], a, b[:-1]]
        check(theano.function([x, y], out), (_normal(3, 3), _normal(3, 3)))
        check(theano.function([x, y], out[:3]), (_normal(3, 3), _normal(3, 3)))

    def test_scalars(self) -> None:
        """Fibonacci's numbers, as integers."""
        n = T.iscalar("n")
        (a, b), _ = theano.scan(lambda a, b: [b, a + b], outputs_info=[T.constant(0), T.constant(1)], n_steps=n)
        check(theano.function([n], [a, b[-1]]), (9,), (1,))
        check(theano.function([n], a[-1]), (9,))

    def test_dtypes(self) -> None:
        """Half and single precision, integers and truth values."""
        f, i = T.fvector("f"), T.vector("i", dtype="int8")
        h = T.vector("h", dtype="float16")
        (a, b, c, d), _ = theano.scan(
            lambda f, i, a, b, c, d: [a * 2 + f, b + i, c + T.cast(f, "float16"), T.and_(d, f > a)],
            sequences=[f, i],
            outputs_info=[T.zeros((2,), "float32"), T.zeros((), "int8"), h, T.ones((2,), "bool")],
        )
        values = _normal(6, dtype="float32"), np.arange(6, dtype="int8") * 20, _normal(3, dtype="float16")
        check(theano.function([f, i, h], [a, b, c, d, a[-1], d[-1]]), values)

    def test_no_steps(self) -> None:
        """First states, and results without rows."""
        x, n = T.dmatrix("x"), T.lscalar("n")
        (a, b), _ = theano.scan(lambda a, x: [a + 1, a[0] * 2], outputs_info=[x, None], n_steps=n, non_sequences=x)
        check(theano.function([x, n], [a, b]), (_normal(2, 3), 0), (_normal(2, 3), 2))
        with self.assertRaisesRegex(ValueError, "number of steps"):
            Exported(theano.function([x, n], a))(_normal(2, 3), -1)

    def test_wrong(self) -> None:
        """A state that changes its shape, and sequences that are too short."""
        x, n = T.dvector("x"), T.lscalar("n")
        a, _ = theano.scan(lambda a, n: a[:n], outputs_info=[x], n_steps=2, non_sequences=n)
        exported = Exported(theano.function([x, n], a))
        np.testing.assert_array_equal(exported([1.0, 2.0], 2)[0], [[1, 2], [1, 2]])
        with self.assertRaisesRegex(ValueError, "state 0"):
            exported([1.0, 2.0], 1)
        s, _ = theano.scan(lambda v: v * 2, sequences=x, n_steps=n)
        exported = Exported(theano.function([x, n], s))
        with self.assertRaisesRegex(ValueError, "too few elements"):
            exported([1.0, 2.0], 3)

    def test_updates(self) -> None:
        """Shared variables that steps change."""
        total = theano.shared(np.zeros(3), "total")
        x = T.dmatrix("x")
        rows, updates = theano.scan(lambda v: (v * total, {total: total + v}), sequences=x)
        check(theano.function([x], rows, updates=updates), (_normal(4, 3),), (_normal(4, 3),))


class TestGradients(unittest.TestCase):
    """Networks with memory, and their gradients."""

    def gru(self, dtype: str) -> tuple[Any, ...]:
        """Return a GRU over a batch, with gradients of a cost."""
        x, h0 = T.TensorType(dtype, (False,) * 3)("x"), T.matrix("h0", dtype)
        w = [
            theano.shared(_normal(m, 4, dtype=dtype) * np.asarray(0.4, dtype), f"w{k}")
            for k, m in enumerate((3, 4) * 3)
        ]

        def step(x: Any, h: Any, *w: Any) -> Any:
            z = T.nnet.sigmoid(T.dot(x, w[0]) + T.dot(h, w[1]))
            r = T.nnet.sigmoid(T.dot(x, w[2]) + T.dot(h, w[3]))
            return (1 - z) * h + z * T.tanh(T.dot(x, w[4]) + T.dot(r * h, w[5]))

        h, _ = theano.scan(step, sequences=x, outputs_info=h0, non_sequences=w)
        cost = (h[-1] ** 2).sum() + h.mean()
        grads = T.grad(cost, [x, h0, *w])
        return x, h0, h, cost, grads, w

    @slow
    def test_gru(self) -> None:
        """All gradients, and steps of descent."""
        for dtype in ("float64", "float32"):
            x, h0, h, cost, grads, w = self.gru(dtype)
            rate = np.asarray(0.05, dtype)
            updates = [(p, p - rate * g) for p, g in zip(w, grads[2:], strict=True)]
            f = theano.function([x, h0], [cost, h, *grads], updates=updates)
            values = _normal(5, 2, 3, dtype=dtype), _normal(2, 4, dtype=dtype)
            check(f, values, values)

    @slow
    def test_nested(self) -> None:
        """Loops in loops, with gradients."""
        x = T.dmatrix("x")

        def rows(row: Any, state: Any) -> Any:
            inner, _ = theano.scan(lambda v, s: T.tanh(s * v + state), sequences=row, outputs_info=T.zeros_like(state))
            return inner[-1] + inner.sum(axis=0)

        out, _ = theano.scan(rows, sequences=x, outputs_info=T.ones_like(x[0]))
        check(theano.function([x], [out, T.grad(out.sum(), x)]), (_normal(3, 4) * 0.3,))

    def test_truncated(self) -> None:
        """Gradients through the last steps only."""
        x = T.dvector("x")
        s, _ = theano.scan(lambda v, s: T.tanh(s + v), sequences=x, outputs_info=T.zeros(()), truncate_gradient=2)
        check(theano.function([x], T.grad(s[-1], x)), (_normal(6),))

    @slow
    def test_checkpoints(self) -> None:
        """A gradient that computes states again."""
        a, k = T.dvector("a"), T.iscalar("k")
        last, _ = theano.scan_checkpoints(
            lambda p, a: T.sin(p * a), outputs_info=[T.ones_like(a)], non_sequences=[a], n_steps=k, save_every_N=3
        )
        check(theano.function([a, k], [last[-1], T.grad(last[-1].sum(), a)]), (_normal(4), 9))

    def test_documented_form(self) -> None:
        """A loop that no rewrite has touched."""
        mode = theano.Mode(linker="cvm", optimizer=None)
        x, y0 = T.dvector("x"), T.dvector("y0")
        (y, z), _ = theano.scan(
            lambda now, y2, y1: [now + y1 * 0.5 - y2, now * y1],
            sequences=x,
            outputs_info=[{"initial": y0, "taps": [-2, -1]}, None],
        )
        check(theano.function([x, y0], [y, z], mode=mode), (_normal(6), _normal(2)))
        check(theano.function([x, y0], [y[-1], z], mode="FAST_COMPILE"), (_normal(6), _normal(2)))
