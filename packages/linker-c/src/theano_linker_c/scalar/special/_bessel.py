"""Bessel functions; formulas from DLMF, chapter 10."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._lazy import scipy_special
from .._arithmetic import sgn
from .._contract._cvalue import CValue, c_cast, c_type
from .._contract._derivative import differentiable, real_operands, undefined
from .._contract._op import BinaryScalarOp, UnaryScalarOp
from .._contract._record import REALS, ScalarRecord
from ._base import SpecialFunction

_ORDER = "Bessel functions have no elementary derivative with respect to their order"


class J0(SpecialFunction, UnaryScalarOp):
    """Bessel function of the first kind of order 0."""

    name = "j0"


class J1(SpecialFunction, UnaryScalarOp):
    """Bessel function of the first kind of order 1."""

    name = "j1"


class Jv(SpecialFunction, BinaryScalarOp):
    """Bessel function of the first kind of the order of the first argument."""

    name = "jv"


class I0(SpecialFunction, UnaryScalarOp):
    """Modified Bessel function of the first kind of order 0."""

    name = "i0"


class I1(SpecialFunction, UnaryScalarOp):
    """Modified Bessel function of the first kind of order 1."""

    name = "i1"


class Iv(SpecialFunction, BinaryScalarOp):
    """Modified Bessel function of the first kind of the order of the first argument.

    SciPy's function loses digits near 0, and gives 0 where squares vanish; the first term of the series (DLMF 10.25.2)
    stands there for it.
    """

    name = "iv"

    def compute(self, *values: Any) -> Any:
        """Take the first term of the series near zero."""
        order, x = values
        special = scipy_special()
        is_integer = order == np.floor(order)
        size = np.where(is_integer, np.abs(order), order)
        sign = np.where(is_integer & (x < 0) & (size % 2 == 1), -1.0, 1.0)
        # The least number has no half.
        term = sign * np.power(np.abs(x), size) * np.power(0.5, size) / special.gamma(size + 1)
        near = (x != 0) & (np.abs(x) < _NEAR_ZERO) & (order > _LEAST_ORDER) & (is_integer | (x > 0))
        return np.where(near, term, special.iv(order, x))

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the function of the preamble."""
        order, x = (c_cast(arg, "float64") for arg in args)
        return f"({c_type(result)})theano_modified_bessel({order}, {x})"

    def c_preamble(self, dtypes: Sequence[str]) -> tuple[str, ...]:
        """Define the function."""
        return (_IV_TEXT,)


class Ive(SpecialFunction, BinaryScalarOp):
    """Modified Bessel function of the first kind of the order of the first argument, times ``exp(-abs(x))``."""

    name = "ive"


class Kve(SpecialFunction, BinaryScalarOp):
    """Modified Bessel function of the second kind of the order of the first argument, times ``exp(x)``."""

    name = "kve"


#: Up to here, the first term of the series is all of it; orders are such that no factor of it is out of range.
_NEAR_ZERO, _LEAST_ORDER = 1e-8, -20
_IV_TEXT = f"""static double theano_modified_bessel(double order, double x) {{
  const int whole = order == floor(order);
  if (x == 0 || !(fabs(x) < {_NEAR_ZERO}) || !(order > {_LEAST_ORDER}) || !(whole || x > 0))
    return theano_special_iv(order, x, 0);
  const double size = whole ? fabs(order) : order;
  const double term = pow(fabs(x), size) * pow(0.5, size) / tgamma(size + 1);
  return whole && x < 0 && fmod(size, 2.0) == 1 ? -term : term;
}}"""


j0 = J0()
j1 = J1()
jv = Jv()
i0 = I0()
i1 = I1()
iv = Iv()
ive = Ive()
kve = Kve()


@differentiable(J0)
def _j0(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 10.6.3
    return [-(seed * j1(inputs[0]))]


@differentiable(J1)
def _j1(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 10.6.1
    (x,) = inputs
    return [seed * (j0(x) - jv(_number(2, output), x)) * 0.5]


@differentiable(Jv)
def _jv(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 10.6.1
    v, x = inputs
    return [undefined(_ORDER), seed * (jv(v * 1.0 - 1.0, x) - jv(v * 1.0 + 1.0, x)) * 0.5]


@differentiable(I0)
def _i0(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 10.29.3
    return [seed * i1(inputs[0])]


@differentiable(I1)
def _i1(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 10.29.1
    (x,) = inputs
    return [seed * (i0(x) + iv(_number(2, output), x)) * 0.5]


@differentiable(Iv)
def _iv(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 10.29.1
    v, x = inputs
    return [undefined(_ORDER), seed * (iv(v * 1.0 - 1.0, x) + iv(v * 1.0 + 1.0, x)) * 0.5]


@differentiable(Ive)
def _ive(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 10.29.1
    v, x = real_operands(inputs, output)
    slope = (ive(v - 1.0, x) + ive(v + 1.0, x)) * 0.5 - sgn(x) * output
    return [undefined(_ORDER), seed * slope]


@differentiable(Kve)
def _kve(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 10.29.1
    v, x = real_operands(inputs, output)
    return [undefined(_ORDER), seed * (output - (kve(v - 1.0, x) + kve(v + 1.0, x)) * 0.5)]


def _number(value: float, like: Any) -> Any:
    return like.type.make_constant(value)


def _reference(name: str) -> Any:
    def function(*values: Any) -> Any:
        dtype = np.result_type(*values, np.float32)
        return getattr(scipy_special(), name)(*(np.asarray(x, dtype="float64") for x in values)).astype(dtype)

    return function


RECORDS = (
    *(ScalarRecord(op, _reference(op.name), REALS, low=0.1) for op in (j0, j1, i0, i1)),
    *(ScalarRecord(op, _reference(op.name), REALS, low=0.1, parameters=1) for op in (jv, iv, ive, kve)),
)
