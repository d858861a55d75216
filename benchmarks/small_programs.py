"""Programs of many small nodes, where the overhead of a node exceeds its work, and of a few nodes over a matrix.

The log-density is that of `hierarchical`, of one vector of parameters that is sliced into its parts, as samplers
want it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy
from harness import OURS, Options, Row, compare, jax_with_doubles, peer
from hierarchical import GROUPS, log_density

STEPS = 10_000
LENGTH = 1000


def run(options: Options) -> list[Row]:
    """Measure calls of compiled functions."""
    rows = [_density(options), *(_chain(links, options) for links in (50, 200)), _loop(options)]
    return rows + [_matrix(name, options) for name in MATRICES]


def symbolic(package: str, build: Callable[[Any, Any], tuple[list[Any], Any]], values: list[Any]) -> Any:
    """Compile the graph of `build` with ``package`` and ``package.tensor``; None where it is not installed."""
    if peer(package) is None:
        return None
    main: Any = importlib.import_module(package)
    return partial(main.function(*build(main, importlib.import_module(f"{package}.tensor"))), *values)


def _jax(compute: Callable[..., Any], values: list[Any]) -> Callable[[], object] | None:
    jax = jax_with_doubles()
    if jax is None:
        return None
    compiled = jax.jit(partial(compute, jax)).lower(*values).compile()
    return lambda: jax.block_until_ready(compiled(*values))


def parts(v: Any) -> list[Any]:
    """Slice a vector into mu_a, log sigma_a, mu_b, log sigma_b, raw_a, raw_b and log sigma."""
    return [v[0], v[1], v[2], v[3], v[4 : 4 + GROUPS], v[4 + GROUPS : 4 + 2 * GROUPS], v[4 + 2 * GROUPS]]


def density(main: Any, tensor: Any) -> tuple[list[Any], Any]:
    v = tensor.dvector("v")
    cost = log_density(tensor, *parts(v))
    return [v], [cost, main.grad(cost, v)]


def _density(options: Options) -> Row:
    values = [numpy.random.default_rng(1).normal(size=5 + 2 * GROUPS) * 0.5]
    contenders = {
        OURS: symbolic("theano", density, values),
        "jax": _jax(lambda jax, v: jax.value_and_grad(lambda v: log_density(jax.numpy, *parts(v)))(v), values),
        "pytensor": symbolic("pytensor", density, values),
    }
    case = f"log-density and gradient of one vector, sliced into its parts: 919 observations, {GROUPS} groups"
    return Row(case, compare(contenders, options), ahead={"pytensor": 1 / 0.8})


def links_of(m: Any, x: Any, w: Any, links: int) -> Any:
    for _ in range(links):
        x = m.tanh(x * w + x.sum() * 1e-3)
    return x.sum()


def chain(links: int) -> Callable[[Any, Any], tuple[list[Any], Any]]:
    """Build a chain of so many links with its gradient."""

    def build(main: Any, tensor: Any) -> tuple[list[Any], Any]:
        x, w = tensor.dvector("x"), tensor.dvector("w")
        cost = links_of(tensor, x, w, links)
        return [x, w], [cost, *main.grad(cost, [x, w])]

    return build


def _chain(links: int, options: Options) -> Row:
    values: list[Any] = [numpy.linspace(0, 1, 8), numpy.linspace(1, 0.5, 8)]
    contenders = {
        OURS: symbolic("theano", chain(links), values),
        "jax": _jax(
            lambda jax, x, w: jax.value_and_grad(partial(links_of, jax.numpy, links=links), (0, 1))(x, w), values
        ),
        "pytensor": symbolic("pytensor", chain(links), values),
    }
    return Row(
        f"chain of {links} links on vectors of 8, with its gradient",
        compare(contenders, options),
        ahead={"pytensor": 1 / 0.8},
    )


def loop(main: Any, tensor: Any) -> tuple[list[Any], Any]:
    x, a, b = tensor.dvectors("x", "a", "b")
    states, _ = main.scan(lambda x, a, b: x * a + b, outputs_info=x, non_sequences=[a, b], n_steps=STEPS)
    return [x, a, b], states[-1]


def _jax_loop(jax: Any, x: Any, a: Any, b: Any) -> Any:
    return jax.lax.fori_loop(0, STEPS, lambda _, x: x * a + b, x)


def _loop(options: Options) -> Row:
    values: list[Any] = [numpy.linspace(0, 1, 10), numpy.linspace(0.9, 0.99, 10), numpy.linspace(0.1, 0.2, 10)]
    contenders = {OURS: symbolic("theano", loop, values), "jax": _jax(_jax_loop, values)}
    return Row(
        f"x <- x * a + b on vectors of 10, {STEPS:,} steps, the last state",
        compare(contenders, options),
        ahead={"jax": 1 / 0.8},
    )


def _centred(m: Any, x: Any) -> Any:
    d = x - x.mean(axis=0, keepdims=True)
    return (d * d).sum(axis=0)


def _exponentials(m: Any, x: Any) -> Any:
    return m.exp(x - x.max(axis=1, keepdims=True)).sum(axis=1)


MATRICES = {"sqr(x - x.mean(0)).sum(0)": _centred, "exp(x - x.max(1)).sum(1)": _exponentials}


def _matrix(name: str, options: Options) -> Row:
    values: list[Any] = [numpy.random.default_rng(0).standard_normal((LENGTH, LENGTH)).astype("float32")]

    def build(main: Any, tensor: Any) -> tuple[list[Any], Any]:
        x = tensor.fmatrix("x")
        return [x], MATRICES[name](tensor, x)

    contenders = {
        OURS: symbolic("theano", build, values),
        "jax": _jax(lambda jax, x: MATRICES[name](jax.numpy, x), values),
        "pytensor": symbolic("pytensor", build, values),
    }
    return Row(f"{name}, {LENGTH} x {LENGTH} float32", compare(contenders, options), ahead={"jax": 1 / 0.7})
