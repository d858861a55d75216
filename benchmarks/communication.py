"""Cost of a training step on several processes: the table of docs/howto/distributed.md, measured again.

    python benchmarks/communication.py [--steps 200] [--engines mpi dask]

A net of 64-H-10 units in double precision takes steps of 128 examples on 1, 2 and 4 processes, with one thread each, on
this machine. The best step of each is written as a table, in milliseconds. It needs `dask[distributed]`, or mpi4py and
an `mpiexec`; an engine that is not there is left out, and named.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano import distributed

ROWS, FEATURES, CLASSES = 128, 64, 10
#: Units of the hidden layer: parameters that fit into one message, and ones for which the bandwidth counts.
HIDDEN = (200, 13_000)
PROCESSES = (1, 2, 4)
ENGINES = {"mpi": "process", "dask": "worker"}
#: Steps that are not counted: functions are sent and loaded.
WARM_UP = 3


def net(hidden: int) -> tuple[list[Any], Any, list[Any]]:
    """Return inputs, cost and parameters."""
    rng = np.random.default_rng(0)
    x, y = T.dmatrix("x"), T.dmatrix("y")
    params, layer = [], x
    for n_in, n_out in ((FEATURES, hidden), (hidden, CLASSES)):
        w = theano.shared(rng.normal(size=(n_in, n_out)) / np.sqrt(n_in), name=f"w{n_in}")
        b = theano.shared(np.zeros(n_out), name=f"b{n_in}")
        params += [w, b]
        layer = T.dot(T.nnet.relu(layer) if layer is not x else layer, w) + b
    return [x, y], T.nnet.categorical_crossentropy(T.nnet.softmax(layer), y).mean(), params


def momentum(gradients: Sequence[Any], params: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return the updates of gradient descent with momentum."""
    updates = []
    for g, p in zip(gradients, params, strict=True):
        v = theano.shared(np.zeros_like(p.get_value()), name=f"velocity_{p.name}")
        now = 0.9 * v - 0.1 * g
        updates += [(v, now), (p, p + now)]
    return updates


def best_step(client: Any, hidden: int, steps: int) -> tuple[int, float]:
    """Return the bytes of the parameters, and the seconds of the best step."""
    inputs, cost, params = net(hidden)
    step = distributed.data_parallel(inputs, cost, params, momentum, client, seed=0)
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(ROWS, FEATURES)), np.eye(CLASSES)[rng.integers(0, CLASSES, ROWS)]
    taken = []
    for _ in range(WARM_UP + steps):
        begin = time.perf_counter()
        step(x, y)
        taken.append(time.perf_counter() - begin)
    return sum(p.get_value().nbytes for p in params), min(taken[WARM_UP:])


def measure(engine: str, hidden: int, count: int, steps: int) -> None:
    """Print the bytes and the best step of one case as JSON: the work of a process of its own."""
    if engine == "mpi":
        from mpi4py import MPI

        step = best_step(MPI.COMM_WORLD, hidden, steps)
        if MPI.COMM_WORLD.Get_rank() == 0:
            print(json.dumps(step))
        return
    from dask.distributed import Client, LocalCluster

    with LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None) as local, Client(local) as client:
        print(json.dumps(best_step(client, hidden, steps)))


def missing(engine: str) -> str | None:
    """Return the reason why an engine cannot run here."""
    module = {"mpi": "mpi4py", "dask": "distributed"}[engine]
    if importlib.util.find_spec(module) is None:
        return module
    return "mpiexec" if engine == "mpi" and mpiexec() is None else None


def mpiexec() -> str | None:
    """Return the launcher of MPI processes: beside this Python first, where pip puts it."""
    beside = os.path.dirname(sys.executable)
    return shutil.which("mpiexec", path=beside) or shutil.which("mpiexec")


def run_case(engine: str, hidden: int, count: int, options: argparse.Namespace) -> tuple[int, float] | None:
    """Measure one case in processes of their own; None where they fail, after their message."""
    command = [sys.executable, str(Path(__file__).resolve()), "--case", engine, str(hidden), str(count)]
    command += ["--steps", str(options.steps)]
    if engine == "mpi":
        command = [str(mpiexec()), "-n", str(count), *command]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env={**os.environ, **threads},
            timeout=options.patience,
            check=False,
        )
    except subprocess.TimeoutExpired:
        print(f"{engine}, {count}: longer than {options.patience} s", file=sys.stderr)
        return None
    lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
    if done.returncode or not lines:
        print(f"{engine}, {count}: {done.stderr.strip()[-2000:]}", file=sys.stderr)
        return None
    size, seconds = json.loads(lines[-1])
    return int(size), float(seconds)


def table(engine: str, options: argparse.Namespace) -> list[str]:
    """Measure all cases of an engine, and return them as a table."""
    word = ENGINES[engine]
    heads = [
        f"{count} {word}{'es' if word.endswith('s') else 's'}" if count > 1 else f"1 {word}" for count in PROCESSES
    ]
    lines = [f"| bytes of parameters | {' | '.join(heads)} |", "| ---: " * (len(PROCESSES) + 1) + "|"]
    for hidden in options.hidden:
        rows = [run_case(engine, hidden, count, options) for count in PROCESSES]
        size = next((f"{case[0]:,}" for case in rows if case is not None), "?")
        cells = ("-" if case is None else f"{case[1] * 1e3:.1f} ms" for case in rows)
        lines.append(f"| {size} (H = {hidden:,}) | {' | '.join(cells)} |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", nargs="+", choices=tuple(ENGINES), default=list(ENGINES))
    parser.add_argument("--hidden", nargs="+", type=int, default=list(HIDDEN), help="units of the hidden layer")
    parser.add_argument("--steps", type=int, default=200, help="steps of which the best is taken")
    parser.add_argument("--patience", type=int, default=600, help="seconds that one case may take")
    parser.add_argument("--case", nargs=3, metavar=("ENGINE", "HIDDEN", "PROCESSES"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        measure(options.case[0], int(options.case[1]), int(options.case[2]), options.steps)
        return 0
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; the best of {options.steps} steps")
    for engine in options.engines:
        lacks = missing(engine)
        print(f"\n{engine}" + (f": left out, {lacks} is not installed" if lacks else ""))
        if not lacks:
            print("\n".join(table(engine, options)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
