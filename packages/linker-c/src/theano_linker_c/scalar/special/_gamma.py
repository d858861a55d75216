"""The gamma function, its logarithm and the derivatives of that; formulas from DLMF, chapter 5."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, reduce
from typing import Any, ClassVar

import numpy as np

from ..._lazy import scipy_special
from .._contract._cvalue import CValue, c_cast, c_special, c_type
from .._contract._derivative import differentiable, real_operands
from .._contract._op import ScalarOp, UnaryScalarOp
from .._contract._record import REALS, ScalarRecord
from ._base import SpecialFunction, checked_order
from ._zeta import BERNOULLI

#: SciPy's psi loses digits this near to a pole left of zero, where pi / tan(pi * x) is nearly all.
_NEAR_POLE = 1e-3


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
    for k in range(len(BERNOULLI), 0, -1):
        factor = BERNOULLI[k - 1] * math.factorial(2 * k + n - 1) / math.factorial(2 * k)
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


def _reference(name: str, *before: Any) -> Any:
    def function(x: Any) -> Any:
        dtype = np.result_type(x, np.float32)
        return getattr(scipy_special(), name)(*before, np.asarray(x, dtype="float64")).astype(dtype)

    return function


def _tri_gamma_reference(x: Any) -> Any:
    """Reflect the zeta function of another formula: the sine instead of the cotangent (DLMF 5.15.6)."""
    dtype = np.result_type(x, np.float32)
    x = np.asarray(x, dtype="float64")
    zeta = scipy_special().zeta(2, np.where(x > 0, x, 1 - x))
    sine = np.sin(np.pi * (x - np.floor(x)))
    left = np.where(x == np.floor(x), np.inf, (np.pi / sine) ** 2 - zeta)
    return np.where(x == -np.inf, np.nan, np.where(x > 0, zeta, left)).astype(dtype)


RECORDS = (
    ScalarRecord(gamma, _reference("gamma"), REALS, low=0.1, high=8.0),
    ScalarRecord(gammaln, _reference("gammaln"), REALS, low=0.1, high=8.0),
    ScalarRecord(psi, _reference("psi"), REALS, low=0.1, high=8.0),
    ScalarRecord(tri_gamma, _tri_gamma_reference, REALS, low=0.1, high=8.0, ulp=64.0),
)
