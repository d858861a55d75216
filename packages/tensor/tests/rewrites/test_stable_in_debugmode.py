"""DebugMode accepts the changes of rewrites for accuracy, and still finds their faults."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano_tensor as T
from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import DebugMode, function, scalar
from theano_linker_c.debugmode import BadOptimization, InvalidValueError
from theano_optimize import Exactness, SequenceRewriter, WalkRewriter, node_rewriter
from theano_tensor.control import ifelse
from theano_tensor.elemwise import Elemwise
from theano_tensor.nnet import sigmoid, softmax
from theano_tensor.rewrites.exponentials import exponentials_shifted

LARGE, SMALL = np.array([1000.0, 1001.0]), np.array([1.0, 2.0])


def mode(*rules: Any, **choices: Any) -> DebugMode:
    """Return DebugMode with some rules alone."""
    return DebugMode(SequenceRewriter([WalkRewriter(rule) for rule in rules]), stability_patience=1, **choices)


def rule_of(op: Any, exactness: Exactness, replacement: Any) -> Any:
    """Return a rule that replaces the result of `op`."""

    @node_rewriter([op], name="wrong", exactness=exactness)
    def wrong(fgraph: FunctionGraph, node: Apply) -> list[Variable]:
        return [replacement(*node.inputs)]

    return wrong


class TestStableForms(unittest.TestCase):
    def setUp(self) -> None:
        self.x, self.m = T.dvector("x"), T.dmatrix("m")
        self.mode = DebugMode(stability_patience=1)

    def check(self, x: Any, result: Any, value: Any, expected: Any) -> None:
        np.testing.assert_allclose(function([x], result, mode=self.mode)(value), expected, rtol=1e-10)

    def test_sums_of_exponentials(self) -> None:
        x = self.x
        for value in (SMALL, LARGE, -LARGE):
            shifted = np.exp(value - value.max())
            total = T.log(T.sum(T.exp(x)))
            with self.subTest(value=value):
                self.check(x, total, value, np.log(shifted.sum()) + value.max())
                self.check(x, T.grad(total, x), value, shifted / shifted.sum())
                self.check(x, T.exp(x) / T.exp(x).sum(), value, shifted / shifted.sum())

    def test_rows(self) -> None:
        value = np.array([LARGE, SMALL])
        expected = np.exp(value - value.max(1)[:, None])
        expected /= expected.sum(1)[:, None]
        self.check(self.m, T.exp(self.m) / T.exp(self.m).sum(1, keepdims=True), value, expected)
        self.check(self.m, T.log(softmax(self.m)), np.array([[0.0, 1000.0]]), [[-1000.0, 0.0]])

    def test_numbers_and_digits_that_were_not_there(self) -> None:
        x = self.x
        self.check(x, T.log(1 + T.exp(x)), LARGE, LARGE)
        self.check(x, T.log(sigmoid(x)), -LARGE, -LARGE)
        # At 36 the form before rewriting has two digits left, at 40 none.
        self.check(x, T.log(1 - sigmoid(x)), np.array([1.0, 36.0, 40.0]), -np.logaddexp(0, [1.0, 36.0, 40.0]))
        self.check(x, T.log(1 + x), np.array([1e-12, 1.0]), np.log1p([1e-12, 1.0]))

    def test_what_overflows_in_the_program_is_told(self) -> None:
        f = function([self.x], [T.exp(self.x), T.log(1 + T.exp(self.x))], mode=self.mode)
        with self.assertRaises(InvalidValueError):
            f(LARGE)


class TestWrongForms(unittest.TestCase):
    """Both kinds of rules are found out, alone and beside one that is right."""

    def setUp(self) -> None:
        self.x = T.dvector("x")

    def test_a_rule_for_accuracy_that_is_wrong(self) -> None:
        log = Elemwise(scalar.log)
        wrong = rule_of(log, Exactness.STABILIZING, lambda v: v - 1)
        f = function([self.x], T.log(self.x), mode=mode(wrong))
        np.testing.assert_allclose(f(np.ones(2)), [0.0, 0.0])
        for value in (SMALL, np.array([1.0, 1.01])):
            with self.subTest(value=value), self.assertRaisesRegex(BadOptimization, "rewrite: wrong"):
                f(value)

    def test_numbers_in_the_place_of_infinities_by_another_rule(self) -> None:
        wrong = rule_of(Elemwise(scalar.log), Exactness.EXACT, lambda v: v - 1)
        f = function([self.x], T.log(self.x), mode=mode(wrong, check_isfinite=False))
        with self.assertRaisesRegex(BadOptimization, "rewrite: wrong"):
            f(np.zeros(2))

    def test_beside_a_rule_that_is_right(self) -> None:
        e = T.exp(self.x)
        for exactness in (Exactness.EXACT, Exactness.STABILIZING):
            wrong = rule_of(T.neg, exactness, lambda v: v * 1.5)
            f = function([self.x], [e / e.sum(), -self.x], mode=mode(exponentials_shifted, wrong))
            with self.subTest(exactness=exactness), self.assertRaisesRegex(BadOptimization, "rewrite: wrong"):
                f(SMALL)
            inside = function([self.x], -(e / e.sum()), mode=mode(exponentials_shifted, wrong))
            with self.subTest(exactness=exactness), self.assertRaises(BadOptimization):
                inside(SMALL)


class TestWhatFails(unittest.TestCase):
    def test_outside_of_the_program(self) -> None:
        x = T.dvector("x")
        first = rule_of(T.neg, Exactness.EXACT, lambda v: v[:1] - v[:1])
        gone = rule_of(Elemwise(scalar.sub), Exactness.EXACT, lambda a, b: a[:0])
        f = function([x], -x, mode=mode(first, gone))
        self.assertEqual(f(np.zeros(0)).shape, (0,))

    def test_in_a_branch_that_is_not_taken(self) -> None:
        c, x = T.iscalar("c"), T.dvector("x")
        f = function([c, x], ifelse(c, x[0] * 2, x.sum()), mode=DebugMode(stability_patience=1))
        self.assertEqual([f(0, np.zeros(0)), f(1, SMALL), f(0, SMALL)], [0.0, 2.0, 3.0])
        with self.assertRaises(IndexError):
            f(1, np.zeros(0))
