"""Several cores: which work is shared among threads, from which size on, and by which flags.

Run ``python examples/chapter_multicore.py``; every statement about the results is checked.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.misc.cpucount import cpuCount

PROGRAM = """
import numpy as np, theano, theano.tensor as T
x = T.dmatrix("x")
f = theano.function([x], [T.tanh(x).sum(axis=1), T.dot(x, x.T)])
rows, product = f(np.linspace(-1, 1, 600 * 900).reshape(600, 900))
print(rows.sum().hex(), product[3, 5].hex())
"""


def number_of_threads() -> None:
    """OMP_NUM_THREADS says how many threads a process uses; results are as exact as with one."""
    counts = set()
    for threads in ("1", "2", "3"):
        environ = {**os.environ, "OMP_NUM_THREADS": threads}
        done = subprocess.run([sys.executable, "-c", PROGRAM], env=environ, capture_output=True, text=True, check=True)
        counts.add(tuple(round(float.fromhex(word), 6) for word in done.stdout.split()))
    assert len(counts) == 1, counts
    assert cpuCount() >= 1


def flags() -> None:
    """`openmp` turns threads off, `openmp_elemwise_minsize` says from how many elements on they are worth it."""
    x = T.dvector("x")
    value = np.linspace(0.0, 1.0, 300_000)
    results = []
    for changed in ({"openmp": False}, {"openmp": True}, {"openmp_elemwise_minsize": 10}):
        with theano.config.change_flags(changed):
            results.append(theano.function([x], T.sqrt(x) * 2)(value))
    for result in results:
        np.testing.assert_array_equal(result, np.sqrt(value) * 2)


def functions_in_threads() -> int:
    """Any number of threads may call one function at the same time."""
    x = T.dvector("x")
    f = theano.function([x], (x**2).sum())
    results: dict[int, Any] = {}

    def work(k: int) -> None:
        results[k] = [float(f(np.full(1000, float(k)))) for _ in range(20)]

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results == {k: [1000.0 * k * k] * 20 for k in range(4)}
    return len(results)


def main() -> None:
    number_of_threads()
    flags()
    print(f"cores: {functions_in_threads()} threads called one function")


if __name__ == "__main__":
    main()
