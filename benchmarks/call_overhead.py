"""What one call costs when there is next to nothing to compute: ``f(a, b) = a + b`` on two Python floats."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial

import numpy
from harness import OURS, Options, Row, compare, jax_with_doubles, peer

import theano
import theano.tensor as T


def run(options: Options) -> list[Row]:
    contenders: dict[str, Callable[[], object] | None] = {
        OURS: partial(_ours(), 1.5, 2.5),
        "jax": _jax(),
        "pytensor": _pytensor(None),
        "pytensor (c)": _pytensor("CVM"),
        "numpy": partial(numpy.add, 1.5, 2.5),
    }
    return [Row("call f(a, b) = a + b on Python floats", compare(contenders, options), limit=1.5e-6)]


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
