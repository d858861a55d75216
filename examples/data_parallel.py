"""Train logistic regression in several processes, each on its share of the examples.

    mpiexec -n 2 python examples/data_parallel.py [--data digits|cancer] [--steps N] [--learning-rate R] [--seed S]

All processes hold the same parameters; each computes the gradient of its examples, and the sum of these over all
processes is the step that each of them takes. So the result does not depend on the number of processes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy

try:
    from demo_data import DATASETS, Dataset
    from mpi4py import MPI
except (ImportError, RuntimeError) as missing:
    sys.exit(
        f"data_parallel.py: error: {missing}; hint: pip install scikit-learn mpi4py, and an MPI: "
        "from the system, or pip install mpich"
    )

import theano
import theano.tensor as T
from theano.tensor import io

L2 = 0.0003


def build(data: Dataset, learning_rate: float, seed: int) -> tuple[Callable[..., Any], Callable[..., Any], Any, Any]:
    """Compile a step of training, the evaluation of examples, and return them with the parameters.

    Each function has to be called in all processes. Tags say in which order sums over processes are made.
    """
    rng = numpy.random.RandomState(seed)
    features, questions = len(data.feature_names), len(data.question_names)
    x, y = T.matrix("x"), T.matrix("y")
    w = theano.shared(numpy.asarray(0.01 * rng.randn(features, questions), dtype=theano.config.floatX), name="w")
    b = theano.shared(numpy.zeros(questions, dtype=theano.config.floatX), name="b")

    p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))
    xent = -y * T.log(p_1) - (1 - y) * T.log(1 - p_1)
    right = T.eq(p_1 > 0.5, y > 0.5) if questions == 1 else T.eq(T.argmax(p_1, axis=1), T.argmax(y, axis=1))

    share = xent.sum() / len(data.x_train)
    gw, gb = T.grad(share, [w, b])
    gw = io.allreduce(gw, tag=1) + 2 * L2 * w
    gb = io.allreduce(gb, tag=2)
    updates = [(w, w - learning_rate * gw), (b, b - learning_rate * gb)]
    train = theano.function([x, y], io.allreduce(share, tag=0), updates=updates, name="train")
    count = io.allreduce(x.shape[0].astype(theano.config.floatX), tag=3)
    accuracy = io.allreduce(right.sum().astype(theano.config.floatX), tag=4) / count
    evaluate = theano.function([x, y], [io.allreduce(xent.sum(), tag=5) / count, accuracy], name="evaluate")
    return train, evaluate, w, b


def is_same_everywhere(value: Any) -> bool:
    """Tell whether all processes have the same array, to the last bit."""
    x = T.TensorType(str(value.dtype), (False,) * value.ndim)("x")
    extremes = [io.allreduce(x, "max", tag=1), io.allreduce(x, "min", tag=2)]
    highest, lowest = theano.function([x], extremes)(value)
    return bool(numpy.array_equal(highest, lowest))


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, and let the first process tell the result; return the exit code."""
    parser = argparse.ArgumentParser(prog="data_parallel.py", description="Train logistic regression in processes.")
    parser.add_argument("--data", choices=sorted(DATASETS), default="digits")
    parser.add_argument("--steps", type=int, default=300, help="number of training steps")
    parser.add_argument("--learning-rate", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    world = MPI.COMM_WORLD
    mine = slice(world.Get_rank(), None, world.Get_size())

    data = DATASETS[options.data](options.seed, theano.config.floatX)
    train, evaluate, w, b = build(data, options.learning_rate, options.seed)
    x, y = data.x_train[mine], data.y_train[mine]
    start = time.perf_counter()
    for _ in range(options.steps):
        train(x, y)
    seconds = time.perf_counter() - start

    loss, accuracy = evaluate(x, y)
    _, test_accuracy = evaluate(data.x_test[mine], data.y_test[mine])
    if not (is_same_everywhere(w.get_value()) and is_same_everywhere(b.get_value())):
        print("data_parallel.py: error: the processes have different parameters", file=sys.stderr)
        return 1
    if world.Get_rank() == 0:
        print(f"processes:      {world.Get_size()}, {len(x)} examples in the first")
        print(f"time per step:  {seconds / max(options.steps, 1) * 1e3:.3f} ms")
        print(f"train loss:     {float(loss):.9f}")
        print(f"train accuracy: {float(accuracy):.4f}")
        print(f"test accuracy:  {float(test_accuracy):.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
