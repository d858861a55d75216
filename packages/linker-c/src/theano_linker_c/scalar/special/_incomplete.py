"""Incomplete gamma and beta functions, and their inverses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._lazy import scipy_special
from .._comparison import eq, or_, switch
from .._derivative import REALS, ScalarRecord, differentiable, real_operands, undefined
from .._dtypes import CValue, c_cast, c_special, c_type
from .._exponential import exp, log, log1p
from .._op import BinaryScalarOp
from ._error_functions import SpecialFunction
from ._gamma import gamma, gammaln, psi

# ---- Incomplete gamma and beta functions; formulas from DLMF, chapter 8


class GammaInc(SpecialFunction, BinaryScalarOp):
    """Regularised lower incomplete gamma function P(a, x)."""

    name = "gammainc"


class GammaIncC(SpecialFunction, BinaryScalarOp):
    """Regularised upper incomplete gamma function ``Q(a, x) = 1 - P(a, x)``."""

    name = "gammaincc"


class GammaL(SpecialFunction, BinaryScalarOp):
    """Lower incomplete gamma function: the integral of ``t**(a - 1) * exp(-t)`` from 0 to x."""

    name = "gammal"

    def compute(self, *values: Any) -> Any:
        """Multiply the regularised function with gamma."""
        special = scipy_special()
        return special.gammainc(*values) * special.gamma(values[0])

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Multiply the regularised function with gamma."""
        factors = c_special("gammainc", "float64", *args), c_special("gamma", "float64", args[0])
        return f"({c_type(result)})({' * '.join(factors)})"


class GammaU(SpecialFunction, BinaryScalarOp):
    """Upper incomplete gamma function: the integral of ``t**(a - 1) * exp(-t)`` from x to infinity."""

    name = "gammau"

    def compute(self, *values: Any) -> Any:
        """Multiply the regularised function with gamma."""
        special = scipy_special()
        return special.gammaincc(*values) * special.gamma(values[0])

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Multiply the regularised function with gamma."""
        factors = c_special("gammaincc", "float64", *args), c_special("gamma", "float64", args[0])
        return f"({c_type(result)})({' * '.join(factors)})"


class Chi2SF(SpecialFunction, BinaryScalarOp):
    """Probability that a chi-squared variable with the second argument's degrees of freedom exceeds the first."""

    name = "chi2sf"

    def compute(self, *values: Any) -> Any:
        """Call the upper incomplete gamma function at the halves (DLMF 8.20 and Abramowitz and Stegun 26.4.19)."""
        x, df = values
        return scipy_special().gammaincc(df / 2, x / 2)

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the upper incomplete gamma function at the halves."""
        x, df = (CValue(f"({c_cast(arg, 'float64')} / 2)", "float64") for arg in args)
        return c_special("gammaincc", result, df, x)


class BetaInc(SpecialFunction):
    """Regularised incomplete beta function of a, b and x."""

    name = "betainc"
    nin = 3


class BetaLn(SpecialFunction, BinaryScalarOp):
    """Logarithm of the absolute value of the beta function."""

    name = "betaln"
    commutative = True


class GammaIncDer(SpecialFunction, BinaryScalarOp):
    """The derivative of `gammainc` with respect to its first argument."""

    name = "gammainc_der"
    cost = 1000

    def compute(self, *values: Any) -> Any:
        """Sum the series in which both machines agree."""
        a, x = np.broadcast_arrays(*values)
        valid = (a > 0) & (x >= 0) & np.isfinite(a) & np.isfinite(x)
        far = x > np.maximum(200.0, 4 * a)
        result = np.full(a.shape, np.nan)
        result[np.isfinite(a) & (a > 0) & (x == np.inf)] = 0.0
        for chosen, rule in ((valid & ~far, _near), (valid & far, _far)):
            if chosen.any():
                result[chosen] = rule(a[chosen], x[chosen])
        return result

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the function of the preamble."""
        arguments = ", ".join(c_cast(arg, "float64") for arg in args)
        return f"({c_type(result)})theano_gamma_inc_der({arguments})"

    def c_preamble(self, dtypes: Sequence[str]) -> tuple[str, ...]:
        """Define the function."""
        return (_DERIVATIVE_TEXT,)


def _near(a: Any, x: Any) -> Any:
    """Differentiate the power series of P (DLMF 8.7.1) term by term: ``x**(a+n) exp(-x) / gamma(a+n+1)``."""
    special = scipy_special()
    with np.errstate(all="ignore"):
        logx = np.log(x)
        term = np.exp(a * logx - x - special.gammaln(a + 1))
        digamma, total = special.psi(a + 1), np.zeros_like(a)
        for n in range(1, _MOST_TERMS):
            part = np.where(term == 0, 0.0, term * (logx - digamma))
            total += part
            if np.all((np.abs(part) <= 1e-17 * np.abs(total)) & (a + n > x)):
                break
            digamma = digamma + 1 / (a + n)
            term = term * x / (a + n)
    return total


def _far(a: Any, x: Any) -> Any:
    """Differentiate the asymptotic series of Q (DLMF 8.11.2), of which the terms fall from the first on."""
    special = scipy_special()
    p, slope = np.ones_like(a), np.zeros_like(a)
    total, slopes = p.copy(), slope.copy()
    for k in range(1, 60):
        slope = (slope * (a - k) + p) / x
        p = p * (a - k) / x
        total += p
        slopes += slope
    density = np.exp((a - 1) * np.log(x) - x - special.gammaln(a))
    return -density * ((np.log(x) - special.psi(a)) * total + slopes)


_MOST_TERMS = 100_000
_DERIVATIVE_TEXT = f"""static double theano_gamma_inc_der(double a, double x) {{
  if (!(a > 0) || !(x >= 0) || a == __builtin_inf()) return __builtin_nan("");
  if (x == __builtin_inf() || x == 0) return 0;
  const double logx = log(x);
  if (x <= 200 || x <= 4 * a) {{
    double term = exp(a * logx - x - theano_special_gammaln(a + 1, 0)), digamma = theano_special_psi(a + 1, 0), sum = 0;
    for (int n = 1; n < {_MOST_TERMS}; n++) {{
      const double part = term * (logx - digamma);
      sum += part;
      if (__builtin_fabs(part) <= 1e-17 * __builtin_fabs(sum) && a + n > x) break;
      digamma += 1 / (a + n);
      term *= x / (a + n);
    }}
    return sum;
  }}
  double p = 1, slope = 0, total = 1, slopes = 0;
  for (int k = 1; k < 60; k++) {{
    slope = (slope * (a - k) + p) / x;
    p = p * (a - k) / x;
    total += p;
    slopes += slope;
  }}
  const double density = exp((a - 1) * logx - x - theano_special_gammaln(a, 0));
  return -density * ((logx - theano_special_psi(a, 0)) * total + slopes);
}}"""

gammainc = GammaInc()
gammaincc = GammaIncC()
gammal = GammaL()
gammau = GammaU()
chi2sf = Chi2SF()
betainc = BetaInc()
betaln = BetaLn()
gammainc_der = GammaIncDer()


def _density(a: Any, x: Any) -> Any:
    """Give the derivative of P(a, x) by x (DLMF 8.8.13)."""
    return _power(x, a - 1, -x - gammaln(a))


def _power(x: Any, exponent: Any, logarithm: Any) -> Any:
    """Give a power of x times an exponential, with the factors as logarithms, but for x = 0, which has derivatives."""
    return switch(eq(x, 0), x**exponent * exp(logarithm), exp(exponent * log(x) + logarithm))


@differentiable(GammaInc)
def _gammainc(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    a, x = real_operands(inputs, output)
    return [seed * gammainc_der(a, x), seed * _density(a, x)]


@differentiable(GammaIncC)
def _gammaincc(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    a, x = real_operands(inputs, output)
    return [-(seed * gammainc_der(a, x)), -(seed * _density(a, x))]


@differentiable(GammaL)
def _gammal(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    a, x = real_operands(inputs, output)
    return [seed * (gamma(a) * gammainc_der(a, x) + psi(a) * output), seed * _power(x, a - 1, -x)]


@differentiable(GammaU)
def _gammau(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    a, x = real_operands(inputs, output)
    return [seed * (psi(a) * output - gamma(a) * gammainc_der(a, x)), -(seed * _power(x, a - 1, -x))]


@differentiable(Chi2SF)
def _chi2sf(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    x, df = (value * 0.5 for value in real_operands(inputs, output))
    return [seed * _density(df, x) * -0.5, seed * gammainc_der(df, x) * -0.5]


@differentiable(BetaInc)
def _betainc(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 8.17.1
    a, b, x = real_operands(inputs, output)
    reason = "the parameters a and b of betainc, for which there is no closed form"
    scale = -betaln(a, b)
    inside = exp((a - 1) * log(x) + (b - 1) * log1p(-x) + scale)
    slope = switch(or_(eq(x, 0), eq(x, 1)), x ** (a - 1) * (1 - x) ** (b - 1) * exp(scale), inside)
    return [undefined(reason), undefined(reason), seed * slope]


@differentiable(BetaLn)
def _betaln(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 5.12.1
    a, b = real_operands(inputs, output)
    both = psi(a + b)
    return [seed * (psi(a) - both), seed * (psi(b) - both)]


@differentiable(GammaIncDer)
def _gammainc_der(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    a, x = real_operands(inputs, output)
    reason = "the first argument of gammainc, of which there are first derivatives only"
    return [undefined(reason), seed * _density(a, x) * (log(x) - psi(a))]


def _reference(function: Any) -> Any:
    def rounded(*values: Any) -> Any:
        dtype = np.result_type(*values, np.float32)
        return np.asarray(function(*(np.asarray(x, dtype="float64") for x in values))).astype(dtype)

    return rounded


def _by_name(name: str) -> Any:
    return _reference(lambda *values: getattr(scipy_special(), name)(*values))


# ---- Inverses of the incomplete gamma and beta functions; derivatives are those of inverse functions


class GammaIncInv(SpecialFunction, BinaryScalarOp):
    """The x of which `gammainc` with the first argument is the second."""

    name = "gammaincinv"


class GammaIncCInv(SpecialFunction, BinaryScalarOp):
    """The x of which `gammaincc` with the first argument is the second."""

    name = "gammainccinv"


class BetaIncInv(SpecialFunction):
    """The x of which `betainc` with the first two arguments is the third."""

    name = "betaincinv"
    nin = 3


gammaincinv = GammaIncInv()
gammainccinv = GammaIncCInv()
betaincinv = BetaIncInv()


def _inverse_density(a: Any, x: Any) -> Any:
    """Give the derivative of x by P(a, x) (DLMF 8.8.13)."""
    return exp(x + gammaln(a) - (a - 1) * log(x))


@differentiable(GammaIncInv)
def _gammaincinv(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    a, _ = real_operands(inputs, output)
    slope = seed * _inverse_density(a, output)
    return [-(slope * gammainc_der(a, output)), slope]


@differentiable(GammaIncCInv)
def _gammainccinv(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    a, _ = real_operands(inputs, output)
    slope = seed * _inverse_density(a, output)
    return [-(slope * gammainc_der(a, output)), -slope]


@differentiable(BetaIncInv)
def _betaincinv(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    # DLMF 8.17.1
    a, b, _ = real_operands(inputs, output)
    reason = "the parameters a and b of betaincinv, for which there is no closed form"
    slope = exp(betaln(a, b) - (a - 1) * log(output) - (b - 1) * log1p(-output))
    return [undefined(reason), undefined(reason), seed * slope]


RECORDS = (
    ScalarRecord(gammainc, _by_name("gammainc"), REALS, low=0.2),
    ScalarRecord(gammaincc, _by_name("gammaincc"), REALS, low=0.2),
    ScalarRecord(
        gammal, _reference(lambda a, x: scipy_special().gammainc(a, x) * scipy_special().gamma(a)), REALS, low=0.2
    ),
    ScalarRecord(
        gammau, _reference(lambda a, x: scipy_special().gammaincc(a, x) * scipy_special().gamma(a)), REALS, low=0.2
    ),
    ScalarRecord(chi2sf, _reference(lambda x, df: scipy_special().gammaincc(df / 2, x / 2)), REALS, low=0.2),
    ScalarRecord(betainc, _by_name("betainc"), REALS, low=0.1, high=0.9, parameters=2),
    ScalarRecord(betaln, _by_name("betaln"), REALS, low=0.2, ulp=16.0),
    *(ScalarRecord(op, _by_name(op.name), REALS, low=0.2, high=0.9) for op in (gammaincinv, gammainccinv)),
    ScalarRecord(betaincinv, _by_name("betaincinv"), REALS, low=0.2, high=0.9, parameters=2),
)
