"""The counters of a machine while it is profiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

Observer = Callable[[int, list[Any], list[Any]], Any]
Reading = tuple[int, float, float, float, tuple[int, ...], tuple[float, ...]]


class Counters:
    """Calls and times of the machine in Python; the machine in C has the same in c/machine/profile.c.

    Parameters
    ----------
    length : int
        Number of instructions.
    skip : int
        How many calls are not counted.
    observer : callable or None
        Called ``(index, inputs, outputs)`` after each instruction.
    """

    def __init__(self, length: int, skip: int, observer: Observer | None) -> None:
        self._length = length
        self._skip = skip
        self._observer = observer
        self._reset()

    def _reset(self) -> None:
        self._calls = 0
        self._call_seconds = self._run_seconds = self._watch_seconds = 0.0
        self._counts = [0] * self._length
        self._seconds = [0.0] * self._length

    @contextmanager
    def call(self) -> Iterator[None]:
        """Count the body as a call."""
        begin = perf_counter()
        try:
            yield
        finally:
            if self._skip:
                self._skip -= 1
                self._reset()
            else:
                self._calls += 1
                self._call_seconds += perf_counter() - begin

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time inside as that of running the instructions."""
        begin = perf_counter()
        try:
            yield
        finally:
            self._run_seconds += perf_counter() - begin

    @contextmanager
    def step(self, index: int) -> Iterator[None]:
        """Count the time inside as that of an instruction."""
        begin = perf_counter()
        try:
            yield
        finally:
            self._seconds[index] += perf_counter() - begin

    def done(self, index: int, inputs: list[Any], outputs: list[Any]) -> None:
        """Note that an instruction has run to its end."""
        self._counts[index] += 1
        if self._observer is not None:
            begin = perf_counter()
            self._observer(index, inputs, outputs)
            self._watch_seconds += perf_counter() - begin

    def read(self) -> Reading:
        """Return calls, seconds of calls, of running and in the observer, and counts and seconds of instructions."""
        times = self._call_seconds, self._run_seconds, self._watch_seconds
        return self._calls, *times, tuple(self._counts), tuple(self._seconds)
