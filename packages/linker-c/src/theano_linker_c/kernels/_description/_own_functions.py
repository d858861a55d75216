"""Mathematical functions that kernels compute in place, where that takes less than a call of the C library's."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from theano_graph import record

__all__ = ["IN_PLACE", "InPlace", "in_place"]

# e**x is (2**n * e**r) * 2**n with n the integer nearest to x / (2 log(2)); adding 1.5 * 2**23 rounds to it, and adding
# 127 as well gives the bits of the exponent of 2**n. There are two factors so that subnormal results are right. The
# polynomial is the one with the least relative error of e**r among those that begin with 1 + r, evaluated in parts side
# by side. Outside of the bounds the result is 0 or infinite; a NaN fails both comparisons. The bounds are variables,
# which no compiler folds: for constants gcc does not find the instructions that take the larger and the smaller of two.
_EXPF = """\
static float theano_exp_bounds[2] __attribute__((used)) = {-104.0f, 89.0f};
static inline float theano_expf(float x) {
  x = x < theano_exp_bounds[0] ? theano_exp_bounds[0] : x;
  x = theano_exp_bounds[1] < x ? theano_exp_bounds[1] : x;
  const union { float number; uint32_t bits; } near = {__builtin_fmaf(x, 0x1.715476p-1f, 12583039.0f)};
  const union { uint32_t bits; float number; } power = {near.bits << 23};
  const float n = near.number - 12583039.0f;
  const float r = __builtin_fmaf(n, -0x1.7f7d1cp-19f, __builtin_fmaf(n, -0x1.62e4p0f, x)), s = r * r;
  const float high = __builtin_fmaf(r, 0x1.9b4698p-13f, 0x1.71bedep-10f);
  const float middle = __builtin_fmaf(high, s, __builtin_fmaf(r, 0x1.11285cp-7f, 0x1.5549fep-5f));
  const float low = __builtin_fmaf(middle, s, __builtin_fmaf(r, 0x1.55550ep-3f, 0x1.00000cp-1f));
  return __builtin_fmaf(__builtin_fmaf(low, s, r), power.number, power.number) * power.number;
}"""
#: The text of a form by the name of the C library's function; the form has the name behind ``theano_``.
IN_PLACE: Mapping[str, str] = MappingProxyType({"expf": _EXPF})


@record
class InPlace:
    """A form in place of a function of the C library.

    Parameters
    ----------
    text : str
        Its definition; on processors that lack the instructions, those that multiply and add with one rounding, the C
        library's function is called.
    begin, end : str
        Lines between which the name of the C library's function stands for the form.
    """

    text: str
    begin: str
    end: str


def in_place(name: str, declaration: str) -> InPlace:
    """Return a form; `declaration` is that of the C library's function.

    Examples
    --------
    >>> in_place("expf", "float expf(float);").begin
    '#define expf theano_expf'
    """
    head, form = "#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)", f"theano_{name}"
    text = f"{head}\n{IN_PLACE[name]}\n#else\n{declaration}\n#define {form} {name}\n#endif"
    return InPlace(text, f"#define {name} {form}", f"#undef {name}")
