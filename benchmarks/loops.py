"""Loops over steps: a recurrence of numbers, powers, recurrent networks with and without gradients.

PyTensor compiles its loops with Numba where no mode is given; "c" is its C linker, whose loop is a Cython module that
calls one compiled step after the other. JAX has `lax.scan` under `jit`. All compute the same, on the same values.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy
from harness import OURS, Options, Row, compare, jax_with_doubles, peer

STEPS, BATCH, UNITS = 50, 16, 64
NUMBERS, POWERS = 1000, 20
#: Makes (arguments of the function, results of it) with a package and its `tensor` and `scan`.
Build = Callable[[Any, Any], tuple[list[Any], Any]]


def recurrence(main: Any, tensor: Any) -> tuple[list[Any], Any]:
    """Build x <- x * a + b, all values kept."""
    x, a, b = tensor.dscalars("x", "a", "b")
    values, _ = main.scan(lambda x, a, b: x * a + b, None, x, [a, b], NUMBERS)
    return [x, a, b], values


def power(main: Any, tensor: Any) -> tuple[list[Any], Any]:
    """Build the element-wise power of the manual."""
    a, k = tensor.dvector("a"), tensor.iscalar("k")
    values, _ = main.scan(lambda before, a: before * a, None, tensor.ones_like(a), a, k)
    return [a, k], values[-1]


def network(step: Callable[..., Any], arity: int, gradient: bool) -> Build:
    """Return a builder of the last state of a recurrent network, or of its gradients."""

    def build(main: Any, tensor: Any) -> tuple[list[Any], Any]:
        x, h = tensor.ftensor3("x"), tensor.fmatrix("h")
        weights = [tensor.fvector() if k % 3 == 2 else tensor.fmatrix() for k in range(arity)]
        states, _ = main.scan(partial(step, tensor), x, h, weights)
        cost = (states**2).sum() if gradient else None
        return [x, h, *weights], states if cost is None else [cost, *tensor.grad(cost, weights)]

    return build


def simple(m: Any, x: Any, h: Any, *weights: Any) -> Any:
    """Return the next state of a simple network."""
    w, u, b = weights
    return m.tanh(m.dot(x, w) + m.dot(h, u) + b)


def gated(m: Any, x: Any, h: Any, *weights: Any) -> Any:
    """Return the next state of gated recurrent units."""
    wz, uz, bz, wr, ur, br, wn, un, bn = weights
    z = 1 / (1 + m.exp(-(m.dot(x, wz) + m.dot(h, uz) + bz)))
    r = 1 / (1 + m.exp(-(m.dot(x, wr) + m.dot(h, ur) + br)))
    n = m.tanh(m.dot(x, wn) + m.dot(r * h, un) + bn)
    return (1 - z) * n + z * h


def network_values(arity: int) -> list[Any]:
    """Return inputs, first state and weights."""
    rng = numpy.random.default_rng(0)
    shapes = [(STEPS, BATCH, UNITS), (BATCH, UNITS)]
    shapes += [(UNITS,) if k % 3 == 2 else (UNITS, UNITS) for k in range(arity)]
    return [(rng.normal(size=shape) / 8).astype("float32") for shape in shapes]


def symbolic(package: str, mode: str | None, build: Build, values: list[Any]) -> Callable[[], object] | None:
    """Compile with `theano` or `pytensor`; None where it is not installed."""
    if package != "theano" and peer(package) is None:
        return None
    main: Any = importlib.import_module(package)
    tensor: Any = importlib.import_module(f"{package}.tensor")
    inputs, outputs = build(main, tensor)
    return partial(main.function(inputs, outputs, **({"mode": mode} if mode else {})), *values)


def _jax_recurrence(jax: Any) -> Callable[..., Any]:
    def run(x: Any, a: Any, b: Any) -> Any:
        def step(x: Any, _: Any) -> Any:
            new = x * a + b
            return new, new

        return jax.lax.scan(step, x, None, length=NUMBERS)[1]

    return run


def _jax_power(jax: Any) -> Callable[..., Any]:
    def run(a: Any, k: Any) -> Any:
        return jax.lax.fori_loop(0, k, lambda _, before: before * a, jax.numpy.ones_like(a))

    return run


def jax_network(step: Callable[..., Any], gradient: bool, jax: Any) -> Callable[..., Any]:
    def states(weights: Any, x: Any, h: Any) -> Any:
        def one(h: Any, row: Any) -> Any:
            new = step(jax.numpy, row, h, *weights)
            return new, new

        return jax.lax.scan(one, h, x)[1]

    def cost(weights: Any, x: Any, h: Any) -> Any:
        return (states(weights, x, h) ** 2).sum()

    objective = jax.value_and_grad(cost) if gradient else states
    return lambda x, h, *weights: objective(weights, x, h)


def _jax_call(make: Callable[[Any], Callable[..., Any]], values: list[Any]) -> Callable[[], object] | None:
    jax = jax_with_doubles()
    if jax is None:
        return None
    compiled = jax.jit(make(jax)).lower(*values).compile()
    return lambda: jax.block_until_ready(compiled(*values))


def run(options: Options) -> list[Row]:
    """Measure calls of compiled loops."""
    numbers: list[Any] = [numpy.float64(0.5), numpy.float64(0.9), numpy.float64(0.1)]
    vector: list[Any] = [numpy.arange(10.0) / 10, numpy.int32(POWERS)]
    size = f"{STEPS} steps, batch {BATCH}, {UNITS} units, float32"
    cases: list[tuple[str, Build, Callable[[Any], Callable[..., Any]], list[Any]]] = [
        (f"x <- x * a + b, {NUMBERS:,} steps, all kept", recurrence, _jax_recurrence, numbers),
        (f"A**k by a loop, 10 elements, k = {POWERS}", power, _jax_power, vector),
    ]
    for name, step, arity in (("simple network", simple, 3), ("gated units", gated, 9)):
        for gradient in (False, True):
            case = f"{name}{', value and gradients' if gradient else ''}: {size}"
            make = partial(jax_network, step, gradient)
            cases.append((case, network(step, arity, gradient), make, network_values(arity)))
    return [_row(*case, options) for case in cases]


def _row(case: str, build: Build, jax: Callable[[Any], Callable[..., Any]], values: list[Any], options: Options) -> Row:
    contenders = {
        OURS: symbolic("theano", None, build, values),
        "jax": _jax_call(jax, values),
        "pytensor": symbolic("pytensor", None, build, values),
        "pytensor (c)": symbolic("pytensor", "CVM", build, values),
    }
    return Row(case, compare(contenders, options), beat=("pytensor", "pytensor (c)", "jax"))
