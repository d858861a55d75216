"""Neighbourhoods in images against loops over windows."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

import theano_tensor as tt
import theano_tensor.rewrites  # the full pipeline is under test
from theano_linker_c import Mode, function
from theano_tensor.nnet.neighbours import images2neibs, neibs2images
from theano_testing.tensor import OpRecord, OpTestCase, assert_allclose, fetch_seed, op_tests

del OpTestCase  # a base class without a record is no test

RNG = np.random.RandomState(fetch_seed())
IMAGES = RNG.randn(2, 3, 6, 4)
ODD = RNG.randn(1, 2, 5, 7)
Pair = tuple[int, int]


def windows(x: Any, shape: Pair, step: Pair | None = None, mode: str = "valid") -> Any:
    """The manual's loops."""
    (r, c), (dr, dc) = shape, step or shape
    if mode in ("full", "half"):
        by = [(n - 1, n - 1) if mode == "full" else (n // 2, n // 2) for n in shape]
        x = np.pad(x, [(0, 0), (0, 0), *by])
    rows, columns = x.shape[2:]
    results = []
    for image in x.reshape(-1, rows, columns):
        if mode == "wrap_centered":
            for i in range(0, rows, dr):
                for j in range(0, columns, dc):
                    turned = np.roll(image, (r // 2 - i, c // 2 - j), axis=(0, 1))
                    results.append(turned[:r, :c].ravel())
            continue
        for i in range(0, rows - r + 1, dr):
            results += [image[i : i + r, j : j + c].ravel() for j in range(0, columns - c + 1, dc)]
    return np.array(results)


CASES: tuple[tuple[str, Any, Pair, Pair | None, str], ...] = (
    ("tiles", IMAGES, (3, 2), None, "valid"),
    ("overlapping", IMAGES, (2, 2), (2, 1), "valid"),
    ("every_one", IMAGES, (3, 3), (1, 1), "valid"),
    ("with_gaps", IMAGES, (1, 1), (5, 3), "valid"),
    ("full", ODD, (3, 2), (3, 1), "full"),
    ("half", ODD, (3, 3), (1, 3), "half"),
    ("without_borders", ODD, (2, 3), None, "ignore_borders"),
    ("overlapping_without_borders", ODD, (2, 3), (2, 2), "ignore_borders"),
    ("wrapped", ODD, (3, 5), (2, 3), "wrap_centered"),
)


def _record(name: str, x: Any, shape: Pair, step: Pair | None, mode: str) -> OpRecord:
    return OpRecord(
        f"neighbours_{name}",
        lambda v: images2neibs(v, shape, step, mode),
        lambda v: windows(v, shape, step, mode),
        [[x], [x.astype("float32")]],
        [[x]],
    )


for _case in CASES:
    _class = op_tests(_record(*_case))
    globals()[_class.__name__] = _class
del _class


class TestNeighbours(unittest.TestCase):
    def test_symbolic_shape_and_step(self) -> None:
        x, shape, step = tt.dtensor4("x"), tt.lvector("shape"), tt.lvector("step")
        f = function([x, shape, step], images2neibs(x, shape, step))
        assert_allclose(f(IMAGES, [2, 2], [2, 1]), windows(IMAGES, (2, 2), (2, 1)))
        assert_allclose(f(IMAGES, [6, 1], [1, 3]), windows(IMAGES, (6, 1), (1, 3)))

    def test_back_to_images(self) -> None:
        images = tt.dtensor4("images")
        neibs = images2neibs(images, neib_shape=(3, 2))
        value = function([images], neibs)(IMAGES)
        back = function([neibs], neibs2images(neibs, (3, 2), IMAGES.shape))
        assert_allclose(back(value), IMAGES)
        by_shape = function([images], neibs2images(neibs, (3, 2), images.shape))
        assert_allclose(by_shape(IMAGES), IMAGES)
        gradient = function([images], tt.grad((neibs2images(neibs**2, (3, 2), images.shape) * 3).sum(), images))
        assert_allclose(gradient(IMAGES), 6 * IMAGES)

    def test_back_with_borders(self) -> None:
        x = tt.dtensor4("x")
        rows = images2neibs(x, (2, 3), mode="ignore_borders")
        back = function([x], neibs2images(rows, (2, 3), x.shape, mode="ignore_borders"))(ODD)
        expected = np.zeros_like(ODD)
        expected[:, :, :4, :6] = ODD[:, :, :4, :6]
        assert_allclose(back, expected)

    def test_windows_that_do_not_fit(self) -> None:
        x = tt.dtensor4("x")
        for mode in (Mode("cvm", "fast_run"), Mode("cvm", "fast_compile"), Mode("py", None)):
            for shape, step in (((4, 4), None), ((2, 2), (3, 1)), ((7, 1), (1, 1))):
                f = function([x], images2neibs(x, shape, step), mode=mode)
                with self.assertRaisesRegex(AssertionError, "axis 2 exactly; mode='ignore_borders'"):
                    f(IMAGES)
            f = function([x], images2neibs(x, (2, 3), None, "wrap_centered"), mode=mode)
            with self.assertRaisesRegex(AssertionError, "odd length along axis 2"):
                f(IMAGES)

    def test_lengths_below_one(self) -> None:
        images, pair = tt.dtensor4("images"), tt.lvector("pair")
        for result in (images2neibs(images, pair), images2neibs(images, (2, 2), pair, mode="ignore_borders")):
            f = function([images, pair], result)
            for length in (0, -1, -(2**63)):
                with self.assertRaisesRegex(ValueError, "has a length below 1"):
                    f(np.ones((1, 1, 4, 4)), [2, length])

    def test_refused(self) -> None:
        x, m = tt.dtensor4("x"), tt.dmatrix("m")
        cases: tuple[tuple[type[Exception], str, Callable[[], Any]], ...] = (
            (ValueError, "unknown mode 'same'", lambda: images2neibs(x, (2, 2), mode="same")),
            (ValueError, "unknown mode 'half'", lambda: neibs2images(m, (2, 2), (1, 1, 2, 2), "half")),
            (tt.ShapeError, "four dimensions(.|\n)*`m`", lambda: images2neibs(m, (2, 2))),
            (tt.ShapeError, "a matrix with a window(.|\n)*`x`", lambda: neibs2images(x, (2, 2), (1, 1, 2, 2))),
            (tt.ShapeError, "neib_shape is a pair", lambda: images2neibs(x, (2, 2, 2))),
            (tt.ShapeError, "neib_shape is a pair", lambda: images2neibs(x, 2)),
            (tt.ShapeError, "neib_step has a length of 0", lambda: images2neibs(x, (2, 2), (0, 1))),
        )
        for error, pattern, call in cases:
            with self.subTest(pattern=pattern), self.assertRaisesRegex(error, pattern) as caught:
                call()
            self.assertIn("Hint", str(caught.exception))
