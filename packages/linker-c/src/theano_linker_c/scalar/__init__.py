"""Scalars: numbers as symbols, the functions on them, their promotion rules, derivatives and C forms."""

from . import (
    _arithmetic,
    _cast,
    _comparison,
    _division,
    _exponential,
    _hyperbolic,
    _logic,
    _power,
    _rounding,
    _selection,
    _special,
    _trigonometric,
)
from ._arithmetic import (
    Abs as Abs,
    Add as Add,
    Mul as Mul,
    Neg as Neg,
    Sgn as Sgn,
    Sqr as Sqr,
    Sub as Sub,
    abs_ as abs,
    add as add,
    mul as mul,
    neg as neg,
    sgn as sgn,
    sqr as sqr,
    sub as sub,
)
from ._cast import Cast as Cast, cast as cast
from ._chelpers import helper_definitions as helper_definitions
from ._comparison import (
    EQ as EQ,
    GE as GE,
    GT as GT,
    LE as LE,
    LT as LT,
    NEQ as NEQ,
    IsInf as IsInf,
    IsNan as IsNan,
    eq as eq,
    ge as ge,
    gt as gt,
    isinf as isinf,
    isnan as isnan,
    le as le,
    lt as lt,
    neq as neq,
)
from ._composite import Composite as Composite
from ._cvalue import (
    CValue as CValue,
    NoNativeForm as NoNativeForm,
    c_builtin as c_builtin,
    c_call as c_call,
    c_cast as c_cast,
    c_helper as c_helper,
    c_literal as c_literal,
    c_type as c_type,
)
from ._derivative import differentiable as differentiable, without_derivative as without_derivative
from ._division import (
    IntDiv as IntDiv,
    Mod as Mod,
    Reciprocal as Reciprocal,
    TrueDiv as TrueDiv,
    int_div as int_div,
    mod as mod,
    reciprocal as reciprocal,
    true_div as true_div,
)
from ._dtypes import (
    ALL_DTYPES as ALL_DTYPES,
    COMPLEX_DTYPES as COMPLEX_DTYPES,
    CONTINUOUS_DTYPES as CONTINUOUS_DTYPES,
    DISCRETE_DTYPES as DISCRETE_DTYPES,
    FLOAT_DTYPES as FLOAT_DTYPES,
    SIGNED_DTYPES as SIGNED_DTYPES,
    UNSIGNED_DTYPES as UNSIGNED_DTYPES,
    dtype_of_number as dtype_of_number,
    is_complex as is_complex,
    is_discrete as is_discrete,
    upcast as upcast,
    upcast_to_float as upcast_to_float,
)
from ._exponential import (
    Exp as Exp,
    Exp2 as Exp2,
    Expm1 as Expm1,
    Log as Log,
    Log1p as Log1p,
    Log2 as Log2,
    Log10 as Log10,
    exp as exp,
    exp2 as exp2,
    expm1 as expm1,
    log as log,
    log1p as log1p,
    log2 as log2,
    log10 as log10,
)
from ._hyperbolic import (
    ArcCosh as ArcCosh,
    ArcSinh as ArcSinh,
    ArcTanh as ArcTanh,
    Cosh as Cosh,
    Sinh as Sinh,
    Tanh as Tanh,
    arccosh as arccosh,
    arcsinh as arcsinh,
    arctanh as arctanh,
    cosh as cosh,
    sinh as sinh,
    tanh as tanh,
)
from ._logic import (
    And as And,
    Invert as Invert,
    Or as Or,
    Xor as Xor,
    and_ as and_,
    invert as invert,
    or_ as or_,
    xor as xor,
)
from ._op import ScalarOp as ScalarOp, ScalarTypeError as ScalarTypeError
from ._power import Pow as Pow, Sqrt as Sqrt, pow_ as pow, sqrt as sqrt
from ._program import (
    ScalarProgram as ScalarProgram,
    ScalarStep as ScalarStep,
    program_from_graph as program_from_graph,
    program_of as program_of,
)
from ._record import ScalarRecord as ScalarRecord
from ._rounding import (
    Ceil as Ceil,
    Floor as Floor,
    RoundHalfAwayFromZero as RoundHalfAwayFromZero,
    RoundHalfToEven as RoundHalfToEven,
    Trunc as Trunc,
    ceil as ceil,
    floor as floor,
    round_half_away_from_zero as round_half_away_from_zero,
    round_half_to_even as round_half_to_even,
    trunc as trunc,
)
from ._selection import (
    Clip as Clip,
    Identity as Identity,
    Maximum as Maximum,
    Minimum as Minimum,
    Second as Second,
    Switch as Switch,
    clip as clip,
    identity as identity,
    maximum as maximum,
    minimum as minimum,
    second as second,
    switch as switch,
)
from ._special import (
    Erf as Erf,
    Erfc as Erfc,
    Sigmoid as Sigmoid,
    Softplus as Softplus,
    erf as erf,
    erfc as erfc,
    sigmoid as sigmoid,
    softplus as softplus,
)
from ._trigonometric import (
    ArcCos as ArcCos,
    ArcSin as ArcSin,
    ArcTan as ArcTan,
    ArcTan2 as ArcTan2,
    Cos as Cos,
    Sin as Sin,
    Tan as Tan,
    arccos as arccos,
    arcsin as arcsin,
    arctan as arctan,
    arctan2 as arctan2,
    cos as cos,
    sin as sin,
    tan as tan,
)
from ._type import (
    OperatorSet as _OperatorSet,
    ScalarConstant as ScalarConstant,
    ScalarOperators as ScalarOperators,
    ScalarType as ScalarType,
    ScalarVariable as ScalarVariable,
    as_scalar as as_scalar,
)

_MODULES = (
    _arithmetic,
    _division,
    _power,
    _exponential,
    _trigonometric,
    _hyperbolic,
    _special,
    _rounding,
    _comparison,
    _logic,
    _selection,
    _cast,
)

#: How to test each op: reference function, dtypes, domain and accuracy.
records: tuple[ScalarRecord, ...] = tuple(record for module in _MODULES for record in module.RECORDS)

_OperatorSet.table.update({record.op.name: record.op for record in records})
_OperatorSet.table.update({f"cast_{dtype}": cast(dtype) for dtype in ALL_DTYPES})

__all__ = sorted(name for name in globals() if not name.startswith("_"))
