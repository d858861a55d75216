"""Writes into the storage of shared variables that wait for the end of a call, and storage that they have in common."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

import theano_tensor as T
from theano_linker_c import Mode, function, scalar, shared
from theano_tensor.elemwise import Elemwise

from .memory_ops import Spoil

spoil = Spoil()

#: New values of W of which an operand, h or i, is overwritten when the call is not at its end yet; NumPy's result.
VECTORS: dict[str, Callable[[Any, Any], Any]] = {
    "part": lambda w, h: T.inc_subtensor(w[:3], h),
    "set part": lambda w, h: T.set_subtensor(w[3:], h),
    "chosen": lambda w, h: T.inc_subtensor(w[[0, 2, 4]], h),
    "view of it": lambda w, h: T.inc_subtensor(w[:3], h[::-1]),
    "reshaped": lambda w, h: T.inc_subtensor(w[:3], h.reshape((1, 3))[0]),
    "twice": lambda w, h: T.inc_subtensor(T.inc_subtensor(w[:3], h)[1:4], h),
    "product": lambda w, h: T.inc_subtensor(w[:3], 1.0) + T.dot(T.ones((6, 3)), h),
}


class TestOperandsThatAreOverwritten(unittest.TestCase):
    def check(self, w: Any, h: Any, argument: Any, build: Callable[[Any, Any], Any]) -> None:
        before = w.get_value()
        expected: Any = function([h], build(T.as_tensor_variable(before), h + 1), mode="FAST_COMPILE")(argument)
        operand = h + 1
        f: Any = function([h], spoil(operand), updates=[(w, build(w, operand))], accept_inplace=True)
        np.testing.assert_array_equal(f(argument), np.full_like(argument, -99))
        np.testing.assert_allclose(w.get_value(), expected)

    def test_vectors(self) -> None:
        for name, build in VECTORS.items():
            with self.subTest(name=name):
                self.check(shared(np.arange(6.0)), T.dvector("h"), np.arange(3.0), build)

    def test_indices(self) -> None:
        for count in (3, 400):
            w, i = shared(np.zeros(500)), T.lvector("i")
            self.check(w, i, np.arange(count), lambda w, i: T.inc_subtensor(w[i], 1.0))
            self.check(w, i, np.arange(count), lambda w, i: T.set_subtensor(w[i], 2.0))

    def test_products(self) -> None:
        m, v = np.arange(9.0).reshape(3, 3), np.arange(3.0)
        p, q = T.dmatrix("p"), T.dvector("q")
        self.check(shared(m), p, m, lambda w, p: w + 0.1 * T.dot(p, m))
        self.check(shared(m), p, m, lambda w, p: w - T.dot(m, p.T))
        self.check(shared(m), p, m, lambda w, p: 0.5 * w - T.dot(p, p))
        self.check(shared(v), p, m, lambda w, p: w + T.dot(p, v))
        self.check(shared(v), q, v, lambda w, q: w + T.dot(m, q))
        self.check(shared(m), q, v, lambda w, q: w + T.outer(q, v))
        self.check(shared(m), q, v, lambda w, q: w - 2.0 * T.outer(v, q))

    def test_the_storage_itself(self) -> None:
        """An op of the user overwrites the storage of a variable that is written into as well."""
        w = shared(np.zeros(4))
        f: Any = function([], [], updates=[(w, T.inc_subtensor(spoil(w)[:2], 1.0))], accept_inplace=True)
        f()
        np.testing.assert_array_equal(w.get_value(), [-98, -98, -99, -99])

    def test_an_argument(self) -> None:
        w, h = shared(np.zeros(4)), T.dvector("h")
        f: Any = function([h], spoil(h), updates=[(w, T.inc_subtensor(w[:3], h))], accept_inplace=True)
        f(np.ones(3))
        np.testing.assert_array_equal(w.get_value(), [1, 1, 1, 0])


class TestEqualResults(unittest.TestCase):
    """Results of one fused op that are equal are arrays of their own, and are worked out before one is overwritten."""

    def test_one_is_overwritten(self) -> None:
        operand = np.array([[1.0, -0.5]])
        for linker in ("py", "vm", "cvm"):
            for build, numpy_build in ((T.floor, np.floor), (T.exp, np.exp), (T.neg, np.negative)):
                x = T.dmatrix("x")
                f: Any = function([x], [build(x), spoil(build(x))], mode=Mode(linker, "fast_run"), accept_inplace=True)
                with self.subTest(linker=linker):
                    saved, spoiled = f(operand)
                    np.testing.assert_allclose(saved, numpy_build(operand))
                    np.testing.assert_array_equal(spoiled, [[-99.0, -99.0]])

    def test_an_operand_that_is_a_result(self) -> None:
        a = scalar.ScalarType("float64")("a")
        op = Elemwise(scalar.Composite([a], [a + 1.0, a]), inplace_pattern={0: 0})
        for linker in ("py", "vm", "cvm"):
            x = T.dmatrix("x")
            f: Any = function([x], op(T.tanh(x)), mode=Mode(linker, None), accept_inplace=True)
            with self.subTest(linker=linker):
                more, same = f([[0.5]])
                np.testing.assert_allclose([more, same], [np.tanh([[0.5]]) + 1, np.tanh([[0.5]])])


class TestCommonStorage(unittest.TestCase):
    """Variables over one array part when one of them gets a new value."""

    def setUp(self) -> None:
        self.array = np.zeros(6)
        self.first, self.second = shared(self.array, borrow=True), shared(self.array, borrow=True)

    def check(self, first: Any, second: Any) -> None:
        np.testing.assert_array_equal(self.first.get_value(), first)
        np.testing.assert_array_equal(self.second.get_value(), second)
        self.assertFalse(np.may_share_memory(self.first.get_value(borrow=True), self.second.get_value(borrow=True)))

    def test_both_are_written(self) -> None:
        f: Any = function(
            [],
            [],
            updates=[
                (self.first, T.inc_subtensor(self.first[:3], 1.0)),
                (self.second, T.inc_subtensor(self.second[3:], 2.0)),
            ],
        )
        f()
        self.check([1, 1, 1, 0, 0, 0], [0, 0, 0, 2, 2, 2])
        f()
        self.check([2, 2, 2, 0, 0, 0], [0, 0, 0, 4, 4, 4])

    def test_chains_of_writes(self) -> None:
        def twice(w: Any, i: int) -> Any:
            return T.inc_subtensor(T.set_subtensor(w[i], 5.0)[i + 1 :], 1.0)

        f: Any = function([], [], updates=[(self.first, twice(self.first, 0)), (self.second, twice(self.second, 3))])
        f()
        self.check([5, 1, 1, 1, 1, 1], [0, 0, 0, 5, 1, 1])

    def test_each_reads_the_other(self) -> None:
        f: Any = function(
            [],
            [],
            updates=[
                (self.first, T.inc_subtensor(self.first[:3], self.second[:3] + 1)),
                (self.second, T.set_subtensor(self.second[3:], self.first[:3] + 7)),
            ],
        )
        f()
        self.check([1, 1, 1, 0, 0, 0], [0, 0, 0, 7, 7, 7])

    def test_one_is_written(self) -> None:
        f: Any = function([], self.second * 1, updates=[(self.first, T.inc_subtensor(self.first[:3], 1.0))])
        np.testing.assert_array_equal(f(), np.zeros(6))
        self.check([1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0])

    def test_products(self) -> None:
        array, m = np.zeros((2, 2)), np.eye(2)
        v, w = shared(array, borrow=True), shared(array, borrow=True)
        x = T.dmatrix("x")
        f: Any = function([x], [], updates=[(v, v + T.dot(x, m)), (w, w - T.dot(x, 2 * m))])
        f(m)
        np.testing.assert_array_equal(v.get_value(), m)
        np.testing.assert_array_equal(w.get_value(), -2 * m)

    def test_overlapping_views(self) -> None:
        array = np.arange(6.0)
        v, w = shared(array[:4], borrow=True), shared(array[2:], borrow=True)
        f: Any = function([], [], updates=[(v, T.inc_subtensor(v[2:], 1.0)), (w, T.inc_subtensor(w[:2], w[2:]))])
        f()
        np.testing.assert_array_equal(v.get_value(), [0, 1, 3, 4])
        np.testing.assert_array_equal(w.get_value(), [6, 8, 4, 5])

    def test_exchange(self) -> None:
        v, w = shared(np.zeros(3)), shared(np.ones(3))
        f: Any = function([], [], updates=[(v, T.set_subtensor(v[:2], w[:2])), (w, T.set_subtensor(w[:2], v[:2]))])
        f()
        np.testing.assert_array_equal(v.get_value(), [1, 1, 0])
        np.testing.assert_array_equal(w.get_value(), [0, 0, 1])
