"""Tensors: symbolic arrays, their types, and every operation on them."""

from theano_graph import announce_words, register_library
from theano_linker_c import announce_straight_rules, note_library

from . import (
    _constructors_typed,
    elemwise as _elemwise,
    gradient as gradient,
    nnet as nnet,
    printers as printers,
    random as random,
    rewrites as rewrites,
)
from ._core import _dtypes as _dtypes
from ._core._constructors import (
    PluralConstructor as PluralConstructor,
    col as col,
    cols as cols,
    matrices as matrices,
    matrix as matrix,
    row as row,
    rows as rows,
    scalar as scalar,
    scalars as scalars,
    tensor as tensor,
    tensor3 as tensor3,
    tensor3s as tensor3s,
    tensor4 as tensor4,
    tensor4s as tensor4s,
    tensor5 as tensor5,
    tensor5s as tensor5s,
    tensor6 as tensor6,
    tensor6s as tensor6s,
    tensor7 as tensor7,
    tensor7s as tensor7s,
    vector as vector,
    vectors as vectors,
)

# isort: off  (one line for each name would be longer than all the rest)
from ._core._convert import (
    ScalarFromTensor as ScalarFromTensor,
    ScalarSharedVariable as ScalarSharedVariable,
    TensorFromScalar as TensorFromScalar,
    TensorSharedVariable as TensorSharedVariable,
    as_tensor_variable as as_tensor_variable,
    constant as constant,
    register_transfer as register_transfer,
    scalar_constructor as scalar_constructor,
    scalar_from_tensor as scalar_from_tensor,
    tensor_constructor as tensor_constructor,
    tensor_from_scalar as tensor_from_scalar,
    transfer as transfer,
)
from ._core._dtypes import (
    Autocaster as Autocaster,
    Outputs as Outputs,
    autocast_float as autocast_float,
    autocast_float_as as autocast_float_as,
    autocast_int as autocast_int,
)
from ._core._ops import Assert as Assert, CheckAndRaise as CheckAndRaise, assert_op as assert_op
from ._core._type import (
    Tensor as Tensor,
    TensorConstant as TensorConstant,
    TensorType as TensorType,
    TensorVariable as TensorVariable,
)
from ._errors import (
    AsTensorError as AsTensorError,
    DTypeError as DTypeError,
    EmptyConstantError as EmptyConstantError,
    IndexingError as IndexingError,
    NotScalarConstantError as NotScalarConstantError,
    ShapeError as ShapeError,
)
from ._protocols import _methods, _numpy_protocols
from ._protocols._operators import TensorOperators as TensorOperators
from .batching import (
    BatchError as BatchError,
    vectorize as vectorize,
    vectorize_graph as vectorize_graph,
    vmap as vmap,
)
from .gradient import (
    DisconnectedInputError as DisconnectedInputError,
    DisconnectedType as DisconnectedType,
    Lop as Lop,
    NullType as NullType,
    Rop as Rop,
    consider_constant as consider_constant,
    disconnected_grad as disconnected_grad,
    grad as grad,
    grad_clip as grad_clip,
    grad_not_implemented as grad_not_implemented,
    grad_scale as grad_scale,
    grad_undefined as grad_undefined,
    hessian as hessian,
    jacobian as jacobian,
    zero_grad as zero_grad,
)
from .linear import (
    BatchedDot as BatchedDot,
    Dot as Dot,
    batched_dot as batched_dot,
    batched_tensordot as batched_tensordot,
    dot as dot,
    einsum as einsum,
    inner as inner,
    matmul as matmul,
    matrix_product as matrix_product,
    outer as outer,
    tensordot as tensordot,
    vdot as vdot,
)
from .reduce import (
    AccumulatingReduce as AccumulatingReduce,
    All as All,
    Any_ as Any,
    ArgMax as ArgMax,
    ArgMin as ArgMin,
    CAReduce as CAReduce,
    CAReduceDtype as CAReduceDtype,
    LogicalReduce as LogicalReduce,
    Max as Max,
    Min as Min,
    Prod as Prod,
    ProdWithoutZeros as ProdWithoutZeros,
    Reduce as Reduce,
    Sum as Sum,
    all as all,
    allclose as allclose,
    any as any,
    argmax as argmax,
    argmin as argmin,
    logsumexp as logsumexp,
    max as max,
    max_and_argmax as max_and_argmax,
    mean as mean,
    min as min,
    norm as norm,
    prod as prod,
    ptp as ptp,
    std as std,
    sum as sum,
    var as var,
)
from .utils import constant_value as constant_value, get_scalar_constant_value as get_scalar_constant_value

# isort: on

# One line for each of these names would be longer than all the rest.
# isort: off
from ._constructors_typed import bcol as bcol, bcols as bcols, bmatrices as bmatrices, bmatrix as bmatrix, brow as brow
from ._constructors_typed import brows as brows, bscalar as bscalar, bscalars as bscalars, btensor3 as btensor3
from ._constructors_typed import btensor3s as btensor3s, btensor4 as btensor4, btensor4s as btensor4s
from ._constructors_typed import btensor5 as btensor5, btensor5s as btensor5s, btensor6 as btensor6
from ._constructors_typed import btensor6s as btensor6s, btensor7 as btensor7, btensor7s as btensor7s
from ._constructors_typed import bvector as bvector, bvectors as bvectors, ccol as ccol, ccols as ccols
from ._constructors_typed import cmatrices as cmatrices, cmatrix as cmatrix, crow as crow, crows as crows
from ._constructors_typed import cscalar as cscalar, cscalars as cscalars, ctensor3 as ctensor3, ctensor3s as ctensor3s
from ._constructors_typed import ctensor4 as ctensor4, ctensor4s as ctensor4s, ctensor5 as ctensor5
from ._constructors_typed import ctensor5s as ctensor5s, ctensor6 as ctensor6, ctensor6s as ctensor6s
from ._constructors_typed import ctensor7 as ctensor7, ctensor7s as ctensor7s, cvector as cvector, cvectors as cvectors
from ._constructors_typed import dcol as dcol, dcols as dcols, dmatrices as dmatrices, dmatrix as dmatrix, drow as drow
from ._constructors_typed import drows as drows, dscalar as dscalar, dscalars as dscalars, dtensor3 as dtensor3
from ._constructors_typed import dtensor3s as dtensor3s, dtensor4 as dtensor4, dtensor4s as dtensor4s
from ._constructors_typed import dtensor5 as dtensor5, dtensor5s as dtensor5s, dtensor6 as dtensor6
from ._constructors_typed import dtensor6s as dtensor6s, dtensor7 as dtensor7, dtensor7s as dtensor7s
from ._constructors_typed import dvector as dvector, dvectors as dvectors, fcol as fcol, fcols as fcols
from ._constructors_typed import fmatrices as fmatrices, fmatrix as fmatrix, frow as frow, frows as frows
from ._constructors_typed import fscalar as fscalar, fscalars as fscalars, ftensor3 as ftensor3, ftensor3s as ftensor3s
from ._constructors_typed import ftensor4 as ftensor4, ftensor4s as ftensor4s, ftensor5 as ftensor5
from ._constructors_typed import ftensor5s as ftensor5s, ftensor6 as ftensor6, ftensor6s as ftensor6s
from ._constructors_typed import ftensor7 as ftensor7, ftensor7s as ftensor7s, fvector as fvector, fvectors as fvectors
from ._constructors_typed import icol as icol, icols as icols, imatrices as imatrices, imatrix as imatrix, irow as irow
from ._constructors_typed import irows as irows, iscalar as iscalar, iscalars as iscalars, itensor3 as itensor3
from ._constructors_typed import itensor3s as itensor3s, itensor4 as itensor4, itensor4s as itensor4s
from ._constructors_typed import itensor5 as itensor5, itensor5s as itensor5s, itensor6 as itensor6
from ._constructors_typed import itensor6s as itensor6s, itensor7 as itensor7, itensor7s as itensor7s
from ._constructors_typed import ivector as ivector, ivectors as ivectors, lcol as lcol, lcols as lcols
from ._constructors_typed import lmatrices as lmatrices, lmatrix as lmatrix, lrow as lrow, lrows as lrows
from ._constructors_typed import lscalar as lscalar, lscalars as lscalars, ltensor3 as ltensor3, ltensor3s as ltensor3s
from ._constructors_typed import ltensor4 as ltensor4, ltensor4s as ltensor4s, ltensor5 as ltensor5
from ._constructors_typed import ltensor5s as ltensor5s, ltensor6 as ltensor6, ltensor6s as ltensor6s
from ._constructors_typed import ltensor7 as ltensor7, ltensor7s as ltensor7s, lvector as lvector, lvectors as lvectors
from ._constructors_typed import wcol as wcol, wcols as wcols, wmatrices as wmatrices, wmatrix as wmatrix, wrow as wrow
from ._constructors_typed import wrows as wrows, wscalar as wscalar, wscalars as wscalars, wtensor3 as wtensor3
from ._constructors_typed import wtensor3s as wtensor3s, wtensor4 as wtensor4, wtensor4s as wtensor4s
from ._constructors_typed import wtensor5 as wtensor5, wtensor5s as wtensor5s, wtensor6 as wtensor6
from ._constructors_typed import wtensor6s as wtensor6s, wtensor7 as wtensor7, wtensor7s as wtensor7s
from ._constructors_typed import wvector as wvector, wvectors as wvectors, zcol as zcol, zcols as zcols
from ._constructors_typed import zmatrices as zmatrices, zmatrix as zmatrix, zrow as zrow, zrows as zrows
from ._constructors_typed import zscalar as zscalar, zscalars as zscalars, ztensor3 as ztensor3, ztensor3s as ztensor3s
from ._constructors_typed import ztensor4 as ztensor4, ztensor4s as ztensor4s, ztensor5 as ztensor5
from ._constructors_typed import ztensor5s as ztensor5s, ztensor6 as ztensor6, ztensor6s as ztensor6s
from ._constructors_typed import ztensor7 as ztensor7, ztensor7s as ztensor7s, zvector as zvector, zvectors as zvectors

# Names that these define, written by tools/generate_names.py:
#     creation elemwise extra_ops indexing joining shape sorting
# fmt: off
# isort: off
from .creation import (
    ARange as ARange, Alloc as Alloc, AllocEmpty as AllocEmpty, Eye as Eye, Grid as Grid, alloc as alloc,
    arange as arange, broadcast_to as broadcast_to, empty as empty, empty_like as empty_like, eye as eye, full as full,
    full_like as full_like, identity_like as identity_like, linspace as linspace, meshgrid as meshgrid, mgrid as mgrid,
    ogrid as ogrid, ones as ones, tri as tri, tril as tril, tril_indices as tril_indices,
    tril_indices_from as tril_indices_from, triu as triu, triu_indices as triu_indices,
    triu_indices_from as triu_indices_from, zeros as zeros,
)
from .elemwise import (
    DimShuffle as DimShuffle, Elemwise as Elemwise, abs_ as abs_, add as add, and_ as and_, angle as angle,
    arccos as arccos, arccosh as arccosh, arcsin as arcsin, arcsinh as arcsinh, arctan as arctan, arctan2 as arctan2,
    arctanh as arctanh, betainc as betainc, betaincinv as betaincinv, betaln as betaln, bitwise_and as bitwise_and,
    bitwise_not as bitwise_not, bitwise_or as bitwise_or, bitwise_xor as bitwise_xor,
    broadcast_static as broadcast_static, cast as cast, cbrt as cbrt, ceil as ceil, check_broadcast as check_broadcast,
    chi2sf as chi2sf, clip as clip, complex as complex, complex_from_polar as complex_from_polar, conj as conj,
    cos as cos, cosh as cosh, deg2rad as deg2rad, dimshuffle as dimshuffle, divmod as divmod, eq as eq, erf as erf,
    erfc as erfc, erfcinv as erfcinv, erfcx as erfcx, erfinv as erfinv, exp as exp, exp2 as exp2, expm1 as expm1,
    fill as fill, floor as floor, floor_div as floor_div, gamma as gamma, gammainc as gammainc, gammaincc as gammaincc,
    gammainccinv as gammainccinv, gammaincinv as gammaincinv, gammal as gammal, gammaln as gammaln, gammau as gammau,
    ge as ge, gt as gt, hyp2f1 as hyp2f1, hypot as hypot, i0 as i0, i1 as i1, imag as imag, inplace as inplace,
    int_div as int_div, int_or_true_div as int_or_true_div, intdiv as intdiv, inv as inv, invert as invert,
    iround as iround, isclose as isclose, isinf as isinf, isnan as isnan, iv as iv, ive as ive, j0 as j0, j1 as j1,
    jv as jv, kve as kve, le as le, log as log, log10 as log10, log1mexp as log1mexp, log1p as log1p, log2 as log2,
    logaddexp as logaddexp, lt as lt, maximum as maximum, minimum as minimum, mod as mod, mod_check as mod_check,
    mul as mul, neg as neg, neq as neq, ones_like as ones_like, or_ as or_, owens_t as owens_t, pow as pow, psi as psi,
    rad2deg as rad2deg, real as real, reciprocal as reciprocal, round as round,
    round_half_away_from_zero as round_half_away_from_zero, round_half_to_even as round_half_to_even, second as second,
    sgn as sgn, sigmoid as sigmoid, sin as sin, sinc as sinc, sinh as sinh, softplus as softplus, sqr as sqr,
    sqrt as sqrt, square as square, sub as sub, switch as switch, tan as tan, tanh as tanh, tensor_copy as tensor_copy,
    tri_gamma as tri_gamma, true_div as true_div, truediv as truediv, trunc as trunc, where as where, xor as xor,
    zeros_like as zeros_like, zeta as zeta,
)
from .extra_ops import (
    AllocDiag as AllocDiag, Bartlett as Bartlett, BinCount as BinCount, CpuContiguous as CpuContiguous,
    Cumulative as Cumulative, ExtractDiag as ExtractDiag, FillDiagonal as FillDiagonal,
    FillDiagonalOffset as FillDiagonalOffset, RavelMultiIndex as RavelMultiIndex, Recurrence as Recurrence,
    RepeatedNumbers as RepeatedNumbers, SearchsortedOp as SearchsortedOp, Unique as Unique,
    UnravelIndex as UnravelIndex, bartlett as bartlett, bincount as bincount, cpu_contiguous as cpu_contiguous,
    cumprod as cumprod, cumsum as cumsum, diag as diag, diagonal as diagonal, diff as diff,
    extract_diag as extract_diag, fill_diagonal as fill_diagonal, fill_diagonal_offset as fill_diagonal_offset,
    pad as pad, ravel_multi_index as ravel_multi_index, repeat as repeat, searchsorted as searchsorted, tile as tile,
    to_one_hot as to_one_hot, trace as trace, unique as unique, unravel_index as unravel_index,
)
from .indexing import (
    AdvancedBooleanIncSubtensor as AdvancedBooleanIncSubtensor, AdvancedBooleanSubtensor as AdvancedBooleanSubtensor,
    AdvancedIncSubtensor as AdvancedIncSubtensor, AdvancedIncSubtensor1 as AdvancedIncSubtensor1,
    AdvancedSubtensor as AdvancedSubtensor, AdvancedSubtensor1 as AdvancedSubtensor1, Choose as Choose,
    IncSubtensor as IncSubtensor, NEWAXIS as NEWAXIS, Nonzero as Nonzero, SYMBOL as SYMBOL, Slice as Slice,
    Subtensor as Subtensor, choose as choose, compress as compress, flatnonzero as flatnonzero,
    inc_subtensor as inc_subtensor, nonzero as nonzero, nonzero_values as nonzero_values,
    register_sparse_gradient as register_sparse_gradient, set_subtensor as set_subtensor, slice_length as slice_length,
    sparse_grad as sparse_grad, sum_to as sum_to, take as take,
)
from .joining import (
    Join as Join, Split as Split, concatenate as concatenate, horizontal_stack as horizontal_stack, join as join,
    split as split, stack as stack, stacklists as stacklists, vertical_stack as vertical_stack,
)
from .shape import (
    Flatten as Flatten, MakeVector as MakeVector, Rebroadcast as Rebroadcast, Reshape as Reshape, Roll as Roll,
    SameLengths as SameLengths, ShapeI as ShapeI, ShapeOf as ShapeOf, SpecifyShape as SpecifyShape,
    addbroadcast as addbroadcast, as_length as as_length, as_lengths as as_lengths, atleast_1d as atleast_1d,
    atleast_2d as atleast_2d, atleast_3d as atleast_3d, atleast_nd as atleast_nd, expand_dims as expand_dims,
    flatten as flatten, flip as flip, fliplr as fliplr, flipud as flipud, is_length as is_length,
    lengths_of as lengths_of, make_vector as make_vector, moveaxis as moveaxis, patternbroadcast as patternbroadcast,
    ravel as ravel, register_rebroadcast_c_code as register_rebroadcast_c_code,
    register_shape_c_code as register_shape_c_code, register_shape_i_c_code as register_shape_i_c_code,
    register_specify_shape_c_code as register_specify_shape_c_code, reshape as reshape, roll as roll, shape as shape,
    shape_i as shape_i, shape_padaxis as shape_padaxis, shape_padleft as shape_padleft,
    shape_padright as shape_padright, size as size, specify_shape as specify_shape, squeeze as squeeze,
    static_int as static_int, static_lengths as static_lengths, swapaxes as swapaxes, transpose as transpose,
    unbroadcast as unbroadcast,
)
from .sorting import (
    ArgSort as ArgSort, Sort as Sort, TopK as TopK, argsort as argsort, argtopk as argtopk, sort as sort, topk as topk,
    topk_and_argtopk as topk_and_argtopk,
)
# isort: on
# fmt: on
# End of the names that these define.
# isort: on

#: The build reads the version here, without an import.
__version__ = "0.1.0"

register_library(__file__)
announce_words("theano_gpuarray.archives")
announce_words("theano_tensor._words")
announce_straight_rules("theano_tensor._straight")
note_library()

# ---- Functions that are asked for by NumPy's name, beside those behind operators and methods

_methods.OPERATIONS.update(
    (function.__name__, function)
    for function in (
        *(angle, isclose, broadcast_to, empty_like, full_like, tril, triu, bincount, diag, pad, tile, unique),
        *(flatnonzero, concatenate, horizontal_stack, vertical_stack, einsum, inner, outer, tensordot, vdot),
        *(atleast_1d, atleast_2d, atleast_3d, expand_dims, fliplr, flipud, moveaxis, ravel),
    )
)
#: Functions of ``scipy.special`` with the name that they have here.
_SPECIAL = (
    *("betainc", "betaln", "cbrt", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp2", "expm1", "gamma", "gammainc"),
    *("gammaincc", "gammaln", "i0", "i1", "iv", "j0", "j1", "jv", "log1p", "psi"),
)
_numpy_protocols.SYMBOLIC.update({f"scipy.special.{name}": getattr(_elemwise, name) for name in _SPECIAL})
_numpy_protocols.SYMBOLIC.update(
    {
        "numpy.concat": concatenate,
        "numpy.i0": i0,
        "numpy.linspace": linspace,
        "numpy.meshgrid": meshgrid,
        "numpy.permute_dims": transpose,
        "numpy.ravel_multi_index": ravel_multi_index,
        "numpy.sinc": sinc,
        "numpy.unravel_index": unravel_index,
        "scipy.special.expit": sigmoid,
        "scipy.special.round": round_half_to_even,
    }
)

__all__ = [
    "__version__",
    "ScalarFromTensor",
    "TensorFromScalar",
    "scalar_from_tensor",
    "tensor_from_scalar",
    "BatchError",
    "vectorize",
    "vectorize_graph",
    "vmap",
    "BatchedDot",
    "Dot",
    "batched_dot",
    "batched_tensordot",
    "dot",
    "einsum",
    "inner",
    "matmul",
    "matrix_product",
    "outer",
    "tensordot",
    "vdot",
    "AccumulatingReduce",
    "All",
    "CAReduce",
    "CAReduceDtype",
    "ProdWithoutZeros",
    "Any",
    "ArgMax",
    "ArgMin",
    "Assert",
    "CheckAndRaise",
    "AsTensorError",
    "DTypeError",
    "DisconnectedInputError",
    "DisconnectedType",
    "IndexingError",
    "LogicalReduce",
    "Lop",
    "Max",
    "Min",
    "EmptyConstantError",
    "NotScalarConstantError",
    "NullType",
    "PluralConstructor",
    "Prod",
    "Reduce",
    "Rop",
    "ScalarSharedVariable",
    "ShapeError",
    "Sum",
    "TensorConstant",
    "TensorOperators",
    "TensorSharedVariable",
    "TensorType",
    "Tensor",
    "TensorVariable",
    "all",
    "allclose",
    "any",
    "argmax",
    "assert_op",
    "argmin",
    "Autocaster",
    "as_tensor_variable",
    "autocast_float",
    "autocast_float_as",
    "autocast_int",
    "col",
    "cols",
    "consider_constant",
    "constant",
    "constant_value",
    "disconnected_grad",
    "get_scalar_constant_value",
    "grad",
    "grad_clip",
    "grad_not_implemented",
    "grad_scale",
    "grad_undefined",
    "gradient",
    "hessian",
    "jacobian",
    "logsumexp",
    "matrices",
    "matrix",
    "max",
    "max_and_argmax",
    "mean",
    "min",
    "nnet",
    "norm",
    "prod",
    "ptp",
    "random",
    "rewrites",
    "register_transfer",
    "row",
    "rows",
    "scalar",
    "scalar_constructor",
    "scalars",
    "std",
    "sum",
    "tensor",
    "tensor3",
    "tensor3s",
    "tensor4",
    "tensor4s",
    "tensor5",
    "tensor5s",
    "tensor6",
    "tensor6s",
    "tensor7",
    "tensor7s",
    "tensor_constructor",
    "transfer",
    "var",
    "vector",
    "vectors",
    "zero_grad",
]
__all__ += _constructors_typed.__all__

# Their names, written by tools/generate_names.py.
# fmt: off
# isort: off
__all__ += [
    "ARange", "AdvancedBooleanIncSubtensor", "AdvancedBooleanSubtensor", "AdvancedIncSubtensor",
    "AdvancedIncSubtensor1", "AdvancedSubtensor", "AdvancedSubtensor1", "Alloc", "AllocDiag", "AllocEmpty", "ArgSort",
    "Bartlett", "BinCount", "Choose", "CpuContiguous", "Cumulative", "DimShuffle", "Elemwise", "ExtractDiag", "Eye",
    "FillDiagonal", "FillDiagonalOffset", "Flatten", "Grid", "IncSubtensor", "Join", "MakeVector", "NEWAXIS",
    "Nonzero", "RavelMultiIndex", "Rebroadcast", "Recurrence", "RepeatedNumbers", "Reshape", "Roll", "SYMBOL",
    "SameLengths", "SearchsortedOp", "ShapeI", "ShapeOf", "Slice", "Sort", "SpecifyShape", "Split", "Subtensor",
    "TopK", "Unique", "UnravelIndex", "abs_", "add", "addbroadcast", "alloc", "and_", "angle", "arange", "arccos",
    "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "argsort", "argtopk", "as_length", "as_lengths",
    "atleast_1d", "atleast_2d", "atleast_3d", "atleast_nd", "bartlett", "betainc", "betaincinv", "betaln", "bincount",
    "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "broadcast_static", "broadcast_to", "cast", "cbrt",
    "ceil", "check_broadcast", "chi2sf", "choose", "clip", "complex", "complex_from_polar", "compress", "concatenate",
    "conj", "cos", "cosh", "cpu_contiguous", "cumprod", "cumsum", "deg2rad", "diag", "diagonal", "diff", "dimshuffle",
    "divmod", "empty", "empty_like", "eq", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp", "exp2", "expand_dims",
    "expm1", "extract_diag", "eye", "fill", "fill_diagonal", "fill_diagonal_offset", "flatnonzero", "flatten", "flip",
    "fliplr", "flipud", "floor", "floor_div", "full", "full_like", "gamma", "gammainc", "gammaincc", "gammainccinv",
    "gammaincinv", "gammal", "gammaln", "gammau", "ge", "gt", "horizontal_stack", "hyp2f1", "hypot", "i0", "i1",
    "identity_like", "imag", "inc_subtensor", "inplace", "int_div", "int_or_true_div", "intdiv", "inv", "invert",
    "iround", "is_length", "isclose", "isinf", "isnan", "iv", "ive", "j0", "j1", "join", "jv", "kve", "le",
    "lengths_of", "linspace", "log", "log10", "log1mexp", "log1p", "log2", "logaddexp", "lt", "make_vector", "maximum",
    "meshgrid", "mgrid", "minimum", "mod", "mod_check", "moveaxis", "mul", "neg", "neq", "nonzero", "nonzero_values",
    "ogrid", "ones", "ones_like", "or_", "owens_t", "pad", "patternbroadcast", "pow", "psi", "rad2deg", "ravel",
    "ravel_multi_index", "real", "reciprocal", "register_rebroadcast_c_code", "register_shape_c_code",
    "register_shape_i_c_code", "register_sparse_gradient", "register_specify_shape_c_code", "repeat", "reshape",
    "roll", "round", "round_half_away_from_zero", "round_half_to_even", "searchsorted", "second", "set_subtensor",
    "sgn", "shape", "shape_i", "shape_padaxis", "shape_padleft", "shape_padright", "sigmoid", "sin", "sinc", "sinh",
    "size", "slice_length", "softplus", "sort", "sparse_grad", "specify_shape", "split", "sqr", "sqrt", "square",
    "squeeze", "stack", "stacklists", "static_int", "static_lengths", "sub", "sum_to", "swapaxes", "switch", "take",
    "tan", "tanh", "tensor_copy", "tile", "to_one_hot", "topk", "topk_and_argtopk", "trace", "transpose", "tri",
    "tri_gamma", "tril", "tril_indices", "tril_indices_from", "triu", "triu_indices", "triu_indices_from", "true_div",
    "truediv", "trunc", "unbroadcast", "unique", "unravel_index", "vertical_stack", "where", "xor", "zeros",
    "zeros_like", "zeta",
]
# isort: on
# fmt: on
# End of their names.
