"""Measure Theano beside its peers, and write the table.

    python benchmarks/run.py [--only NAME ...] [--quick] [--output FOLDER]

Contenders take turns in one process, so that a noisy moment hits all alike; a figure is the median of the turns, and
"x times" says how many times as long as ours a peer takes. A peer that is not installed gets a note, never an error.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from harness import OURS, QUICK, Options, Row, peer, version

BENCHMARKS = (
    "call_overhead",
    "elementwise",
    "compilers",
    "reductions",
    "logistic_step",
    "mlp",
    "hierarchical",
    "gaussian_likelihood",
    "chain",
    "small_programs",
    "compile_time",
    "function_cache",
    "tiered",
    "random_numbers",
    "memory",
    "import_time",
    "graph_layer",
    "optimize_layer",
    "embedding",
    "gradient",
    "sparse",
    "loops",
    "convolution",
    "exported",
    "threads",
)
DISTRIBUTIONS = ("numpy", "jax", "pytensor")


class _Parser(argparse.ArgumentParser):
    """A parser whose errors take one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\n")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = _Parser(prog="run.py", description="Measure Theano beside JAX, PyTensor and NumPy.", allow_abbrev=False)
    parser.add_argument(
        "--only", nargs="+", choices=BENCHMARKS, default=BENCHMARKS, metavar="NAME", help=", ".join(BENCHMARKS)
    )
    parser.add_argument("--quick", action="store_true", help="fewer and shorter turns, for a first look")
    parser.add_argument(
        "--output", type=Path, default=Path("bench-output"), metavar="FOLDER", help="gets bench.md and bench.json"
    )
    return parser.parse_args(arguments)


def machine() -> str:
    """Name the machine and the versions of the figures."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line]
        name = models[0] if models else name
    return f"{name}, {_cores()} cores"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def heading() -> str:
    """Say date, machine, versions and number of threads."""
    versions = ", ".join(f"{name} {version(name)}" for name in DISTRIBUTIONS)
    threads = os.environ.get("OMP_NUM_THREADS", "")
    limit = f"OMP_NUM_THREADS={threads}" if threads else f"each contender's own choice of up to {_cores()}"
    core = os.environ.get("OPENBLAS_CORETYPE")
    limit += f"; OPENBLAS_CORETYPE={core}" if core else ""  # slower routines than this processor's own, maybe
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    python = f"Python {platform.python_version()}"
    return f"{today}, {machine()}, {python}; {versions}{_default_linker()}; threads: {limit}"


def _default_linker() -> str:
    """Say which linker PyTensor uses where no mode is given."""
    module = peer("pytensor.compile.mode")
    return "" if module is None else f" (the column without a mode is its default, {module.get_default_mode().linker})"


def table(rows: Sequence[Row]) -> str:
    """Write the rows as a Markdown table."""
    names = list(dict.fromkeys(name for row in rows for name in row.results if name != OURS))
    lines = [
        "| case | " + " | ".join([OURS, *names]) + " | aim | met |",
        "| --- |" + " ---: |" * (len(names) + 1) + " --- | --- |",
    ]
    for row in rows:
        cells = [_cell(row, OURS), *(_cell(row, name) for name in names), row.aim(), row.verdict()]
        lines.append("| " + " | ".join([row.case.replace("|", "\\|"), *cells]) + " |")
    return "\n".join(lines)


def _cell(row: Row, name: str) -> str:
    result = row.results.get(name, "")
    if isinstance(result, str):
        return result
    ratio = row.ratio(name)
    text = row.show(result)
    return text if name == OURS or ratio is None else f"{text} ({ratio:.3g} x)"


def write(folder: Path, title: str, rows: Sequence[Row]) -> None:
    """Write bench.md and bench.json."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bench.md").write_text(f"{title}\n\n{table(rows)}\n", encoding="utf-8")
    facts = [
        {"case": row.case, "seconds": row.results, "limit": row.limit, "beat": row.beat, "met": row.verdict()}
        for row in rows
    ]
    text = json.dumps({"about": title, "rows": facts}, indent=1, ensure_ascii=False)
    (folder / "bench.json").write_text(text + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks; return the exit code."""
    options = parse(arguments)
    title = heading()
    rows: list[Row] = []
    for name in options.only:
        print(f"{name} ...", file=sys.stderr, flush=True)
        rows += importlib.import_module(name).run(QUICK if options.quick else Options())
    print(f"{title}\n\n{table(rows)}\n\n(N x) is the peer's time divided by ours: above 1, ours is faster.")
    try:
        write(options.output, title, rows)
    except OSError as error:
        print(f"run.py: error: cannot write to {options.output}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
