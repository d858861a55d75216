"""Functions that name an expression which would lose accuracy or overflow if it were written out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._contract._cvalue import CValue, c_call, c_cast, c_helper
from ._contract._derivative import differentiable, real_operands
from ._contract._op import BinaryScalarOp, FloatFunction, UnaryScalarOp, arraywise, dtype_name, quiet
from ._contract._record import REALS, ScalarRecord
from ._exponential import exp


class Log1mexp(FloatFunction, UnaryScalarOp):
    """``log(1 - exp(x))`` for x below zero, accurate near zero and far from it; NaN above zero."""

    name = "log1mexp"
    complex_ok = False
    cost = 30

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Choose the form that does not cancel."""
        x = np.asarray(values[0], dtype=self.result_dtypes(dtype_name(values[0]))[0])
        near = x > -math.log(2.0)
        return np.asarray(np.where(near, np.log(-np.expm1(x)), np.log1p(-np.exp(x))), dtype=x.dtype)[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the helper."""
        return c_helper("log_one_minus_exp", result, c_cast(args[0], result))


class LogAddExp(FloatFunction, BinaryScalarOp):
    """``log(exp(x) + exp(y))`` without overflow."""

    name = "logaddexp"
    complex_ok = False
    commutative = True
    cost = 30
    ufunc = np.logaddexp

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the helper."""
        return c_helper("logaddexp", result, *(c_cast(arg, result) for arg in args))


class Hypot(FloatFunction, BinaryScalarOp):
    """``sqrt(x**2 + y**2)`` without overflow."""

    name = "hypot"
    complex_ok = False
    commutative = True
    cost = 15
    ufunc = np.hypot


class DirectionCosine(FloatFunction, BinaryScalarOp):
    """``x / sqrt(x**2 + y**2)``, the cosine of the angle of a point (x, y).

    Slopes are written with it: rewrites would join a quotient of it and of `hypot` to one by a square, which overflows.
    """

    name = "direction_cosine"
    complex_ok = False
    cost = 20

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Divide by NumPy's hypot."""
        dtype = self.result_dtypes(*map(dtype_name, values))[0]
        return np.asarray(np.true_divide(values[0], np.hypot(*values, dtype=dtype), dtype=dtype))[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Divide by the C library's hypot."""
        x, y = (c_cast(arg, result) for arg in args)
        return f"{x} / {c_call('hypot', result, x, y)}"


class Cbrt(FloatFunction, UnaryScalarOp):
    """Cube root, negative for negative numbers."""

    name = "cbrt"
    complex_ok = False
    cost = 15
    ufunc = np.cbrt


class Deg2Rad(FloatFunction, UnaryScalarOp):
    """An angle in degrees, converted to radians."""

    name = "deg2rad"
    complex_ok = False
    cost = 1
    ufunc = np.deg2rad

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Multiply with the factor in the result's precision, as NumPy does."""
        return f"{c_cast(args[0], result)} * {_factor(math.pi / 180, result)}"


class Rad2Deg(FloatFunction, UnaryScalarOp):
    """An angle in radians, converted to degrees."""

    name = "rad2deg"
    complex_ok = False
    cost = 1
    ufunc = np.rad2deg

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Multiply with the factor in the result's precision, as NumPy does."""
        return f"{c_cast(args[0], result)} * {_factor(180 / math.pi, result)}"


def _factor(value: float, dtype: str) -> str:
    return f"{value.hex()}" if dtype == "float64" else f"{float(np.float32(value)).hex()}f"


log1mexp = Log1mexp()
logaddexp = LogAddExp()
hypot = Hypot()
direction_cosine = DirectionCosine()
cbrt = Cbrt()
deg2rad = Deg2Rad()
rad2deg = Rad2Deg()


@differentiable(Log1mexp)
def _log1mexp(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # exp(x) / (exp(x) - 1) as an exponential, whose derivatives do not overflow
    (x,) = real_operands(inputs, output)
    return [-(seed * exp(x - output))]


@differentiable(LogAddExp)
def _logaddexp(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    x, y = real_operands(inputs, output)
    return [seed * exp(x - output), seed * exp(y - output)]


@differentiable(Hypot)
def _hypot(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    x, y = real_operands(inputs, output)
    return [seed * direction_cosine(x, y), seed * direction_cosine(y, x)]


@differentiable(DirectionCosine)
def _direction_cosine(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    x, y = real_operands(inputs, output)
    sine = direction_cosine(y, x)
    across = seed * sine / hypot(x, y)
    return [across * sine, -(across * output)]


@differentiable(Cbrt)
def _cbrt(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed / (3 * output * output)]


@differentiable(Deg2Rad)
def _deg2rad(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed * (math.pi / 180)]


@differentiable(Rad2Deg)
def _rad2deg(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed * (180 / math.pi)]


def _floats(*values: Any) -> list[Any]:
    return [np.asarray(x, dtype=np.result_type(*values, np.float32)) for x in values]


def _log1mexp_reference(x: Any) -> Any:
    dtype = np.result_type(x, np.float32)
    wide = np.asarray(x, dtype=np.longdouble)
    return np.where(wide > -0.5, np.log(-np.expm1(wide)), np.log1p(-np.exp(wide))).astype(dtype)


RECORDS = (
    ScalarRecord(log1mexp, _log1mexp_reference, REALS, low=-5.0, high=-0.01, ulp=8.0),
    ScalarRecord(logaddexp, np.logaddexp, REALS, ulp=8.0),
    ScalarRecord(hypot, np.hypot, REALS, low=0.1),
    ScalarRecord(direction_cosine, lambda x, y: _floats(x, y)[0] / np.hypot(*_floats(x, y)), REALS, low=0.1),
    ScalarRecord(cbrt, np.cbrt, REALS, low=0.1),
    ScalarRecord(deg2rad, np.deg2rad, REALS),
    ScalarRecord(rad2deg, np.rad2deg, REALS),
)
