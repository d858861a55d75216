"""How long it takes to build a function up to its first result: on empty caches, and in a second process.

Everybody has been imported and has made a trivial function before (`started`), so nobody's start-up is counted.

The functions are the step of the logistic regression, gradient included, and chains of 10, 50 and 200 nodes.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness import NOT_INSTALLED, OURS, Command, Options, Row, installed, run_process
from started import COUNTED

CHILD = str(Path(__file__).with_name("compile_child.py"))
CONTENDERS = {
    OURS: "theano",
    "jax": "jax",
    "pytensor": "pytensor",
    "pytensor (c)": "pytensor:CVM",
}

SIZES = (10, 50, 200)
#: In a second process we may take this share of the time of JAX, which keeps nothing.
ALLOWED = {"jax": 1 / 0.3}


def run(options: Options) -> list[Row]:
    cold = Row(f"building that step, gradient included: empty caches{COUNTED}", limit=0.5)
    warm = Row(f"building that step, gradient included: second process{COUNTED}", limit=0.25)
    rows = _pair(cold, warm, (), options)
    for size in SIZES:
        cold = Row(f"building a function of {size} nodes: empty caches{COUNTED}", beat=("jax",))
        warm = Row(f"building a function of {size} nodes: second process{COUNTED}", ahead=ALLOWED)
        rows += _pair(cold, warm, (str(size),), options)
    return rows


def _pair(cold: Row, warm: Row, arguments: Sequence[str], options: Options) -> list[Row]:
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in CONTENDERS}
    for _ in range(max(1, options.processes // 2 + 1)):
        for name, target in CONTENDERS.items():
            if name not in cold.results:
                _measure(name, (target, *arguments), times[name], (cold, warm), options)
    for name, (first, second) in times.items():
        cold.results.setdefault(name, statistics.median(first) if first else "")
        warm.results.setdefault(name, statistics.median(second) if second else "")
    return [cold, warm]


def _measure(
    name: str,
    arguments: Sequence[str],
    times: tuple[list[float], list[float]],
    rows: tuple[Row, Row],
    options: Options,
) -> None:
    """Run two processes that share one fresh cache folder; note a failure in the row."""
    if not installed(arguments[0].split(":")[0]):
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
            result = run_process(Command([CHILD, *arguments], environment), options.patience)
            if isinstance(result, str):
                row.results[name] = result
                print(f"  {name}: {result}", file=sys.stderr)
                return
            taken.append(result)
