"""The gamma function with its logarithm and derivatives, the zeta function of Hurwitz, and Bessel functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, reduce
from typing import Any, ClassVar

import numpy as np

from ..._lazy import scipy_special
from .._arithmetic import sgn
from .._derivative import REALS, ScalarRecord, differentiable, real_operands, undefined
from .._dtypes import CValue, c_cast, c_special, c_type
from .._op import BinaryScalarOp, ScalarOp, UnaryScalarOp
from ._error_functions import SpecialFunction, checked_order

# ---- The zeta function of Hurwitz

#: Bernoulli numbers B2, B4, ... of asymptotic series.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
#: Where the asymptotic series of exponent s starts, less s.
_START = 12
#: SciPy's psi loses digits this near to a pole left of zero, where pi / tan(pi * x) is nearly all.
_NEAR_POLE = 1e-3


class Zeta(SpecialFunction, BinaryScalarOp):
    """Zeta function of Hurwitz: the sum of ``(q + k)**-s`` for k = 0, 1, 2, ..., of s and q."""

    name = "zeta"

    def compute(self, *values: Any) -> Any:
        """Call SciPy's function; what it has as NaN for very large exponents is 0."""
        s, q = values
        return np.where(_vanishes(s, q), 0.0, scipy_special().zeta(s, q))

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the function of the preamble."""
        return f"({c_type(result)})theano_hurwitz_zeta({', '.join(c_cast(arg, 'float64') for arg in args)})"

    def c_preamble(self, dtypes: Sequence[str]) -> tuple[str, ...]:
        """Define the function."""
        return (_TEXT,)


def _vanishes(s: Any, q: Any) -> Any:
    return (s > 1) & (q > 1) & (np.power(np.maximum(q, 1), 1 - s) == 0)


def _ratio(k: int) -> float:
    """Give what one number of Bernoulli over a factorial is of the one before."""
    return _BERNOULLI[0] / 2 if k == 1 else _BERNOULLI[k - 1] / _BERNOULLI[k - 2] / (2 * k * (2 * k - 1))


def _series() -> str:
    text = "0"
    for k in range(len(_BERNOULLI), 0, -1):
        factors = f"(s + {2 * k - 2}) * (s + {2 * k - 3}) * w * " if k > 1 else ""
        text = f"{factors}{_ratio(k).hex()} * (1 + {text})"
    return text


_TEXT = f"""static double theano_hurwitz_zeta(double s, double q) {{
  double sum = 0, y = q;
  if (s == 1) return __builtin_inf();
  if (s < 1) return __builtin_nan("");
  if (q <= 0) {{
    if (q == __builtin_floor(q)) return __builtin_inf();
    if (s != __builtin_floor(s)) return __builtin_nan("");
  }}
  if (s != s || q != q) return __builtin_nan("");
  if (q == __builtin_inf()) return 0;
  if (s == __builtin_inf()) return q > 1 ? 0 : q == 1 ? 1 : __builtin_inf();
  for (; y < {_START} + s; y += 1) {{
    const double term = pow(y, -s);
    sum += term;
    if (y > 0 && term <= 1e-17 * sum) return sum;
  }}
  const double term = pow(y, -s), w = 1 / (y * y);
  sum += pow(y, 1 - s) / (s - 1);
  return term == 0 ? sum : sum + term * (0.5 + s / y * ({_series()}));
}}"""

zeta = Zeta()


@differentiable(Zeta)
def _zeta(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 25.11.17
    s, q = real_operands(inputs, output)
    return [undefined("the exponent of zeta, for which there is no closed form"), -(seed * s * zeta(s + 1.0, q))]


def _zeta_reference(s: Any, q: Any) -> Any:
    dtype = np.result_type(s, q, np.float32)
    s, q = (np.asarray(x, dtype="float64") for x in (s, q))
    return np.where(_vanishes(s, q), 0.0, scipy_special().zeta(s, q)).astype(dtype)


# ---- The gamma function, its logarithm and the derivatives of that; formulas from DLMF, chapter 5


class Gamma(SpecialFunction, UnaryScalarOp):
    """Gamma function: ``(n - 1)!`` for a positive whole number n."""

    name = "gamma"


class GammaLn(SpecialFunction, UnaryScalarOp):
    """Logarithm of the absolute value of the gamma function."""

    name = "gammaln"


class Psi(SpecialFunction, UnaryScalarOp):
    """Digamma function: the derivative of `gammaln`."""

    name = "psi"

    def compute(self, *values: Any) -> Any:
        """Call SciPy's function, but near a pole left of zero that of the reflected number (DLMF 5.5.4)."""
        (x,) = values
        part = x - np.rint(x)
        near = (x < -0.5) & (np.abs(part) < _NEAR_POLE) & (part != 0)
        if not np.any(near):
            return scipy_special().psi(x)
        return np.where(near, scipy_special().psi(1 - x) - np.pi / np.tan(np.pi * part), scipy_special().psi(x))

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Do the same in C."""
        x = c_cast(args[0], "float64")
        part = f"({x} - __builtin_rint({x}))"
        near = f"{x} < -0.5 && __builtin_fabs({part}) < {_NEAR_POLE} && {part} != 0"
        reflected = c_special("psi", "float64", CValue(f"(1 - {x})", "float64"))
        tangent = f"tan({math.pi.hex()} * {part})"
        value = f"{reflected} - {math.pi.hex()} / {tangent}"
        return f"({c_type(result)})({near} ? {value} : {c_special('psi', 'float64', *args)})"


class PolyGamma(SpecialFunction, UnaryScalarOp):
    """The derivative of `psi` of some order, 1 or higher.

    Parameters
    ----------
    order : int
        1 for the trigamma function, 2 for its derivative, and so on.

    Raises
    ------
    TypeError
        If `order` is no whole number from 1 to 20.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("order",)

    def __init__(self, order: int) -> None:
        self.order = checked_order("PolyGamma", order)
        self.name = "tri_gamma" if order == 1 else f"poly_gamma_{order}"

    def compute(self, *values: Any) -> Any:
        """Take the zeta function right of zero, and reflect numbers left of it (DLMF 5.15.6)."""
        (x,) = values
        n = self.order
        sign, size = (-1.0) ** (n + 1), math.factorial(n)
        at = np.where(x > 0, x, 1 - x)
        right = sign * size * scipy_special().zeta(n + 1, at)
        # The distance from the nearest pole is exact; that from the pole below is rounded for small negative numbers.
        cot = 1 / np.tan(np.pi * (x - np.rint(x)))
        # The highest power first, and no zero times it: the cotangent may be infinite.
        polynomial = reduce(lambda value, coefficient: value * cot + coefficient, _cot_derivative(n)[::-1])
        reflected = -(np.pi ** (n + 1)) * polynomial
        left = np.where(x == np.floor(x), np.inf if n % 2 else np.nan, reflected - sign * right)
        return np.where(x == -np.inf, np.nan, np.where(x <= 0, left, right))

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the function of the preamble."""
        return f"({c_type(result)})theano_poly_gamma_{self.order}({c_cast(args[0], 'float64')})"

    def c_preamble(self, dtypes: Sequence[str]) -> tuple[str, ...]:
        """Define the function for this order."""
        return (_poly_gamma_text(self.order),)


@cache
def _cot_derivative(order: int) -> tuple[int, ...]:
    """Give the derivative of cot of some order, as coefficients of powers of cot: its derivative is ``-1 - cot**2``."""
    coefficients = [0, 1]
    for _ in range(order):
        slopes = [power * coefficient for power, coefficient in enumerate(coefficients)][1:]
        coefficients = [0] * (len(slopes) + 2)
        for power, slope in enumerate(slopes):
            coefficients[power] -= slope
            coefficients[power + 2] -= slope
    return tuple(coefficients)


@cache
def _poly_gamma_text(n: int) -> str:
    """Write the function in C: upwards to where the asymptotic series (DLMF 5.15.8) has converged, and reflection."""
    sign = (-1) ** (n + 1)
    start = 12.0 + 2 * n
    series = "0"
    for k in range(len(_BERNOULLI), 0, -1):
        factor = _BERNOULLI[k - 1] * math.factorial(2 * k + n - 1) / math.factorial(2 * k)
        series = f"({factor.hex()} + {series}) * w"
    head = f"{float(math.factorial(n - 1)).hex()} + {(math.factorial(n) / 2).hex()} / y"
    *lower, highest = _cot_derivative(n)
    cot = float(highest).hex()
    for coefficient in reversed(lower):
        cot = f"({cot}) * c + {float(coefficient).hex()}"
    power = " * ".join(["y"] * n)
    pole = "__builtin_inf()" if n % 2 else '__builtin_nan("")'
    return f"""static double theano_poly_gamma_{n}(double x) {{
  if (x != x || x == -__builtin_inf()) return __builtin_nan("");
  if (x == __builtin_inf()) return {"0.0" if sign > 0 else "-0.0"};
  double y = x > 0 ? x : 1 - x, sum = 0;
  for (; y < {start}; y += 1) sum += {float(math.factorial(n)).hex()} / ({power} * y);
  const double w = 1 / (y * y);
  const double right = {sign} * (sum + ({head} + {series}) / ({power}));
  if (x > 0) return right;
  if (x == __builtin_floor(x)) return {pole};
  const double c = 1 / tan({math.pi.hex()} * (x - __builtin_rint(x)));
  return {-(math.pi ** (n + 1)):.17g} * ({cot}) - {sign} * right;
}}"""


class TriGamma(PolyGamma):
    """Trigamma function: the derivative of `psi`."""

    def __init__(self, output_types_preference: Any = None, name: str | None = None) -> None:
        super().__init__(1)
        ScalarOp.__init__(self, output_types_preference, name)


gamma = Gamma()
gammaln = GammaLn()
psi = Psi()
tri_gamma = TriGamma()


@differentiable(Gamma)
def _gamma(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 5.2.2
    return [seed * output * psi(inputs[0])]


@differentiable(GammaLn)
def _gammaln(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 5.2.2
    return [seed * psi(inputs[0])]


@differentiable(Psi)
def _psi(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 5.15
    return [seed * tri_gamma(inputs[0])]


@differentiable(PolyGamma)
def _poly_gamma(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 5.15
    (x,) = real_operands(inputs, output)
    return [seed * PolyGamma(output.owner.op.order + 1)(x)]


def _reference(name: str) -> Any:
    def function(*values: Any) -> Any:
        dtype = np.result_type(*values, np.float32)
        return getattr(scipy_special(), name)(*(np.asarray(x, dtype="float64") for x in values)).astype(dtype)

    return function


def _tri_gamma_reference(x: Any) -> Any:
    """Reflect the zeta function of another formula: the sine instead of the cotangent (DLMF 5.15.6)."""
    dtype = np.result_type(x, np.float32)
    x = np.asarray(x, dtype="float64")
    zeta = scipy_special().zeta(2, np.where(x > 0, x, 1 - x))
    sine = np.sin(np.pi * (x - np.floor(x)))
    left = np.where(x == np.floor(x), np.inf, (np.pi / sine) ** 2 - zeta)
    return np.where(x == -np.inf, np.nan, np.where(x > 0, zeta, left)).astype(dtype)


# ---- Bessel functions; formulas from DLMF, chapter 10

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


RECORDS = (
    ScalarRecord(zeta, _zeta_reference, REALS, low=1.5, parameters=1, ulp=16.0),
    ScalarRecord(gamma, _reference("gamma"), REALS, low=0.1, high=8.0),
    ScalarRecord(gammaln, _reference("gammaln"), REALS, low=0.1, high=8.0),
    ScalarRecord(psi, _reference("psi"), REALS, low=0.1, high=8.0),
    ScalarRecord(tri_gamma, _tri_gamma_reference, REALS, low=0.1, high=8.0, ulp=64.0),
    *(ScalarRecord(op, _reference(op.name), REALS, low=0.1) for op in (j0, j1, i0, i1)),
    *(ScalarRecord(op, _reference(op.name), REALS, low=0.1, parameters=1) for op in (jv, iv, ive, kve)),
)
