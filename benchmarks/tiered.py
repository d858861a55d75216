"""How soon a function of 200 nodes answers when nothing of it has been compiled: with the flag `tiered`, and without.

Each process has made a trivial function before (`started`), and has caches of its own. Timed are `theano.function`, the
first call after it, and how long it takes from the beginning until calls are native.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy
from harness import OURS, Options, Row
from started import start

NODES = 200
#: Seconds that the first call may take.
FIRST_CALL = 0.030
OFF = "tiered=False"
TIMED = ("theano.function", "first call", "until calls are native")


def run(options: Options) -> list[Row]:
    """Measure both in turns, each time in processes and with caches of their own."""
    rows = [Row(f"{what}: {NODES} nodes, empty caches") for what in TIMED]
    rows[1].limit = FIRST_CALL
    times: dict[str, list[list[float]]] = {OURS: [], OFF: []}
    for _ in range(max(1, options.processes // 2 + 1)):
        for name, taken in times.items():
            with tempfile.TemporaryDirectory(prefix="bench-cache-") as folder:
                flags = f"base_compiledir={folder}/theano,tiered={name == OURS}"
                environment = {**os.environ, "THEANO_FLAGS": flags}
                done = subprocess.run(
                    [sys.executable, __file__],
                    env=environment,
                    capture_output=True,
                    check=True,
                    timeout=options.patience,
                )
            taken.append(json.loads(done.stdout))
    for name, taken in times.items():
        for row, column in zip(rows, zip(*taken, strict=True), strict=False):
            row.results[name] = statistics.median(column)
    return rows


def main() -> None:
    """Print the seconds of one process."""
    start("theano", None)
    import compile_child

    import theano
    import theano.tensor as T

    x: Any = T.dvector("x")
    values, outputs = numpy.linspace(0.1, 1, 1000), compile_child._chain(T, NODES, x)
    begin = time.perf_counter()
    f = theano.function([x], outputs)
    compiled_at = time.perf_counter()
    f(values)
    called = time.perf_counter()
    f.ready(wait=True)
    print(json.dumps([compiled_at - begin, called - compiled_at, time.perf_counter() - begin]))


if __name__ == "__main__":
    main()
