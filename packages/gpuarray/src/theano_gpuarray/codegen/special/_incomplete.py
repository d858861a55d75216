"""Incomplete gamma and beta functions: DLMF, chapter 8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType

from ._gamma import horner

__all__ = ["INCOMPLETE"]

#: Coefficients of each power series in the expansion for large parameters, and how many there are of these series.
_POWERS, _ORDERS = 22, 4
#: Coefficients of Stirling's series 5.11.3.
_STIRLING = (Fraction(1), Fraction(1, 12), Fraction(1, 288), Fraction(-139, 51840))


def _temme() -> list[list[float]]:
    """Return the power series of the functions c in 8.12.9.

    With ``lambda - 1 - log(lambda) = eta**2 / 2``, ``m = lambda - 1`` is a power series in eta: its derivative is
    ``eta * (1 + m) / m``. Then ``c[0] = 1 / m - 1 / eta``, and ``c[k] = c[k-1]' / eta + (-1)**k g[k] / m`` (8.12.11),
    where g are Stirling's coefficients.
    """
    count = _POWERS + 2 * _ORDERS + 3
    m = [Fraction(0), Fraction(1)]
    for n in range(2, count):
        # The coefficient of eta**n in m m' = eta (1 + m).
        known = sum((m[i] * m[n + 1 - i] * (n + 1 - i) for i in range(2, n)), Fraction(0))
        m.append((m[n - 1] - known) / (n + 1))
    # 1 / m = 1 / eta + r[0] + r[1] eta + ...
    r: list[Fraction] = []
    for n in range(count - 2):
        r.append(-m[n + 2] - sum((r[i] * m[n + 1 - i] for i in range(n)), Fraction(0)))
    rows, row = [r], r
    for k in range(1, _ORDERS):
        g = (-1) ** k * _STIRLING[k]
        # Of the poles, that of c' / eta and that of g / m cancel.
        row = [(n + 2) * row[n + 2] + g * r[n] for n in range(len(row) - 2)]
        rows.append(row)
    return [[float(c) for c in row[:_POWERS]] for row in rows]


def _expansion(rows: Sequence[list[float]]) -> str:
    return "\n".join(f"  sum += power * {horner(row, 'eta')};\n  power /= a;" for row in rows)


INCOMPLETE: Mapping[str, str] = MappingProxyType(
    {
        "theano_log_less": """
/* log(ratio) - d for ratio = 1 + d, without cancellation for small d: 4.6.1. */
static double theano_log_less(double ratio, double d) {
  double power, sum = 0;
  if (fabs(d) > 0.3) return log(ratio) - d;
  power = -d * d;
  for (int k = 2; k < 60 && fabs(power) > fabs(sum) * 1e-18; k++) {
    sum += power / k;
    power *= -d;
  }
  return sum;
}""",
        "theano_gamma_front": """
/* x^a exp(-x) / gamma(a + 1). */
static double theano_gamma_front(double a, double x) {
  if (a < 10) return exp(a * log(x) - x) / tgamma(a + 1);
  return exp(a * theano_log_less(x / a, (x - a) / a) - theano_stirling(a)) / sqrt(2 * 3.14159265358979323846 * a);
}""",
        "theano_gamma_large": f"""
/* Both functions near the turning point for large a: 8.12.3 and 8.12.4. */
static double theano_gamma_large(double a, double x, int upper) {{
  const double d = (x - a) / a, level = -theano_log_less(x / a, d), eta = copysign(sqrt(2 * level), d);
  double sum = 0, power = 1;
{_expansion(_temme())}
  sum *= exp(-a * level) / sqrt(2 * 3.14159265358979323846 * a);
  return upper ? 0.5 * erfc(eta * sqrt(a / 2)) + sum : 0.5 * erfc(-eta * sqrt(a / 2)) - sum;
}}""",
        "theano_gamma_series": """
/* The lower function: the series 8.7.1. */
static double theano_gamma_series(double a, double x) {
  double term = 1, sum = 1;
  for (double k = 1; k < 1e5 && term > sum * 1e-17; k++) {
    term *= x / (a + k);
    sum += term;
  }
  return theano_gamma_front(a, x) * sum;
}""",
        "theano_gamma_fraction": """
/* The upper function: the fraction 8.9.2. */
static double theano_gamma_fraction(double a, double x) {
  double b = x + 1 - a, c = 1e300, d = 1 / b, fraction = d;
  for (double k = 1; k < 1e5; k++) {
    const double factor = -k * (k - a);
    double change;
    b += 2;
    d = 1 / (factor * d + b);
    c = b + factor / c;
    change = c * d;
    fraction *= change;
    if (fabs(change - 1) < 1e-16) break;
  }
  return theano_gamma_front(a, x) * a * fraction;
}""",
        "theano_gamma_near": """
/* The upper function for small a and x: 1 - x^a / gamma(1 + a), without cancellation, less what 8.7.1 adds. */
static double theano_gamma_near(double a, double x) {
  const double power = a * log(x) - theano_gammaln_beyond(a);
  double term = 1, other = 0;
  for (int k = 1; k < 60; k++) {
    term *= -x / k;
    other += a * term / (a + k);
  }
  return -expm1(power) - exp(power) * other;
}""",
        "theano_gamma_part": """static double theano_gamma_part(double a, double x, int upper) {
  double value;
  if (a != a || x != x || a < 0 || x < 0 || (a == 0 && x == 0)) return __builtin_nan("");
  if (a == 0 || isinf(x)) return isinf(a) ? __builtin_nan("") : !upper;
  if (x == 0 || isinf(a)) return upper;
  if (a > 1e4 && fabs(x - a) < 0.3 * a) return theano_gamma_large(a, x, upper);
  if (upper && x < 1.5 && a < 1.5) return theano_gamma_near(a, x);
  if (x < a + 1 || x < 1.5) {
    value = theano_gamma_series(a, x);
    return upper ? 1 - value : value;
  }
  value = theano_gamma_fraction(a, x);
  return upper ? value : 1 - value;
}""",
        "theano_special_gammainc": """static double theano_special_gammainc(double a, double x, int unused) {
  return theano_gamma_part(a, x, 0);
}""",
        "theano_special_gammaincc": """static double theano_special_gammaincc(double a, double x, int unused) {
  return theano_gamma_part(a, x, 1);
}""",
        "theano_beta_front": """
/* x^a (1 - x)^b / beta(a, b); where both are large, what the powers and the beta function have in common is left
 * out. y is 1 - x. */
static double theano_beta_front(double a, double b, double x, double y) {
  const double both = a + b, pi = 3.14159265358979323846;
  if (a < 10 || b < 10)
    return exp(a * (x < 0.5 ? log(x) : log1p(-y)) + b * (y < 0.5 ? log(y) : log1p(-x)) -
               theano_special_betaln(a, b, 0));
  const double off = x < 0.5 ? x - a / both : b / both - y;
  return sqrt(a * b / both / (2 * pi)) *
         exp(a * theano_log_less(x * both / a, off * both / a) + b * theano_log_less(y * both / b, -off * both / b) +
             theano_stirling(both) - theano_stirling(a) - theano_stirling(b));
}""",
        "theano_special_betainc": """
/* The fraction 8.17.22, on the side on which it converges fast. */
static double theano_special_betainc(double a, double b, double x, int unused) {
  double c = 1, d, fraction, y = 1 - x;
  int other = 0;
  if (!(a >= 0 && b >= 0 && x >= 0 && x <= 1) || (a == 0 && b == 0) || (isinf(a) && isinf(b)))
    return __builtin_nan("");
  if (x == 0 || x == 1) return x;
  if (a == 0 || isinf(b)) return 1;
  if (b == 0 || isinf(a)) return 0;
  if (x > (a + 1) / (a + b + 2)) {
    const double first = a, low = x;
    a = b;
    b = first;
    x = y;
    y = low;
    other = 1;
  }
  d = 1 / (1 - (a + b) * x / (a + 1));
  fraction = d;
  for (double k = 1; k < 1e5; k++) {
    const double even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k));
    const double odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1));
    double change;
    d = 1 / (1 + even * d);
    c = 1 + even / c;
    fraction *= c * d;
    d = 1 / (1 + odd * d);
    c = 1 + odd / c;
    change = c * d;
    fraction *= change;
    if (fabs(change - 1) < 1e-16) break;
  }
  fraction *= theano_beta_front(a, b, x, y) / a;
  return other ? 1 - fraction : fraction;
}""",
    }
)
