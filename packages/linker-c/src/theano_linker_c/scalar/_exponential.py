"""Exponentials and logarithms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._derivative import differentiable, real_operands
from ._op import FloatFunction
from ._record import REALS, ScalarRecord


class Exp(FloatFunction):
    """e to the power of x."""

    name = "exp"
    ufunc = np.exp


class Exp2(FloatFunction):
    """2 to the power of x."""

    name = "exp2"
    ufunc = np.exp2


class Expm1(FloatFunction):
    """``exp(x) - 1``, accurate near zero."""

    name = "expm1"
    ufunc = np.expm1
    cost = 15


class Log(FloatFunction):
    """Natural logarithm."""

    name = "log"
    ufunc = np.log


class Log2(FloatFunction):
    """Logarithm to base 2."""

    name = "log2"
    ufunc = np.log2


class Log10(FloatFunction):
    """Logarithm to base 10."""

    name = "log10"
    ufunc = np.log10


class Log1p(FloatFunction):
    """``log(1 + x)``, accurate near zero."""

    name = "log1p"
    ufunc = np.log1p
    cost = 15


exp = Exp()
exp2 = Exp2()
expm1 = Expm1()
log = Log()
log2 = Log2()
log10 = Log10()
log1p = Log1p()


@differentiable(Exp)
def _exp(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed * output]


@differentiable(Exp2)
def _exp2(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed * output * math.log(2.0)]


@differentiable(Expm1)
def _expm1(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed * (output + 1)]


@differentiable(Log)
def _log(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed / inputs[0]]


@differentiable(Log2)
def _log2(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed / (inputs[0] * math.log(2.0))]


@differentiable(Log10)
def _log10(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed / (inputs[0] * math.log(10.0))]


@differentiable(Log1p)
def _log1p(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    (x,) = real_operands(inputs, output)
    return [seed / (1 + x)]


RECORDS = (
    ScalarRecord(exp, np.exp, REALS),
    ScalarRecord(exp2, np.exp2, REALS),
    ScalarRecord(expm1, np.expm1, REALS),
    ScalarRecord(log, np.log, REALS, low=0.01, high=100.0),
    ScalarRecord(log2, np.log2, REALS, low=0.01, high=100.0),
    ScalarRecord(log10, np.log10, REALS, low=0.01, high=100.0),
    ScalarRecord(log1p, np.log1p, REALS, low=-0.9, high=100.0),
)
