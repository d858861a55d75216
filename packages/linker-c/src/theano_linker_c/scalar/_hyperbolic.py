"""Hyperbolic functions and their inverses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._compound import direction_cosine
from ._contract._derivative import differentiable, one_like, real_operands
from ._contract._dtypes import is_complex
from ._contract._op import FloatFunction, UnaryScalarOp
from ._contract._record import REALS, ScalarRecord
from ._power import sqrt


class Sinh(FloatFunction, UnaryScalarOp):
    """Hyperbolic sine."""

    name = "sinh"
    ufunc = np.sinh
    cost = 20


class Cosh(FloatFunction, UnaryScalarOp):
    """Hyperbolic cosine."""

    name = "cosh"
    ufunc = np.cosh
    cost = 20


class Tanh(FloatFunction, UnaryScalarOp):
    """Hyperbolic tangent."""

    name = "tanh"
    ufunc = np.tanh
    cost = 20


class ArcSinh(FloatFunction, UnaryScalarOp):
    """Inverse of the hyperbolic sine."""

    name = "arcsinh"
    c_function = "asinh"
    ufunc = np.arcsinh
    cost = 20


class ArcCosh(FloatFunction, UnaryScalarOp):
    """Inverse of the hyperbolic cosine; NaN below 1."""

    name = "arccosh"
    c_function = "acosh"
    ufunc = np.arccosh
    cost = 20


class ArcTanh(FloatFunction, UnaryScalarOp):
    """Inverse of the hyperbolic tangent; NaN outside [-1, 1]."""

    name = "arctanh"
    c_function = "atanh"
    ufunc = np.arctanh
    cost = 20


sinh = Sinh()
cosh = Cosh()
tanh = Tanh()
arcsinh = ArcSinh()
arccosh = ArcCosh()
arctanh = ArcTanh()


@differentiable(Sinh)
def _sinh(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed * cosh(inputs[0])]


@differentiable(Cosh)
def _cosh(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed * sinh(inputs[0])]


@differentiable(Tanh)
def _tanh(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed * (1 - output * output)]


@differentiable(ArcSinh)
def _arcsinh(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    (x,) = real_operands(inputs, output)
    # Squares would overflow, and those of complex numbers are not needed for the same branch of the root.
    if is_complex(x.dtype):
        return [seed / (sqrt(1 + 1j * x) * sqrt(1 - 1j * x))]
    return [seed * direction_cosine(one_like(x), x)]


@differentiable(ArcCosh)
def _arccosh(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    (x,) = real_operands(inputs, output)
    # One root of the product would overflow, and take the wrong branch for complex numbers left of zero.
    return [seed / (sqrt(x - 1) * sqrt(x + 1))]


@differentiable(ArcTanh)
def _arctanh(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    (x,) = real_operands(inputs, output)
    return [seed / (1 - x * x)]


RECORDS = (
    ScalarRecord(sinh, np.sinh, REALS),
    ScalarRecord(cosh, np.cosh, REALS),
    ScalarRecord(tanh, np.tanh, REALS),
    ScalarRecord(arcsinh, np.arcsinh, REALS),
    ScalarRecord(arccosh, np.arccosh, REALS, low=1.05, high=50.0),
    ScalarRecord(arctanh, np.arctanh, REALS, low=-0.95, high=0.95),
)
