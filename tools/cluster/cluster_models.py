"""Models that the tests of Dask and MPI train, in a module that workers import."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import theano
import theano.tensor as T
from theano.compile import Mode
from theano.compile.ops import as_op
from theano.tensor.shared_randomstreams import RandomStreams

Array = Any


def momentum(gradients: list[Any], params: list[Any]) -> list[tuple[Any, Any]]:
    """Return the updates of gradient descent with momentum."""
    updates = []
    for g, p in zip(gradients, params, strict=True):
        v = theano.shared(np.zeros_like(p.get_value()), name=f"velocity of {p.name}")
        updates += [(v, 0.9 * v + g), (p, p - 0.1 * (0.9 * v + g))]
    return updates


def model(rate: Any = None, mark: str = "") -> tuple[list[Any], Any, list[Any]]:
    """Return inputs, cost and parameters; with a mark, who computes the cost first makes that file and dies."""
    rng = np.random.default_rng(0)
    x, y = T.dmatrix("x"), T.dvector("y")
    w = theano.shared(rng.normal(size=(4, 3)), name="w")
    v = theano.shared(rng.normal(size=3), name="v")
    decay = theano.shared(0.01, name="decay") if rate is None else rate
    hidden = T.tanh(T.dot(x if not mark else die_once(x, T.constant(np.array([ord(c) for c in mark]))), w))
    return [x, y], T.sqr(T.dot(hidden, v) - y).mean() + decay * T.sqr(w).sum(), [w, v]


def _shape(node: Any, shapes: list[Any]) -> list[Any]:
    return [shapes[0]]


@as_op([T.dmatrix, T.lvector], [T.dmatrix], infer_shape=_shape)
def die_once(x: Array, path: Array) -> Array:
    """Return `x`; the first process that gets here, of all, is killed."""
    mark = Path("".join(map(chr, path)))
    if not mark.exists():
        mark.write_text("dead")
        os.kill(os.getpid(), signal.SIGKILL)
    return x.copy()


def batches() -> list[tuple[Array, Array]]:
    """Return batches of different lengths."""
    rng = np.random.default_rng(1)
    return [(rng.normal(size=(n, 4)), rng.normal(size=n)) for n in (7, 2, 12, 1, 9)]


def whole() -> tuple[list[float], list[Array]]:
    """Return the costs and the parameters of one function that is given whole batches."""
    inputs, cost, params = model()
    train = theano.function(inputs, cost, updates=momentum(T.grad(cost, params), params))
    return [float(train(*batch)) for batch in batches()], [p.get_value() for p in params]


def draw() -> Any:
    """Return a function that draws."""
    x = T.dscalar("x")
    return theano.function([x], x + RandomStreams(3).normal((2,)))


def built_here(x: float) -> tuple[int, float]:
    """Build a function that may be on disk; return how often a function was rewritten, and its value at `x`."""
    v = T.dscalar("v")
    with mock.patch.object(Mode, "rewrite", autospec=True, side_effect=Mode.rewrite) as rewrite:
        f = theano.function([v], T.tanh(3 * v) - T.exp(-v))
    return rewrite.call_count, float(f(x))


def load(i: int) -> tuple[Array, Array]:
    """Return one half of the first batch, as a worker would read it from a file."""
    x, y = batches()[0]
    return (x[:2], y[:2]) if i == 0 else (x[2:], y[2:])


def fail_at(bad: int, x: int) -> int:
    """Raise an error for one item."""
    if x == bad:
        raise ValueError(f"not {bad}")
    return x
