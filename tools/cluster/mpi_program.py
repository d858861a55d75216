"""The program of each process in the tests of MPI; process 0 prints the outcome as a line of JSON.

With the word `pool` it is a program for `python -m mpi4py.futures`, whose processes wait for work.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import cluster_models as models
from mpi4py import MPI
from mpi4py.futures import MPIPoolExecutor

from theano import distributed

WORLD = MPI.COMM_WORLD


def error_of(call: Callable[[], object]) -> str:
    """Return the error that a call raises, with its notes."""
    try:
        call()
    except Exception as error:  # noqa: BLE001  (any error is reported)
        return "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
    return "no error"


def train() -> Any:
    """Train with whole batches, which the step cuts, and go on in another step from half of the way."""
    step = distributed.data_parallel(*models.model(), models.momentum, "mpi")
    costs = [step(*batch) for batch in models.batches()[:2]]
    other = distributed.data_parallel(*models.model(), models.momentum, WORLD)
    other.set_state(step.get_state())
    costs += [other(*batch) for batch in models.batches()[2:]]
    return [costs, [p.get_value().tolist() for p in other.params]]


def parts() -> Any:
    """Train with parts of different lengths."""
    step = distributed.data_parallel(*models.model(), models.momentum, WORLD)
    return [step.parts([models.load(WORLD.Get_rank())])] if WORLD.Get_size() == 2 else []


def errors() -> Any:
    """Make mistakes in one process; all have to tell, and go on."""
    step = distributed.data_parallel(*models.model(), models.momentum, WORLD)
    x, y = models.batches()[0]
    late = WORLD.Get_rank() == WORLD.Get_size() - 1
    messages = [error_of(lambda: step.parts([(x[:, :3] if late else x, y)]))]
    messages.append(error_of(lambda: distributed.map(models.fail_at, [(4, i) for i in range(6)], WORLD)))
    return [*messages, step(x, y)]


def apart() -> Any:
    """Let processes do different things, which all have to tell; then go on together."""
    step = distributed.data_parallel(*models.model(), models.momentum, WORLD)
    rank, (x, y) = WORLD.Get_rank(), models.batches()[0]
    messages = [error_of(lambda: step(x * (1 + rank), y))]
    if rank == 0:
        step.set_state({**step.get_state(), "steps": 3})
    messages.append(error_of(lambda: step(x, y)))
    step.set_state(WORLD.bcast({**step.get_state(), "steps": 0}))
    if rank == 1:
        step.params[0].set_value(step.params[0].get_value() + 1)
    messages.append(error_of(lambda: step(x, y)))
    step.set_state(WORLD.bcast(step.get_state()))
    return [*messages, step(x, y)]


def mapped() -> Any:
    """Draw for each item."""
    return [v.tolist() for v in distributed.map(models.draw(), [float(i) for i in range(5)], "mpi")]


def pooled() -> Any:
    """Draw for each item, in processes that wait for work."""
    with MPIPoolExecutor() as pool:
        return [v.tolist() for v in distributed.map(models.draw(), [float(i) for i in range(5)], pool)]


if __name__ == "__main__":
    programs = (pooled,) if "pool" in sys.argv else (train, parts, errors, apart, mapped)
    results = {program.__name__: program() for program in programs}
    every = [results] if "pool" in sys.argv else WORLD.allgather(results)
    if WORLD.Get_rank() == 0:
        sys.stdout.write(json.dumps(every) + "\n")
