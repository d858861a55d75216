"""No memory is lost by calls, failures, or functions that are dropped."""

from __future__ import annotations

import gc
import itertools
import unittest
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from function.function_support import add, fail_if_negative, scalar, shared, vector

from theano_graph import config
from theano_linker_c import In, Mode, eval_cache, function, scalar as sc
from theano_testing.tiers import slow

from .stress_support import LONG, NATIVE, Native, nadd, nexp, nmul, nsum, resident_bytes

CALLS = 1_000_000 if LONG else 30_000
FUNCTIONS = 500 if LONG else 30
#: Memory that allocators may keep for themselves.
SLACK = 4 << 20


def collect() -> None:
    # Objects that weak references and their callbacks held until now go the second time.
    gc.collect()
    gc.collect()


class MemoryTestCase(unittest.TestCase):
    def assert_steady(self, work: Callable[[], Any], rounds: int, slack: int = SLACK) -> None:
        """Do something a tenth of the rounds to warm up, then all; the memory in use must stay."""
        for _ in range(rounds // 10 + 1):
            work()
        collect()
        before, objects = resident_bytes(), len(gc.get_objects())
        for _ in range(rounds):
            work()
        collect()
        self.assertLess(resident_bytes() - before, slack)
        self.assertLess(len(gc.get_objects()) - objects, 200)


@slow
class TestCalls(MemoryTestCase):
    def setUp(self) -> None:
        # Code for busy functions is loaded, and kept, at a moment that depends on the time that calls take.
        self.enterContext(config.change_flags(vm__function_code="none"))

    def test_numbers(self) -> None:
        x, y = scalar("x"), scalar("y")
        f = function([x, y], nadd(x, nmul(x, y)), mode=NATIVE)
        for arguments in ((1.0, 2.0), (1, 2), (np.float64(1), np.array(2.0))):
            with self.subTest(arguments=arguments):
                self.assert_steady(partial(f, *arguments), CALLS)

    def test_vectors_and_updates(self) -> None:
        x, state = vector("x"), shared(np.zeros(50), name="state")
        f = function([x], [nsum(nexp(x)), state], updates={state: nadd(state, x)}, mode=NATIVE)
        values = np.ones(50)
        self.assert_steady(lambda: f(values), CALLS)

    def test_irregular_calls_and_defaults(self) -> None:
        x, y, s = scalar("x"), scalar("y"), scalar("s")
        f = function([x, In(y, value=2.0), In(s, value=0.0, update=nadd(s, x))], {"a": nadd(x, y)}, mode=NATIVE)
        self.assert_steady(lambda: f(x=1.0), CALLS // 10)
        self.assert_steady(lambda: f(1.0, output_subset=["a"]), CALLS // 10)

    def test_mutable_inputs(self) -> None:
        x = vector("x")
        f = function([In(x, mutable=True)], nadd(x, x), mode=NATIVE)
        values = np.zeros(20)
        self.assert_steady(lambda: f(values), CALLS)
        self.assert_steady(lambda: f([1.0, 2.0]), CALLS // 10)

    def test_failures(self) -> None:
        x, state = vector("x"), shared(np.zeros(3), name="state")
        f = function([x], nadd(x, fail_if_negative(x)), updates={state: nadd(state, x)}, mode=NATIVE)

        def fail(*arguments: Any) -> None:
            try:
                f(*arguments)
            except (TypeError, ZeroDivisionError):
                return
            raise AssertionError("the call succeeded")

        for arguments in ((np.full(3, -1.0),), ("text",), (), (1, 2, 3)):
            with self.subTest(arguments=arguments):
                self.assert_steady(partial(fail, *arguments), CALLS // 30)

    def test_mismatches(self) -> None:
        x, y = vector("x"), vector("y")
        f = function([x, y], nadd(nexp(x), y), mode=NATIVE)
        a, b = np.ones(3), np.ones(4)

        def fail() -> None:
            try:
                f(a, b)
            except ValueError:
                return
            raise AssertionError("the call succeeded")

        self.assert_steady(fail, CALLS // 30)

    def test_the_python_machine(self) -> None:
        x = vector("x")
        f = function([x], nsum(nexp(x)), mode=Mode("py", None))
        values = np.ones(10)
        self.assert_steady(lambda: f(values), CALLS // 10)


@slow
class TestFunctions(MemoryTestCase):
    def test_compiled_and_dropped(self) -> None:
        def make() -> None:
            x, state = vector("x"), shared(np.zeros(1000), name="state")
            f = function([x], [nadd(nexp(x), nmul(x, x)), nsum(state)], updates={state: add(state, x)}, mode=NATIVE)
            f(np.ones(1000))

        self.assert_steady(make, FUNCTIONS, slack=(8 if LONG else 4) << 20)

    def test_different_ones(self) -> None:
        """Each has machine code of its own, which goes with it."""
        numbers = itertools.count()

        def make() -> None:
            number = float(next(numbers)) + 0.5
            x = sc.ScalarType("float64")()
            y = sc.ScalarType("float64").make_constant(number)
            scaled = Native(sc.Composite([x], [sc.add(sc.mul(x, y), x)]), lambda v: v * number + v)
            v = vector("v")
            self.assertEqual(function([v], scaled(v), mode=NATIVE)(np.ones(2))[1], number + 1)

        # The process keeps the code of the last 256.
        for _ in range(260 if LONG else 0):
            make()
        self.assert_steady(make, FUNCTIONS if LONG else 10)

    def test_nothing_is_left_of_a_function(self) -> None:
        x, state = vector("x"), shared(np.zeros(1000), name="state")
        f = function([x], nadd(x, state), updates={state: nadd(state, x)}, mode=NATIVE)
        f(np.ones(1000))
        watched = [weakref.ref(thing) for thing in (f, f.maker, f.maker.fgraph)]
        del f
        gc.collect()
        self.assertEqual([ref() for ref in watched], [None] * len(watched))

    def test_evaluated_and_dropped(self) -> None:
        def evaluate() -> None:
            x = vector("x")
            add(x, x).eval({x: np.ones(100)})

        self.assert_steady(evaluate, FUNCTIONS)
        eval_cache.clear()

    def test_copies(self) -> None:
        x, state = vector("x"), shared(np.zeros(100), name="state")
        f = function([x], nadd(x, state), updates={state: nadd(state, x)}, mode=NATIVE)
        self.assert_steady(lambda: f.copy(delete_updates=True)(np.ones(100)), FUNCTIONS)
