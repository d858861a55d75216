"""A process of its own: start one contender, then print the seconds until its function for some work has been called.

    python benchmarks/ready_child.py MODULE theano | jax | pytensor[:MODE] [ARGUMENT ...]

MODULE is a benchmark with a function ``prepare(package, mode, *arguments)`` that compiles, calls once and returns. The
is counted is that call alone: imports and the first use of each contender (`started`) lie before.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence

from harness import Command, Options, Row, compare_processes, installed
from started import start


def commands(
    module: str, contenders: Mapping[str, str], folder: str, arguments: Sequence[str]
) -> dict[str, Command | None]:
    """Return the commands that run this file for each contender, with caches below `folder`."""
    environment = {
        "THEANO_FLAGS": f"base_compiledir={folder}/theano",
        "PYTENSOR_FLAGS": f"base_compiledir={folder}/pytensor",
        "NUMBA_CACHE_DIR": f"{folder}/numba",
    }
    return {
        name: Command([__file__, module, target, *arguments], environment)
        if installed(target.partition(":")[0])
        else None
        for name, target in contenders.items()
    }


def compare_cold(row: Row, module: str, contenders: Mapping[str, str], options: Options, *arguments: str) -> Row:
    """Fill a row with the times until a function is ready, each in a new process with empty caches."""
    turns = max(1, options.processes // 2 + 1)
    taken = Options(options.rounds, options.turn_seconds, 1, options.patience)
    matches: dict[str, list[float]] = {}
    for _ in range(turns):
        with tempfile.TemporaryDirectory(prefix="bench-cache-") as folder:
            for name, result in compare_processes(commands(module, contenders, folder, arguments), taken).items():
                if isinstance(result, str):
                    row.results[name] = result
                else:
                    matches.setdefault(name, []).append(result)
    row.results.update({name: statistics.median(times) for name, times in matches.items()})
    row.results = {name: row.results[name] for name in contenders}
    return row


def main() -> None:
    module, contender, *arguments = sys.argv[1:]
    package, _, mode = contender.partition(":")
    start(package, mode or None)
    prepare = importlib.import_module(module).prepare
    begin = time.perf_counter()
    prepare(package, mode or None, *arguments)
    print(json.dumps(time.perf_counter() - begin))


if __name__ == "__main__":
    main()
