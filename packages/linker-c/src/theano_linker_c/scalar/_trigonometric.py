"""Trigonometric functions and their inverses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._contract._derivative import differentiable, real_operands
from ._contract._op import BinaryScalarOp, FloatFunction, UnaryScalarOp
from ._contract._record import REALS, ScalarRecord
from ._power import sqrt


class Sin(FloatFunction, UnaryScalarOp):
    """Sine of an angle in radians."""

    name = "sin"
    ufunc = np.sin


class Cos(FloatFunction, UnaryScalarOp):
    """Cosine of an angle in radians."""

    name = "cos"
    ufunc = np.cos


class Tan(FloatFunction, UnaryScalarOp):
    """Tangent of an angle in radians."""

    name = "tan"
    ufunc = np.tan
    cost = 15


class ArcSin(FloatFunction, UnaryScalarOp):
    """Inverse of the sine; NaN outside [-1, 1]."""

    name = "arcsin"
    c_function = "asin"
    ufunc = np.arcsin
    cost = 15


class ArcCos(FloatFunction, UnaryScalarOp):
    """Inverse of the cosine; NaN outside [-1, 1]."""

    name = "arccos"
    c_function = "acos"
    ufunc = np.arccos
    cost = 15


class ArcTan(FloatFunction, UnaryScalarOp):
    """Inverse of the tangent."""

    name = "arctan"
    c_function = "atan"
    ufunc = np.arctan
    cost = 15


class ArcTan2(FloatFunction, BinaryScalarOp):
    """Angle of the point whose ordinate is the first input and whose abscissa is the second."""

    name = "arctan2"
    c_function = "atan2"
    ufunc = np.arctan2
    complex_ok = False
    cost = 20


sin = Sin()
cos = Cos()
tan = Tan()
arcsin = ArcSin()
arccos = ArcCos()
arctan = ArcTan()
arctan2 = ArcTan2()


@differentiable(Sin)
def _sin(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed * cos(inputs[0])]


@differentiable(Cos)
def _cos(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [-(seed * sin(inputs[0]))]


@differentiable(Tan)
def _tan(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed * (1 + output * output)]


@differentiable(ArcSin)
def _arcsin(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    (x,) = real_operands(inputs, output)
    return [seed / sqrt(1 - x * x)]


@differentiable(ArcCos)
def _arccos(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    (x,) = real_operands(inputs, output)
    return [-(seed / sqrt(1 - x * x))]


@differentiable(ArcTan)
def _arctan(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    (x,) = real_operands(inputs, output)
    return [seed / (1 + x * x)]


@differentiable(ArcTan2)
def _arctan2(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    y, x = real_operands(inputs, output)
    scaled = seed / (x * x + y * y)
    return [scaled * x, -(scaled * y)]


RECORDS = (
    ScalarRecord(sin, np.sin, REALS),
    ScalarRecord(cos, np.cos, REALS),
    ScalarRecord(tan, np.tan, REALS, low=-1.4, high=1.4),
    ScalarRecord(arcsin, np.arcsin, REALS, low=-0.95, high=0.95),
    ScalarRecord(arccos, np.arccos, REALS, low=-0.95, high=0.95),
    ScalarRecord(arctan, np.arctan, REALS),
    ScalarRecord(arctan2, np.arctan2, REALS),
)
