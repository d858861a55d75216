"""Arrays that the caller lets a function overwrite: nobody else's reading is disturbed, and nothing else is changed."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

import theano_tensor as T
from theano_linker_c import In, Mode, Out, function, shared

from .memory_ops import Choose, Take, Wrap

#: Expressions that read a vector and a view of it at the same time, with NumPy's results.
VECTORS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "reversed": (lambda x: x[::-1] + x, lambda a: a[::-1] + a),
    "neighbours": (lambda x: T.inc_subtensor(x[1:], x[:-1]), lambda a: np.r_[a[0], a[1:] + a[:-1]]),
    "shifted": (lambda x: T.set_subtensor(x[1:], x[:-1]), lambda a: np.r_[a[0], a[:-1]]),
    "chosen": (lambda x: T.inc_subtensor(x[[0, 2]], x[1:3]), lambda a: np.r_[a[0] + a[1], a[1], a[2] + a[2], a[3:]]),
    "reshaped": (
        lambda x: T.inc_subtensor(x[:3], x.reshape((2, 3))[1]),
        lambda a: np.r_[a[:3] + a.reshape(2, 3)[1], a[3:]],
    ),
    "later": (lambda x: T.exp(x) * x[::-1], lambda a: np.exp(a) * a[::-1]),
}

#: The same for square matrices.
MATRICES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "symmetric": (lambda x: (x + x.T) / 2, lambda a: (a + a.T) / 2),
    "product": (lambda x: x + T.dot(x.T, x), lambda a: a + a.T @ a),
    "row": (lambda x: T.set_subtensor(x[0], x[:, 1]), lambda a: np.vstack([a[:, 1], a[1:]])),
    "diagonal": (lambda x: x * T.diag(x).dimshuffle("x", 0), lambda a: a * np.diag(a)),
    "two views": (lambda x: (x.T * 2 + 1) * x, lambda a: (a.T * 2 + 1) * a),
}


class TestViewsOfArguments(unittest.TestCase):
    """A view keeps its base from being overwritten, also where the base is the caller's."""

    def each(self) -> Any:
        vector, matrix = np.arange(6.0) / 7, np.arange(9.0).reshape(3, 3) / 5
        for cases, kind, value in ((VECTORS, T.dvector, vector), (MATRICES, T.dmatrix, matrix)):
            for name, (build, expected) in cases.items():
                x = kind("x")
                yield name, x, build(x), value.copy(), expected(value)

    def test_results(self) -> None:
        for name, x, expression, value, expected in self.each():
            for borrow in (False, True):
                with self.subTest(name=name, borrow=borrow):
                    f: Any = function([In(x, mutable=True)], Out(expression, borrow=borrow))
                    np.testing.assert_allclose(f(value.copy()), expected, rtol=1e-12)

    def test_new_values_of_shared_variables(self) -> None:
        for name, x, expression, value, expected in self.each():
            with self.subTest(name=name):
                state = shared(np.zeros_like(value))
                f: Any = function([In(x, mutable=True)], [], updates=[(state, expression)])
                operand = value.copy()
                f(operand)
                operand[...] = 77
                np.testing.assert_allclose(state.get_value(), expected, rtol=1e-12)

    def test_views_in_other_objects(self) -> None:
        """A view that lies in a Python object, and in no register, keeps its base, too."""
        x = T.dvector("x")
        value = np.arange(4.0)
        for honest in (True, False):
            f: Any = function([In(x, mutable=True)], Out(Take()(Wrap(honest)(x), T.exp(x)), borrow=True))
            np.testing.assert_allclose(f(value.copy()), value[::-1] + np.exp(value))

    def test_one_of_two(self) -> None:
        """A choice between an argument and something else is a view of one of them."""
        x, c = T.dvector("x"), T.lscalar("c")
        chosen = Choose()(c, x, x * 2)
        f: Any = function([In(x, mutable=True), c], Out(T.exp(x) + chosen, borrow=True))
        value = np.arange(4.0)
        for flag in (0, 1):
            np.testing.assert_allclose(f(value.copy(), flag), np.exp(value) + (value if flag else value * 2))


class TestAliases(unittest.TestCase):
    """Arrays that are passed twice, or overlap."""

    def setUp(self) -> None:
        x, y = T.dvectors("x", "y")
        self.f: Any = function([In(x, mutable=True), y], [Out(T.exp(x), borrow=True), y * 2])
        self.both: Any = function([In(x, mutable=True), In(y, mutable=True)], [T.exp(x) * 3, T.tanh(y) * 2])

    def test_the_same_array_twice(self) -> None:
        a = np.arange(5.0)
        result = self.f(a, a)
        np.testing.assert_allclose(result[0], np.exp(np.arange(5.0)))
        np.testing.assert_allclose(result[1], np.arange(5.0) * 2)
        a = np.arange(5.0)
        result = self.both(a, a)
        np.testing.assert_allclose(result[0], np.exp(np.arange(5.0)) * 3)
        np.testing.assert_allclose(result[1], np.tanh(np.arange(5.0)) * 2)

    def test_overlapping_views(self) -> None:
        for first, second in ((slice(1, None), slice(None, -1)), (slice(None, None, -1), slice(None))):
            a = np.arange(5.0)
            x, y = a[first].copy(), a[second].copy()
            result = self.f(a[first], a[second])
            np.testing.assert_allclose(result[0], np.exp(x))
            np.testing.assert_allclose(result[1], y * 2)

    def test_an_array_of_a_shared_variable(self) -> None:
        x = T.dvector("x")
        a = np.arange(5.0)
        state = shared(a, borrow=True)
        f: Any = function([In(x, mutable=True)], Out(T.exp(x) + state, borrow=True))
        np.testing.assert_allclose(f(a), np.exp(np.arange(5.0)) + np.arange(5.0))
        np.testing.assert_array_equal(state.get_value(), np.arange(5.0))

    def test_what_is_not_offered_stays(self) -> None:
        x, y = T.dvectors("x", "y")
        f: Any = function([In(x, mutable=True), y], Out(T.exp(y) + x, borrow=True))
        a, b = np.arange(4.0), np.arange(4.0) + 1
        f(a, b)
        np.testing.assert_array_equal(b, np.arange(4.0) + 1)


class TestResults(unittest.TestCase):
    """Functions that give memory of the caller back."""

    def test_a_result_may_be_the_argument(self) -> None:
        x = T.dvector("x")
        for borrow in (False, True):
            f: Any = function([In(x, mutable=True)], Out(T.exp(x), borrow=borrow))
            a = np.zeros(4)
            result = f(a)
            self.assertIs(result, a)
            np.testing.assert_array_equal(a, np.ones(4))

    def test_views_of_a_borrowed_result_keep_it(self) -> None:
        x = T.dvector("x")
        f: Any = function([In(x, mutable=True)], Out(T.exp(x)[::-1], borrow=True))
        result = f(np.arange(4.0))
        f(np.zeros(4))
        np.testing.assert_allclose(result, np.exp(np.arange(4.0))[::-1])

    def test_new_values_are_not_the_memory_of_the_caller(self) -> None:
        x = T.dmatrix("x")
        y: Any = T.exp(x)
        for expression in (y, y.T, y[::-1], y.reshape((2, 2))):
            state = shared(np.zeros((2, 2)))
            f: Any = function([In(x, mutable=True)], [], updates=[(state, expression)])
            a = np.zeros((2, 2))
            f(a)
            a[...] = 77
            np.testing.assert_array_equal(state.get_value(), np.ones((2, 2)))

    def test_arrays_that_cannot_be_overwritten(self) -> None:
        x = T.dvector("x")
        f: Any = function([In(x, mutable=True)], Out(T.exp(x) + x[::-1], borrow=True))
        fixed = np.arange(4.0)
        fixed.flags.writeable = False
        for operands in (fixed, np.arange(8.0)[::2], np.arange(4.0)[::-1], np.zeros(0), np.broadcast_to(2.0, 4)):
            before = operands.copy()
            np.testing.assert_allclose(f(operands), np.exp(before) + before[::-1])
        swapped = np.arange(4.0).astype(">f8")
        np.testing.assert_allclose(f(swapped), np.exp(np.arange(4.0)) + np.arange(4.0)[::-1])
        np.testing.assert_array_equal(fixed, np.arange(4.0))

    def test_both_machines(self) -> None:
        x = T.dvector("x")
        for linker in ("cvm", "vm"):
            f: Any = function([In(x, mutable=True)], (x[::-1] + x) / 2, mode=Mode(linker, "fast_run"))
            np.testing.assert_array_equal(f(np.arange(4.0)), np.full(4, 1.5))
