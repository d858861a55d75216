"""Threads, interrupts and forks while functions run."""

from __future__ import annotations

import os
import signal
import threading
import time
import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
from cache.cache_support import start
from function.function_support import Pointwise, add, scalar, shared, vector

from theano_graph import config
from theano_linker_c import Function, Mode, _runtime, function
from theano_testing.tiers import slow

from .stress_support import LONG, NATIVE, nadd, nexp, nmul, nsum

ROUNDS = 2000 if LONG else 60


def in_threads(count: int, work: Callable[[int], None]) -> None:
    """Run `work(number)` in threads at once; raises the error of one of them."""
    errors: list[BaseException] = []
    gate = threading.Barrier(count)

    def run(number: int) -> None:
        gate.wait()
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001  (handed to the main thread)
            errors.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@slow
class TestThreads(unittest.TestCase):
    def setUp(self) -> None:
        x = vector("x")
        self.x = x
        self.outputs = [nmul(nadd(x, x), nexp(x)), nsum(nadd(x, x))]

    def check_values(self, f: Function) -> None:
        # Long enough that kernels let the GIL go, and are shared between threads.
        sizes = [10, 30_000, 200_000]

        def work(number: int) -> None:
            values = np.linspace(-1, 1, sizes[number % 3]) + number
            expected = [2 * values * np.exp(values), (2 * values).sum()]
            for _ in range(ROUNDS):
                result = f(values)
                np.testing.assert_allclose(result[0], expected[0], rtol=1e-13)
                np.testing.assert_allclose(result[1], expected[1], rtol=1e-10, atol=1e-8)

        in_threads(6, work)

    def test_one_function_in_several_threads(self) -> None:
        self.check_values(function([self.x], self.outputs, mode=NATIVE))

    def test_the_same_with_buffers_kept_for_ever(self) -> None:
        self.check_values(function([self.x], self.outputs, mode=Mode("cvm_nogc", None)))

    def test_the_same_on_the_python_machine(self) -> None:
        x = self.x
        self.check_values(function([x], [nmul(nadd(x, x), nexp(x)), nsum(nadd(x, x))], mode=Mode("py", None)))

    def test_no_update_is_lost(self) -> None:
        def pause(value: Any) -> Any:
            time.sleep(1e-4)
            return value

        for linker in ("cvm", "py"):
            total = shared(np.zeros(3), name="total")
            new = add(Pointwise("pause", pause)(total), self.x)
            f = function([self.x], [], updates={total: new}, mode=Mode(linker, None))

            def work(_: int, f: Function = f) -> None:
                for _ in range(ROUNDS):
                    f(np.ones(3))

            in_threads(4, work)
            with self.subTest(linker=linker):
                np.testing.assert_array_equal(total.get_value(), np.full(3, 4 * ROUNDS))

    def test_a_function_with_updates_may_be_called_while_it_runs(self) -> None:
        calls: list[Any] = []
        count = shared(0.0, name="count")
        depth = [0]

        def nested(value: Any) -> Any:
            depth[0] += 1
            if depth[0] < 3:
                calls.append(f(1.0))
            return value

        x = scalar("x")
        f = function([x], Pointwise("nested", nested)(x), updates={count: add(count, x)}, mode=NATIVE)
        f(1.0)
        self.assertEqual(len(calls), 2)

    def test_compiling_in_several_threads(self) -> None:
        def work(number: int) -> None:
            for step in range(3):
                x = vector("x")
                y = nadd(x, x)
                for _ in range(step + number % 2):
                    y = nmul(y, x)
                f = function([x], y, mode=NATIVE)
                np.testing.assert_array_equal(f(np.ones(4)), np.full(4, 2.0))

        in_threads(4, work)


@slow
class TestControl(unittest.TestCase):
    def setUp(self) -> None:
        before = _runtime.get_num_threads()
        _runtime.set_num_threads(4)
        self.addCleanup(_runtime.set_num_threads, before)

    def workers_after(self, size: int, **flags: Any) -> int:
        """Return how many threads a fresh process has after one call on vectors of `size`."""
        script = (
            "import os, sys\n"
            "sys.path[:0] = sys.argv[2].split(os.pathsep)\n"
            "import numpy as np\n"
            "from function.function_support import vector\n"
            "from stress.stress_support import NATIVE, nadd\n"
            "from theano_linker_c import function\n"
            "x = vector('x')\n"
            "f = function([x], nadd(x, x), mode=NATIVE)\n"
            "before = len(os.listdir('/proc/self/task'))\n"
            "f(np.ones(int(sys.argv[1])))\n"
            "print(len(os.listdir('/proc/self/task')) - before)\n"
        )
        environment = {name: str(flags.pop(name)) for name in ("OMP_NUM_THREADS",) if name in flags}
        text = ",".join(f"{name}={value}" for name, value in flags.items())
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        before = {name: os.environ.get(name) for name in environment}
        os.environ.update(environment)
        try:
            worker = start(script, str(size), folder, flags=text)
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
        out, err = worker.communicate(timeout=600)
        self.assertEqual(worker.returncode, 0, err.decode())
        return int(out)

    def test_number_of_threads(self) -> None:
        self.assertEqual(self.workers_after(3_000_000, OMP_NUM_THREADS=3), 2)
        self.assertEqual(self.workers_after(3_000_000, OMP_NUM_THREADS=1), 0)

    def test_threads_can_be_turned_off(self) -> None:
        self.assertEqual(self.workers_after(3_000_000, OMP_NUM_THREADS=3, openmp=False), 0)

    def test_size_from_which_threads_are_used(self) -> None:
        self.assertEqual(self.workers_after(1000, OMP_NUM_THREADS=3), 0)
        self.assertGreater(self.workers_after(50_000, OMP_NUM_THREADS=3, openmp_elemwise_minsize=1000), 0)
        self.assertEqual(self.workers_after(3_000_000, OMP_NUM_THREADS=3, openmp_elemwise_minsize=100_000_000), 0)

    def test_flags_are_those_of_the_moment_of_compilation(self) -> None:
        x = vector("x")
        values = np.linspace(0, 1, 400_000)
        for flags in ({"openmp": False}, {"openmp": True}, {"openmp_elemwise_minsize": 0}):
            with config.change_flags(**flags):
                f = function([x], nadd(x, x), mode=NATIVE)
            np.testing.assert_array_equal(f(values), 2 * values)


@slow
class TestGil(unittest.TestCase):
    def test_another_thread_goes_on_during_a_long_kernel(self) -> None:
        x = vector("x")
        y = x
        for _ in range(8):
            y = nexp(nmul(y, x))
        f = function([x], y, mode=NATIVE)
        values = np.zeros(2_000_000)
        f(values)
        running, steps = threading.Event(), [0, 0]

        def count() -> None:
            while not running.is_set():
                steps[0] += 1
                time.sleep(0)

        other = threading.Thread(target=count)
        other.start()
        before = steps[0]
        for _ in range(5):
            f(values)
        steps[1] = steps[0] - before
        running.set()
        other.join()
        # Sixteen kernels a call: a thread that only ran between instructions would hardly come to more.
        self.assertGreater(steps[1], 5 * 16 * 3)


@slow
class TestInterrupts(unittest.TestCase):
    """A Ctrl-C is a signal whose handler raises KeyboardInterrupt."""

    def interrupted_after(self, call: Callable[[], Any]) -> None:
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.15)
        try:
            with self.assertRaises(KeyboardInterrupt):
                call()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def test_long_loops_of_instructions(self) -> None:
        x = vector("x")
        y = x
        for _ in range(200):
            y = nexp(nmul(y, x))
        f = function([x], y, mode=NATIVE)
        values = np.zeros(1_000_000)
        self.interrupted_after(lambda: [f(values) for _ in range(100)])
        np.testing.assert_array_equal(f(np.zeros(3)), np.ones(3))

    def test_one_long_kernel(self) -> None:
        # It would go on for minutes: a hundred thousand million elements, in the memory of one.
        x = vector("x")
        state = shared(1.0, name="state")
        f = function([x], nsum(x), updates={state: add(state, 1.0)}, mode=NATIVE)
        endless = np.lib.stride_tricks.as_strided(np.zeros(1), (10**11,), (0,))
        self.interrupted_after(lambda: f(endless))
        self.assertEqual((f(np.ones(4)), state.get_value()), (4.0, 2.0))

    def test_state_is_not_changed_by_an_interrupted_call(self) -> None:
        x = vector("x")
        state = shared(np.ones(3), name="state")

        def interrupt(value: Any) -> Any:
            raise KeyboardInterrupt

        f = function([x], Pointwise("interrupt", interrupt)(x), updates={state: add(state, x)}, mode=NATIVE)
        with self.assertRaises(KeyboardInterrupt):
            f(np.ones(3))
        np.testing.assert_array_equal(state.get_value(), np.ones(3))


@slow
class TestFork(unittest.TestCase):
    def setUp(self) -> None:
        x = vector("x")
        self.f = function([x], nadd(nexp(x), x), mode=NATIVE)
        self.values = np.linspace(0, 1, 400_000)
        self.wanted = self.f(self.values)
        before = _runtime.get_num_threads()
        _runtime.set_num_threads(3)
        self.addCleanup(_runtime.set_num_threads, before)

    def in_child(self, work: Callable[[], bool]) -> int:
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            os._exit(0 if work() else 1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def test_children_have_threads_of_their_own(self) -> None:
        self.f(self.values)
        for _ in range(3):
            self.assertEqual(self.in_child(lambda: bool(np.array_equal(self.f(self.values), self.wanted))), 0)
        np.testing.assert_array_equal(self.f(self.values), self.wanted)

    def test_forks_while_other_threads_compute(self) -> None:
        stop = threading.Event()

        def compute() -> None:
            while not stop.is_set():
                self.f(self.values)

        other = threading.Thread(target=compute)
        other.start()
        try:
            codes = [
                self.in_child(lambda: bool(np.array_equal(self.f(self.values), self.wanted)))
                for _ in range(50 if LONG else 5)
            ]
        finally:
            stop.set()
            other.join()
        self.assertEqual(set(codes), {0})

    def test_a_lock_that_another_thread_has_is_free_in_the_child(self) -> None:
        inside, go_on = threading.Event(), threading.Event()
        main = threading.main_thread()

        def wait(value: Any) -> Any:
            if threading.current_thread() is not main:
                inside.set()
                go_on.wait(600)
            return value

        for linker in ("cvm", "py"):
            inside.clear()
            go_on.clear()
            x, state = vector("x"), shared(np.zeros(2), name="state")
            new = add(state, Pointwise("wait", wait)(x))
            f = function([x], [], updates={state: new}, mode=Mode(linker, None))
            other = threading.Thread(target=f, args=(np.ones(2),))
            other.start()
            inside.wait(600)

            def child(f: Function = f, state: Any = state) -> bool:
                f(np.full(2, 5.0))
                return bool(np.array_equal(state.get_value(), [5, 5]))

            try:
                with self.subTest(linker=linker):
                    self.assertEqual(self.in_child(child), 0)
            finally:
                go_on.set()
                other.join()
