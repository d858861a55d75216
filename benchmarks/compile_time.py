"""How long it takes until the logistic regression step can be called: on empty caches, and in a second process."""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from harness import NOT_INSTALLED, OURS, Command, Options, Row, installed, run_process

CHILD = str(Path(__file__).with_name("compile_child.py"))
CONTENDERS = {
    OURS: "theano",
    "jax": "jax",
    "pytensor": "pytensor",
    "pytensor (c)": "pytensor:CVM",
}


def run(options: Options) -> list[Row]:
    cold = Row("ready to call that step, gradient included: empty caches", limit=0.5)
    warm = Row("ready to call that step, gradient included: second process", limit=0.25)
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in CONTENDERS}
    for _ in range(max(1, options.processes // 2 + 1)):
        for name, target in CONTENDERS.items():
            if name not in cold.results:
                _measure(name, target, times[name], (cold, warm), options)
    for name, (first, second) in times.items():
        cold.results.setdefault(name, statistics.median(first) if first else "")
        warm.results.setdefault(name, statistics.median(second) if second else "")
    return [cold, warm]


def _measure(
    name: str, target: str, times: tuple[list[float], list[float]], rows: tuple[Row, Row], options: Options
) -> None:
    """Run two processes that share one fresh cache folder; note a failure in the row."""
    if not installed(target.split(":")[0]):
        for row in rows:
            row.results[name] = NOT_INSTALLED
        return
    with tempfile.TemporaryDirectory(prefix="bench-cache-") as folder:
        environment = {
            "THEANO_FLAGS": f"base_compiledir={folder}/theano",
            "PYTENSOR_FLAGS": f"base_compiledir={folder}/pytensor",
            "NUMBA_CACHE_DIR": f"{folder}/numba",
        }
        for taken, row in zip(times, rows, strict=True):
            result = run_process(Command([CHILD, target], environment), options.patience)
            if isinstance(result, str):
                row.results[name] = result
                print(f"  {name}: {result}", file=sys.stderr)
                return
            taken.append(result)
