"""Trigonometric and hyperbolic functions, and their inverses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ._derivative import REALS, ScalarRecord, differentiable, one_like, real_operands
from ._dtypes import CValue, c_call, c_cast, c_type, is_complex
from ._exponential import direction_cosine, hypot, sqrt
from ._op import BinaryScalarOp, FloatFunction, UnaryScalarOp, arraywise, dtype_name, quiet

# ---- Trigonometric functions and their inverses


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


class SineQuotient(FloatFunction, UnaryScalarOp):
    """``sin(x) / x``, which is 1 at zero, or a derivative of it.

    Parameters
    ----------
    order : int
        0 for the function, 1 for its slope, and so on.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("order",)
    complex_ok = False
    cost = 20

    def __init__(self, order: int = 0) -> None:
        self.order = int(order)
        self.name = f"sine_quotient_{order}" if order else "sine_quotient"

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Divide; derivatives are summed near zero, where differences of quotients would leave nothing."""
        dtype = self.result_dtypes(dtype_name(values[0]))[0]
        x = np.asarray(values[0]).astype("float64" if self.order else dtype, copy=False)
        far = np.where(x == 0, np.ones_like(x), np.sin(x) / x)
        for k in range(1, self.order + 1):
            far = (_sine_slope(k, x) - k * far) / x
        if not self.order:
            return far[()]
        near, square = np.zeros_like(x), x * x
        for coefficient in reversed(_sine_quotient_series(self.order)):
            near = near * square + coefficient
        near = near * x if self.order % 2 else near
        return np.asarray(np.where(np.abs(x) < self.order + 1, near, far), dtype=dtype)[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Divide; call the function of the preamble for derivatives."""
        if self.order:
            return f"({c_type(result)})theano_sine_quotient_{self.order}({c_cast(args[0], 'float64')})"
        x = c_cast(args[0], result)
        return f"{x} == 0 ? 1 : {c_call('sin', result, x)} / {x}"

    def c_preamble(self, dtypes: Sequence[str]) -> tuple[str, ...]:
        """Define the function for this order."""
        return (_sine_quotient_text(self.order),) if self.order else ()


def _sine_slope(order: int, x: Any) -> Any:
    """Give the derivative of the sine of some order."""
    value = np.cos(x) if order % 2 else np.sin(x)
    return -value if order % 4 in (2, 3) else value


@cache
def _sine_quotient_series(order: int) -> tuple[float, ...]:
    """Give the coefficients of the power series of a derivative, of its even or odd powers, for ``|x| < order + 1``."""
    first = order % 2
    powers = range(first, first + 2 * (12 + 2 * order), 2)
    return tuple((-1) ** ((power + order) // 2) / ((power + order + 1) * math.factorial(power)) for power in powers)


@cache
def _sine_quotient_text(n: int) -> str:
    """Write the function in C: a power series near zero, and farther out the recurrence of its derivatives."""
    series = "0"
    for coefficient in reversed(_sine_quotient_series(n)):
        series = f"({series}) * w + {coefficient.hex()}"
    steps = []
    for k in range(1, n + 1):
        sign, function = ("-" if k % 4 in (2, 3) else ""), ("c" if k % 2 else "s")
        steps.append(f"q = ({sign}{function} - {k} * q) / x;")
    return f"""static double theano_sine_quotient_{n}(double x) {{
  const double w = x * x;
  if (__builtin_fabs(x) < {n + 1}) return ({series}){" * x" if n % 2 else ""};
  const double s = sin(x), c = cos(x);
  double q = s / x;
  {" ".join(steps)}
  return q;
}}"""


sin = Sin()
cos = Cos()
tan = Tan()
arcsin = ArcSin()
arccos = ArcCos()
arctan = ArcTan()
arctan2 = ArcTan2()
sine_quotient = SineQuotient()


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
    if is_complex(x.dtype):
        return [seed / (1 + 1j * x) / (1 - 1j * x)]
    # A quotient by a square would vanish too early in further derivatives.
    cosine = direction_cosine(one_like(x), x)
    return [seed * cosine * cosine]


@differentiable(SineQuotient)
def _sine_quotient(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    (x,) = real_operands(inputs, output)
    return [seed * SineQuotient(output.owner.op.order + 1)(x)]


@differentiable(ArcTan2)
def _arctan2(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    y, x = real_operands(inputs, output)
    scaled = seed / hypot(y, x)
    return [scaled * direction_cosine(x, y), -(scaled * direction_cosine(y, x))]


# ---- Hyperbolic functions and their inverses


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
    ScalarRecord(sin, np.sin, REALS),
    ScalarRecord(cos, np.cos, REALS),
    ScalarRecord(tan, np.tan, REALS, low=-1.4, high=1.4),
    ScalarRecord(arcsin, np.arcsin, REALS, low=-0.95, high=0.95),
    ScalarRecord(arccos, np.arccos, REALS, low=-0.95, high=0.95),
    ScalarRecord(arctan, np.arctan, REALS),
    ScalarRecord(arctan2, np.arctan2, REALS),
    ScalarRecord(sine_quotient, lambda x: np.where(x == 0, 1, np.sin(x) / np.where(x == 0, 1, x)), REALS),
    ScalarRecord(sinh, np.sinh, REALS),
    ScalarRecord(cosh, np.cosh, REALS),
    ScalarRecord(tanh, np.tanh, REALS),
    ScalarRecord(arcsinh, np.arcsinh, REALS),
    ScalarRecord(arccosh, np.arccosh, REALS, low=1.05, high=50.0),
    ScalarRecord(arctanh, np.arctanh, REALS, low=-0.95, high=0.95),
)
