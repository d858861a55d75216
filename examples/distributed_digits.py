"""Train a net on handwritten digits with the workers of Dask or the processes of MPI, and go on where training stopped.

    python examples/distributed_digits.py --engine dask --workers 2 [--scheduler ADDRESS]
    mpiexec -n 2 python examples/distributed_digits.py --engine mpi

Both engines take the same steps: the gradients of the parts of a batch are averaged. With `--save state.npz` the state
is saved after each epoch, and a program that is started again goes on from there.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

try:
    from demo_data import Dataset, digits
except ImportError as missing:
    sys.exit(f"distributed_digits.py: error: {missing}; hint: pip install scikit-learn")

import theano
import theano.tensor as T
from theano import distributed
from theano.tensor.shared_randomstreams import RandomStreams

ROWS = 128


def build(data: Dataset, hidden: int) -> tuple[list[Any], Any, list[Any], Any]:
    """Return inputs, cost, parameters, and a function that gives the loss and the accuracy of examples."""
    rng = np.random.default_rng(0)
    sizes = [len(data.feature_names), hidden, len(data.question_names)]
    params, layers = [], []
    for i in range(2):
        scale = 1 / np.sqrt(sizes[i])
        w = theano.shared((scale * rng.normal(size=sizes[i : i + 2])).astype(theano.config.floatX), name=f"w{i}")
        b = theano.shared(np.zeros(sizes[i + 1], theano.config.floatX), name=f"b{i}")
        params += [w, b]
        layers.append((w, b))
    x, y = T.matrix("x"), T.matrix("y")

    def loss(dropped: Any) -> tuple[Any, Any]:
        (w0, b0), (w1, b1) = layers
        p = T.nnet.softmax(T.dot(T.nnet.relu(T.dot(x, w0) + b0) * dropped, w1) + b1)
        return T.nnet.categorical_crossentropy(p, y).mean(), T.eq(T.argmax(p, axis=1), T.argmax(y, axis=1)).mean()

    mask = RandomStreams(1).binomial((hidden,), p=0.9, dtype=theano.config.floatX) / np.float32(0.9)
    return [x, y], loss(mask)[0], params, theano.function([x, y], loss(np.float32(1)), name="evaluate")


def momentum(gradients: Sequence[Any], params: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return the updates of gradient descent with momentum."""
    updates = []
    for g, p in zip(gradients, params, strict=True):
        v = theano.shared(np.zeros_like(p.get_value()), name=f"velocity_{p.name}")
        now = np.float32(0.9) * v - np.float32(0.1) * g
        updates += [(v, now), (p, p + now)]
    return updates


@contextmanager
def engine(options: argparse.Namespace) -> Iterator[tuple[Any, int]]:
    """Give the client, and the number of this process among those of MPI."""
    if options.engine == "mpi":
        from mpi4py import MPI

        yield MPI.COMM_WORLD, MPI.COMM_WORLD.Get_rank()
    elif options.scheduler:
        from dask.distributed import Client

        with Client(options.scheduler) as client:
            yield client, 0
    else:
        from dask.distributed import Client, LocalCluster

        # Each worker is a process of its own, with its share of the processor's cores.
        os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // options.workers)))
        local = LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=None)
        with local, Client(local) as client:
            yield client, 0


def train(options: argparse.Namespace, client: Any, rank: int) -> None:
    """Train, save and tell."""
    data = digits(0, theano.config.floatX)
    inputs, cost, params, evaluate = build(data, options.hidden)
    step = distributed.data_parallel(inputs, cost, params, momentum, client, seed=0)
    if options.save and options.save.exists():
        with np.load(options.save) as state:
            step.set_state(state)
    per_epoch = len(data.x_train) // ROWS
    times = []
    for epoch in range(step.steps // per_epoch, options.epochs):
        order = np.random.default_rng(epoch).permutation(len(data.x_train))
        for k in range(per_epoch):
            chosen = order[k * ROWS : (k + 1) * ROWS]
            start = time.perf_counter()
            step(data.x_train[chosen], data.y_train[chosen])
            times.append(time.perf_counter() - start)
        if options.save and rank == 0:
            # A program that is stopped while it saves leaves the older file.
            written = options.save.with_suffix(".new.npz")
            np.savez(written, **step.get_state())
            written.replace(options.save)
    if rank == 0:
        size = sum(p.get_value().nbytes for p in params)
        print(f"parameters:     {size} bytes")
        if times:
            print(f"time per step:  {np.median(times) * 1e3:.2f} ms, at best {min(times) * 1e3:.2f} ms")
        print(f"train loss:     {float(evaluate(data.x_train, data.y_train)[0]):.6f}")
        print(f"test accuracy:  {float(evaluate(data.x_test, data.y_test)[1]):.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a net on digits with the workers of Dask or MPI.")
    parser.add_argument("--engine", choices=("dask", "mpi"), default="dask")
    parser.add_argument("--workers", type=int, default=2, help="Dask: processes on this machine")
    parser.add_argument("--scheduler", help="Dask: the address of a scheduler that runs already")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--hidden", type=int, default=200, help="units of the hidden layer")
    parser.add_argument("--save", type=Path, metavar="FILE.npz", help="where the state is saved, and taken from")
    options = parser.parse_args()
    try:
        with engine(options) as (client, rank):
            train(options, client, rank)
    except ImportError as missing:
        parser.exit(1, f"distributed_digits.py: error: {missing}; hint: pip install 'theano-stack[{options.engine}]'\n")


if __name__ == "__main__":
    main()
