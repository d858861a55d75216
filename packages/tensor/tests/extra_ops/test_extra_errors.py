"""Further operations with arguments that are wrong, when they are built and when they run; properties."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

import theano_tensor as T
from theano_linker_c import function
from theano_tensor import DTypeError, ShapeError
from theano_testing.tiers import examples

MODES = ("FAST_RUN", "FAST_COMPILE")


class TestRefusedWhenBuilt(unittest.TestCase):
    def test_each_with_its_error(self) -> None:
        v, m, t, s, i = T.dvector("v"), T.dmatrix("m"), T.dtensor3("t"), T.dscalar("s"), T.lvector("i")
        wrong: Any = T  # arguments that annotations forbid
        cases: tuple[tuple[type[Exception], str, Any], ...] = (
            (ShapeError, "axis 2 is out of range", lambda: T.cumsum(m, 2)),
            (TypeError, "no axis", lambda: wrong.cumprod(m, "rows")),
            (ShapeError, "axis 1 is out of range", lambda: T.diff(v, axis=1)),
            (ValueError, "-1 times", lambda: T.diff(v, -1)),
            (ShapeError, "counts a vector", lambda: T.bincount(T.lmatrix("x"))),
            (DTypeError, "counts integers", lambda: T.bincount(v)),
            (ShapeError, "one weight for each", lambda: T.bincount(i, m)),
            (TypeError, "is a scalar", lambda: T.bartlett(i)),
            (TypeError, "is an integer", lambda: T.bartlett(s)),
            (ShapeError, "takes a vector", lambda: T.to_one_hot(T.lmatrix("x"), 3)),
            (DTypeError, "takes integers", lambda: T.to_one_hot(v, 3)),
            (DTypeError, "repetitions are integers", lambda: T.repeat(v, 1.5)),
            (ShapeError, "a number or a vector", lambda: T.repeat(m, T.lmatrix("n"), 0)),
            (ShapeError, "1 dimensions are less", lambda: T.tile(m, 2, ndim=1)),
            (ShapeError, "vector of known length", lambda: T.tile(m, i)),
            (ShapeError, "two dimensions are needed", lambda: T.diagonal(v)),
            (ShapeError, "axis1 and axis2 are the same", lambda: T.diagonal(m, 0, 1, -1)),
            (ShapeError, "takes a vector or a matrix", lambda: T.diag(t)),
            (ShapeError, "takes a matrix", lambda: T.trace(t)),
            (TypeError, "two dimensions at least", lambda: T.fill_diagonal(v, 1)),
            (TypeError, "the value is a scalar", lambda: T.fill_diagonal(m, v)),
            (DTypeError, "float64 does not fit into a tensor of float32", lambda: T.fill_diagonal(T.fmatrix("f"), s)),
            (DTypeError, "int16 does not fit into a tensor of int8", lambda: T.fill_diagonal(T.bmatrix("b"), 1000)),
            (TypeError, "takes a matrix", lambda: T.fill_diagonal_offset(t, 1, 0)),
            (ShapeError, "looks in a vector", lambda: T.searchsorted(m, 1)),
            (ValueError, "no side", lambda: T.searchsorted(v, 1, "middle")),
            (ShapeError, "sorter is a vector", lambda: T.searchsorted(v, 1, sorter=T.lmatrix("o"))),
            (DTypeError, "sorter holds integers", lambda: T.searchsorted(v, 1, sorter=v)),
            (ShapeError, "axis 2 is out of range", lambda: T.unique(m, axis=2)),
            (DTypeError, "are integers", lambda: T.unravel_index(v, (2, 3))),
            (ShapeError, "number of dimensions is not known", lambda: T.unravel_index(i, i)),
            (ShapeError, "ndim is 3", lambda: T.unravel_index(i, (2, 3), ndim=3)),
            (ValueError, "no order", lambda: T.unravel_index(i, (2, 3), "K")),
            (ShapeError, "a shape of 1 lengths", lambda: T.ravel_multi_index((i,), (2, 3))),
            (ValueError, "no mode", lambda: T.ravel_multi_index((i, i), (2, 3), mode="bounce")),
            (ValueError, "1 modes for 2", lambda: T.ravel_multi_index((i, i), (2, 3), mode=("clip",))),
            (ValueError, "unknown mode", lambda: T.pad(m, 1, "magic")),
            (ShapeError, "says nothing about 2", lambda: T.pad(m, ((1, 1),) * 3)),
            (ShapeError, "-1 elements", lambda: T.pad(m, -1)),
        )
        for error, text, call in cases:
            with self.subTest(text), self.assertRaisesRegex(error, text):
                call()


class TestErrorsOfTheCall(unittest.TestCase):
    def refused(self, inputs: list[Any], output: Any, error: type[Exception], text: str, *values: Any) -> None:
        """Check the error of a call in each mode."""
        for mode in MODES:
            compiled: Any = function(inputs, output, mode=mode)
            with self.subTest(mode=mode), self.assertRaisesRegex(error, text):
                compiled(*values)

    def test_values_that_do_not_fit(self) -> None:
        i, v, t = T.lvector("i"), T.dvector("v"), T.dtensor3("t")
        negative = np.array([0, -1])
        self.refused([i], T.bincount(i), ValueError, "-1 is negative", negative)
        self.refused([i], T.bincount(i, assert_nonneg=True), AssertionError, "-1 is negative", negative)
        self.refused([i, v], T.bincount(i, v), ValueError, "3 weights for 2", negative + 1, np.zeros(3))
        self.refused([i], T.to_one_hot(i, 3), IndexError, "index 3 is out of bounds", np.array([3]))
        self.refused([v, i], T.repeat(v, i), ValueError, "-1 repetitions", np.zeros(2), negative)
        self.refused([v, i], T.repeat(v, i), AssertionError, "length 2, expected 3", np.zeros(3), negative + 1)
        self.refused([v, i], T.repeat(v, i), ValueError, "longer than any tensor", np.zeros(4), np.full(4, 2**62))
        for number in (2**63 - 1, 2**62):
            self.refused([i], T.bincount(i), ValueError, "too large", np.array([number, 0]))
            self.refused([i, v], T.bincount(i, v), ValueError, "too large", np.array([number, 0]), np.zeros(2))
        self.refused([t], T.fill_diagonal(t, 1.0), ValueError, "lengths must be equal", np.zeros((2, 2, 3)))
        self.refused([i], T.unravel_index(i, (2, 3))[0], ValueError, r"shape \(2, 3\)", np.array([6]))
        self.refused([i], T.ravel_multi_index((i, i), (2, 3)), ValueError, r"shape \(2, 3\)", np.array([2]))


class TestProperties(unittest.TestCase):
    @settings(deadline=None, max_examples=examples(40))
    @given(st.lists(st.sampled_from((-1.5, 0.0, 2.0, 0.5)), max_size=6), st.integers(0, 3))
    def test_cumulative_products_and_their_gradients(self, numbers: list[float], position: int) -> None:
        x = T.dvector("x")
        value = np.array(numbers)
        compiled: Any = function([x], [T.cumprod(x), T.grad(T.cumprod(x).sum(), x)], mode="FAST_COMPILE")
        result, gradient = compiled(value)
        np.testing.assert_allclose(result, np.cumprod(value))
        if position < len(value):
            # The sum of products is linear in each element, so that any step gives its derivative.
            up = value.copy()
            up[position] += 1
            np.testing.assert_allclose(gradient[position], np.cumprod(up).sum() - np.cumprod(value).sum(), atol=1e-9)

    @settings(deadline=None, max_examples=examples(40))
    @given(st.integers(1, 3), st.data())
    def test_padding(self, ndim: int, data: Any) -> None:
        shape = data.draw(st.lists(st.integers(1, 4), min_size=ndim, max_size=ndim))
        widths = data.draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=ndim, max_size=ndim))
        mode: Any = data.draw(st.sampled_from(("constant", "edge", "wrap", "reflect", "symmetric")))
        value = np.arange(float(np.prod(shape))).reshape(shape)
        x = T.tensor("float64", shape=(None,) * ndim)
        compiled: Any = function([x], T.pad(x, widths, mode), mode="FAST_COMPILE")
        np.testing.assert_array_equal(compiled(value), np.pad(value, widths, mode))

    @settings(deadline=None, max_examples=examples(40))
    @given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.sampled_from("CF"))
    def test_flat_numbers_there_and_back(self, shape: list[int], order: str) -> None:
        flat = np.arange(int(np.prod(shape)))
        i = T.lvector("i")
        places = T.unravel_index(i, tuple(shape), order)
        back: Any = function([i], T.ravel_multi_index(places, tuple(shape), order=order), mode="FAST_COMPILE")
        np.testing.assert_array_equal(back(flat), flat)

    @settings(deadline=None, max_examples=examples(40))
    @given(st.lists(st.integers(0, 3), max_size=3), st.lists(st.integers(0, 3), max_size=3))
    def test_tiles(self, shape: list[int], reps: list[int]) -> None:
        value = np.arange(float(np.prod(shape))).reshape(shape)
        x = T.tensor("float64", shape=(None,) * len(shape))
        compiled: Any = function([x], T.tile(x, tuple(reps)), mode="FAST_COMPILE")
        np.testing.assert_array_equal(compiled(value), np.tile(value, reps))
