"""Scalars: numbers as symbols, the functions on them, their promotion rules, derivatives and C forms."""

from . import (
    _activations,
    _arithmetic,
    _comparison,
    _complex,
    _dtypes as _dtypes,
    _exponential,
    _trigonometric,
    special,
)
from ._derivative import (
    ComplexRule as ComplexRule,
    NoDerivative as NoDerivative,
    ScalarRecord as ScalarRecord,
    complex_rules as complex_rules,
    differentiable as differentiable,
    is_undefined as is_undefined,
    scalar_pullback as scalar_pullback,
    scalar_pushforward as scalar_pushforward,
    undefined as undefined,
    without_derivative as without_derivative,
)
from ._dtypes import (
    ALL_DTYPES as ALL_DTYPES,
    COMPLEX_DTYPES as COMPLEX_DTYPES,
    COMPLEX_FUNCTIONS as COMPLEX_FUNCTIONS,
    CONTINUOUS_DTYPES as CONTINUOUS_DTYPES,
    DISCRETE_DTYPES as DISCRETE_DTYPES,
    FLOAT_DTYPES as FLOAT_DTYPES,
    SIGNED_DTYPES as SIGNED_DTYPES,
    UNSIGNED_DTYPES as UNSIGNED_DTYPES,
    CValue as CValue,
    NoNativeForm as NoNativeForm,
    c_builtin as c_builtin,
    c_call as c_call,
    c_cast as c_cast,
    c_helper as c_helper,
    c_literal as c_literal,
    c_loaded as c_loaded,
    c_stored as c_stored,
    c_type as c_type,
    dtype_of_number as dtype_of_number,
    is_complex as is_complex,
    is_discrete as is_discrete,
    part_dtype as part_dtype,
    upcast as upcast,
    upcast_to_float as upcast_to_float,
)
from ._normal_form import (
    OneOp as OneOp,
    ProgramBuilder as ProgramBuilder,
    ScalarProgram as ScalarProgram,
    ScalarStep as ScalarStep,
    program_from_graph as program_from_graph,
    program_of as program_of,
)
from ._op import (
    BinaryBitOp as BinaryBitOp,
    BinaryScalarOp as BinaryScalarOp,
    Comparison as Comparison,
    FixedLogicalComparison as FixedLogicalComparison,
    ScalarOp as ScalarOp,
    ScalarTypeError as ScalarTypeError,
    UnaryBitOp as UnaryBitOp,
    UnaryScalarOp as UnaryScalarOp,
)
from ._type import (
    ComplexError as ComplexError,
    OperatorSet as _OperatorSet,
    ScalarConstant as ScalarConstant,
    ScalarOperators as ScalarOperators,
    ScalarType as ScalarType,
    ScalarVariable as ScalarVariable,
    as_scalar as as_scalar,
    register_scalar_conversion as register_scalar_conversion,
    same_out as same_out,
    same_out_float_only as same_out_float_only,
    same_out_min8 as same_out_min8,
    same_out_nobool as same_out_nobool,
    same_out_nocomplex as same_out_nocomplex,
    specific_out as specific_out,
    transfer_type as transfer_type,
    unary_out_lookup as unary_out_lookup,
    upcast_out as upcast_out,
    upcast_out_min8 as upcast_out_min8,
    upcast_out_no_complex as upcast_out_no_complex,
    upcast_out_nobool as upcast_out_nobool,
    upgrade_to_float as upgrade_to_float,
    upgrade_to_float64 as upgrade_to_float64,
    upgrade_to_float_no_complex as upgrade_to_float_no_complex,
)
from .special._error_functions import (
    called_special_functions as called_special_functions,
    special_arguments as special_arguments,
    special_definitions as special_definitions,
    special_functions as special_functions,
)

# Names that these define, written by tools/generate_names.py:
#     _activations _arithmetic:abs=abs_ _c_functions _comparison _complex _composite _exponential:pow=pow_
#     _trigonometric special
# fmt: off
# isort: off
from ._activations import (
    Relu as Relu, Sigmoid as Sigmoid, Softplus as Softplus, Softsign as Softsign, UltraFastSigmoid as UltraFastSigmoid,
    relu as relu, sigmoid as sigmoid, softplus as softplus, softsign as softsign,
    ultra_fast_sigmoid as ultra_fast_sigmoid,
)
from ._arithmetic import (
    Abs as Abs, Add as Add, Ceil as Ceil, Floor as Floor, IntDiv as IntDiv, Mod as Mod, Mul as Mul,
    MulWithoutZeros as MulWithoutZeros, Neg as Neg, Reciprocal as Reciprocal,
    RoundHalfAwayFromZero as RoundHalfAwayFromZero, RoundHalfToEven as RoundHalfToEven, Sgn as Sgn, Sqr as Sqr,
    Sub as Sub, TrueDiv as TrueDiv, Trunc as Trunc, abs_ as abs, add as add, ceil as ceil, floor as floor,
    int_div as int_div, mod as mod, mul as mul, mul_without_zeros as mul_without_zeros, neg as neg,
    reciprocal as reciprocal, round_half_away_from_zero as round_half_away_from_zero,
    round_half_to_even as round_half_to_even, sgn as sgn, sqr as sqr, sub as sub, true_div as true_div, trunc as trunc,
)
from ._c_functions import helper_definitions as helper_definitions, named_helpers as named_helpers
from ._comparison import (
    And as And, Clip as Clip, EQ as EQ, GE as GE, GT as GT, Identity as Identity, InRange as InRange, Invert as Invert,
    IsInf as IsInf, IsNan as IsNan, LE as LE, LT as LT, Maximum as Maximum, Minimum as Minimum, NEQ as NEQ, Or as Or,
    Second as Second, Switch as Switch, Xor as Xor, and_ as and_, clip as clip, eq as eq, ge as ge, gt as gt,
    identity as identity, inclosedrange as inclosedrange, inopenrange as inopenrange, invert as invert, isinf as isinf,
    isnan as isnan, le as le, lt as lt, maximum as maximum, minimum as minimum, neq as neq, or_ as or_,
    second as second, switch as switch, xor as xor,
)
from ._complex import (
    Angle as Angle, Cast as Cast, ComplexFromPolar as ComplexFromPolar, Conj as Conj, Imag as Imag,
    MakeComplex as MakeComplex, Real as Real, angle as angle, cast as cast, complex_from_polar as complex_from_polar,
    conj as conj, imag as imag, make_complex as make_complex, real as real,
)
from ._composite import Composite as Composite, program_for as program_for
from ._exponential import (
    Cbrt as Cbrt, Deg2Rad as Deg2Rad, DirectionCosine as DirectionCosine, Exp as Exp, Exp2 as Exp2, Expm1 as Expm1,
    Hypot as Hypot, Log as Log, Log10 as Log10, Log1mexp as Log1mexp, Log1p as Log1p, Log2 as Log2,
    LogAddExp as LogAddExp, Pow as Pow, Rad2Deg as Rad2Deg, Sqrt as Sqrt, cbrt as cbrt, deg2rad as deg2rad,
    direction_cosine as direction_cosine, exp as exp, exp2 as exp2, expm1 as expm1, hypot as hypot, log as log,
    log10 as log10, log1mexp as log1mexp, log1p as log1p, log2 as log2, logaddexp as logaddexp, pow_ as pow,
    rad2deg as rad2deg, sqrt as sqrt,
)
from ._trigonometric import (
    ArcCos as ArcCos, ArcCosh as ArcCosh, ArcSin as ArcSin, ArcSinh as ArcSinh, ArcTan as ArcTan, ArcTan2 as ArcTan2,
    ArcTanh as ArcTanh, Cos as Cos, Cosh as Cosh, Sin as Sin, SineQuotient as SineQuotient, Sinh as Sinh, Tan as Tan,
    Tanh as Tanh, arccos as arccos, arccosh as arccosh, arcsin as arcsin, arcsinh as arcsinh, arctan as arctan,
    arctan2 as arctan2, arctanh as arctanh, cos as cos, cosh as cosh, sin as sin, sine_quotient as sine_quotient,
    sinh as sinh, tan as tan, tanh as tanh,
)
from .special import (
    BetaInc as BetaInc, BetaIncInv as BetaIncInv, BetaLn as BetaLn, Chi2SF as Chi2SF, Erf as Erf, Erfc as Erfc,
    Erfcinv as Erfcinv, Erfcx as Erfcx, ErfcxIntegral as ErfcxIntegral, Erfinv as Erfinv, Gamma as Gamma,
    GammaInc as GammaInc, GammaIncC as GammaIncC, GammaIncCInv as GammaIncCInv, GammaIncDer as GammaIncDer,
    GammaIncInv as GammaIncInv, GammaL as GammaL, GammaLn as GammaLn, GammaU as GammaU, Hyp2F1 as Hyp2F1, I0 as I0,
    I1 as I1, Iv as Iv, Ive as Ive, J0 as J0, J1 as J1, Jv as Jv, Kve as Kve, OwensT as OwensT, PolyGamma as PolyGamma,
    Psi as Psi, TriGamma as TriGamma, Zeta as Zeta, betainc as betainc, betaincinv as betaincinv, betaln as betaln,
    chi2sf as chi2sf, erf as erf, erfc as erfc, erfcinv as erfcinv, erfcx as erfcx, erfinv as erfinv, gamma as gamma,
    gammainc as gammainc, gammainc_der as gammainc_der, gammaincc as gammaincc, gammainccinv as gammainccinv,
    gammaincinv as gammaincinv, gammal as gammal, gammaln as gammaln, gammau as gammau, hyp2f1 as hyp2f1, i0 as i0,
    i1 as i1, iv as iv, ive as ive, j0 as j0, j1 as j1, jv as jv, kve as kve, owens_t as owens_t, psi as psi,
    tri_gamma as tri_gamma, zeta as zeta,
)
# isort: on
# fmt: on
# End of the names that these define.

_MODULES = (_arithmetic, _exponential, _trigonometric, special, _activations, _comparison, _complex)

#: How to test each op: reference function, dtypes, domain and accuracy.
records: tuple[ScalarRecord, ...] = tuple(record for module in _MODULES for record in module.RECORDS)

_OperatorSet.table.update({record.op.name: record.op for record in records})
_OperatorSet.table.update({f"cast_{dtype}": cast(dtype) for dtype in ALL_DTYPES})

__all__ = [
    "called_special_functions",
    "special_arguments",
    "special_definitions",
    "special_functions",
    "ALL_DTYPES",
    "BinaryBitOp",
    "BinaryScalarOp",
    "COMPLEX_DTYPES",
    "COMPLEX_FUNCTIONS",
    "CONTINUOUS_DTYPES",
    "CValue",
    "ComplexError",
    "ComplexRule",
    "Comparison",
    "DISCRETE_DTYPES",
    "FLOAT_DTYPES",
    "FixedLogicalComparison",
    "NoDerivative",
    "NoNativeForm",
    "OneOp",
    "ProgramBuilder",
    "SIGNED_DTYPES",
    "ScalarConstant",
    "ScalarOp",
    "ScalarOperators",
    "ScalarProgram",
    "ScalarRecord",
    "ScalarStep",
    "ScalarType",
    "ScalarTypeError",
    "ScalarVariable",
    "UNSIGNED_DTYPES",
    "UnaryBitOp",
    "UnaryScalarOp",
    "as_scalar",
    "c_builtin",
    "c_call",
    "c_cast",
    "c_helper",
    "c_literal",
    "c_loaded",
    "c_stored",
    "c_type",
    "complex_rules",
    "differentiable",
    "dtype_of_number",
    "is_complex",
    "is_discrete",
    "is_undefined",
    "part_dtype",
    "program_from_graph",
    "program_for",
    "program_of",
    "records",
    "register_scalar_conversion",
    "same_out",
    "same_out_float_only",
    "same_out_min8",
    "same_out_nobool",
    "same_out_nocomplex",
    "scalar_pullback",
    "scalar_pushforward",
    "specific_out",
    "transfer_type",
    "unary_out_lookup",
    "undefined",
    "upcast",
    "upcast_out",
    "upcast_out_min8",
    "upcast_out_no_complex",
    "upcast_out_nobool",
    "upcast_to_float",
    "upgrade_to_float",
    "upgrade_to_float64",
    "upgrade_to_float_no_complex",
    "without_derivative",
]

# Their names, written by tools/generate_names.py.
# fmt: off
# isort: off
__all__ += [
    "Abs", "Add", "And", "Angle", "ArcCos", "ArcCosh", "ArcSin", "ArcSinh", "ArcTan", "ArcTan2", "ArcTanh", "BetaInc",
    "BetaIncInv", "BetaLn", "Cast", "Cbrt", "Ceil", "Chi2SF", "Clip", "ComplexFromPolar", "Composite", "Conj", "Cos",
    "Cosh", "Deg2Rad", "DirectionCosine", "EQ", "Erf", "Erfc", "Erfcinv", "Erfcx", "ErfcxIntegral", "Erfinv", "Exp",
    "Exp2", "Expm1", "Floor", "GE", "GT", "Gamma", "GammaInc", "GammaIncC", "GammaIncCInv", "GammaIncDer",
    "GammaIncInv", "GammaL", "GammaLn", "GammaU", "Hyp2F1", "Hypot", "I0", "I1", "Identity", "Imag", "InRange",
    "IntDiv", "Invert", "IsInf", "IsNan", "Iv", "Ive", "J0", "J1", "Jv", "Kve", "LE", "LT", "Log", "Log10", "Log1mexp",
    "Log1p", "Log2", "LogAddExp", "MakeComplex", "Maximum", "Minimum", "Mod", "Mul", "MulWithoutZeros", "NEQ", "Neg",
    "Or", "OwensT", "PolyGamma", "Pow", "Psi", "Rad2Deg", "Real", "Reciprocal", "Relu", "RoundHalfAwayFromZero",
    "RoundHalfToEven", "Second", "Sgn", "Sigmoid", "Sin", "SineQuotient", "Sinh", "Softplus", "Softsign", "Sqr",
    "Sqrt", "Sub", "Switch", "Tan", "Tanh", "TriGamma", "TrueDiv", "Trunc", "UltraFastSigmoid", "Xor", "Zeta", "abs",
    "add", "and_", "angle", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "betainc",
    "betaincinv", "betaln", "cast", "cbrt", "ceil", "chi2sf", "clip", "complex_from_polar", "conj", "cos", "cosh",
    "deg2rad", "direction_cosine", "eq", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp", "exp2", "expm1", "floor",
    "gamma", "gammainc", "gammainc_der", "gammaincc", "gammainccinv", "gammaincinv", "gammal", "gammaln", "gammau",
    "ge", "gt", "helper_definitions", "hyp2f1", "hypot", "i0", "i1", "identity", "imag", "inclosedrange",
    "inopenrange", "int_div", "invert", "isinf", "isnan", "iv", "ive", "j0", "j1", "jv", "kve", "le", "log", "log10",
    "log1mexp", "log1p", "log2", "logaddexp", "lt", "make_complex", "maximum", "minimum", "mod", "mul",
    "mul_without_zeros", "named_helpers", "neg", "neq", "or_", "owens_t", "pow", "program_for", "psi", "rad2deg",
    "real", "reciprocal", "relu", "round_half_away_from_zero", "round_half_to_even", "second", "sgn", "sigmoid", "sin",
    "sine_quotient", "sinh", "softplus", "softsign", "sqr", "sqrt", "sub", "switch", "tan", "tanh", "tri_gamma",
    "true_div", "trunc", "ultra_fast_sigmoid", "xor", "zeta",
]
# isort: on
# fmt: on
# End of their names.
