"""Exponentials, logarithms, powers, and functions that name an expression which would lose accuracy or overflow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ._derivative import REALS, ScalarRecord, differentiable, one_like, real_operands
from ._dtypes import CValue, c_builtin, c_call, c_cast, c_helper, c_literal, is_complex, is_discrete, part_dtype, upcast
from ._op import BinaryScalarOp, FloatFunction, UnaryScalarOp, arraywise, dtype_name, quiet
from ._type import OperatorSet

# ---- Exponentials and logarithms


class Exp(FloatFunction, UnaryScalarOp):
    """e to the power of x."""

    name = "exp"
    ufunc = np.exp


class _OtherBase(FloatFunction):
    """A function to base 2 or 10; of complex numbers it is the natural one, scaled, as in NumPy."""

    base: ClassVar[float] = 2.0

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the C library's function, or its natural form."""
        if not is_complex(result):
            return super().c_expression(args, result)
        return f"{c_call('log', result, c_cast(args[0], result))} * {self.factor(1 / math.log(self.base), result)}"

    def factor(self, value: float, dtype: str) -> str:
        """Write a real factor in the precision of the parts."""
        return c_literal(np.float32(value) if dtype == "complex64" else value, part_dtype(dtype))


class Exp2(_OtherBase, UnaryScalarOp):
    """2 to the power of x."""

    name = "exp2"
    ufunc = np.exp2

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the C library's function, or its natural form."""
        if not is_complex(result):
            return super().c_expression(args, result)
        return c_call("exp", result, f"{c_cast(args[0], result)} * {self.factor(math.log(2.0), result)}")


class Expm1(FloatFunction, UnaryScalarOp):
    """``exp(x) - 1``, accurate near zero."""

    name = "expm1"
    ufunc = np.expm1
    cost = 15


class Log(FloatFunction, UnaryScalarOp):
    """Natural logarithm."""

    name = "log"
    ufunc = np.log


class Log2(_OtherBase, UnaryScalarOp):
    """Logarithm to base 2."""

    name = "log2"
    ufunc = np.log2


class Log10(_OtherBase, UnaryScalarOp):
    """Logarithm to base 10."""

    base = 10.0
    name = "log10"
    ufunc = np.log10


class Log1p(FloatFunction, UnaryScalarOp):
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
    # ``output + 1`` would be 0 where the exponential is less than the roundings of 1.
    (x,) = real_operands(inputs, output)
    return [seed * exp(x)]


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


# ---- Powers and the square root


class Pow(BinaryScalarOp):
    """First input to the power of the second.

    Differs from NumPy: an integer to a negative integer power is no error. It gives the whole part of the result:
    1 for base 1, 1 or -1 for base -1, and 0 otherwise.
    """

    name = "pow"
    cost = 25

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The common dtype; int8 for two truth values."""
        common = upcast(*dtypes)
        return ("int8" if common == "bool" else common,)

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Call NumPy's power, which refuses negative exponents of integers, on operands that it accepts."""
        base, exponent = values
        dtype = self.result_dtypes(dtype_name(base), dtype_name(exponent))[0]
        if not is_discrete(dtype) or dtype.startswith("u"):
            return np.power(base, exponent, dtype=dtype)
        base, exponent = np.asarray(base, dtype=dtype), np.asarray(exponent, dtype=dtype)
        power = np.power(base, np.maximum(exponent, 0), dtype=dtype)
        inverse = np.where(np.abs(base) == 1, np.power(base, np.abs(exponent % 2), dtype=dtype), 0)
        return np.where(exponent < 0, inverse, power).astype(dtype)[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Multiply for the exponents 1, 2 and -1 where they are constant; call pow otherwise."""
        base, exponent = (c_cast(arg, result) for arg in args)
        if is_discrete(result):
            return c_helper("int_pow", result, base, exponent)
        if is_complex(result):
            return c_helper("power", result, base, exponent)
        special = {1.0: base, 2.0: f"{base} * {base}", -1.0: f"1 / {base}"}
        constant = args[1].constant
        if constant is not None and float(constant) in special:
            return special[float(constant)]
        return c_call("pow", result, base, exponent)


class Sqrt(FloatFunction, UnaryScalarOp):
    """Square root; NaN below zero."""

    name = "sqrt"
    ufunc = np.sqrt
    cost = 5

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Use the machine's instruction."""
        return c_builtin("sqrt", result, c_cast(args[0], result))


pow_ = Pow()
sqrt = Sqrt()


@differentiable(Pow)
def _pow(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    x, y = inputs
    # x**(y-1) is infinite where x and y are both zero, and log(x) where x is zero: another base, whose derivatives are
    # finite, stands there for them. Elsewhere the formulas hold, so that they can be differentiated.
    switch, eq, lt, log = (OperatorSet.table[name] for name in ("switch", "eq", "lt", "log"))
    one, zero = one_like(x), eq(x, 0)
    # 1 / x is infinite for the smallest numbers, too.
    vanishing = zero if is_discrete(x.dtype) else lt(abs(x), 1 / float(np.finfo(x.dtype).max))
    lower = y * 1.0 - 1.0 if is_discrete(y.dtype) else y - 1
    slope = y * switch(eq(y, 0), switch(vanishing, one, x), x) ** lower
    growth = switch(zero, 0, log(switch(zero, one, x)) * output)
    return [seed * slope, seed * growth]


@differentiable(Sqrt)
def _sqrt(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed * 0.5 / output]


def _reference_pow(x: Any, y: Any) -> Any:
    if x.dtype.kind not in "iub" or y.dtype.kind not in "ib":
        return np.power(x, y)
    dtype = np.power(x[:0], y[:0]).dtype
    exact = [_whole_power(int(base), int(exponent)) for base, exponent in zip(x, y, strict=True)]
    bits = 8 * dtype.itemsize
    return np.array([value % 2**bits for value in exact], dtype=f"uint{bits}").astype(dtype)


def _whole_power(base: int, exponent: int) -> int:
    if exponent >= 0:
        # Modulo the widest integer: the exponents are as large as their dtype allows.
        return pow(base, exponent, 2**64)
    return int(base**-exponent) if base in (1, -1) else 0


# ---- Functions that name an expression which would lose accuracy or overflow if it were written out


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
    ScalarRecord(exp, np.exp, REALS),
    ScalarRecord(exp2, np.exp2, REALS),
    ScalarRecord(expm1, np.expm1, REALS),
    ScalarRecord(log, np.log, REALS, low=0.01, high=100.0),
    ScalarRecord(log2, np.log2, REALS, low=0.01, high=100.0),
    ScalarRecord(log10, np.log10, REALS, low=0.01, high=100.0),
    ScalarRecord(log1p, np.log1p, REALS, low=-0.9, high=100.0),
    ScalarRecord(pow_, _reference_pow, REALS, low=0.01, high=5.0),
    ScalarRecord(sqrt, np.sqrt, REALS, low=0.01, high=50.0),
    ScalarRecord(log1mexp, _log1mexp_reference, REALS, low=-5.0, high=-0.01, ulp=8.0),
    ScalarRecord(logaddexp, np.logaddexp, REALS, ulp=8.0),
    ScalarRecord(hypot, np.hypot, REALS, low=0.1),
    ScalarRecord(direction_cosine, lambda x, y: _floats(x, y)[0] / np.hypot(*_floats(x, y)), REALS, low=0.1),
    ScalarRecord(cbrt, np.cbrt, REALS, low=0.1),
    ScalarRecord(deg2rad, np.deg2rad, REALS),
    ScalarRecord(rad2deg, np.rad2deg, REALS),
)
