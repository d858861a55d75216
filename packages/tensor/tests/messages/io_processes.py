"""Processes that send each other messages: their start, and the program of each of them.

As a program, this computes with the other processes and prints a line of JSON: the rank, and the results.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import theano_tensor as tt
import theano_tensor.rewrites  # the order of messages is a rewrite
from theano_linker_c import function, shared
from theano_tensor import io
from theano_tensor.control import ifelse
from theano_tensor.gradient import grad

BIG = 100_000  # elements: more than an MPI sends before the other process asks for it


def find_mpiexec() -> str | None:
    """Return the program that starts processes, or None where mpi4py, MPI or that program is missing."""
    try:
        importlib.import_module("mpi4py.MPI")
    except (ImportError, RuntimeError):
        return None
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return shutil.which("mpiexec", path=beside)


def start(mpiexec: str, count: int, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a Python program in `count` processes; Open MPI may start more of them than there are processors."""
    environment = {
        **os.environ,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    line = [mpiexec, "-n", str(count), sys.executable, *command]
    return subprocess.run(line, capture_output=True, text=True, timeout=600, env=environment, check=False)


def rank() -> int:
    """Return the number of this process."""
    result: int = importlib.import_module("mpi4py.MPI").COMM_WORLD.Get_rank()
    return result


def exchange() -> Any:
    """Both send and both receive, with a product between; written in the order in which they would wait for ever."""
    mine, other = rank(), 1 - rank()
    x = tt.dvector("x")
    sent = io.send(x * 2, other, tag=10 + mine)
    received = io.recv((BIG,), "float64", other, tag=10 + other)
    f = function([x], [sent, received + 1, tt.dot(x, x)])
    done, values, product = f(np.full(BIG, mine + 1.0))
    return [done, sorted(set(values.tolist())), float(product)]


def wait_in_between() -> Any:
    """The process with number 0 asks for the other one's result for its message."""
    if rank() == 0:
        x = tt.fmatrix("x")
        answer = io.recv((2, 3), "float32", 1, tag=2)
        f = function([x], [io.send(x, 1, tag=1), answer * 10])
        result: list[list[float]] = f(np.arange(6, dtype="float32").reshape(2, 3).T.copy().T)[1].tolist()
        return result
    question = io.recv((2, 3), "float32", 0, tag=1)
    function([], io.send(question + 1, 0, tag=2))()
    return None


def two_with_one_tag() -> Any:
    """Two messages that look the same stay two, in the order in which they were sent."""
    if rank() == 0:
        x = shared(np.array([1, 2], "int16"))
        f = function([], [io.send(x, 1, tag=4)], updates=[(x, x + 1)])
        return [f(), f()]
    return function([], [io.recv((2,), "int16", 0, tag=4), io.recv((2,), "int16", 0, tag=4)], mode=None)()


def kinds() -> Any:
    """Arrays of many dtypes, without dimensions and without elements."""
    results = []
    for dtype in ("bool", "int8", "uint64", "float16", "float64", "complex64"):
        for shape in ((), (0, 2), (3,)):
            if rank() == 0:
                x = tt.TensorType(dtype, (None,) * len(shape))("x")
                function([x], io.send(x, 1, tag=5))(np.ones(shape, dtype))
            else:
                value = function([], io.recv(shape, dtype, 0, tag=5))()
                results.append([str(value.dtype), list(value.shape), bool((value == 1).all())])
    return results


def wrong_sizes() -> Any:
    """A message differs from the expected one."""
    results = []
    for count in (2, 5):
        x = tt.dvector("x")
        if rank() == 0:
            function([x], io.send(x, 1, tag=6))(np.ones(count))
        else:
            results.append(error_of(function([], io.recv((3,), "float64", 0, tag=6))))
    x = tt.dvector("x")
    return [*results, error_of(lambda: function([x], io.send(x, 2, tag=1))(np.ones(1)))]


def error_of(call: Callable[[], object]) -> str:
    """Return class and first line of the error that a call raises."""
    try:
        call()
    except (ValueError, RuntimeError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return "no error"


def in_a_branch() -> Any:
    """A message in a branch is exchanged where the branch is taken, in both processes."""
    c, x = tt.iscalar("c"), tt.dvector("x")
    f = function([c, x], ifelse(c, io.allreduce(x, tag=1), x))
    return [f(flag, np.array([1.0 + rank()])).tolist() for flag in (0, 1)]


def sums() -> Any:
    """Sums over processes, copies, and their derivatives, with the same order in both."""
    x = tt.dvector("x")
    total, first = io.allreduce(x.sum(), tag=3), io.broadcast(x, root=1, tag=2)
    cost = total**2 + (first * x).sum()
    collected = io.reduce(x, root=1, tag=9)
    outputs = [total, first, grad(cost, x), collected, grad((collected * x).sum(), x)]
    outputs += [io.allreduce(x, name, tag=20 + i) for i, name in enumerate(("prod", "max", "min"))]
    if rank():
        outputs.reverse()  # the order of outputs does not matter, tags do
    results = [v.tolist() for v in function([x], outputs)(np.array([1.0, 3.0]) + rank())]
    return results[::-1] if rank() else results


PROGRAMS: dict[str, Callable[[], Any]] = {
    f.__name__: f for f in (exchange, wait_in_between, two_with_one_tag, kinds, wrong_sizes, in_a_branch, sums)
}

if __name__ == "__main__":
    results = {name: program() for name, program in PROGRAMS.items()}
    listed = json.dumps([rank(), results], default=lambda value: value.tolist())
    sys.stdout.write(listed + "\n")
