"""Calls for many arguments from several threads: `Function.map`."""

from __future__ import annotations

import os
import signal
import threading
import time
import unittest
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
from stress.stress_support import NATIVE, nadd, nexp, nmul, nsum

from theano_linker_c import Function, In, Mode, function
from theano_linker_c._function import _mapping

from .function_support import Pointwise, add, fail_if_negative, matrix, mul, scalar, shared, vector


def thread_names() -> set[str]:
    """Name the threads of maps that are there."""
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("theano-map")}


class TestMap(unittest.TestCase):
    def setUp(self) -> None:
        self.x, self.y = scalar("x"), scalar("y")

    def both(self) -> list[Function]:
        """Compile a product natively and in Python."""
        native = function([self.x, self.y], nmul(self.x, nadd(self.y, self.y)), mode=NATIVE)
        return [native, function([self.x, self.y], mul(self.x, add(self.y, self.y)), mode=Mode("py", None))]

    def test_results_come_in_order(self) -> None:
        for f in self.both():
            for threads in (1, 2, 5, None):
                with self.subTest(f=f, threads=threads):
                    results = list(f.map([(float(k), 3.0) for k in range(700)], threads))
                    self.assertEqual([float(v) for v in results], [6.0 * k for k in range(700)])
                    self.assertTrue(all(isinstance(v, np.ndarray) for v in results))

    def test_forms_of_elements(self) -> None:
        for f in self.both():
            elements = [(1.0, 2.0), [2, 3], {"x": 3.0, "y": 4.0}, {"y": np.float64(1), "x": np.array(7.0)}]
            for threads in (1, 3):
                results = [float(v) for v in f.map(elements, threads)]
                self.assertEqual(results, [4.0, 12.0, 24.0, 14.0])
        double = function([self.x], nadd(self.x, self.x), mode=NATIVE)
        self.assertEqual([float(v) for v in double.map(np.arange(3.0), 2)], [0.0, 2.0, 4.0])

    def test_defaults_of_inputs(self) -> None:
        f = function([self.x, In(self.y, value=5.0)], nadd(self.x, self.y), mode=NATIVE)
        self.assertEqual([float(v) for v in f.map([1.0, (2.0,), (3.0, 1.0)], 2)], [6.0, 7.0, 4.0])

    def test_forms_of_results(self) -> None:
        values = [(1.0, 2.0)] * 5
        several = function([self.x, self.y], [nadd(self.x, self.y), nmul(self.x, self.y)], mode=NATIVE)
        self.assertEqual([[float(a) for a in v] for v in several.map(values, 2)], [[3.0, 2.0]] * 5)
        named = function([self.x, self.y], {"sum": nadd(self.x, self.y)}, mode=NATIVE)
        self.assertEqual([{k: float(a) for k, a in v.items()} for v in named.map(values, 2)], [{"sum": 3.0}] * 5)
        again = function([self.x], [self.x, self.x], mode=NATIVE)
        self.assertEqual([[float(a) for a in v] for v in again.map([4.0, 5.0], 2)], [[4.0, 4.0], [5.0, 5.0]])
        nothing = function([self.x], [], mode=NATIVE, on_unused_input="ignore")
        self.assertEqual(list(nothing.map([1.0, 2.0], 2)), [[], []])

    def test_results_are_arrays_of_their_own(self) -> None:
        x = vector("x")
        f = function([x], nadd(nmul(x, x), x), mode=NATIVE)
        values = [np.full(10 + k % 3, float(k)) for k in range(300)]
        saved = list(f.map(values, 3))
        for value, item in zip(values, saved, strict=True):
            np.testing.assert_array_equal(item, value * value + value)
        self.assertEqual(len({element.__array_interface__["data"][0] for element in saved}), 300)
        np.testing.assert_array_equal(values[7], np.full(11, 7.0))

    def test_rows_of_arrays(self) -> None:
        x = vector("x")
        f = function([x], nadd(nmul(x, x), x), mode=NATIVE)
        rows = np.arange(2100.0).reshape(700, 3)
        for values in (rows, rows[::-2], rows.T.copy().T, rows[:, ::-1], rows.astype("float32"), rows.astype(">f8")):
            for threads in (1, 2):
                results = list(f.map(values, threads))
                np.testing.assert_array_equal(results, [[v * v + v for v in row] for row in values.tolist()])
                self.assertEqual({v.dtype for v in results}, {np.dtype("float64")})
        double = function([self.x], nadd(self.x, self.x), mode=NATIVE)
        self.assertEqual([float(v) for v in double.map(np.arange(600)[::2], 2)], [4.0 * k for k in range(300)])
        with self.assertRaisesRegex(TypeError, "dimension"):
            list(f.map(np.ones((2, 3, 4)), 2))

    def test_results_lie_in_memory_as_those_of_calls(self) -> None:
        """Their readers may add up in another order where they do not."""
        x, y = matrix("x"), matrix("y")
        total = nadd(nmul(x, x), y)
        for outputs in ([total], [nadd(total, nmul(y, y))], [total, nadd(total, y)]):
            f = function([x, y], outputs, mode=NATIVE)
            elements = [
                tuple(np.full((n, 3), float(k), order="F" if k % 5 < f_until else "C") for f_until in (k % 7, 3))
                for k, n in enumerate([3] * 60 + [2, 4] * 20)
            ]
            expected = [f(*element) for element in elements]
            self.assertEqual({v.flags.f_contiguous for found in expected for v in found}, {True, False})
            for threads in (1, 2, 3):
                for item, called in zip(f.map(elements, threads), expected, strict=True):
                    np.testing.assert_array_equal(item, called)
                    self.assertEqual([v.strides for v in item], [v.strides for v in called])

    def test_results_that_were_let_go_of_serve_again_unless_somebody_sees_them(self) -> None:
        x = vector("x")
        f = function([x], [nadd(x, x), nmul(x, x)], mode=NATIVE)
        machine: Any = f.machine.view.again()  # type: ignore[attr-defined]
        elements = [np.full(3, float(k)) for k in range(8)]
        references: list[Any] = []
        for round_ in range(40):
            outcome, error = machine.run_batch(elements)
            self.assertIsNone(error)
            for k, (total, square) in enumerate(outcome):
                np.testing.assert_array_equal((total, square), ([2.0 * k] * 3, [1.0 * k * k] * 3))
            self.assertEqual(len({id(result) for result in outcome}), 8)
            self.assertEqual(len({a.__array_interface__["data"][0] for result in outcome for a in result}), 16)
            # An array, a view of one, a list, and lists and arrays that have been changed.
            references.append((outcome[round_ % 8][0], outcome[round_ % 7][1][1:], outcome[round_ % 6]))
            outcome[3].append("more")
            outcome[4][0] = "other"
            outcome[5][1].shape = (3, 1)
            expected = [
                (a.tolist(), b.tolist(), [v.tolist() for v in c if isinstance(v, np.ndarray)]) for a, b, c in references
            ]
            del outcome, total, square
            machine.run_batch([np.full(3, -1.0)] * 8)
            for (a, b, c), (first, second, third) in zip(references, expected, strict=True):
                self.assertEqual((a.tolist(), b.tolist()), (first, second))
                self.assertEqual([v.tolist() for v in c if isinstance(v, np.ndarray)], third)
        machine.clear()
        self.assertEqual([v.tolist() for v in machine.run_batch([np.ones(1)])[0][0]], [[2.0], [1.0]])

    def test_a_long_call_and_short_ones(self) -> None:
        x = vector("x")
        f = function([x], [nsum(nexp(x)), nexp(x)], mode=NATIVE)
        for k, (total, each) in enumerate(f.map([np.zeros(10 ** (k % 6)) for k in range(60)], 4)):
            self.assertEqual((float(total), each.shape), (10.0 ** (k % 6), (10 ** (k % 6),)))

    def test_the_same_function_maps_twice_at_once(self) -> None:
        f = self.both()[0]
        first, second = (f.map([(float(k), 1.0) for k in range(400)], 2) for _ in range(2))
        pairs = [(float(a), float(b)) for a, b in zip(first, second, strict=True)]
        self.assertEqual(pairs, [(2.0 * k, 2.0 * k) for k in range(400)])
        f.free()
        self.assertEqual(float(next(f.map([(1.0, 1.0)], 2))), 2.0)

    def test_shared_values_are_those_of_the_time(self) -> None:
        factor = shared(np.float64(2.0), name="factor")
        f = function([self.x], nmul(self.x, factor), mode=NATIVE)
        self.assertEqual([float(v) for v in f.map([1.0, 2.0], 2)], [2.0, 4.0])
        factor.set_value(np.float64(5.0))
        self.assertEqual([float(v) for v in f.map([1.0, 2.0], 2)], [5.0, 10.0])


class TestLookAhead(unittest.TestCase):
    def setUp(self) -> None:
        x = scalar("x")
        self.f = function([x], nadd(x, x), mode=NATIVE)
        self.taken = 0

    def endless(self) -> Iterator[float]:
        while True:
            self.taken += 1
            yield float(self.taken)

    def test_an_endless_iterable_is_taken_as_far_as_is_allowed(self) -> None:
        for threads, ahead in ((2, 10), (3, 1), (2, None)):
            self.taken = 0
            results = self.f.map(self.endless(), threads, ahead=ahead)
            self.assertEqual(self.taken, 0)
            for k in range(1, 300):
                self.assertEqual(float(next(results)), 2.0 * k)
                self.assertLessEqual(self.taken, k + (ahead or 512 * threads))
            results.close()  # type: ignore[attr-defined]
            self.assertEqual(thread_names(), set())

    def test_one_thread_takes_what_is_asked_for(self) -> None:
        results = self.f.map(self.endless(), 1)
        self.assertEqual([float(next(results)) for _ in range(3)], [2.0, 4.0, 6.0])
        self.assertEqual(self.taken, 3)

    def test_nothing_to_do(self) -> None:
        for threads in (1, 2):
            self.assertEqual(list(self.f.map([], threads)), [])


class Told:
    """A number that tells in which threads it was accepted; it may raise there, or wait until another thread has it."""

    def __init__(self, error: BaseException | None = None, waits: bool = False) -> None:
        self.error = error
        self.names: set[str] = set()
        self.elsewhere = threading.Event()
        if not waits:
            self.elsewhere.set()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        name = threading.current_thread().name
        self.names.add(name)
        if name.startswith("theano-map"):
            self.elsewhere.set()
        elif self.error is not None:
            raise self.error
        self.elsewhere.wait(600)
        return np.asarray(1.0, dtype)


class TestWhoMakesCalls(unittest.TestCase):
    def setUp(self) -> None:
        x = scalar("x")
        self.f = function([x], nadd(x, x), mode=NATIVE)
        self.here = threading.current_thread().name

    def test_who_asks_for_results_makes_short_calls_too(self) -> None:
        for threads in (2, 3):
            message = Told(waits=True)
            self.assertEqual([float(v) for v in self.f.map([message] * 4000, threads)], [2.0] * 4000)
            self.assertLessEqual(message.names, {self.here, *(f"theano-map-{k}" for k in range(threads - 1))})
            self.assertTrue(any(name.startswith("theano-map") for name in message.names))

    def test_a_batch_that_waited_for_a_core_was_not_long(self) -> None:
        workers = _mapping.Workers([lambda batch: ([], None)] * 2, [0.0] * 4000, ahead=1024, helps=True)
        workers._size = workers._most
        batches = [workers._fill(100) for _ in range(2)]
        for batch in batches:
            assert batch is not None
            batch.seconds = 1.0
        self.assertEqual([batch.timed for batch in batches if batch is not None], [True, False])
        waited = batches[1]
        assert waited is not None
        workers._judge(waited)
        self.assertTrue(workers._helps)
        then = workers._fill(100)
        assert then is not None
        self.assertTrue(then.timed)
        then.seconds = 1.0
        workers._judge(then)
        self.assertFalse(workers._helps)
        workers.leave(None)

    def test_long_calls_are_left_to_the_threads(self) -> None:
        messages, first = Told(), Told()
        with mock.patch.object(_mapping, "HELP_SECONDS", 0.0):
            results = self.f.map([first, *[messages] * 2000], 2)
            self.assertEqual(float(next(results)), 2.0)
            self.assertEqual(thread_names(), {"theano-map-0", "theano-map-1"})
            self.assertEqual(len(list(results)), 2000)
        self.assertEqual(first.names, {self.here})
        self.assertNotIn(self.here, messages.names)

    def test_python_code_runs_in_the_threads(self) -> None:
        x = scalar("x")
        names: set[str] = set()

        def where(value: Any) -> Any:
            names.add(threading.current_thread().name)
            return value

        f = function([x], Pointwise("where", where)(x), mode=NATIVE)
        self.assertEqual(len(list(f.map([1.0] * 200, 2))), 200)
        self.assertNotIn(self.here, names)

    def test_an_interrupt_ends_the_calls(self) -> None:
        message = Told(KeyboardInterrupt())
        with self.assertRaises(KeyboardInterrupt):
            list(self.f.map([1.0, *[message] * 4000], 2))
        self.assertEqual(thread_names(), set())
        self.assertEqual([float(v) for v in self.f.map([1.0] * 40, 2)], [2.0] * 40)


class TestErrors(unittest.TestCase):
    def setUp(self) -> None:
        self.x = scalar("x")
        self.native = function([self.x], nadd(self.x, self.x), mode=NATIVE)

    def failure(self, f: Function, elements: Any, threads: int, kind: type[Exception]) -> tuple[int, list[str]]:
        """Return how many results came before the failure, and its note."""
        result = 0
        try:
            for _ in f.map(elements, threads):
                result += 1
        except kind as error:
            self.assertEqual(thread_names(), set())
            return result, error.__notes__
        raise AssertionError("nothing was raised")

    def test_the_element_is_named(self) -> None:
        python = function([self.x], fail_if_negative(self.x), mode=NATIVE)
        for threads in (1, 2, 4):
            for position in (0, 1, 57, 199):
                elements: list[Any] = [float(k) for k in range(200)]
                elements[position] = -1.0
                result, notes = self.failure(python, elements, threads, ZeroDivisionError)
                self.assertEqual(result, position)
                self.assertIn(f"element {position} of", notes[-1])
                elements[position] = "text"
                result, notes = self.failure(self.native, elements, threads, TypeError)
                self.assertEqual(result, position)
                self.assertIn(f"element {position} of", notes[-1])

    def test_lengths_that_do_not_fit(self) -> None:
        x, y = vector("x"), vector("y")
        f = function([x, y], nadd(x, y), mode=NATIVE)
        elements = [(np.ones(3), np.ones(3 if k != 70 else 4)) for k in range(100)]
        for threads in (1, 2):
            result, notes = self.failure(f, elements, threads, ValueError)
            self.assertEqual(result, 70)
            self.assertIn("element 70 of", notes[-1])
        # The function goes on as if nothing had been.
        np.testing.assert_array_equal(list(f.map(elements[:70], 2)), np.full((70, 3), 2.0))

    def test_wrong_numbers_of_arguments(self) -> None:
        cases: list[Any] = [(1.0, 2.0), (), [], {"z": 1.0}]
        for threads in (1, 2):
            for wrong in cases:
                result, notes = self.failure(self.native, [1.0, 2.0, wrong, 3.0], threads, TypeError)
                self.assertEqual(result, 2)
                self.assertIn("element 2 of", notes[-1])

    def test_how_an_element_was_read_is_told(self) -> None:
        x = vector("x")
        norm, none = function([x], nsum(nmul(x, x)), mode=NATIVE), function([], scalar("c").type.make_constant(1.0))
        product = function([self.x, x], nmul(self.x, x), mode=NATIVE)
        cases: list[tuple[Function, Any, str]] = [
            (norm, [1.0, 2.0], "its 2 items (list) are taken for the arguments of the call"),
            (product, np.ones(2), "it (ndarray) is taken for the one argument of the call"),
            (none, 1, "it (int) is taken for the one argument of the call"),
            (product, {"z": 1.0}, "counted from 0"),
        ]
        for threads in (1, 2):
            for f, wrong, messages in cases:
                result, notes = self.failure(f, [wrong], threads, TypeError)
                self.assertEqual(result, 0)
                self.assertTrue(notes[-1].endswith(messages), notes)

    def test_an_error_of_the_iterable_comes_after_the_results(self) -> None:
        def some() -> Iterator[float]:
            yield 1.0
            yield 2.0
            raise LookupError("no more")

        for threads in (1, 2):
            results = self.native.map(some(), threads)
            self.assertEqual((float(next(results)), float(next(results))), (2.0, 4.0))
            with self.assertRaisesRegex(LookupError, "no more"):
                next(results)

    def test_numbers_of_numpy_count_threads(self) -> None:
        results = self.native.map([1.0, 2.0], np.int64(2), ahead=np.int32(1))  # type: ignore[arg-type]
        self.assertEqual([float(r) for r in results], [2.0, 4.0])

    def test_bad_numbers_and_elements(self) -> None:
        for bad in (0, -1, True, 1.5, "2"):
            with self.assertRaisesRegex(ValueError, "threads is a number"):
                self.native.map([1.0], bad)  # type: ignore[arg-type]
            with self.assertRaisesRegex(ValueError, "ahead is a number"):
                self.native.map([1.0], 2, ahead=bad)  # type: ignore[arg-type]
        for nothing in (3, "text", {"x": 1.0}, None, np.array(3.0)):
            with self.assertRaisesRegex(TypeError, "elements is an iterable of arguments"):
                self.native.map(nothing, 2)  # type: ignore[arg-type]
        with self.assertRaisesRegex(ValueError, r"(?s)threads is a number.*f\.map\(zip\(xs, ys\)\)"):
            self.native.map([1.0], [2.0])  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, "in_order is a bool"):
            self.native.map([1.0], 2, in_order=3)  # type: ignore[arg-type]

    def test_a_machine_runs_one_batch_at_a_time(self) -> None:
        x = vector("x")
        f = function([x], nexp(x), mode=NATIVE)
        machine, seen = f.machine.view.again(), list[str]()  # type: ignore[attr-defined]

        def try_it() -> None:
            while "stop" not in seen:
                try:
                    machine(np.ones(2))
                except RuntimeError as error:
                    seen.append(str(error))

        thread = threading.Thread(target=try_it)
        thread.start()
        while not seen:
            result, error = machine.run_batch([(np.zeros(20_000),)] * 50)
            self.assertEqual((len(result), error), (50, None))
        seen.append("stop")
        thread.join()
        self.assertIn("each thread needs one of its own", seen[0])

    def test_run_batch_refuses_what_is_no_list_of_tuples(self) -> None:
        machine: Any = self.native.machine
        with self.assertRaisesRegex(TypeError, "list of elements"):
            machine.run_batch(((1.0,),))
        for linker in ("native", "updates"):
            total = shared(0.0, name="total")
            updates = {total: nadd(total, self.x)} if linker == "updates" else {}
            machine = function([self.x], nadd(self.x, self.x), updates=updates, mode=NATIVE).machine
            result, error = machine.run_batch([(1.0,), (2.0, 3.0), (4.0,)])
            self.assertEqual([float(v) for v in result], [2.0])
            self.assertIn("tuples of 1 values", str(error))


class TestClosing(unittest.TestCase):
    """Iterators that are let go of in unusual places, as the collector does."""

    def setUp(self) -> None:
        self.x = scalar("x")
        self.held: list[Iterator[Any]] = []
        self.errors: list[RuntimeError] = []

    def close(self, value: Any) -> Any:
        while self.held:
            try:
                self.held.pop().close()  # type: ignore[attr-defined]
            except RuntimeError as error:  # the collector would only print it
                self.errors.append(error)
        return value

    def wait_for_threads(self) -> None:
        end = time.monotonic() + 600
        while thread_names() and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(thread_names(), set())

    def test_while_results_are_gone_through(self) -> None:
        f = function([self.x], nadd(self.x, self.x), mode=NATIVE)
        for stop in (1, 2, 500):
            results, seen = f.map([1.0] * 4000, 2), 0
            for _ in results:
                seen += 1
                if seen == stop:
                    results.close()  # type: ignore[attr-defined]
            self.assertEqual((seen, list(results), thread_names()), (stop, [], set()))

    def test_what_is_let_go_of_ends_its_threads(self) -> None:
        f = function([self.x], nadd(self.x, self.x), mode=NATIVE)
        for _ in f.map([1.0] * 4000, 2):
            break
        self.wait_for_threads()

    def test_in_one_of_its_own_threads(self) -> None:
        begun, handed = threading.Event(), threading.Event()

        def last(value: Any) -> Any:
            if value == 1.0:
                begun.set()
                handed.wait(600)
                self.close(value)
            return value

        f = function([self.x], Pointwise("last", last)(self.x), mode=NATIVE)
        results = f.map([0.0, 1.0, *[0.0] * 10], 2)
        self.assertEqual(float(next(results)), 0.0)
        begun.wait(600)
        self.held.append(results)
        handed.set()
        self.wait_for_threads()
        self.assertEqual((self.held, self.errors), ([], []))

    def test_under_a_lock_that_its_threads_wait_for(self) -> None:
        total = shared(0.0, name="total")
        new = add(total, Pointwise("close", self.close)(self.x))
        f = function([self.x], [], updates={total: new}, mode=NATIVE)
        g = function([self.x], [], updates={total: add(total, Pointwise("pause", _pause)(self.x))}, mode=NATIVE)
        results = g.map([1.0] * 1000, 2, in_order=False)
        next(results)
        self.held.append(results)
        thread = threading.Thread(target=f, args=(1.0,), daemon=True)
        thread.start()
        thread.join(600)
        self.assertFalse(thread.is_alive())
        self.wait_for_threads()
        self.assertEqual((self.held, self.errors), ([], []))

    @unittest.skipUnless(hasattr(os, "fork"), "no fork here")
    def test_a_fork_goes_on_without_the_threads_of_an_iterator(self) -> None:
        f = function([self.x], nadd(self.x, self.x), mode=NATIVE)
        results = f.map([float(i) for i in range(5000)], 2)
        self.assertEqual(float(next(results)), 0.0)
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(60)  # an endless wait ends by this signal
            ended = _refused(results) and sum(map(float, f.map([1.0] * 100, 2))) == 200.0
            os._exit(0 if ended else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(sum(map(float, results)), 5000 * 4999)
        self.wait_for_threads()


def _refused(results: Iterator[Any]) -> bool:
    """Tell whether an iterator says that it was begun in another process."""
    try:
        for _ in results:
            pass
    except RuntimeError as error:
        return "begun before this process was forked" in str(error)
    return False


def _pause(value: Any) -> Any:
    time.sleep(0.05)
    return value


class TestUpdates(unittest.TestCase):
    def setUp(self) -> None:
        self.x = scalar("x")
        self.total = shared(0.0, name="total")

    def test_calls_with_updates_come_one_after_another(self) -> None:
        names: set[str] = set()

        def where(value: Any) -> Any:
            names.add(threading.current_thread().name)
            return value

        new = add(self.total, Pointwise("where", where)(self.x))
        f = function([self.x], self.total, updates={self.total: new}, mode=NATIVE)
        self.assertEqual([float(v) for v in f.map([1.0, 2.0, 3.0, 4.0], 3)], [0.0, 1.0, 3.0, 6.0])
        self.assertEqual(names, {threading.current_thread().name})

    def test_in_any_order_none_is_lost(self) -> None:
        def pause(value: Any) -> Any:
            time.sleep(1e-4)
            return value

        other = shared(0.0, name="other")
        new = add(Pointwise("pause", pause)(self.total), self.x)
        f = function([self.x], [], updates={self.total: new, other: nadd(other, self.x)}, mode=NATIVE)
        g = function([self.x], [], updates={other: nadd(other, self.x)}, mode=NATIVE)
        thread = threading.Thread(target=lambda: list(g.map([1.0] * 300, 2, in_order=False)))
        thread.start()
        self.assertEqual(list(f.map([1.0] * 300, 4, in_order=False)), [[]] * 300)
        thread.join()
        self.assertEqual((float(self.total.get_value()), float(other.get_value())), (300.0, 600.0))
