"""Mathematical functions that kernels compute in place, where that takes less than a call of the C library's."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["own_function"]

# e**x is (2**n * e**r) * 2**n with n the integer nearest to x / (2 log(2)); adding 1.5 * 2**23 rounds to it, and adding
# 127 too gives the bits of the exponent of 2**n. Two factors, so that subnormal results are right. The polynomial is the
# one with the least relative error of e**r among those that begin with 1 + r, evaluated in parts side by side. Outside
# of the bounds the result is 0 or infinite; a NaN fails both comparisons. The bounds are variables, which no compiler
# folds: for constants gcc does not find the instructions that take the larger and the smaller of two numbers.
_EXPF = """\
static float theano_exp_bounds[2] __attribute__((used)) = {-104.0f, 89.0f};
static inline float theano_expf(float x) {
  x = x < theano_exp_bounds[0] ? theano_exp_bounds[0] : x;
  x = theano_exp_bounds[1] < x ? theano_exp_bounds[1] : x;
  const union { float number; int32_t bits; } near = {__builtin_fmaf(x, 0x1.715476p-1f, 12583039.0f)};
  const union { int32_t bits; float number; } power = {near.bits << 23};
  const float n = near.number - 12583039.0f;
  const float r = __builtin_fmaf(n, -0x1.7f7d1cp-19f, __builtin_fmaf(n, -0x1.62e4p0f, x)), s = r * r;
  const float high = __builtin_fmaf(r, 0x1.9b4698p-13f, 0x1.71bedep-10f);
  const float middle = __builtin_fmaf(high, s, __builtin_fmaf(r, 0x1.11285cp-7f, 0x1.5549fep-5f));
  const float low = __builtin_fmaf(middle, s, __builtin_fmaf(r, 0x1.55550ep-3f, 0x1.00000cp-1f));
  return __builtin_fmaf(__builtin_fmaf(low, s, r), power.number, power.number) * power.number;
}"""
#: By the name in the C library.
_TEXTS: Mapping[str, str] = MappingProxyType({"expf": _EXPF})


def own_function(name: str, declaration: str) -> str:
    """Give what to write instead of the declaration of a function of the C library: where it is computed in place, that.

    The forms in place need instructions that multiply and add with one rounding.

    Parameters
    ----------
    name : str
        Of the C library's function.
    declaration : str
        For processors without such instructions, and for functions that are always called.

    Examples
    --------
    >>> own_function("logf", "float logf(float);")
    'float logf(float);'
    """
    text = _TEXTS.get(name)
    if text is None:
        return declaration
    head = "#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)"
    return f"{head}\n{text}\n#define {name} theano_{name}\n#else\n{declaration}\n#endif"
