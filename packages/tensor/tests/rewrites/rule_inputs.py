"""Inputs of expressions for rules, and the facts about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import theano_tensor as T

#: Why values are compared for finite numbers only.
LANGUAGE = "a product with 0 is 0, x / x is 1, x - x is 0"
STABLE = "right where the form before is not"
ROUNDED = "infinities meet in another order"
APPROXIMATE = "an approximation, asked for by its name"


@dataclass(frozen=True)
class Given:
    """Inputs: vectors x, y and matrices A, B of floats, a number s, integers n, truth values p."""

    x: Any
    y: Any
    A: Any
    B: Any
    s: Any
    n: Any
    p: Any

    def variables(self) -> list[Any]:
        """Return them in order."""
        return [self.x, self.y, self.A, self.B, self.s, self.n, self.p]


def given(dtype: str = "float64") -> Given:
    """Return fresh inputs, the floats of `dtype`."""
    x, y = T.vector("x", dtype=dtype), T.vector("y", dtype=dtype)
    A, B = T.matrix("A", dtype=dtype), T.matrix("B", dtype=dtype)
    return Given(x, y, A, B, T.scalar("s", dtype=dtype), T.lvector("n"), T.bvector("p"))


def values(rng: np.random.RandomState, special: bool, dtype: str = "float64") -> list[Any]:
    """Return random values for the inputs; with zeros, infinities and NaN among them if `special`."""
    x, y = rng.randn(6), rng.randn(6)
    if special:
        x[:4], y[:5] = [0.0, np.inf, -np.inf, np.nan], [np.inf, 0.0, -np.inf, 1.0, np.nan]
    floats = [x, y, rng.randn(6, 6) * 0.5, rng.randn(6, 6), np.asarray(rng.rand() + 0.5)]
    return [*(v.astype(dtype) for v in floats), rng.randint(-3, 4, 6), rng.randint(0, 2, 6).astype("int8")]


Build = Callable[[Given], Any]


@dataclass(frozen=True)
class Case:
    """The place where a rule fires, and its expected effect.

    Attributes
    ----------
    builds : expressions on which it fires.
    reason : why values are compared for finite numbers only; None: NaN, infinities and zeros stay, too.
    preempted : the rewrite that simplifies these expressions first in the pipeline; without that one, this one fires.
    tags : tags that a mode has to include besides FAST_RUN's rules.
    rtol : how far values may be apart, for float64; in float32 it is 1e-4 at least.
    step : an earlier step of the phase, without which it has nothing to work on.
    """

    builds: tuple[Build, ...]
    reason: str | None = None
    preempted: str | None = None
    tags: tuple[str, ...] = ()
    rtol: float = 1e-9
    step: str | None = None


def case(
    *builds: Build,
    reason: str | None = None,
    preempted: str | None = None,
    tags: tuple[str, ...] = (),
    rtol: float = 1e-9,
    step: str | None = None,
) -> Case:
    """Return a case."""
    return Case(builds, reason, preempted, tags, rtol, step)
