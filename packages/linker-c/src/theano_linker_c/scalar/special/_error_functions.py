"""The error function and its relatives; formulas from DLMF, chapter 7."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._lazy import scipy_special
from .._contract._cvalue import CValue, c_call, c_cast
from .._contract._derivative import differentiable, real_operands
from .._contract._op import FloatFunction, UnaryScalarOp, arraywise, dtype_name, quiet
from .._contract._record import REALS, ScalarRecord
from .._exponential import exp
from ._base import SpecialFunction


class _ErrorFunction(FloatFunction):
    complex_ok = False
    cost = 20

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Call SciPy's function, which knows float32 and float64."""
        dtype = self.result_dtypes(dtype_name(values[0]))[0]
        x = np.asarray(values[0]).astype("float32" if dtype == "float16" else dtype, copy=False)
        return np.asarray(getattr(scipy_special(), type(self).name)(x), dtype=dtype)[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the C library's function in the result's precision."""
        return c_call(type(self).name, result, c_cast(args[0], result))


class Erf(_ErrorFunction, UnaryScalarOp):
    """Error function: twice the integral of ``exp(-t**2) / sqrt(pi)`` from 0 to x."""

    name = "erf"


class Erfc(_ErrorFunction, UnaryScalarOp):
    """``1 - erf(x)``, accurate where erf is near one."""

    name = "erfc"


class Erfcx(SpecialFunction, UnaryScalarOp):
    """``exp(x**2) * erfc(x)``, which neither overflows nor vanishes for large x."""

    name = "erfcx"


class Erfinv(SpecialFunction, UnaryScalarOp):
    """The number whose error function is x, for x from -1 to 1."""

    name = "erfinv"


class Erfcinv(SpecialFunction, UnaryScalarOp):
    """The number whose complementary error function is x, for x from 0 to 2."""

    name = "erfcinv"


erf = Erf()
erfc = Erfc()
erfcx = Erfcx()
erfinv = Erfinv()
erfcinv = Erfcinv()


def _bell(x: Any) -> Any:
    return exp(-(x * x)) * (2.0 / math.sqrt(math.pi))


@differentiable(Erf)
def _erf(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 7.2.1
    (x,) = real_operands(inputs, output)
    return [seed * _bell(x)]


@differentiable(Erfc)
def _erfc(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 7.2.2
    (x,) = real_operands(inputs, output)
    return [-(seed * _bell(x))]


@differentiable(Erfcx)
def _erfcx(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 7.10.2 with z = ix
    (x,) = real_operands(inputs, output)
    return [seed * (2 * x * output - 2.0 / math.sqrt(math.pi))]


@differentiable(Erfinv)
def _erfinv(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # The reciprocal of the derivative of erf at the result.
    return [seed * exp(output * output) * (math.sqrt(math.pi) / 2)]


@differentiable(Erfcinv)
def _erfcinv(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [-(seed * exp(output * output) * (math.sqrt(math.pi) / 2))]


def _reference(name: str) -> Any:
    def function(x: Any) -> Any:
        return getattr(scipy_special(), name)(np.asarray(x, dtype=np.result_type(x, np.float32)))

    return function


RECORDS = (
    ScalarRecord(erf, _reference("erf"), REALS),
    ScalarRecord(erfc, _reference("erfc"), REALS, ulp=16.0),
    ScalarRecord(erfcx, _reference("erfcx"), REALS),
    ScalarRecord(erfinv, _reference("erfinv"), REALS, low=-0.95, high=0.95),
    ScalarRecord(erfcinv, _reference("erfcinv"), REALS, low=0.05, high=1.95),
)
