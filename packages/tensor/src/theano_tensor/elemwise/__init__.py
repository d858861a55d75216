"""Elementwise computation: the op, broadcasting, and every function of the scalar vocabulary."""

from . import inplace as inplace
from ._dimshuffle import (
    DimShuffle as DimShuffle,
    broadcast_static as broadcast_static,
    check_broadcast as check_broadcast,
    dimshuffle as dimshuffle,
    refused_broadcast as refused_broadcast,
    shuffled as shuffled,
)
from ._elemwise import Elemwise as Elemwise, partials as partials, unbroadcast as unbroadcast

# Names that these define, written by tools/generate_names.py:
#     _functions
# fmt: off
# isort: off
from ._functions import (
    abs_ as abs_, add as add, and_ as and_, angle as angle, arccos as arccos, arccosh as arccosh, arcsin as arcsin,
    arcsinh as arcsinh, arctan as arctan, arctan2 as arctan2, arctanh as arctanh, betainc as betainc,
    betaincinv as betaincinv, betaln as betaln, bitwise_and as bitwise_and, bitwise_not as bitwise_not,
    bitwise_or as bitwise_or, bitwise_xor as bitwise_xor, cast as cast, cbrt as cbrt, ceil as ceil, chi2sf as chi2sf,
    clip as clip, complex as complex, complex_from_polar as complex_from_polar, conj as conj, cos as cos, cosh as cosh,
    deg2rad as deg2rad, divmod as divmod, eq as eq, erf as erf, erfc as erfc, erfcinv as erfcinv, erfcx as erfcx,
    erfinv as erfinv, exp as exp, exp2 as exp2, expm1 as expm1, fill as fill, floor as floor, floor_div as floor_div,
    gamma as gamma, gammainc as gammainc, gammaincc as gammaincc, gammainccinv as gammainccinv,
    gammaincinv as gammaincinv, gammal as gammal, gammaln as gammaln, gammau as gammau, ge as ge, gt as gt,
    hyp2f1 as hyp2f1, hypot as hypot, i0 as i0, i1 as i1, imag as imag, int_div as int_div,
    int_or_true_div as int_or_true_div, intdiv as intdiv, inv as inv, invert as invert, iround as iround,
    isclose as isclose, isinf as isinf, isnan as isnan, iv as iv, ive as ive, j0 as j0, j1 as j1, jv as jv, kve as kve,
    le as le, log as log, log10 as log10, log1mexp as log1mexp, log1p as log1p, log2 as log2, logaddexp as logaddexp,
    lt as lt, maximum as maximum, minimum as minimum, mod as mod, mod_check as mod_check, mul as mul, neg as neg,
    neq as neq, ones_like as ones_like, or_ as or_, owens_t as owens_t, pow as pow, psi as psi, rad2deg as rad2deg,
    real as real, reciprocal as reciprocal, round as round, round_half_away_from_zero as round_half_away_from_zero,
    round_half_to_even as round_half_to_even, second as second, sgn as sgn, sigmoid as sigmoid, sin as sin,
    sinc as sinc, sinh as sinh, softplus as softplus, sqr as sqr, sqrt as sqrt, square as square, sub as sub,
    switch as switch, tan as tan, tanh as tanh, tensor_copy as tensor_copy, tri_gamma as tri_gamma,
    true_div as true_div, truediv as truediv, trunc as trunc, where as where, xor as xor, zeros_like as zeros_like,
    zeta as zeta,
)
# isort: on
# fmt: on
# End of the names that these define.

__all__ = [
    "inplace",
    "DimShuffle",
    "Elemwise",
    "broadcast_static",
    "check_broadcast",
    "dimshuffle",
]

# Their names, written by tools/generate_names.py.
# fmt: off
# isort: off
__all__ += [
    "abs_", "add", "and_", "angle", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "betainc", "betaincinv", "betaln", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "cast", "cbrt",
    "ceil", "chi2sf", "clip", "complex", "complex_from_polar", "conj", "cos", "cosh", "deg2rad", "divmod", "eq", "erf",
    "erfc", "erfcinv", "erfcx", "erfinv", "exp", "exp2", "expm1", "fill", "floor", "floor_div", "gamma", "gammainc",
    "gammaincc", "gammainccinv", "gammaincinv", "gammal", "gammaln", "gammau", "ge", "gt", "hyp2f1", "hypot", "i0",
    "i1", "imag", "int_div", "int_or_true_div", "intdiv", "inv", "invert", "iround", "isclose", "isinf", "isnan", "iv",
    "ive", "j0", "j1", "jv", "kve", "le", "log", "log10", "log1mexp", "log1p", "log2", "logaddexp", "lt", "maximum",
    "minimum", "mod", "mod_check", "mul", "neg", "neq", "ones_like", "or_", "owens_t", "pow", "psi", "rad2deg", "real",
    "reciprocal", "round", "round_half_away_from_zero", "round_half_to_even", "second", "sgn", "sigmoid", "sin",
    "sinc", "sinh", "softplus", "sqr", "sqrt", "square", "sub", "switch", "tan", "tanh", "tensor_copy", "tri_gamma",
    "true_div", "truediv", "trunc", "where", "xor", "zeros_like", "zeta",
]
# isort: on
# fmt: on
# End of their names.
