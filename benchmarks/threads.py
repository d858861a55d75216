"""Calls of one function for many arguments: `Function.map` with one and two threads beside a loop of calls.

Each contender makes so many calls that to start threads counts for little, and lets go of the results. Two processes
that share nothing and make half of the calls each, in loops, show how much faster two cores of a machine are than one.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from harness import OURS, Options, Row, compare
from hierarchical import point, symbolic

CALLS = 40_000
LOOP, PROCESSES = "a loop", "two processes"
#: How many times as long as `map` the others have to take where there are so many cores.
WANTED = {1: {LOOP: 1 / 1.1}, 2: {LOOP: 1.9, PROCESSES: 0.95}}


def make_calls(function: Any, elements: list[Any]) -> None:
    """Call a function for each of some arguments."""
    for values in elements:
        function(*values)


def serve(connection: Any) -> None:
    """Make half of the calls whenever the other process asks for it."""
    function: Any = symbolic("theano", None)
    elements = [tuple(point())] * (CALLS // 2)
    make_calls(function, elements)
    connection.send(None)
    while connection.recv():
        make_calls(function, elements)
        connection.send(None)


@contextmanager
def second_process(function: Any, elements: list[Any]) -> Iterator[Callable[[], None]]:
    """Give a function that makes all calls in two processes."""
    spawning = multiprocessing.get_context("spawn")
    here, there = spawning.Pipe()
    process = spawning.Process(target=serve, args=(there,), daemon=True)
    process.start()
    here.recv()

    def both() -> None:
        here.send(True)
        make_calls(function, elements[: CALLS // 2])
        here.recv()

    try:
        yield both
    finally:
        here.send(False)
        process.join()


def run(options: Options) -> list[Row]:
    """Measure the log-density and gradient of the hierarchical regression."""
    function: Any = symbolic("theano", None)
    elements = [tuple(point())] * CALLS
    rows = []
    with second_process(function, elements) as both:
        for threads, target in WANTED.items():

            def mapped(threads: int = threads) -> None:
                deque(function.map(elements, threads=threads), maxlen=0)

            case = f"{CALLS} calls of the hierarchical density and gradient: f.map(..., threads={threads})"
            contenders = {OURS: mapped, LOOP: lambda: make_calls(function, elements), PROCESSES: both}
            enough = (os.cpu_count() or 1) >= threads
            rows.append(Row(case, compare(contenders, options), ahead=target if enough else {}))
    return rows
