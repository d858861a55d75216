"""Elementwise functions in arithmetic of many digits, and the numbers to compare their derivatives at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import scipy.special
from mpmath import mp, mpf

import theano_tensor as T
from theano_tensor import nnet

#: Digits that are computed with.
DIGITS = 40
#: How near derivatives come, relative to their size: wrong ones are meant, not the last digits.
NEAR = {"float64": 1e-8, "float32": 1e-3}

_PLACES = (
    0.01,
    0.1,
    0.3,
    0.5,
    0.7,
    0.9,
    0.99,
    1.0,
    1.01,
    1.1,
    1.5,
    2.0,
    2.5,
    3.0,
    5.0,
    7.3,
    10.0,
    20.0,
    26.0,
    37.0,
    50.0,
)
_POWERS = {
    "float64": (*range(-320, -20, 20), *range(-18, -2), 2, 3, 4, 6, 8, 10, 16, 20, 50, 100, 154, 155, 160, 200, 300),
    "float32": (-44, -38, -36, -30, -25, -20, -19, -16, -10, -8, -6, -4, -3, 2, 3, 4, 6, 8, 10, 16, 19, 20, 30, 36, 38),
}
_EDGES = (80.0, 87.0, 88.7, 103.0, 150.0, 170.0, 300.0, 700.0, 709.5, 744.0)


@dataclass(frozen=True)
class Slope:
    """A function whose derivatives are compared.

    ``of(*variables)`` is the expression, ``like(*numbers)`` the same in many digits. It is compared for numbers from
    `low` to `high`, and at `more` of them; functions of two numbers at `pairs`. `near` may permit more than
    :data:`NEAR` in float64, and `scale` errors of some roundings of the number that ``scale(*numbers)`` gives. With
    `by`, one argument only has derivatives;
    ``without(numbers)`` says at which there are none. Of a function of one number that takes long in many digits,
    ``known(number)`` gives both derivatives.
    """

    of: Callable[..., Any]
    like: Callable[..., Any]
    low: float = -np.inf
    high: float = np.inf
    more: tuple[float, ...] = ()
    pairs: tuple[tuple[float, float], ...] = ()
    near: float = 0.0
    by: int | None = None
    scale: Callable[..., float] | None = None
    without: Callable[[Any], Any] | None = None
    known: Callable[[Any], tuple[Any, Any]] | None = None


def numbers(slope: Slope, dtype: str) -> Any:
    """Return the numbers at which a function of one number is compared."""
    info = np.finfo(dtype)
    sizes = [*_PLACES, *_EDGES, *(10.0**k for k in _POWERS[dtype]), 1 - float(info.eps), 1 + float(info.eps)]
    sizes += [float(info.max), float(info.tiny), 1 - 1e-5, 1 + 1e-5]
    with np.errstate(all="ignore"):
        values = np.unique(np.array([0.0, *sizes, *(-s for s in sizes), *slope.more]).astype(dtype))
    values = values[(values >= slope.low) & (values <= slope.high) & np.isfinite(values)]
    return values if slope.without is None else values[~slope.without(values)]


def pairs(slope: Slope, dtype: str) -> Any:
    """Return the pairs at which a function of two numbers is compared, as columns."""
    if slope.pairs:
        return np.array(slope.pairs, dtype).T
    big, tiny = (1e200, 1e-200) if dtype == "float64" else (1e25, 1e-25)
    sizes = [big, tiny, 1.0, 0.3, 5.0, 50.0, big**0.5, tiny**0.5]
    values = [sign * size for size in sizes for sign in (1, -1)]
    return np.array([(a, b) for a in values for b in values], dtype).T


def exact(slope: Slope, at: tuple[float, ...], orders: tuple[int, ...]) -> Any:
    """Return a partial derivative in many digits; None where there is none."""
    if slope.known is not None:
        return slope.known(mpf(at[0]))[sum(orders) - 1]
    like = slope.like
    where = [mpf(float(x)) for x in at]
    scale = min((abs(x) for x, n in zip(where, orders, strict=True) if n and x), default=mpf(1))
    # Steps relative to the size of the argument, and small ones at zero; digits for the cancellation between them.
    step = min(scale, 1) * mpf(10) ** (-DIGITS)
    logs = [int(mpmath.log10(abs(x))) for x in where if x]
    digits = DIGITS * 6 + 3 * (max([*logs, 0]) - min([*logs, 0]))
    try:
        with mp.workdps(digits):
            value = mpmath.diff(
                like, where if len(where) > 1 else where[0], orders if len(where) > 1 else orders[0], h=step
            )
    except (ValueError, ZeroDivisionError, OverflowError, mpmath.libmp.NoConvergence):
        return None
    return None if isinstance(value, mpmath.mpc) or not mpmath.isfinite(value) else value


def wrong(slope: Slope, result: float, expected: Any, dtype: str, at: tuple[float, ...]) -> bool:
    """Tell whether a number in a dtype is far from one in many digits; those beyond its range are infinite, or zero."""
    info = np.finfo(dtype)
    least = float(info.tiny) * 4 + float(info.eps) * 16 * (slope.scale(*at) if slope.scale else 0)
    if least > float(info.max):
        return False
    if abs(expected) > float(info.max) * (1 - 1e-3):
        return not (abs(result) >= float(info.max) * 0.99 and (result > 0) == (expected > 0))
    if np.isnan(result) or np.isinf(result):
        return True
    return bool(abs(mpf(float(result)) - expected) > abs(expected) * max(NEAR[dtype], slope.near) + least)


def _sinc(x: Any) -> Any:
    return mpmath.sinc(mp.pi * x)


def _log1mexp(x: Any) -> Any:
    return mpmath.log(-mpmath.expm1(x))


def _erfcx(x: Any) -> Any:
    return mpmath.exp(x * x) * mpmath.erfc(x)


def _cbrt(x: Any) -> Any:
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


def _erfcinv(x: Any) -> Any:
    return mpmath.erfinv(1 - x)


def _slopes_of_erfcinv(x: Any) -> tuple[Any, Any]:
    if not 0 < x < 2:
        return None, None
    with mp.workdps(DIGITS):
        y = mpf(float(scipy.special.erfcinv(float(x))))
        for _ in range(8):
            y += (mpmath.erfc(y) - x) * mpmath.sqrt(mp.pi) / 2 * mpmath.exp(y * y)
        first = -mpmath.sqrt(mp.pi) / 2 * mpmath.exp(y * y)
        return (first, 2 * y * first * first) if mpmath.isfinite(first) else (None, None)


def _softplus(x: Any) -> Any:
    return mpmath.log1p(mpmath.exp(x))


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mpmath.exp(-x))


def _elu(x: Any) -> Any:
    return x if x > 0 else mpmath.expm1(x)


def _selu(x: Any) -> Any:
    return mpf(1.0507009873554804934193349852946) * (
        x if x > 0 else mpf(1.6732632423543772848170429916717) * mpmath.expm1(x)
    )


def _one(*at: float) -> float:
    return 1.0


def _curvature(x: float, y: float) -> float:
    """Return the inverse of a length: the part across a direction is the difference of numbers of that size."""
    return 1 / float(np.hypot(x, y))


def _square_curvature(x: float, y: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(1) / np.hypot(x, y) ** 2)


def _digamma_difference(a: float, b: float) -> float:
    """Return how large the numbers are whose difference is the derivative of a logarithm of a beta function."""
    return 1 + float(abs(mpmath.digamma(a))) * (a > 1) + float(abs(mpmath.digamma(b))) * (b > 1)


def _zero(x: Any) -> Any:
    return x == 0


def _pole(x: Any) -> Any:
    return (x <= 0) & (x == np.floor(x))


def _near(*poles: float) -> tuple[float, ...]:
    return tuple(p + sign * 10.0**-k for p in poles for k in (1, 3, 5, 8) for sign in (1, -1))


_POLES = (-0.5, -1.5, -2.3, -10.5, -20.3, *_near(0.0, -1.0, -2.0))

UNARY: dict[str, Slope] = {
    "abs_": Slope(T.abs_, abs, without=_zero),
    "sqr": Slope(T.sqr, lambda x: x * x),
    "neg": Slope(T.neg, lambda x: -x),
    "cbrt": Slope(T.cbrt, _cbrt, without=_zero),
    "deg2rad": Slope(T.deg2rad, lambda x: x * mp.pi / 180),
    "rad2deg": Slope(T.rad2deg, lambda x: x * 180 / mp.pi),
    "inv": Slope(T.inv, lambda x: 1 / x, without=_zero),
    "exp": Slope(T.exp, mpmath.exp),
    "exp2": Slope(T.exp2, lambda x: mpf(2) ** x),
    "expm1": Slope(T.expm1, mpmath.expm1),
    "log": Slope(T.log, mpmath.log, 0),
    "log2": Slope(T.log2, lambda x: mpmath.log(x, 2), 0),
    "log10": Slope(T.log10, mpmath.log10, 0),
    "log1p": Slope(T.log1p, mpmath.log1p, -1, more=(-1 + 1e-7, -1 + 1e-15)),
    "log1mexp": Slope(T.log1mexp, _log1mexp, high=-1e-320),
    "logaddexp of zero": Slope(lambda x: T.logaddexp(x, T.zeros_like(x)), _softplus, scale=_one),
    "sinh": Slope(T.sinh, mpmath.sinh),
    "cosh": Slope(T.cosh, mpmath.cosh),
    "tanh": Slope(T.tanh, mpmath.tanh, scale=_one),
    "arcsinh": Slope(T.arcsinh, mpmath.asinh),
    "arccosh": Slope(T.arccosh, mpmath.acosh, 1, more=(1 + 1e-8, 1 + 1e-12)),
    "arctanh": Slope(T.arctanh, mpmath.atanh, -1, 1, more=(1 - 1e-8, 1 - 1e-12, 1e-12 - 1)),
    "sigmoid": Slope(T.sigmoid, _sigmoid, scale=_one),
    "softplus": Slope(T.softplus, _softplus, scale=_one),
    "sqrt": Slope(T.sqrt, mpmath.sqrt, 0),
    "sin": Slope(T.sin, mpmath.sin),
    "cos": Slope(T.cos, mpmath.cos),
    "tan": Slope(T.tan, mpmath.tan, near=1e-6),
    "arcsin": Slope(T.arcsin, mpmath.asin, -1, 1, more=(1 - 1e-8, 1 - 1e-12, 1e-12 - 1)),
    "arccos": Slope(T.arccos, mpmath.acos, -1, 1, more=(1 - 1e-8, 1 - 1e-12, 1e-12 - 1)),
    "arctan": Slope(T.arctan, mpmath.atan),
    "sinc": Slope(
        T.sinc, _sinc, -60, 60, more=(1e-5, 2e-5, 3e-4, 1e-3, 3e-3, 0.03, 0.2, 1 - 1e-7, 3.5, -0.02), near=1e-6
    ),
    "j0": Slope(T.j0, lambda x: mpmath.besselj(0, x), -1e3, 1e3),
    "j1": Slope(T.j1, lambda x: mpmath.besselj(1, x), -1e3, 1e3),
    "j2": Slope(lambda x: T.jv(2.0, x), lambda x: mpmath.besselj(2, x), -1e3, 1e3),
    "i0": Slope(T.i0, lambda x: mpmath.besseli(0, x), -1e3, 1e3),
    "i1": Slope(T.i1, lambda x: mpmath.besseli(1, x), -1e3, 1e3),
    "i2": Slope(lambda x: T.iv(2.0, x), lambda x: mpmath.besseli(2, x), -1e3, 1e3),
    "erf": Slope(T.erf, mpmath.erf),
    "erfc": Slope(T.erfc, mpmath.erfc),
    "erfcx": Slope(T.erfcx, _erfcx, -1e3, more=(1e5, 1e7, -5.0, -20.0)),
    "erfinv": Slope(T.erfinv, mpmath.erfinv, -1, 1, more=(1 - 1e-6, 1e-12 - 1)),
    "erfcinv": Slope(T.erfcinv, _erfcinv, 0, 2, more=(1.9, 1.999), known=_slopes_of_erfcinv),
    "gamma": Slope(T.gamma, mpmath.gamma, -30, 1e6, more=_POLES, without=_pole),
    "gammaln": Slope(T.gammaln, lambda x: mpmath.log(abs(mpmath.gamma(x))), -30, 1e6, more=_POLES, without=_pole),
    "psi": Slope(T.psi, mpmath.digamma, -30, more=_POLES, without=_pole),
    "tri_gamma": Slope(T.tri_gamma, lambda x: mpmath.psi(1, x), -30, more=_POLES, without=_pole),
    "softsign": Slope(nnet.softsign, lambda x: x / (1 + abs(x))),
    "elu": Slope(nnet.elu, _elu, without=_zero),
    "selu": Slope(nnet.selu, _selu, without=_zero),
    "relu": Slope(nnet.relu, lambda x: max(x, 0), without=_zero),
    "leaky relu": Slope(lambda x: nnet.relu(x, 0.25), lambda x: x if x > 0 else x / 4, without=_zero),
    "power 3": Slope(lambda x: x**3, lambda x: x**3, without=_zero),
    "power 0": Slope(lambda x: x**0.0, lambda x: mpf(1)),
    "power 1": Slope(lambda x: x**1.0, lambda x: x),
    "power 2.5": Slope(lambda x: x**2.5, lambda x: x ** mpf(2.5), 0),
    "power 1.5": Slope(lambda x: x**1.5, lambda x: x ** mpf(1.5), 0),
    "power -0.5": Slope(lambda x: x**-0.5, lambda x: x ** mpf(-0.5), 0),
    "power -2": Slope(lambda x: x**-2.0, lambda x: x**-2, without=_zero),
    "power of 2": Slope(lambda x: 2.0**x, lambda x: mpf(2) ** x),
}

_GAMMAS = tuple((a, x) for a in (0.2, 1.0, 2.5, 30.0) for x in (1e-10, 0.1, 1.0, 5.0, 40.0, 200.0))
BINARY: dict[str, Slope] = {
    "hypot": Slope(T.hypot, lambda x, y: mpmath.sqrt(x * x + y * y), scale=_curvature),
    "arctan2": Slope(T.arctan2, mpmath.atan2, scale=_square_curvature),
    "logaddexp": Slope(
        T.logaddexp,
        lambda x, y: mpmath.log(mpmath.exp(x) + mpmath.exp(y)),
        scale=_one,
        pairs=((1.0, 2.0), (-800.0, -801.0), (800.0, 799.5), (3.0, -40.0), (0.0, 700.0)),
    ),
    "true_div": Slope(T.true_div, lambda x, y: x / y),
    "pow": Slope(
        T.pow,
        lambda x, y: x**y,
        pairs=((2.0, 3.0), (0.5, -2.5), (1e-30, 0.5), (1e30, 1.01), (1.0, 50.0), (0.9, 200.0), (3.0, 0.0), (1.0, 0.0)),
    ),
    "betaln": Slope(
        T.betaln,
        lambda a, b: mpmath.log(mpmath.beta(a, b)),
        pairs=tuple((a, b) for a in (1e-10, 0.2, 1.0, 30.0, 1e5) for b in (1e-10, 0.2, 1.0, 30.0, 1e5)),
        scale=_digamma_difference,
        near=1e-6,
    ),
    "gammainc": Slope(
        T.gammainc, lambda a, x: mpmath.gammainc(a, 0, x, regularized=True), pairs=_GAMMAS, by=1, near=1e-7
    ),
    "gammaincc": Slope(
        T.gammaincc, lambda a, x: mpmath.gammainc(a, x, regularized=True), pairs=_GAMMAS, by=1, near=1e-7
    ),
    "gammal": Slope(T.gammal, lambda a, x: mpmath.gammainc(a, 0, x), pairs=_GAMMAS, by=1, near=1e-7),
    "gammau": Slope(T.gammau, mpmath.gammainc, pairs=_GAMMAS, by=1, near=1e-7),
    "chi2sf": Slope(
        T.chi2sf,
        lambda x, d: mpmath.gammainc(d / 2, x / 2, regularized=True),
        pairs=tuple((x, a) for a, x in _GAMMAS),
        by=0,
        near=1e-7,
    ),
    "betainc": Slope(
        lambda x, a: T.betainc(a, T.ones_like(a) * 2, x),
        lambda x, a: mpmath.betainc(a, 2, 0, x, regularized=True),
        pairs=tuple((x, a) for x in (1e-10, 0.1, 0.5, 0.999, 1 - 1e-9) for a in (0.5, 1.0, 3.0)),
        by=0,
        near=1e-6,
    ),
    "abs of complex": Slope(
        lambda x, y: abs(T.complex(x, y)), lambda x, y: mpmath.sqrt(x * x + y * y), scale=_curvature
    ),
    "angle of complex": Slope(
        lambda x, y: T.angle(T.complex(x, y)), lambda x, y: mpmath.atan2(y, x), scale=_square_curvature
    ),
    "real part of sign": Slope(
        lambda x, y: T.real(T.sgn(T.complex(x, y))),
        lambda x, y: x / mpmath.sqrt(x * x + y * y),
        scale=_square_curvature,
    ),
}
