"""Ctrl-C at any line while functions are built and mapped: it comes out as it is, and everything works afterwards.

The environment variable ``THEANO_ATTACK=long`` interrupts ten thousand times while functions are built, and at each
line of maps.
"""

from __future__ import annotations

import gc
import os
import random
import sys
import threading
import time
import traceback
import unittest
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.ifelse import ifelse
from theano_testing.interrupts import Interrupter
from theano_testing.tiers import slow

LONG = os.environ.get("THEANO_ATTACK") == "long"
#: Packages whose lines are interrupted.
SOURCES = ("theano_graph", "theano_optimize", "theano_linker_c", "theano_tensor")
#: Seconds that an interrupted call may take on a busy machine, and those after which a lock is taken to be closed.
LONGEST, PATIENCE = 10.0, 30.0
#: How many lines after a call the latest interrupt comes.
REACH = 40


def elementwise() -> Any:
    x, s = T.dvector("x"), theano.shared(np.ones(3), "s")
    f = theano.function([x], [T.exp(x) / T.exp(x).sum(), (x * s).sum()], updates=[(s, s + x)])
    return f(np.zeros(3))[1]


def gradient() -> Any:
    x, w = T.dmatrix("x"), theano.shared(np.ones((3, 2)), "w")
    cost = -T.log(T.nnet.softmax(T.dot(x, w)))[:, 0].mean()
    f = theano.function([x], [cost], updates=[(w, w - 0.1 * T.grad(cost, w))])
    return f(np.ones((4, 3)))[0]


def choice() -> Any:
    x, c = T.dvector("x"), T.iscalar("c")
    return theano.function([x, c], ifelse(c, T.tanh(x).sum(), x[0]), mode="FAST_COMPILE")(np.ones(2), 0)


def loop() -> Any:
    x = T.dvector("x")
    states, _ = theano.scan(lambda a, b: T.tanh(a * b + 1), sequences=x, outputs_info=T.constant(0.5, dtype="float64"))
    return theano.function([x], states[-1])(np.ones(3))


BUILDS: tuple[Callable[[], Any], ...] = (elementwise, gradient, choice, loop)


def in_thread(work: Callable[[], Any]) -> Any:
    """Return the result of `work` in another thread, which does not get past locks that this one has left closed."""
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001  # raised below
            results.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    if thread.is_alive():
        raise AssertionError("it hangs afterwards: a lock is closed")
    if isinstance(results[0], BaseException):
        raise AssertionError(f"it fails afterwards: {results[0]!r}") from results[0]
    return results[0]


@contextmanager
def unraisable() -> Iterator[list[Any]]:
    """Collect errors that nobody can catch: in callbacks of weak references and the like."""
    results: list[Any] = []
    before, sys.unraisablehook = sys.unraisablehook, results.append
    try:
        yield results
    finally:
        sys.unraisablehook = before


class TestInterrupts(unittest.TestCase):
    def check(self, work: Callable[[], Any], expected: Any, places: Iterable[tuple[int, int]]) -> None:
        """Interrupt `work` after each of some numbers of calls and lines."""
        faults: dict[str, str] = {}
        for calls, lines in places:
            interrupter = Interrupter(SOURCES, calls, lines)
            fault = self.interrupt(interrupter, work, expected)
            if fault is not None:
                faults.setdefault("".join(interrupter.place[-2:]), fault)
        self.assertFalse(
            faults, "\n".join(f"{fault}\n interrupted at\n{position}" for position, fault in faults.items())
        )

    def interrupt(self, interrupter: Interrupter, work: Callable[[], Any], expected: Any) -> str | None:
        """Interrupt `work` once; return the faults."""
        fault = None
        start = time.perf_counter()
        with unraisable() as lost:
            try:
                with interrupter:
                    work()
                if interrupter.place and not lost:
                    fault = "the interrupt was lost"
            except KeyboardInterrupt:
                pass
            except BaseException as error:  # noqa: BLE001  # the test looks for any of them
                fault = "".join(traceback.format_exception(error)[-6:])
        if time.perf_counter() - start > LONGEST:
            fault = fault or "it took long"
        if not gc.isenabled():
            gc.enable()
            fault = fault or "the cyclic collector is off"
        try:
            np.testing.assert_allclose(in_thread(work), expected)
        except AssertionError as error:
            fault = (fault or "") + "".join(traceback.format_exception(error))
        left = [t.name for t in threading.enumerate() if t.name.startswith("theano-map")]
        return f"threads are left: {left}" if left and fault is None else fault

    @slow
    def test_building(self) -> None:
        for k, build in enumerate(BUILDS):
            build()
            expected = build()
            with Interrupter(SOURCES) as counter:
                build()
            rng = random.Random(k)
            places = [(rng.randrange(counter.calls), rng.randrange(REACH)) for _ in range(2500 if LONG else 60)]
            with self.subTest(build=build.__name__):
                self.check(build, expected, places)

    @slow
    def test_each_line_of_a_map(self) -> None:
        x = T.dvector("x")
        f: Any = theano.function([x], T.exp(x).sum())
        g: Any = theano.function([x], T.exp(x).sum(), mode="FAST_COMPILE")
        values = [np.full(3, float(k)) for k in range(20)]
        for mapped in (f, g):  # with threads that run without the interpreter, and others

            def work(mapped: Any = mapped) -> list[Any]:
                return list(mapped.map(values, threads=2))

            expected = work()
            with Interrupter(SOURCES) as counter:
                work()
            self.check(work, expected, [(0, line) for line in range(0, counter.lines, 1 if LONG else 3)])
