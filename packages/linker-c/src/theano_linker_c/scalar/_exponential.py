"""Exponentials and logarithms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ._contract._cvalue import CValue, c_call, c_cast, c_literal
from ._contract._derivative import differentiable, real_operands
from ._contract._dtypes import is_complex, part_dtype
from ._contract._op import FloatFunction, UnaryScalarOp
from ._contract._record import REALS, ScalarRecord


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


RECORDS = (
    ScalarRecord(exp, np.exp, REALS),
    ScalarRecord(exp2, np.exp2, REALS),
    ScalarRecord(expm1, np.expm1, REALS),
    ScalarRecord(log, np.log, REALS, low=0.01, high=100.0),
    ScalarRecord(log2, np.log2, REALS, low=0.01, high=100.0),
    ScalarRecord(log10, np.log10, REALS, low=0.01, high=100.0),
    ScalarRecord(log1p, np.log1p, REALS, low=-0.9, high=100.0),
)
