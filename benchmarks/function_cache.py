"""How long `theano.function` takes in a second process, with and without functions that are cached on disk.

Each process has made a trivial function before (`started`); the figure is the call of `theano.function` alone, in
seconds of the processor, so that the disk and other processes count less. The functions are one of 200 nodes
(`compile_child`) and the chain of 2000 links with its gradient (`chain`).
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from typing import Any

from harness import OURS, Command, Options, Row, run_process
from started import start

#: Limits on a quiet machine: for a second process, and for the first beyond its time without the cache.
LIMITS = {"nodes": 0.015, "links": 0.5}
SIZES = {"nodes": 200, "links": 2000}
OFF = "function_cache=False"


def graph(kind: str, count: int) -> tuple[list[Any], list[Any]]:
    """Return the inputs and outputs of a function."""
    import compile_child

    import theano.tensor as T

    x, w = T.dvector("x"), T.dvector("w")
    if kind == "nodes":
        return [x], [compile_child._chain(T, count, x)]
    h = x
    for _ in range(count):
        h = T.tanh(h * w + h.sum() * 1e-3)
    cost = h.sum()
    return [x, w], [cost, *T.grad(cost, [x, w])]


def run(options: Options) -> list[Row]:
    """Measure both functions: first processes, then second ones, with and without the cache."""
    rows = []
    for kind, count in SIZES.items():
        first = Row(f"theano.function of {count} {kind}: empty caches")
        second = Row(f"theano.function of {count} {kind}: second process", limit=LIMITS[kind])
        times: dict[tuple[str, int], list[float]] = {}
        for _ in range(max(1, options.processes // 2 + 1)):
            for name in (OURS, OFF):
                _measure(name, kind, count, times, options)
        for (name, which), taken in times.items():
            (first, second)[which].results[name] = statistics.median(taken)
        rows += [first, second]
    return rows


def _measure(name: str, kind: str, count: int, times: dict[tuple[str, int], list[float]], options: Options) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-cache-") as folder:
        flags = f"base_compiledir={folder}/theano,function_cache={name != OFF}"
        for which in range(2):
            result = run_process(Command([__file__, kind, str(count)], {"THEANO_FLAGS": flags}), options.patience)
            if isinstance(result, str):
                print(f"  {name}: {result}", file=sys.stderr)
                return
            times.setdefault((name, which), []).append(result)


def main() -> None:
    import theano

    start("theano", None)
    inputs, outputs = graph(sys.argv[1], int(sys.argv[2]))
    begin = time.process_time()
    theano.function(inputs, outputs)
    print(json.dumps(time.process_time() - begin))


if __name__ == "__main__":
    main()
