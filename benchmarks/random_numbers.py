"""A million uniform or normal numbers: MRG31k3p streams beside NumPy's generators and the peers'."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy
from harness import OURS, Options, Row, compare, jax_with_doubles, peer

import theano
from theano.sandbox.rng_mrg import MRG_RandomStreams
from theano.tensor.shared_randomstreams import RandomStreams

COUNT = 10**6
DISTRIBUTIONS = ("uniform", "normal")


def run(options: Options) -> list[Row]:
    rows = [_row(name, dtype, options) for name in DISTRIBUTIONS for dtype in ("float64", "float32")]
    return [*rows, _small(options)]


def _row(name: str, dtype: str, options: Options) -> Row:
    contenders: dict[str, Callable[[], object] | None] = {
        OURS: theano.function([], getattr(MRG_RandomStreams(1), name)((COUNT,), dtype=dtype)),
        "numpy": _legacy(name, dtype),
        "numpy (PCG64)": _present(name, dtype),
        "jax": _jax(name, dtype),
        "pytensor": _pytensor(name, dtype),
    }
    for call in contenders.values():
        _check(name, call)
    return Row(f"{COUNT} {name} numbers, {dtype}", compare(contenders, options), ahead={"numpy": 2.0})


def _small(options: Options) -> Row:
    """The cost of a call that draws few numbers: the state of NumPy's legacy generator is copied."""
    contenders: dict[str, Callable[[], object] | None] = {
        OURS: theano.function([], MRG_RandomStreams(1).uniform((10,))),
        "RandomStreams": theano.function([], RandomStreams(1).uniform((10,))),
        "numpy": partial(numpy.random.RandomState(1).uniform, size=10),
        "pytensor": _pytensor("uniform", "float64", 10),
    }
    return Row("10 uniform numbers, float64", compare(contenders, options))


def _check(name: str, call: Callable[[], object] | None) -> None:
    """Check mean and spread of the draws before anybody is timed."""
    if call is not None:
        numbers: Any = numpy.asarray(call(), "float64")
        mean, spread = (0.5, 12**-0.5) if name == "uniform" else (0.0, 1.0)
        numpy.testing.assert_allclose([numbers.mean(), numbers.std()], [mean, spread], atol=0.01)


def _legacy(name: str, dtype: str) -> Callable[[], object]:
    """NumPy's legacy generator draws doubles only."""
    draw = partial(getattr(numpy.random.RandomState(1), name), size=COUNT)
    return draw if dtype == "float64" else lambda: draw().astype(dtype)


def _present(name: str, dtype: str) -> Callable[[], object]:
    generator = numpy.random.default_rng(1)
    kind: Any = dtype
    return partial(generator.random if name == "uniform" else generator.standard_normal, COUNT, kind)


def _pytensor(name: str, dtype: str, count: int = COUNT) -> Callable[[], object] | None:
    pytensor: Any = peer("pytensor")
    if pytensor is None:
        return None
    streams: Any = peer("pytensor.tensor.random.utils")
    draw = getattr(streams.RandomStream(1), name)(size=(count,), dtype=dtype)
    function: Callable[[], object] = pytensor.function([], draw)
    return function


def _jax(name: str, dtype: str) -> Callable[[], object] | None:
    jax = jax_with_doubles()
    if jax is None:
        return None
    draw = jax.jit(lambda key: getattr(jax.random, name)(key, (COUNT,), dtype))
    advance = jax.jit(jax.random.split)
    state = [jax.random.key(1)]

    def call() -> object:
        state[0], key = advance(state[0])
        return draw(key).block_until_ready()

    return call
