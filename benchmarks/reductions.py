"""Reductions of a 1000 x 1000 matrix over either axis: sum, mean, max, argmax, sum of squares, exp-sum of softmax."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy
import numpy.typing as npt
from harness import OURS, Options, Row, compare, jax_with_doubles, peer

import theano
import theano.tensor as T

LENGTH = 1000
Array = npt.NDArray[numpy.floating]
#: One expression for everybody: `m` is a module with NumPy's names, `x` its matrix, `a` the axis.
EXPRESSIONS: Mapping[str, Callable[[Any, Any, int], Any]] = {
    "sum": lambda m, x, a: m.sum(x, axis=a),
    "mean": lambda m, x, a: m.mean(x, axis=a),
    "max": lambda m, x, a: m.max(x, axis=a),
    "argmax": lambda m, x, a: m.argmax(x, axis=a),
    "sum of squares": lambda m, x, a: m.sum(x * x, axis=a),
    "exp-sum": lambda m, x, a: m.sum(m.exp(x - m.max(x, axis=a, keepdims=True)), axis=a),
}


def run(options: Options) -> list[Row]:
    return [_row(name, axis, dtype, options) for name in EXPRESSIONS for dtype in _dtypes(name) for axis in (0, 1)]


def _dtypes(name: str) -> tuple[str, ...]:
    return ("float32",) if name in ("sum of squares", "exp-sum") else ("float64", "float32")


def _row(name: str, axis: int, dtype: str, options: Options) -> Row:
    x = numpy.random.default_rng(0).standard_normal((LENGTH, LENGTH)).astype(dtype)
    contenders: dict[str, Callable[[], object] | None] = {
        OURS: _ours(name, axis, x),
        "jax": _jax(name, axis, x),
        "pytensor": _pytensor(name, axis, x, None),
        "pytensor (c)": _pytensor(name, axis, x, "CVM"),
        "numpy": partial(EXPRESSIONS[name], numpy, x, axis),
    }
    _check(contenders)
    return Row(f"{name}, axis {axis}, 1000 x 1000 {dtype}", compare(contenders, options), beat=("jax", "numpy"))


def _check(contenders: dict[str, Callable[[], object] | None]) -> None:
    """See that all compute the same before anybody is timed."""
    results = [numpy.asarray(call()) for call in contenders.values() if call is not None]
    for result in results:
        numpy.testing.assert_allclose(result, results[-1], rtol=1e-3, atol=1e-4)


def _ours(name: str, axis: int, x: Array) -> Callable[[], object]:
    u = T.matrix("x", dtype=str(x.dtype))
    return partial(theano.function([u], EXPRESSIONS[name](T, u, axis)), x)


def _pytensor(name: str, axis: int, x: Array, mode: str | None) -> Callable[[], object] | None:
    pytensor: Any = peer("pytensor")
    if pytensor is None:
        return None
    pt: Any = peer("pytensor.tensor")
    u = pt.matrix("x", dtype=str(x.dtype))
    return partial(pytensor.function([u], EXPRESSIONS[name](pt, u, axis), mode=mode), x)


def _jax(name: str, axis: int, x: Array) -> Callable[[], object] | None:
    jax = jax_with_doubles()
    if jax is None:
        return None
    compute = jax.jit(lambda u: EXPRESSIONS[name](jax.numpy, u, axis))
    u = jax.device_put(x)
    return lambda: compute(u).block_until_ready()
