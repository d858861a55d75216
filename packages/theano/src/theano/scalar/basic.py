"""The types and ops of scalars; `theano.scalar` has the same names."""

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_graph import (
    Apply as Apply, Constant as Constant, FunctionGraph as FunctionGraph, Op as Op, Type as Type, Variable as Variable,
    config as config, pprint as pprint,
)
from theano_linker_c.scalar import (
    ALL_DTYPES as ALL_DTYPES, Abs as Abs, Add as Add, And as And, Angle as Angle, ArcCos as ArcCos, ArcCosh as ArcCosh,
    ArcSin as ArcSin, ArcSinh as ArcSinh, ArcTan as ArcTan, ArcTan2 as ArcTan2, ArcTanh as ArcTanh, BetaInc as BetaInc,
    BetaLn as BetaLn, BinaryBitOp as BinaryBitOp, BinaryScalarOp as BinaryScalarOp, COMPLEX_DTYPES as COMPLEX_DTYPES,
    CONTINUOUS_DTYPES as CONTINUOUS_DTYPES, CValue as CValue, Cast as Cast, Cbrt as Cbrt, Ceil as Ceil,
    Chi2SF as Chi2SF, Clip as Clip, Comparison as Comparison, ComplexError as ComplexError,
    ComplexFromPolar as ComplexFromPolar, Composite as Composite, Conj as Conj, Cos as Cos, Cosh as Cosh,
    DISCRETE_DTYPES as DISCRETE_DTYPES, Deg2Rad as Deg2Rad, EQ as EQ, Erf as Erf, Erfc as Erfc, Erfcinv as Erfcinv,
    Erfcx as Erfcx, Erfinv as Erfinv, Exp as Exp, Exp2 as Exp2, Expm1 as Expm1, FLOAT_DTYPES as FLOAT_DTYPES,
    FixedLogicalComparison as FixedLogicalComparison, Floor as Floor, GE as GE, GT as GT, Gamma as Gamma,
    GammaInc as GammaInc, GammaIncC as GammaIncC, GammaIncDer as GammaIncDer, GammaL as GammaL, GammaLn as GammaLn,
    GammaU as GammaU, Hypot as Hypot, I0 as I0, I1 as I1, Identity as Identity, Imag as Imag, InRange as InRange,
    IntDiv as IntDiv, Invert as Invert, IsInf as IsInf, IsNan as IsNan, Iv as Iv, J0 as J0, J1 as J1, Jv as Jv,
    LE as LE, LT as LT, Log as Log, Log10 as Log10, Log1mexp as Log1mexp, Log1p as Log1p, Log2 as Log2,
    LogAddExp as LogAddExp, MakeComplex as MakeComplex, Maximum as Maximum, Minimum as Minimum, Mod as Mod, Mul as Mul,
    MulWithoutZeros as MulWithoutZeros, NEQ as NEQ, Neg as Neg, NoNativeForm as NoNativeForm, Or as Or,
    PolyGamma as PolyGamma, Pow as Pow, Psi as Psi, Rad2Deg as Rad2Deg, Real as Real, Reciprocal as Reciprocal,
    RoundHalfAwayFromZero as RoundHalfAwayFromZero, RoundHalfToEven as RoundHalfToEven, SIGNED_DTYPES as SIGNED_DTYPES,
    ScalarConstant as ScalarConstant, ScalarOp as ScalarOp, ScalarOperators as ScalarOperators,
    ScalarType as ScalarType, ScalarTypeError as ScalarTypeError, ScalarVariable as ScalarVariable, Second as Second,
    Sgn as Sgn, Sigmoid as Sigmoid, Sin as Sin, Sinh as Sinh, Softplus as Softplus, Sqr as Sqr, Sqrt as Sqrt,
    Sub as Sub, Switch as Switch, Tan as Tan, Tanh as Tanh, TrueDiv as TrueDiv, Trunc as Trunc,
    UNSIGNED_DTYPES as UNSIGNED_DTYPES, UnaryBitOp as UnaryBitOp, UnaryScalarOp as UnaryScalarOp, Xor as Xor,
    abs as abs, add as add, and_ as and_, angle as angle, arccos as arccos, arccosh as arccosh, arcsin as arcsin,
    arcsinh as arcsinh, arctan as arctan, arctan2 as arctan2, arctanh as arctanh, as_scalar as as_scalar,
    betainc as betainc, betaln as betaln, cbrt as cbrt, ceil as ceil, chi2sf as chi2sf, clip as clip,
    complex_from_polar as complex_from_polar, conj as conj, cos as cos, cosh as cosh, deg2rad as deg2rad,
    dtype_of_number as dtype_of_number, eq as eq, erf as erf, erfc as erfc, erfcinv as erfcinv, erfcx as erfcx,
    erfinv as erfinv, exp as exp, exp2 as exp2, expm1 as expm1, floor as floor, gamma as gamma, gammainc as gammainc,
    gammainc_der as gammainc_der, gammaincc as gammaincc, gammal as gammal, gammaln as gammaln, gammau as gammau,
    ge as ge, gt as gt, hypot as hypot, i0 as i0, i1 as i1, identity as identity, imag as imag,
    inclosedrange as inclosedrange, inopenrange as inopenrange, int_div as int_div, invert as invert,
    is_complex as is_complex, is_discrete as is_discrete, isinf as isinf, isnan as isnan, iv as iv, j0 as j0, j1 as j1,
    jv as jv, le as le, log as log, log10 as log10, log1mexp as log1mexp, log1p as log1p, log2 as log2,
    logaddexp as logaddexp, lt as lt, make_complex as make_complex, maximum as maximum, minimum as minimum, mod as mod,
    mul as mul, mul_without_zeros as mul_without_zeros, neg as neg, neq as neq, or_ as or_, pow as pow, psi as psi,
    rad2deg as rad2deg, real as real, reciprocal as reciprocal, round_half_away_from_zero as round_half_away_from_zero,
    round_half_to_even as round_half_to_even, same_out as same_out, same_out_float_only as same_out_float_only,
    same_out_min8 as same_out_min8, same_out_nobool as same_out_nobool, same_out_nocomplex as same_out_nocomplex,
    second as second, sgn as sgn, sigmoid as sigmoid, sin as sin, sinh as sinh, softplus as softplus,
    specific_out as specific_out, sqr as sqr, sqrt as sqrt, sub as sub, switch as switch, tan as tan, tanh as tanh,
    transfer_type as transfer_type, tri_gamma as tri_gamma, true_div as true_div, trunc as trunc,
    unary_out_lookup as unary_out_lookup, upcast as upcast, upcast_out as upcast_out,
    upcast_out_min8 as upcast_out_min8, upcast_out_no_complex as upcast_out_no_complex,
    upcast_out_nobool as upcast_out_nobool, upcast_to_float as upcast_to_float, upgrade_to_float as upgrade_to_float,
    upgrade_to_float64 as upgrade_to_float64, upgrade_to_float_no_complex as upgrade_to_float_no_complex, xor as xor,
)
from theano_tensor import (
    DisconnectedType as DisconnectedType, autocast_float as autocast_float, autocast_float_as as autocast_float_as,
    autocast_int as autocast_int, grad_undefined as grad_undefined,
)
from ._historical import (
    Compositef32 as Compositef32, IntegerDivisionError as IntegerDivisionError, NumpyAutocaster as NumpyAutocaster,
    as_common_dtype as as_common_dtype, cast as cast, complexs as complexs, complexs128 as complexs128,
    complexs64 as complexs64, composite_f32 as composite_f32, constant as constant, convert as convert,
    convert_to_bool as convert_to_bool, convert_to_complex128 as convert_to_complex128,
    convert_to_complex64 as convert_to_complex64, convert_to_float16 as convert_to_float16,
    convert_to_float32 as convert_to_float32, convert_to_float64 as convert_to_float64,
    convert_to_int16 as convert_to_int16, convert_to_int32 as convert_to_int32, convert_to_int64 as convert_to_int64,
    convert_to_int8 as convert_to_int8, convert_to_uint16 as convert_to_uint16, convert_to_uint32 as convert_to_uint32,
    convert_to_uint64 as convert_to_uint64, convert_to_uint8 as convert_to_uint8, div_proxy as div_proxy,
    float_out as float_out, float_out_nocomplex as float_out_nocomplex, floats as floats,
    int_or_true_div as int_or_true_div, int_out as int_out, int_out_nocomplex as int_out_nocomplex, ints as ints,
    mod_check as mod_check, real_out as real_out, round_half_away_from_zero_ as round_half_away_from_zero_,
    round_half_away_from_zero_vec as round_half_away_from_zero_vec,
    round_half_away_from_zero_vec32 as round_half_away_from_zero_vec32,
    round_half_away_from_zero_vec64 as round_half_away_from_zero_vec64,
)
# isort: on
# fmt: on
# End of the names of names.toml.


from .._names import lazy_names

# The historical names.
Scalar = ScalarType
Complex = MakeComplex
complex = make_complex
abs_ = abs
Inv = Reciprocal
pow_ = pow
inv = reciprocal
AND = And
OR = Or
XOR = Xor
LogicalComparison = Comparison
floor_div = int_div
_scalar_py_operators = ScalarOperators

get_scalar_type = Scalar

bool = Scalar("bool")
int8 = Scalar("int8")
int16 = Scalar("int16")
int32 = Scalar("int32")
int64 = Scalar("int64")
uint8 = Scalar("uint8")
uint16 = Scalar("uint16")
uint32 = Scalar("uint32")
uint64 = Scalar("uint64")
float16 = Scalar("float16")
float32 = Scalar("float32")
float64 = Scalar("float64")
complex64 = Scalar("complex64")
complex128 = Scalar("complex128")

int_types = int8, int16, int32, int64
uint_types = uint8, uint16, uint32, uint64
integer_types = *int_types, *uint_types
discrete_types = bool, *integer_types
float_types = float16, float32, float64
complex_types = complex64, complex128
continuous_types = *float_types, *complex_types
all_types = *discrete_types, *continuous_types

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
