"""The zeta function of Hurwitz."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._lazy import scipy_special
from .._contract._cvalue import CValue, c_cast, c_type
from .._contract._derivative import differentiable, real_operands, undefined
from .._contract._op import BinaryScalarOp
from .._contract._record import REALS, ScalarRecord
from ._base import SpecialFunction

__all__ = ["Zeta", "zeta"]

#: Bernoulli numbers B2, B4, ... of asymptotic series.
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
#: Where the asymptotic series of exponent s starts, less s.
_START = 12


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
    return BERNOULLI[0] / 2 if k == 1 else BERNOULLI[k - 1] / BERNOULLI[k - 2] / (2 * k * (2 * k - 1))


def _series() -> str:
    text = "0"
    for k in range(len(BERNOULLI), 0, -1):
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


def _reference(s: Any, q: Any) -> Any:
    dtype = np.result_type(s, q, np.float32)
    s, q = (np.asarray(x, dtype="float64") for x in (s, q))
    return np.where(_vanishes(s, q), 0.0, scipy_special().zeta(s, q)).astype(dtype)


RECORDS = (ScalarRecord(zeta, _reference, REALS, low=1.5, parameters=1, ulp=16.0),)
