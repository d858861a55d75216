"""The gain of threads for elementwise operations: ``OMP_NUM_THREADS=2 python elemwise_openmp_speedup.py``.

A cheap and a costly operation are timed with and without threads, on as many elements as the flag
``openmp_elemwise_minsize`` says: the size from which threads are used for cheap ones.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import theano
import theano.tensor as T

OPERATIONS: dict[str, Callable[[Any], Any]] = {"cheap": lambda x: x + x, "costly": lambda x: T.tanh(x) ** 2}


def seconds_of(operation: Callable[[Any], Any], size: int, iters: int, openmp: bool) -> float:
    """Return the seconds that one call takes.

    Parameters
    ----------
    operation : callable
        Makes an expression of a vector.
    size : int
        Number of elements.
    iters : int
        How many calls are timed.
    openmp : bool
        Whether threads may be used.
    """
    x = T.vector("x")
    with theano.config.change_flags(openmp=openmp):
        f: Any = theano.function([theano.In(x, borrow=True)], theano.Out(operation(x), borrow=True))
    value = np.linspace(0, 1, size, dtype=theano.config.floatX)
    f(value)
    start = time.perf_counter()
    for _ in range(iters):
        f(value)
    return (time.perf_counter() - start) / iters


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the script; return its status."""
    parser = argparse.ArgumentParser(prog="elemwise_openmp_speedup.py", description="Times loops in threads.")
    parser.add_argument("--version", action="version", version=f"theano {theano.__version__}")
    parser.add_argument("-N", type=int, default=theano.config.openmp_elemwise_minsize, help="number of elements")
    parser.add_argument("--iter", type=int, default=200, help="number of calls (200)")
    options = parser.parse_args(arguments)
    for name, operation in OPERATIONS.items():
        alone, together = (seconds_of(operation, options.N, options.iter, openmp) for openmp in (False, True))
        print(
            f"{name} operation on {options.N} elements: {alone * 1e6:.1f} us alone, "
            f"{together * 1e6:.1f} us in threads, {alone / together:.2f} times as fast"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
