"""Ctrl-C at any line while functions are built and mapped: it comes out as it is, and everything works afterwards.

The environment variable ``THEANO_ATTACK=long`` interrupts ten thousand times.
"""

from __future__ import annotations

import ast
import os
import random
import sys
import threading
import time
import traceback
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.ifelse import ifelse
from theano_testing.tiers import slow

LONG = os.environ.get("THEANO_ATTACK") == "long"
#: Sources whose lines are interrupted.
SOURCES = tuple(os.path.join("", part, "") for part in ("theano_graph", "theano_optimize", "theano_linker_c", "theano_tensor"))
#: Seconds after which a call that was interrupted should have ended, and one that works be done.
SOON, PATIENCE = 1.0, 20.0
#: How many lines after a call the latest interrupt comes.
REACH = 40


@cache
def quiet_lines(path: str) -> frozenset[int]:
    """Return the lines of a source at which no signal comes: it comes when calls begin and end, and within them.

    Between a block and its `finally`, or the end of its `with`, there is no such moment.
    """
    found = set()
    for node in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.With):
            found.update(range(node.lineno, node.body[0].lineno))
        elif isinstance(node, ast.Try):
            found.update([node.lineno, *(node.finalbody[0].lineno for _ in node.finalbody[:1])])
    return frozenset(found)


class Interrupter:
    """Raises KeyboardInterrupt in one line of this thread: some lines after a number of calls.

    Parameters
    ----------
    calls : int or None
        After how many calls of functions of the sources; None counts them only.
    lines : int
        How many lines of functions called from then on pass before.
    """

    def __init__(self, calls: int | None = None, lines: int = 0) -> None:
        self._calls, self._lines = calls, lines
        self.calls = 0
        self.place: list[str] = []
        self._of_sources: dict[CodeType, bool] = {}

    def __enter__(self) -> Interrupter:
        sys.settrace(self._call)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)

    def _call(self, frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        known = self._of_sources.get(code)
        if known is None:
            known = self._of_sources[code] = any(source in code.co_filename for source in SOURCES)
        if not known:
            return None
        self.calls += 1
        return self._line if self._calls is not None and self.calls > self._calls else None

    def _line(self, frame: FrameType, event: str, argument: object) -> Any:
        if self.place:
            return None
        if event == "line" and frame.f_lineno not in quiet_lines(frame.f_code.co_filename):
            self._lines -= 1
            if self._lines < 0:
                sys.settrace(None)
                self.place = traceback.format_stack(frame)[-4:]
                raise KeyboardInterrupt
        return self._line


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
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:  # noqa: BLE001  # raised below
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    if thread.is_alive():
        raise AssertionError("it hangs afterwards: a lock is closed")
    if isinstance(found[0], BaseException):
        raise AssertionError(f"it fails afterwards: {found[0]!r}") from found[0]
    return found[0]


@contextmanager
def unraisable() -> Iterator[list[Any]]:
    """Collect what is raised where nobody can catch it: in callbacks of weak references and the like."""
    found: list[Any] = []
    before, sys.unraisablehook = sys.unraisablehook, found.append
    try:
        yield found
    finally:
        sys.unraisablehook = before


class TestInterrupts(unittest.TestCase):
    def attack(self, work: Callable[[], Any], number: int, seed: int) -> None:
        """Interrupt `work` a number of times."""
        wanted = work()
        with Interrupter() as counter:
            work()
        rng = random.Random(seed)
        faults: dict[str, str] = {}
        for _ in range(number):
            interrupter = Interrupter(rng.randrange(counter.calls), rng.randrange(REACH))
            fault = self.interrupt(interrupter, work, wanted)
            if fault is not None:
                faults.setdefault("".join(interrupter.place[-2:]), fault)
        self.assertFalse(faults, "\n".join(f"{fault}\n interrupted at\n{place}" for place, fault in faults.items()))

    def interrupt(self, interrupter: Interrupter, work: Callable[[], Any], wanted: Any) -> str | None:
        """Interrupt `work` once; return what was wrong."""
        start = time.perf_counter()
        with unraisable() as lost:
            try:
                with interrupter:
                    work()
                fault = "the interrupt was lost" if interrupter.place and not lost else None
            except KeyboardInterrupt:
                fault = None
            except BaseException as error:  # noqa: BLE001  # that is what is looked for
                fault = "".join(traceback.format_exception(error)[-6:])
        if time.perf_counter() - start > SOON + PATIENCE:
            fault = fault or "it took long"
        try:
            np.testing.assert_allclose(in_thread(work), wanted)
        except AssertionError as error:
            fault = (fault or "") + "".join(traceback.format_exception(error))
        left = [t.name for t in threading.enumerate() if t.name.startswith("theano-map")]
        return f"threads are left: {left}" if left and fault is None else fault

    def number(self, quick: int) -> int:
        return 2000 if LONG else quick

    @slow
    def test_building(self) -> None:
        for k, build in enumerate(BUILDS):
            with self.subTest(build=build.__name__):
                self.attack(build, self.number(20), seed=k)

    @slow
    def test_mapping(self) -> None:
        x = T.dvector("x")
        f: Any = theano.function([x], T.exp(x).sum())
        values = [np.full(3, float(k)) for k in range(20)]
        self.attack(lambda: list(f.map(values)), self.number(100), seed=9)
