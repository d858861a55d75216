"""Exported convolutions and pooling, with all borders, steps and gradients."""

from __future__ import annotations

import itertools
import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.tensor.nnet.abstract_conv import conv3d
from theano.tensor.signal import pool
from theano_testing.tiers import slow

from .harness import Exported, check

RNG = np.random.default_rng(7)


def _with_gradients(y: Any, wrt: list[Any]) -> list[Any]:
    weights = T.cos(T.arange(y.size)).reshape(y.shape)
    return [y, *T.grad((y * weights.astype(y.dtype)).sum(), wrt)]


class TestConvolutions(unittest.TestCase):
    """Convolutions and their gradients by images and filters."""

    @slow
    def test_layouts(self) -> None:
        """Borders, steps, distances, flips and groups."""
        x, w = T.dtensor4("x"), T.dtensor4("w")
        layouts: list[dict[str, Any]] = [
            {"border_mode": "valid", "filter_flip": False},
            {"border_mode": "half", "filter_dilation": (2, 1)},
            {"border_mode": "full", "subsample": (2, 3)},
            {"border_mode": (1, 2), "subsample": (1, 2), "filter_dilation": (1, 3)},
            {"border_mode": ((0, 2), (3, 1)), "filter_flip": False, "subsample": (3, 1)},
        ]
        out = [o for how in layouts for o in _with_gradients(T.nnet.conv2d(x, w, **how), [x, w])]
        values = RNG.normal(size=(2, 3, 9, 10)), RNG.normal(size=(4, 3, 3, 2))
        others = RNG.normal(size=(1, 2, 8, 11)), RNG.normal(size=(3, 2, 2, 3))
        check(theano.function([x, w], out), values, others)

    @slow
    def test_groups(self) -> None:
        """Channels in groups, one of each channel too."""
        x, w, v = T.ftensor4("x"), T.ftensor4("w"), T.ftensor4("v")
        out = _with_gradients(T.nnet.conv2d(x, w, num_groups=2, border_mode="half"), [x, w])
        out += _with_gradients(T.nnet.conv2d(x, v, num_groups=4), [x, v])
        shapes = (2, 4, 6, 7), (6, 2, 3, 3), (4, 1, 2, 2)
        check(theano.function([x, w, v], out), tuple(RNG.normal(size=s).astype("float32") for s in shapes))

    @slow
    def test_volumes(self) -> None:
        """Three axes."""
        kind = T.TensorType("float64", (False,) * 5)
        x, w = kind("x"), kind("w")
        out = _with_gradients(conv3d(x, w, border_mode="half", subsample=(1, 2, 1)), [x, w])
        check(theano.function([x, w], out), (RNG.normal(size=(2, 2, 4, 5, 6)), RNG.normal(size=(3, 2, 3, 2, 3))))

    @slow
    def test_one_axis(self) -> None:
        """Sequences."""
        x, w = T.dtensor3("x"), T.dtensor3("w")
        y = T.nnet.abstract_conv.causal_conv1d(x, w, (4, 3, 2), (None,) * 3, filter_dilation=2)
        check(
            theano.function([x, w], _with_gradients(y, [x, w])),
            (RNG.normal(size=(2, 3, 9)), RNG.normal(size=(4, 3, 2))),
        )

    @slow
    def test_many_rows(self) -> None:
        """Images whose windows are copied part by part."""
        x, w = T.ftensor4("x"), T.ftensor4("w")
        out = _with_gradients(T.nnet.conv2d(x, w), [x, w])
        values = (RNG.normal(size=s).astype("float32") for s in ((1, 3, 60, 50), (2, 3, 5, 5)))
        check(theano.function([x, w], out), tuple(values), tolerance=2e-3)

    def test_misfits(self) -> None:
        """A call whose shapes do not fit says so; known ones are refused."""
        x, w = T.dtensor4("x"), T.dtensor4("w")
        f = theano.function([x, w], T.nnet.conv2d(x, w))
        exported = Exported(f)
        with self.assertRaisesRegex(ValueError, "do not fit each other"):
            exported(np.zeros((1, 3, 4, 4)), np.zeros((1, 2, 2, 2)))
        with self.assertRaisesRegex(ValueError, "do not fit into the images"):
            exported(np.zeros((1, 2, 1, 4)), np.zeros((1, 2, 2, 2)))
        with self.assertRaisesRegex(TypeError, "do not fit into the images"):
            Exported(f, {x: (1, 2, 1, 4), w: (1, 2, 2, 2)})


class TestPooling(unittest.TestCase):
    """Pooling and its gradients."""

    @slow
    def test_modes(self) -> None:
        """All modes, with overlapping windows, padding and borders."""
        x = T.dtensor4("x")
        out = []
        for mode, (window, step, pad, ignore) in itertools.product(
            ("max", "sum", "average_inc_pad", "average_exc_pad"),
            [
                ((2, 2), None, (0, 0), True),
                ((3, 2), (2, 1), (1, 1), True),
                ((3, 2), (2, 3), (0, 0), False),
                ((2, 2), (3, 3), (0, 0), False),
            ],
        ):
            y = pool.pool_2d(x, window, ignore_border=ignore, stride=step, pad=pad, mode=mode)
            out += _with_gradients(y, [x])
        f = theano.function([x], out)
        check(f, (RNG.normal(size=(2, 3, 7, 8)),), (RNG.normal(size=(1, 2, 6, 5)).round(),))

    @slow
    def test_squares(self) -> None:
        """Squares that do not overlap, with elements left over, equal elements, NaN and infinities."""
        x = T.ftensor4("x")
        y = pool.pool_2d(x, (2, 2), ignore_border=True)
        f = theano.function([x], [y, T.grad((y * T.arange(y.size).reshape(y.shape)).sum(), x)])
        for shape in ((2, 3, 8, 24), (1, 2, 7, 37), (1, 1, 2, 3), (2, 1, 1, 9)):
            values = RNG.normal(size=shape).round().astype("float32")
            values.flat[::7] = -np.inf
            values.flat[::11] = np.nan
            check(f, (values,), arguments=("-O3",))

    def test_second_derivative(self) -> None:
        """The elements of another tensor where the maxima are."""
        x, t = T.dtensor4("x"), T.dtensor4("t")
        y = T.Rop(pool.pool_2d(x, (2, 2), ignore_border=True), x, t)
        check(theano.function([x, t], y), (RNG.normal(size=(1, 2, 5, 6)), RNG.normal(size=(1, 2, 5, 6))))

    def test_volumes(self) -> None:
        """Windows of three axes, and NaN."""
        x = T.TensorType("float32", (False,) * 4)("x")
        value = RNG.normal(size=(2, 5, 6, 4)).astype("float32")
        value[0, 1, 2, 3] = np.nan
        out = [pool.pool_3d(x, (2, 3, 2), ignore_border=ignore, mode="max") for ignore in (True, False)]
        check(theano.function([x], out), (value,))

    def test_symbolic_windows(self) -> None:
        """Windows whose lengths are arguments, which must be positive."""
        x, n = T.dtensor3("x"), T.lscalar("n")
        f = theano.function([x, n], pool.pool_2d(x, T.stack([n, n]), ignore_border=True))
        check(f, (RNG.normal(size=(2, 5, 6)), 2))
        with self.assertRaisesRegex(ValueError, "at least 1"):
            Exported(f)(np.zeros((2, 5, 6)), 0)


class TestNetwork(unittest.TestCase):
    """A training step of a small network."""

    @slow
    def test_training(self) -> None:
        """Convolution, pooling, a hidden layer and a softmax."""
        x, y = T.ftensor4("x"), T.ivector("y")
        w = theano.shared(RNG.normal(size=(4, 1, 3, 3)).astype("float32") * 0.3, "w")
        b = theano.shared(np.zeros(4, "float32"), "b")
        v = theano.shared(RNG.normal(size=(36, 5)).astype("float32") * 0.3, "v")
        hidden = T.tanh(pool.pool_2d(T.nnet.conv2d(x, w), (2, 2), ignore_border=True) + b.dimshuffle("x", 0, "x", "x"))
        loss = T.nnet.categorical_crossentropy(T.nnet.softmax(hidden.flatten(2).dot(v)), y).mean()
        updates = [(p, p - np.float32(0.1) * g) for p, g in zip((w, b, v), T.grad(loss, [w, b, v]), strict=True)]
        calls = [
            (RNG.normal(size=(6, 1, 8, 8)).astype("float32"), RNG.integers(0, 5, 6).astype("int32")) for _ in range(3)
        ]
        check(theano.function([x, y], loss, updates=updates), *calls, tolerance=1e-3)
