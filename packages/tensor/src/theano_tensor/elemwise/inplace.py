"""Elementwise functions that overwrite their first argument.

Each computes the function without ``_inplace`` in the memory of its first argument, which has the value
from before only for nodes that run earlier. The result needs the dtype and shape of that argument. Programs
hardly need these: the runtime takes memory over by itself.
"""

from __future__ import annotations

from theano_linker_c import scalar
from theano_linker_c.scalar import ScalarOp, transfer_type

from ._elemwise import Elemwise


def _inplace(op: ScalarOp, name: str, overwritten: int = 0) -> Elemwise:
    op_kind = type(op)(transfer_type(overwritten))  # the result has the dtype of the overwritten operand
    function = Elemwise(op_kind, {0: overwritten}, name=f"{name}_inplace")
    function.__doc__ = f"`{name}`, in the memory of argument {overwritten}."
    return function


lt_inplace = _inplace(scalar.lt, "lt")
le_inplace = _inplace(scalar.le, "le")
gt_inplace = _inplace(scalar.gt, "gt")
ge_inplace = _inplace(scalar.ge, "ge")
eq_inplace = _inplace(scalar.eq, "eq")
neq_inplace = _inplace(scalar.neq, "neq")
and_inplace = _inplace(scalar.and_, "and_")
or_inplace = _inplace(scalar.or_, "or_")
xor_inplace = _inplace(scalar.xor, "xor")
invert_inplace = _inplace(scalar.invert, "invert")
sub_inplace = _inplace(scalar.sub, "sub")
add_inplace = _inplace(scalar.add, "add")
mul_inplace = _inplace(scalar.mul, "mul")
true_div_inplace = _inplace(scalar.true_div, "true_div")
int_div_inplace = _inplace(scalar.int_div, "int_div")
mod_inplace = _inplace(scalar.mod, "mod")
pow_inplace = _inplace(scalar.pow, "pow")
second_inplace = _inplace(scalar.second, "second")
fill_inplace = _inplace(scalar.second, "fill")
maximum_inplace = _inplace(scalar.maximum, "maximum")
minimum_inplace = _inplace(scalar.minimum, "minimum")
switch_inplace = _inplace(scalar.switch, "switch")
abs_inplace = _inplace(scalar.abs, "abs_")
neg_inplace = _inplace(scalar.neg, "neg")
inv_inplace = _inplace(scalar.reciprocal, "inv")
sgn_inplace = _inplace(scalar.sgn, "sgn")
ceil_inplace = _inplace(scalar.ceil, "ceil")
floor_inplace = _inplace(scalar.floor, "floor")
trunc_inplace = _inplace(scalar.trunc, "trunc")
round_half_to_even_inplace = _inplace(scalar.round_half_to_even, "round_half_to_even")
round_half_away_from_zero_inplace = _inplace(scalar.round_half_away_from_zero, "round_half_away_from_zero")
sqr_inplace = _inplace(scalar.sqr, "sqr")
sqrt_inplace = _inplace(scalar.sqrt, "sqrt")
exp_inplace = _inplace(scalar.exp, "exp")
exp2_inplace = _inplace(scalar.exp2, "exp2")
expm1_inplace = _inplace(scalar.expm1, "expm1")
log_inplace = _inplace(scalar.log, "log")
log1p_inplace = _inplace(scalar.log1p, "log1p")
log2_inplace = _inplace(scalar.log2, "log2")
log10_inplace = _inplace(scalar.log10, "log10")
sin_inplace = _inplace(scalar.sin, "sin")
cos_inplace = _inplace(scalar.cos, "cos")
tan_inplace = _inplace(scalar.tan, "tan")
arcsin_inplace = _inplace(scalar.arcsin, "arcsin")
arccos_inplace = _inplace(scalar.arccos, "arccos")
arctan_inplace = _inplace(scalar.arctan, "arctan")
arctan2_inplace = _inplace(scalar.arctan2, "arctan2")
sinh_inplace = _inplace(scalar.sinh, "sinh")
cosh_inplace = _inplace(scalar.cosh, "cosh")
tanh_inplace = _inplace(scalar.tanh, "tanh")
arcsinh_inplace = _inplace(scalar.arcsinh, "arcsinh")
arccosh_inplace = _inplace(scalar.arccosh, "arccosh")
arctanh_inplace = _inplace(scalar.arctanh, "arctanh")
erf_inplace = _inplace(scalar.erf, "erf")
erfc_inplace = _inplace(scalar.erfc, "erfc")
erfcx_inplace = _inplace(scalar.erfcx, "erfcx")
erfinv_inplace = _inplace(scalar.erfinv, "erfinv")
erfcinv_inplace = _inplace(scalar.erfcinv, "erfcinv")
gamma_inplace = _inplace(scalar.gamma, "gamma")
gammaln_inplace = _inplace(scalar.gammaln, "gammaln")
psi_inplace = _inplace(scalar.psi, "psi")
tri_gamma_inplace = _inplace(scalar.tri_gamma, "tri_gamma")
chi2sf_inplace = _inplace(scalar.chi2sf, "chi2sf")
gammainc_inplace = _inplace(scalar.gammainc, "gammainc")
gammaincc_inplace = _inplace(scalar.gammaincc, "gammaincc")
gammal_inplace = _inplace(scalar.gammal, "gammal")
gammau_inplace = _inplace(scalar.gammau, "gammau")
j0_inplace = _inplace(scalar.j0, "j0")
j1_inplace = _inplace(scalar.j1, "j1")
jv_inplace = _inplace(scalar.jv, "jv")
i0_inplace = _inplace(scalar.i0, "i0")
i1_inplace = _inplace(scalar.i1, "i1")
iv_inplace = _inplace(scalar.iv, "iv")
sigmoid_inplace = _inplace(scalar.sigmoid, "sigmoid")
softplus_inplace = _inplace(scalar.softplus, "softplus")
ultra_fast_sigmoid_inplace = _inplace(scalar.ultra_fast_sigmoid, "ultra_fast_sigmoid")
log1mexp_inplace = _inplace(scalar.log1mexp, "log1mexp")
deg2rad_inplace = _inplace(scalar.deg2rad, "deg2rad")
rad2deg_inplace = _inplace(scalar.rad2deg, "rad2deg")
clip_inplace = _inplace(scalar.clip, "clip")
conj_inplace = _inplace(scalar.conj, "conj")

__all__ = [
    "abs_inplace",
    "add_inplace",
    "and_inplace",
    "arccos_inplace",
    "arccosh_inplace",
    "arcsin_inplace",
    "arcsinh_inplace",
    "arctan2_inplace",
    "arctan_inplace",
    "arctanh_inplace",
    "ceil_inplace",
    "chi2sf_inplace",
    "clip_inplace",
    "conj_inplace",
    "cos_inplace",
    "cosh_inplace",
    "deg2rad_inplace",
    "eq_inplace",
    "erf_inplace",
    "erfc_inplace",
    "erfcinv_inplace",
    "erfcx_inplace",
    "erfinv_inplace",
    "exp2_inplace",
    "exp_inplace",
    "expm1_inplace",
    "fill_inplace",
    "floor_inplace",
    "gamma_inplace",
    "gammainc_inplace",
    "gammaincc_inplace",
    "gammal_inplace",
    "gammaln_inplace",
    "gammau_inplace",
    "ge_inplace",
    "gt_inplace",
    "i0_inplace",
    "i1_inplace",
    "int_div_inplace",
    "inv_inplace",
    "invert_inplace",
    "iv_inplace",
    "j0_inplace",
    "j1_inplace",
    "jv_inplace",
    "le_inplace",
    "log10_inplace",
    "log1mexp_inplace",
    "log1p_inplace",
    "log2_inplace",
    "log_inplace",
    "lt_inplace",
    "maximum_inplace",
    "minimum_inplace",
    "mod_inplace",
    "mul_inplace",
    "neg_inplace",
    "neq_inplace",
    "or_inplace",
    "pow_inplace",
    "psi_inplace",
    "rad2deg_inplace",
    "round_half_away_from_zero_inplace",
    "round_half_to_even_inplace",
    "second_inplace",
    "sgn_inplace",
    "sigmoid_inplace",
    "sin_inplace",
    "sinh_inplace",
    "softplus_inplace",
    "sqr_inplace",
    "sqrt_inplace",
    "sub_inplace",
    "ultra_fast_sigmoid_inplace",
    "switch_inplace",
    "tan_inplace",
    "tanh_inplace",
    "tri_gamma_inplace",
    "true_div_inplace",
    "trunc_inplace",
    "xor_inplace",
]
