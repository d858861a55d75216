"""Overhead of one call with next to nothing to compute: two floats, vectors of ten, an op made of a graph."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy
from harness import OURS, Options, Row, compare, jax_with_doubles, peer

import theano
import theano.tensor as T


def run(options: Options) -> list[Row]:
    return [_floats(options), _vectors(options), _held_graph(options), _python_op(options)]


def _floats(options: Options) -> Row:
    contenders: dict[str, Callable[[], object] | None] = {
        OURS: partial(_ours(), 1.5, 2.5),
        "jax": _jax(),
        "pytensor": _pytensor(None),
        "pytensor (c)": _pytensor("CVM"),
        "numpy": partial(numpy.add, 1.5, 2.5),
    }
    return Row("call f(a, b) = a + b on Python floats", compare(contenders, options), limit=1e-6)


def _held_graph(options: Options) -> Row:
    """The cost of a graph inside an op: a call of the op less a call of the graph."""
    x, y = numpy.linspace(1, 2, 10), numpy.linspace(2, 3, 10)
    u, v = T.dvectors("x", "y")
    graph = T.exp(u) * v + 1
    contenders: dict[str, Callable[[], object] | None] = {
        "inside": partial(theano.function([u, v], theano.OpFromGraph([u, v], [graph])(u, v)), x, y),
        "inlined": partial(theano.function([u, v], graph), x, y),
    }
    times = compare(contenders, options)
    inside, inlined = times["inside"], times["inlined"]
    assert isinstance(inside, float) and isinstance(inlined, float)
    results: dict[str, float | str] = {OURS: max(inside - inlined, 0.0)}
    return Row("OpFromGraph: a call of it, less a call of the graph inlined", results, limit=1e-6)


class _Same(theano.Op):
    """Hands its input on, in Python."""

    __props__ = ()

    def make_node(self, x: Any) -> Any:
        return theano.Apply(self, [x], [x.type()])

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[0]


def _python_op(options: Options) -> Row:
    """The cost of a user's Python op in a function, with the check of its result: a hundredth of 100 in a row."""
    x = T.dvector("x")
    calls = []
    for count in (1, 101):
        y = x
        for _ in range(count):
            y = _Same()(y)
        f = theano.function([theano.In(x, borrow=True)], theano.Out(y, borrow=True), mode=theano.Mode("cvm", None))
        calls.append(partial(f, numpy.ones(3)))
    times = compare({"one": calls[0], "many": calls[1]}, options)
    one, many = times["one"], times["many"]
    assert isinstance(one, float) and isinstance(many, float)
    return Row("a user's op in Python, with the look at its result", {OURS: max(many - one, 0.0) / 100}, limit=0.5e-6)


def _small(module: Any, x: Any, y: Any) -> tuple[Any, ...]:
    """Five nodes that no fusion joins: sums, an extremum, and their consumers."""
    total = module.sum(x * y)
    return x / total, module.max(y) - total


def _vectors(options: Options) -> Row:
    x, y = numpy.linspace(1, 2, 10), numpy.linspace(2, 3, 10)
    u, v = T.dvectors("x", "y")
    contenders: dict[str, Callable[[], object] | None] = {
        OURS: partial(theano.function([u, v], list(_small(T, u, v))), x, y),
        "jax": _jax_vectors(x, y),
        "pytensor": _pytensor_vectors(x, y, None),
        "pytensor (c)": _pytensor_vectors(x, y, "CVM"),
        "numpy": partial(_small, numpy, x, y),
    }
    return Row("five small nodes on vectors of 10", compare(contenders, options), limit=0.25e-6)


def _jax_vectors(x: Any, y: Any) -> Callable[[], object] | None:
    jax = jax_with_doubles()
    if jax is None:
        return None
    compute = jax.jit(partial(_small, jax.numpy))
    return lambda: compute(x, y)[1].block_until_ready()


def _pytensor_vectors(x: Any, y: Any, mode: str | None) -> Callable[[], object] | None:
    pytensor: Any = peer("pytensor")
    if pytensor is None:
        return None
    pt: Any = peer("pytensor.tensor")
    u, v = pt.dvectors("x", "y")
    return partial(pytensor.function([u, v], list(_small(pt, u, v)), mode=mode), x, y)


def _ours() -> Callable[..., object]:
    a, b = T.dscalars("a", "b")
    return theano.function([a, b], a + b)


def _jax() -> Callable[[], object] | None:
    jax = jax_with_doubles()
    if jax is None:
        return None
    add = jax.jit(operator.add)
    return lambda: add(1.5, 2.5).block_until_ready()


def _pytensor(mode: str | None) -> Callable[[], object] | None:
    pytensor = peer("pytensor")
    if pytensor is None:
        return None
    a, b = peer("pytensor.tensor").dscalars("a", "b")  # type: ignore[union-attr]  # it comes with the package
    return partial(pytensor.function([a, b], a + b, mode=mode), 1.5, 2.5)
