"""Differentiation: the cost of making gradients of long chains, and of running Jacobians and Hessians.

Chains are built and differentiated, not compiled; times are processor times, and the cyclic collector works as it does
in a user's program.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy
from harness import NOT_INSTALLED, OURS, Options, Row, compare, jax_with_doubles, peer

#: Nodes of the chains, and the seconds that the gradient of one may take.
LENGTH, LIMIT = 10**4, 2.0
VARIABLES = 200


def run(options: Options) -> list[Row]:
    layers = {OURS: _ours(), "pytensor": _pytensor()}
    rows = [_chain_row(layers, LENGTH, LIMIT, options)]
    short = _chain_row(layers, LENGTH // 10, None, options)
    ours, theirs = rows[0].results[OURS], short.results[OURS]
    if isinstance(ours, float) and isinstance(theirs, float):
        rows[0].case += f" ({ours / theirs:.1f} x a tenth of it)"
    rows.append(_node_row(layers, options))
    rows.append(Row("Jacobian of tanh(dot(A, x)), 200 x 200", compare(_jacobians(), options)))
    rows.append(Row("Hessian of a log of sums, 200 variables", compare(_hessians(), options)))
    return rows


class _Layer:
    """One contender: how it makes a vector, and its functions."""

    def __init__(self, tensor: Any, gradient: Any) -> None:
        self.tensor, self.gradient = tensor, gradient

    def chain(self, length: int) -> tuple[Any, Any]:
        x = y = self.tensor.vector("x")
        for _ in range(length // 2):
            y = self.tensor.tanh(y) * x
        return x, y.sum()


def _ours() -> _Layer:
    import theano.gradient
    import theano.tensor

    return _Layer(theano.tensor, theano.gradient)


def _pytensor() -> _Layer | None:
    tensor, gradient = peer("pytensor.tensor"), peer("pytensor.gradient")
    return None if tensor is None or gradient is None else _Layer(tensor, gradient)


def _chain_row(layers: dict[str, _Layer | None], length: int, limit: float | None, options: Options) -> Row:
    row = Row(f"gradient of a chain of {length:,} ops", limit=limit)
    for name, layer in layers.items():
        if layer is None:
            row.results[name] = NOT_INSTALLED
            continue
        x, cost = layer.chain(length)
        row.results[name] = _seconds(partial(layer.gradient.grad, cost, x), max(1, options.rounds // 8))
    return row


def _node_row(layers: dict[str, _Layer | None], options: Options) -> Row:
    """Time the building of nodes; `beat` is the limit that the layer sets itself."""
    row = Row("one more node on tensors: tanh(y) or y * x", beat=("pytensor",))
    for name, layer in layers.items():
        if layer is None:
            row.results[name] = NOT_INSTALLED
            continue
        seconds = _seconds(partial(layer.chain, 1000), options.rounds)
        row.results[name] = seconds / 1000 if isinstance(seconds, float) else seconds
    return row


def _seconds(call: Callable[[], object], rounds: int) -> float | str:
    times = []
    try:
        for _ in range(rounds):
            start = time.process_time()
            call()
            times.append(time.process_time() - start)
    except RecursionError:
        return "fails: RecursionError"
    return statistics.median(times)


def _values() -> tuple[Any, Any]:
    rng = numpy.random.default_rng(0)
    return rng.normal(size=(VARIABLES, VARIABLES)) / VARIABLES, rng.normal(size=VARIABLES)


def _jacobians() -> dict[str, Callable[[], object] | None]:
    A, value = _values()

    def symbolic(tensor: Any, gradient: Any, function: Any) -> Callable[[], object]:
        x = tensor.dvector("x")
        f = function([x], gradient.jacobian(tensor.tanh(tensor.dot(A, x)), x))
        return lambda: f(value)

    jax = jax_with_doubles()
    return {
        **_both(symbolic),
        "jax": None if jax is None else _jax_call(jax.jacrev, lambda x: jax.numpy.tanh(A @ x), value),
    }


def _hessians() -> dict[str, Callable[[], object] | None]:
    A, value = _values()

    def symbolic(tensor: Any, gradient: Any, function: Any) -> Callable[[], object]:
        x = tensor.dvector("x")
        cost = tensor.log(tensor.exp(tensor.dot(A, x)).sum())
        f = function([x], gradient.hessian(cost, x))
        return lambda: f(value)

    jax = jax_with_doubles()

    def cost(x: Any) -> Any:
        return jax.numpy.log(jax.numpy.exp(A @ x).sum())

    return {**_both(symbolic), "jax": None if jax is None else _jax_call(jax.hessian, cost, value)}


def _both(make: Callable[[Any, Any, Any], Callable[[], object]]) -> dict[str, Callable[[], object] | None]:
    import theano
    import theano.gradient
    import theano.tensor

    pytensor = peer("pytensor")
    tensor, gradient = peer("pytensor.tensor"), peer("pytensor.gradient")
    return {
        OURS: make(theano.tensor, theano.gradient, theano.function),
        "pytensor": None if pytensor is None else make(tensor, gradient, pytensor.function),
    }


def _jax_call(transform: Any, f: Callable[[Any], Any], value: Any) -> Callable[[], object]:
    import jax

    compiled = jax.jit(transform(f))
    return lambda: compiled(value).block_until_ready()
