"""Arithmetic on 10^3 and 10^6 elements: ``tanh(2 x + 1) * exp(-x**2) + sigmoid(y)``, in float64 and float32."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy
import numpy.typing as npt
from harness import OURS, Options, Row, compare, jax_with_doubles, peer

import theano
import theano.tensor as T

POWERS = (3, 6)
Array = npt.NDArray[numpy.floating]


def run(options: Options) -> list[Row]:
    return [_row(dtype, power, options) for power in POWERS for dtype in ("float64", "float32")]


def _row(dtype: str, power: int, options: Options) -> Row:
    rng = numpy.random.default_rng(0)
    x, y = (rng.standard_normal(10**power).astype(dtype) for _ in range(2))
    contenders: dict[str, Callable[[], object] | None] = {
        OURS: _ours(x, y),
        "jax": _jax(x, y),
        "pytensor": _pytensor(x, y, None),
        "pytensor (c)": _pytensor(x, y, "CVM"),
        "numpy": partial(_numpy, x, y),
    }
    _check(contenders, dtype)
    case = f"tanh(2x+1)*exp(-x**2)+sigmoid(y), 10^{power} elements, {dtype}"
    return Row(case, compare(contenders, options), beat=("jax",))


def _check(contenders: dict[str, Callable[[], object] | None], dtype: str) -> None:
    """See that all compute the same before anybody is timed."""
    results = [numpy.asarray(call()) for call in contenders.values() if call is not None]
    for result in results:
        assert result.dtype == dtype, f"a contender gives {result.dtype} instead of {dtype}"
        numpy.testing.assert_allclose(result, results[-1], rtol=1e-4 if dtype == "float32" else 1e-10, atol=1e-6)


def _ours(x: Array, y: Array) -> Callable[[], object]:
    u, v = T.vector("x", dtype=str(x.dtype)), T.vector("y", dtype=str(x.dtype))
    return partial(theano.function([u, v], T.tanh(2 * u + 1) * T.exp(-(u**2)) + T.nnet.sigmoid(v)), x, y)


def _pytensor(x: Array, y: Array, mode: str | None) -> Callable[[], object] | None:
    pytensor: Any = peer("pytensor")
    if pytensor is None:
        return None
    pt: Any = peer("pytensor.tensor")
    u, v = pt.vector("x", dtype=str(x.dtype)), pt.vector("y", dtype=str(x.dtype))
    return partial(pytensor.function([u, v], pt.tanh(2 * u + 1) * pt.exp(-(u**2)) + pt.sigmoid(v), mode=mode), x, y)


def _jax(x: Array, y: Array) -> Callable[[], object] | None:
    jax = jax_with_doubles()
    if jax is None:
        return None
    jnp = jax.numpy

    @jax.jit  # type: ignore[untyped-decorator, unused-ignore]  # its package may be absent
    def compute(u: Any, v: Any) -> Any:
        return jnp.tanh(2 * u + 1) * jnp.exp(-(u**2)) + jax.nn.sigmoid(v)

    u, v = jax.device_put(x), jax.device_put(y)
    return lambda: compute(u, v).block_until_ready()


def _numpy(x: Array, y: Array) -> Array:
    return numpy.tanh(2 * x + 1) * numpy.exp(-(x**2)) + 1 / (1 + numpy.exp(-y))
