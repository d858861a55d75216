"""Calls of one function for many arguments: `Function.map` with one and two threads beside a loop of calls.

Each contender makes so many calls that to start threads counts for little, and lets go of the results.
"""

from __future__ import annotations

import os
from collections import deque
from typing import Any

from harness import OURS, Options, Row, compare
from hierarchical import point, symbolic

CALLS = 40_000
LOOP = "a loop"
#: How many times as fast two threads have to be where there are two cores; one thread may take a tenth more.
WANTED = {1: 1 / 1.1, 2: 1.9}


def run(options: Options) -> list[Row]:
    """Measure the log-density and gradient of the hierarchical regression."""
    function: Any = symbolic("theano", None)
    elements = [tuple(point())] * CALLS

    def loop() -> None:
        for values in elements:
            function(*values)

    rows = []
    for threads, times in WANTED.items():

        def mapped(threads: int = threads) -> None:
            deque(function.map(elements, threads=threads), maxlen=0)

        case = f"{CALLS} calls of the hierarchical density and gradient: f.map(..., threads={threads})"
        results = compare({OURS: mapped, LOOP: loop}, options)
        enough = (os.cpu_count() or 1) >= threads
        rows.append(Row(case, results, ahead={LOOP: times} if enough else {}))
    return rows
