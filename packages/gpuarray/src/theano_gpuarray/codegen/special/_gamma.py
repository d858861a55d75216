"""The gamma function, its logarithm, the derivative of that, and the beta function's logarithm: DLMF, chapter 5."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

__all__ = ["GAMMA", "horner"]

#: Terms of the series of log(gamma(1 + a)), which are taken for numbers up to 0.3: the last one is below 1e-17.
_TERMS = 32
_EULER = 0.57721566490153286061


def horner(coefficients: list[float], name: str) -> str:
    """Return the text of a polynomial, the constant coefficient first."""
    text = repr(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        text = f"({coefficient!r} + {name} * {text})"
    return text


def _zeta(s: int) -> float:
    """Return Riemann's zeta function of a whole number from 2 on: the first terms, and 25.2.9 for the others."""
    n = 30.0
    first = sum(k ** -float(s) for k in np.arange(29.0, 0.0, -1.0))
    rest = n ** (1 - s) / (s - 1) + 0.5 * n**-s + s / 12 * n ** (-s - 1) - s * (s + 1) * (s + 2) / 720 * n ** (-s - 3)
    return float(first + rest)


_SERIES = [-_EULER, *((-1) ** k * _zeta(k) / k for k in range(2, _TERMS + 1))]

GAMMA: Mapping[str, str] = MappingProxyType(
    {
        "theano_special_gamma": "static double theano_special_gamma(double x, int unused) { return tgamma(x); }",
        "theano_gammaln_beyond": f"""
/* log(gamma(1 + a)): the series 5.7.3 near 0, where the function is, too. */
static double theano_gammaln_beyond(double a) {{
  if (fabs(a) > 0.3) return lgamma(1 + a);
  return a * {horner(_SERIES, "a")};
}}""",
        "theano_special_gammaln": """
/* 5.5.1 leads from the zero at 2 to that at 1. */
static double theano_special_gammaln(double x, int unused) {
  if (isinf(x)) return x;
  if (fabs(x - 1) < 0.3) return theano_gammaln_beyond(x - 1);
  if (fabs(x - 2) < 0.3) return log1p(x - 2) + theano_gammaln_beyond(x - 2);
  return lgamma(x);
}""",
        "theano_special_psi": """
/* 5.5.2 up to 12, and 5.11.2; 5.5.4 on the left. */
static double theano_special_psi(double x, int unused) {
  const double pi = 3.14159265358979323846;
  double sum = 0, y;
  if (x == 0) return copysign(__builtin_inf(), -x);
  if (x < 0) {
    const double part = x - rint(x);
    if (part == 0 || isinf(x)) return __builtin_nan("");
    sum = -pi / tan(pi * part);
    x = 1 - x;
  }
  if (isinf(x)) return x;
  for (; x < 12; x += 1) sum -= 1 / x;
  y = 1 / (x * x);
  return sum + log(x) - 0.5 / x -
         y * (1.0 / 12 -
              y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132 - y * (691.0 / 32760 - y / 12))))));
}""",
        "theano_stirling": """
/* log(gamma(x)) less Stirling's approximation, from 10 on: 5.11.1. */
static double theano_stirling(double x) {
  const double y = 1 / (x * x);
  return (1.0 / 12 -
          y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680 - y * (1.0 / 1188 - y * (691.0 / 360360 - y / 156)))))) /
         x;
}""",
        "theano_special_betaln": """
/* Stirling's approximations are subtracted by hand, since they are much larger than what is left. */
static double theano_special_betaln(double a, double b, int unused) {
  const double low = a < b ? a : b, high = a < b ? b : a, root = 0.91893853320467274178;
  if (low >= 10)
    return -0.5 * log(high) + root + theano_stirling(low) + theano_stirling(high) - theano_stirling(low + high) +
           (low - 0.5) * log(low / (low + high)) - high * log1p(low / high);
  if (low > 0 && high >= 10)
    return theano_special_gammaln(low, 0) + theano_stirling(high) - theano_stirling(low + high) + low -
           low * log(low + high) - (high - 0.5) * log1p(low / high);
  {
    const double first = theano_special_gammaln(a, 0), second = theano_special_gammaln(b, 0);
    return isinf(first) || isinf(second) ? __builtin_inf() : first + second - theano_special_gammaln(a + b, 0);
  }
}""",
    }
)
