"""Functions that start before their kernels are compiled: two machines, and the exchange between calls."""

from __future__ import annotations

import pickle
import threading
import unittest
import warnings
from itertools import count
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
from cop.cop_support import COnly, div, double
from small_arrays import Python, add, log, mul, shared_small_array, sub

from theano_graph import config
from theano_linker_c import FAST_RUN, Function, Mode, function
from theano_linker_c.compiler import CompilerWarning
from theano_linker_c.debugmode import DebugMode
from theano_linker_c.kernels import _build
from theano_linker_c.linkers import VM_Linker

from .tiers_support import BROKEN, REFUSING, TieredTestCase, is_native, job_of, native_forms

A, B = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])


class TestReady(TieredTestCase):
    def test_calls_run_while_the_compiler_does(self) -> None:
        f = self.build()
        expected = (A + B) * np.log(A)
        self.assertFalse(f.ready())
        self.assertFalse(f.ready(wait=0.01))
        self.assertIn(False, native_forms(f))
        np.testing.assert_allclose(f(A, B), expected, rtol=1e-14)
        self.open()
        self.assertTrue(f.ready(wait=True))
        self.assertTrue(f.ready())
        self.assertTrue(is_native(f))
        self.assertEqual(native_forms(f), {True})
        np.testing.assert_allclose(f(A, B), expected, rtol=1e-14)

    def test_a_call_makes_the_exchange(self) -> None:
        f = self.build()
        held, fn = f.machine, f.fn
        f(A, B)
        self.open()
        self.assertTrue(job_of(f).wait(None))
        self.assertIs(f.machine, held)
        f(A, B)
        self.assertTrue(is_native(f))
        np.testing.assert_array_equal(fn(A, B), f(A, B))
        np.testing.assert_array_equal(held(A, B), f(A, B))

    def test_the_background_leaves_the_interpreter_to_others_while_it_writes(self) -> None:
        self.open()
        threads: list[threading.Thread] = []
        clock = SimpleNamespace(
            sleep=lambda _: threads.append(threading.current_thread()), thread_time=count().__next__
        )
        with mock.patch.object(_build, "time", clock):
            self.assertTrue(self.build().ready(wait=True))
            written = len(threads)
            self.assertGreater(written, 0)
            self.assertNotIn(threading.main_thread(), threads)
            # Nobody else would run while the function is waited for.
            self.build(mul(self.x, sub(self.x, self.y)), mode=FAST_RUN)
            self.assertEqual(len(threads), written)

    def test_functions_that_wait_are_ready(self) -> None:
        self.open()
        slow = Mode(VM_Linker(callback=lambda **_: None, c_thunks=True), "fast_run").including("tiered")
        modes = ("FAST_RUN", "FAST_COMPILE", Mode("c", "fast_run").including("tiered"), DebugMode(), slow)
        for mode in modes:
            with self.subTest(mode=mode), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                f = self.build(mode=mode)
                self.assertTrue(f.ready() and f.ready(wait=True) and f.ready(wait=0.5))
        with config.change_flags(cxx=""), warnings.catch_warnings():
            warnings.simplefilter("ignore", CompilerWarning)
            self.assertTrue(self.build().ready())

    def test_flag_and_tag(self) -> None:
        self.assertFalse(self.build().ready())
        with config.change_flags(tiered=True):
            self.assertFalse(self.build(mode=FAST_RUN).ready())
            self.assertFalse(self.build(mode=None).ready())
            self.open()
            self.assertTrue(self.build(mode=FAST_RUN.excluding("tiered")).ready())

    def test_how_long_to_wait(self) -> None:
        f = self.build()
        for shortly in (-1, float("nan"), 0, None, False):
            self.assertFalse(f.ready(wait=shortly))
        for g in (f, function([], [])):
            wrong: Any = "long"
            with self.assertRaisesRegex(TypeError, "ready: wait is True, or a number of seconds; got 'long'"):
                g.ready(wait=wrong)
        self.open()
        self.assertTrue(f.ready(wait=float("inf")))
        for long in (1e20, np.float64(300), np.bool_(True)):
            reference: Any = long
            self.assertTrue(self.build().ready(wait=reference))

    def test_what_is_in_the_cache_is_native_at_once(self) -> None:
        self.open()
        first = self.build()
        self.assertTrue(first.ready(wait=True))
        self.assertTrue(self.build().ready())
        # Of another function, the built kernels run natively, and the rest in Python.
        self.gate.unlink()
        f = self.build([mul(add(self.x, self.y), log(self.x)), sub(self.x, self.y)])
        self.assertFalse(f.ready())
        self.assertEqual(native_forms(f), {True, False})

    def test_what_was_freed_is_not_compiled(self) -> None:
        first, second = self.build(), self.build(sub(self.x, self.y))
        del second
        self.open()
        self.assertTrue(first.ready(wait=True))


class TestExchange(TieredTestCase):
    def test_updates_go_on(self) -> None:
        state = shared_small_array(np.zeros(3), "state")
        f = self.build(state, [self.x], updates=[(state, add(state, self.x))])
        for _ in range(3):
            f(A)
        self.open()
        self.assertTrue(f.ready(wait=True))
        np.testing.assert_array_equal(f(A), 3 * A)
        np.testing.assert_array_equal(state.get_value(), 4 * A)

    def test_threads_call_meanwhile(self) -> None:
        state = shared_small_array(np.zeros(1), "state")
        f = self.build([], [self.x], updates=[(state, add(state, self.x))])
        errors: list[BaseException] = []
        stop = threading.Event()
        counts = [0] * 4

        def call(k: int) -> None:
            try:
                while not stop.is_set():
                    f(np.ones(1))
                    counts[k] += 1
            except BaseException as error:  # noqa: BLE001
                errors.append(error)

        threads = [threading.Thread(target=call, args=(k,)) for k in range(len(counts))]
        for thread in threads:
            thread.start()
        self.open()
        self.assertTrue(f.ready(wait=True))
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        self.assertEqual(state.get_value().tolist(), [float(sum(counts))])

    def test_a_call_that_runs_ends_on_its_machine(self) -> None:
        def other_thread() -> None:
            self.open()
            states.append(f.ready(wait=True))

        def exchange(value: Any) -> Any:
            if not states:
                thread = threading.Thread(target=other_thread)
                thread.start()
                thread.join()
                states.append(f(value + 1))
            return value * 2

        states: list[Any] = []
        f = self.build(add(Python(exchange)(self.x), self.x), [self.x])
        np.testing.assert_array_equal(f(A), 3 * A)
        self.assertIs(states[0], True)
        np.testing.assert_array_equal(states[1], 3 * (A + 1))
        self.assertEqual(type(f.machine).__name__, "Machine")

    def test_map_and_subsets_and_copies(self) -> None:
        f = self.build([add(self.x, self.y), mul(self.x, self.y)])
        results = f.map([(A, B)] * 200, threads=2)
        outcomes = [next(results)]
        np.testing.assert_array_equal(f(A, B, output_subset=[1])[0], A * B)
        twin, again = f.copy(), pickle.loads(pickle.dumps(f))
        self.open()
        for each in (f, twin, again):
            self.assertTrue(each.ready(wait=True))
            np.testing.assert_array_equal(each(A, B)[0], A + B)
        outcomes += results
        self.assertEqual(len(outcomes), 200)
        for total, product in outcomes:
            np.testing.assert_array_equal(total, A + B)
            np.testing.assert_array_equal(product, A * B)
        np.testing.assert_array_equal(f(A, B, output_subset=[1])[0], A * B)

    def test_values_that_stay_are_shown_in_the_same_cells(self) -> None:
        total = add(self.x, self.y)
        f = self.build(mul(total, total), mode=Mode("cvm_nogc", "None").including("tiered"))
        (node,) = [node for node in f.maker.fgraph.toposort() if node.op == add]
        cell = f.fn.storage_map[node.outputs[0]]
        f(A, B)
        self.assertIs(f.fn.storage_map[node.outputs[0]], cell)
        np.testing.assert_array_equal(cell[0], A + B)
        self.open()
        self.assertTrue(f.ready(wait=True))
        f(B, B)
        self.assertIs(f.fn.storage_map[node.outputs[0]], cell)
        np.testing.assert_array_equal(cell[0], B + B)
        f.free()
        self.assertIsNone(cell[0])

    def test_errors_tell_where_they_are(self) -> None:
        f = self.build()
        for _ in range(2):
            with self.assertRaises(ValueError):
                f(A, B[:2])
            self.assertGreaterEqual(f.fn.position_of_error, 0)
            self.open()
            self.assertTrue(f.ready(wait=True))

    def test_profile_counts_both(self) -> None:
        f = self.build(profile=True)
        f(A, B)
        self.open()
        self.assertTrue(f.ready(wait=True))
        f(A, B)
        self.assertEqual(f.profile.fct_callcount, 2)

    def test_flags_of_the_building_count(self) -> None:
        with config.change_flags(allow_gc=False):
            f = self.build()
        self.open()
        self.assertTrue(f.ready(wait=True))
        f(A, B)
        nodes = [node for node in f.maker.fgraph.toposort() if node.op == add]
        for node in nodes:
            self.assertIsNotNone(f.fn.storage_map[node.outputs[0]][0])


class TestFailures(TieredTestCase):
    def check_goes_on(self, f: Function, pattern: str) -> None:
        with self.assertWarnsRegex(CompilerWarning, pattern) as caught:
            self.assertFalse(f.ready(wait=True))
        self.assertEqual(caught.filename, __file__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertFalse(f.ready() or f.ready(wait=True))
            np.testing.assert_array_equal(f(A, B), A + B)

    def test_a_compiler_that_does_not_work(self) -> None:
        self.compiler(BROKEN, "broken")
        self.check_goes_on(self.build(add(self.x, self.y), name="sums"), "function `sums` goes on(.|\n)*does not work")
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # it has been said, and is not tried again
            self.assertTrue(self.build(mul(self.x, self.y)).ready())

    def test_a_compiler_that_refuses_kernels(self) -> None:
        self.compiler(REFUSING, "refusing")
        self.check_goes_on(self.build(add(self.x, self.y)), "goes on in Python(.|\n)*no kernels today(.|\n)*Hint")

    def test_a_call_warns_too(self) -> None:
        self.compiler(REFUSING, "refusing")
        f = self.build(add(self.x, self.y))
        f(A, B)
        job_of(f).wait(None)
        with self.assertWarnsRegex(CompilerWarning, "no kernels today") as caught:
            np.testing.assert_array_equal(f(A, B), A + B)
        self.assertEqual(caught.filename, __file__)


class TestCodeOfOps(TieredTestCase):
    def test_perform_runs_first(self) -> None:
        a, b = double("a"), double("b")
        f = self.build(div(a, b), [a, b])
        self.assertFalse(f.ready())
        self.assertEqual(native_forms(f), {False})
        self.assertEqual(f(3.0, 2.0), 1.5)
        self.open()
        self.assertTrue(f.ready(wait=True))
        self.assertEqual(native_forms(f), {True})
        self.assertEqual(f(3.0, 2.0), 1.5)
        self.assertTrue(self.build(div(a, b), [a, b]).ready())

    def test_an_op_without_perform_waits(self) -> None:
        self.open()
        a = double("a")
        f = self.build(COnly("%(z)s = %(x)s + 1;")(a), [a])
        self.assertTrue(f.ready())
        self.assertEqual(f(3.0), 4.0)


if __name__ == "__main__":
    unittest.main()
