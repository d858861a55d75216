"""Functions of several threads that update the same shared variables."""

from __future__ import annotations

import os
import threading
import time
import unittest
from typing import Any

import numpy as np
from stress.test_stress_threads import in_threads

from theano_graph import config
from theano_linker_c import In, Mode, function

from .function_support import Pointwise, add, scalar, shared

THREADS = 8
ROUNDS = 25


def pause(value: Any) -> Any:
    time.sleep(1e-4)
    return value


def slowly(x: Any) -> Any:
    return Pointwise("pause", pause)(x)


class TestLocks(unittest.TestCase):
    def test_two_functions_lose_no_update(self) -> None:
        for first, second in (("cvm", "cvm"), ("py", "py"), ("cvm", "py")):
            total = shared(np.zeros(3), name="total")
            x = scalar("x")
            one = function([], [], updates={total: add(slowly(total), 1.0)}, mode=Mode(first, None))
            other = function([x], [], updates={total: add(slowly(total), x)}, mode=Mode(second, None))

            def work(number: int, one: Any = one, other: Any = other) -> None:
                for _ in range(ROUNDS):
                    one() if number % 2 else other(2.0)

            with self.subTest(linkers=(first, second)):
                in_threads(THREADS, work)
                np.testing.assert_array_equal(total.get_value(), np.full(3, THREADS // 2 * ROUNDS * 3.0))

    def test_several_variables_in_different_orders(self) -> None:
        for linker in ("cvm", "py"):
            states = [shared(0.0, name=f"s{i}") for i in range(3)]
            orders = [(0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1), (0, 2), (1, 0), (2,), (1,)]
            functions = [
                function(
                    [], [], updates=[(states[i], add(slowly(states[i]), 1.0)) for i in order], mode=Mode(linker, None)
                )
                for order in orders
            ]

            def work(number: int, functions: Any = functions) -> None:
                for k in range(ROUNDS):
                    functions[(number + k) % len(functions)]()

            in_threads(THREADS, work)
            with self.subTest(linker=linker):
                calls = [sum(i in orders[(n + k) % 8] for n in range(THREADS) for k in range(ROUNDS)) for i in range(3)]
                self.assertEqual([float(s.get_value()) for s in states], calls)

    def test_a_function_that_raises_midway_releases_its_locks(self) -> None:
        def refuse(value: Any) -> Any:
            if value < 0:
                raise ValueError("negative")
            return pause(value)

        for linker in ("cvm", "py"):
            a, b = shared(0.0, name="a"), shared(0.0, name="b")
            x = scalar("x")
            updates = {a: add(slowly(a), 1.0), b: add(b, Pointwise("refuse", refuse)(x))}
            f = function([x], [], updates=updates, mode=Mode(linker, None))
            g = function([], [], updates=[(b, add(slowly(b), 1.0)), (a, add(a, 1.0))], mode=Mode(linker, None))

            def work(number: int, f: Any = f, g: Any = g) -> None:
                for k in range(ROUNDS):
                    if number % 2:
                        g()
                    elif k % 2:
                        f(1.0)
                    else:
                        with self.assertRaises(ValueError):
                            f(-1.0)

            in_threads(THREADS, work)
            with self.subTest(linker=linker):
                done = THREADS // 2 * (ROUNDS + ROUNDS // 2)
                self.assertEqual((float(a.get_value()), float(b.get_value())), (done, done))

    def test_arguments_with_values_of_their_own(self) -> None:
        for linker in ("cvm", "py"):
            state = scalar("state")
            f = function([In(state, value=0.0, update=add(slowly(state), 1.0))], [], mode=Mode(linker, None))

            def work(_: int, f: Any = f) -> None:
                for _ in range(ROUNDS):
                    f()

            in_threads(THREADS, work)
            with self.subTest(linker=linker):
                self.assertEqual(float(f[state]), THREADS * ROUNDS)

    def test_a_value_that_is_set_is_not_stored_over_by_a_call_in_progress(self) -> None:
        for borrow in (False, True):
            begun, go_on = threading.Event(), threading.Event()

            def hold(value: Any, begun: threading.Event = begun, go_on: threading.Event = go_on) -> Any:
                begun.set()
                go_on.wait(600)
                return value

            w = shared(np.zeros(2), name="w")
            f = function([], [], updates={w: add(Pointwise("hold", hold)(w), 1.0)}, mode=Mode("cvm", None))
            caller = threading.Thread(target=f)
            caller.start()
            begun.wait(600)
            setter = threading.Thread(target=w.set_value, args=(np.full(2, 5.0),), kwargs={"borrow": borrow})
            setter.start()
            setter.join(0.05)
            with self.subTest(borrow=borrow):
                self.assertTrue(setter.is_alive())
                # Whoever reads waits for nobody.
                np.testing.assert_array_equal(w.get_value(borrow=borrow), np.zeros(2))
                go_on.set()
                setter.join(600)
                caller.join(600)
                np.testing.assert_array_equal(w.get_value(borrow=borrow), np.full(2, 5.0))
                borrowed = w.get_value(borrow=True)
                f()
                np.testing.assert_array_equal(borrowed, np.full(2, 5.0))

    def test_functions_that_only_read_wait_for_nobody(self) -> None:
        begun, go_on = threading.Event(), threading.Event()

        def hold(value: Any) -> Any:
            begun.set()
            go_on.wait(600)
            return value

        w = shared(1.0, name="w")
        f = function([], [], updates={w: add(Pointwise("hold", hold)(w), 1.0)}, mode=Mode("cvm", None))
        read = function([], add(w, 1.0), mode=Mode("cvm", None))
        caller = threading.Thread(target=f)
        caller.start()
        begun.wait(600)
        self.assertEqual(float(read()), 2.0)
        go_on.set()
        caller.join(600)
        self.assertEqual(float(read()), 3.0)

    def test_functions_that_call_each_other_are_not_stuck(self) -> None:
        a, b = shared(0.0, name="a"), shared(0.0, name="b")
        meeting = threading.Barrier(2)
        inner: dict[str, Any] = {}

        def call(which: str) -> Any:
            def run(value: Any) -> Any:
                meeting.wait(600)
                inner[which]()
                return value

            return Pointwise(f"call_{which}", run)

        inner["a"] = function([], [], updates={a: add(a, 10.0)}, mode=Mode("cvm", None))
        inner["b"] = function([], [], updates={b: add(b, 10.0)}, mode=Mode("cvm", None))
        outer = [
            function([], [], updates={a: add(call("b")(a), 1.0)}, mode=Mode("cvm", None)),
            function([], [], updates={b: add(call("a")(b), 1.0)}, mode=Mode("cvm", None)),
        ]
        errors: list[str] = []

        def work(number: int) -> None:
            try:
                outer[number]()
            except RuntimeError as error:
                errors.append(str(error))

        in_threads(2, work)
        (text,) = errors
        self.assertRegex(text, r"functions of two threads wait for each other[\s\S]*Hint: let operations not call")
        # The work of the other one is there, and nobody holds a lock any more.
        self.assertEqual(sorted((float(a.get_value()), float(b.get_value()))), [1.0, 10.0])
        inner["a"]()
        inner["b"]()

    def test_locks_of_a_thread_that_a_fork_left_behind_are_free(self) -> None:
        begun, go_on = threading.Event(), threading.Event()

        def hold(value: Any) -> Any:
            begun.set()
            go_on.wait(600)
            return value

        w = shared(1.0, name="w")
        f = function([], [], updates={w: add(Pointwise("hold", hold)(w), 1.0)}, mode=Mode("cvm", None))
        other = function([], [], updates={w: add(w, 1.0)}, mode=Mode("cvm", None))
        caller = threading.Thread(target=f)
        caller.start()
        begun.wait(600)
        child = os.fork()
        if child == 0:
            other()
            os._exit(int(w.get_value() != 2.0))
        go_on.set()
        caller.join(600)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_the_locks_go_with_the_functions(self) -> None:
        w = shared(1.0, name="w")
        w.set_value(2.0)
        f = function([], [], updates={w: add(w, 1.0)}, mode=Mode("cvm", None))
        f()
        del f
        with config.change_flags(allow_gc=True):
            g = function([], [], updates={w: add(w, 1.0)}, mode=Mode("py", None))
        g()
        self.assertEqual(float(w.get_value()), 4.0)
