"""The tensor language; `theano.tensor` has the same names."""

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_graph import (
    Apply as Apply, Constant as Constant, Generic as Generic, Op as Op, Type as Type, Variable as Variable,
)
from theano_tensor import (
    ARange as ARange, AdvancedBooleanIncSubtensor as AdvancedBooleanIncSubtensor,
    AdvancedBooleanSubtensor as AdvancedBooleanSubtensor, AdvancedIncSubtensor as AdvancedIncSubtensor,
    AdvancedIncSubtensor1 as AdvancedIncSubtensor1, AdvancedSubtensor as AdvancedSubtensor,
    AdvancedSubtensor1 as AdvancedSubtensor1, All as All, Alloc as Alloc, AllocDiag as AllocDiag,
    AllocEmpty as AllocEmpty, Any as Any, ArgMax as ArgMax, ArgMin as ArgMin, ArgSort as ArgSort,
    AsTensorError as AsTensorError, Assert as Assert, Autocaster as Autocaster, Bartlett as Bartlett,
    BatchError as BatchError, BatchedDot as BatchedDot, BinCount as BinCount, CAReduce as CAReduce,
    CAReduceDtype as CAReduceDtype, CheckAndRaise as CheckAndRaise, Choose as Choose, CpuContiguous as CpuContiguous,
    Cumulative as Cumulative, DTypeError as DTypeError, DisconnectedInputError as DisconnectedInputError,
    DisconnectedType as DisconnectedType, Dot as Dot, EmptyConstantError as EmptyConstantError,
    ExtractDiag as ExtractDiag, Eye as Eye, FillDiagonal as FillDiagonal, FillDiagonalOffset as FillDiagonalOffset,
    Flatten as Flatten, Grid as Grid, IncSubtensor as IncSubtensor, IndexingError as IndexingError, Join as Join,
    Lop as Lop, MakeVector as MakeVector, Max as Max, Min as Min, Nonzero as Nonzero,
    NotScalarConstantError as NotScalarConstantError, NullType as NullType, Prod as Prod,
    ProdWithoutZeros as ProdWithoutZeros, RavelMultiIndex as RavelMultiIndex, Rebroadcast as Rebroadcast,
    Recurrence as Recurrence, Reduce as Reduce, RepeatedNumbers as RepeatedNumbers, Reshape as Reshape, Roll as Roll,
    Rop as Rop, ScalarFromTensor as ScalarFromTensor, ScalarSharedVariable as ScalarSharedVariable,
    SearchsortedOp as SearchsortedOp, ShapeError as ShapeError, ShapeI as ShapeI, ShapeOf as ShapeOf, Sort as Sort,
    SpecifyShape as SpecifyShape, Split as Split, Subtensor as Subtensor, Sum as Sum, TensorConstant as TensorConstant,
    TensorFromScalar as TensorFromScalar, TensorOperators as TensorOperators,
    TensorSharedVariable as TensorSharedVariable, TensorType as TensorType, TensorVariable as TensorVariable,
    TopK as TopK, Unique as Unique, UnravelIndex as UnravelIndex, addbroadcast as addbroadcast, all as all,
    allclose as allclose, any as any, arange as arange, argmax as argmax, argmin as argmin, argsort as argsort,
    argtopk as argtopk, as_length as as_length, as_lengths as as_lengths, as_tensor_variable as as_tensor_variable,
    assert_op as assert_op, atleast_1d as atleast_1d, atleast_2d as atleast_2d, atleast_3d as atleast_3d,
    atleast_nd as atleast_nd, autocast_float as autocast_float, autocast_float_as as autocast_float_as,
    autocast_int as autocast_int, bartlett as bartlett, batched_dot as batched_dot,
    batched_tensordot as batched_tensordot, bcol as bcol, bcols as bcols, bincount as bincount, bmatrices as bmatrices,
    bmatrix as bmatrix, broadcast_to as broadcast_to, brow as brow, brows as brows, bscalar as bscalar,
    bscalars as bscalars, btensor3 as btensor3, btensor3s as btensor3s, btensor4 as btensor4, btensor4s as btensor4s,
    btensor5 as btensor5, btensor5s as btensor5s, btensor6 as btensor6, btensor6s as btensor6s, btensor7 as btensor7,
    btensor7s as btensor7s, bvector as bvector, bvectors as bvectors, ccol as ccol, ccols as ccols, choose as choose,
    cmatrices as cmatrices, cmatrix as cmatrix, col as col, cols as cols, compress as compress,
    concatenate as concatenate, consider_constant as consider_constant, constant as constant,
    cpu_contiguous as cpu_contiguous, crow as crow, crows as crows, cscalar as cscalar, cscalars as cscalars,
    ctensor3 as ctensor3, ctensor3s as ctensor3s, ctensor4 as ctensor4, ctensor4s as ctensor4s, ctensor5 as ctensor5,
    ctensor5s as ctensor5s, ctensor6 as ctensor6, ctensor6s as ctensor6s, ctensor7 as ctensor7, ctensor7s as ctensor7s,
    cumprod as cumprod, cumsum as cumsum, cvector as cvector, cvectors as cvectors, dcol as dcol, dcols as dcols,
    diag as diag, diagonal as diagonal, diff as diff, disconnected_grad as disconnected_grad, dmatrices as dmatrices,
    dmatrix as dmatrix, dot as dot, drow as drow, drows as drows, dscalar as dscalar, dscalars as dscalars,
    dtensor3 as dtensor3, dtensor3s as dtensor3s, dtensor4 as dtensor4, dtensor4s as dtensor4s, dtensor5 as dtensor5,
    dtensor5s as dtensor5s, dtensor6 as dtensor6, dtensor6s as dtensor6s, dtensor7 as dtensor7, dtensor7s as dtensor7s,
    dvector as dvector, dvectors as dvectors, einsum as einsum, empty as empty, empty_like as empty_like,
    expand_dims as expand_dims, extract_diag as extract_diag, eye as eye, fcol as fcol, fcols as fcols,
    fill_diagonal as fill_diagonal, fill_diagonal_offset as fill_diagonal_offset, flatnonzero as flatnonzero,
    flatten as flatten, flip as flip, fliplr as fliplr, flipud as flipud, fmatrices as fmatrices, fmatrix as fmatrix,
    frow as frow, frows as frows, fscalar as fscalar, fscalars as fscalars, ftensor3 as ftensor3,
    ftensor3s as ftensor3s, ftensor4 as ftensor4, ftensor4s as ftensor4s, ftensor5 as ftensor5, ftensor5s as ftensor5s,
    ftensor6 as ftensor6, ftensor6s as ftensor6s, ftensor7 as ftensor7, ftensor7s as ftensor7s, full as full,
    full_like as full_like, fvector as fvector, fvectors as fvectors,
    get_scalar_constant_value as get_scalar_constant_value, grad as grad, grad_clip as grad_clip,
    grad_not_implemented as grad_not_implemented, grad_scale as grad_scale, grad_undefined as grad_undefined,
    gradient as gradient, hessian as hessian, horizontal_stack as horizontal_stack, icol as icol, icols as icols,
    identity_like as identity_like, imatrices as imatrices, imatrix as imatrix, inc_subtensor as inc_subtensor,
    inner as inner, irow as irow, irows as irows, iscalar as iscalar, iscalars as iscalars, itensor3 as itensor3,
    itensor3s as itensor3s, itensor4 as itensor4, itensor4s as itensor4s, itensor5 as itensor5, itensor5s as itensor5s,
    itensor6 as itensor6, itensor6s as itensor6s, itensor7 as itensor7, itensor7s as itensor7s, ivector as ivector,
    ivectors as ivectors, jacobian as jacobian, join as join, lcol as lcol, lcols as lcols, lengths_of as lengths_of,
    linspace as linspace, lmatrices as lmatrices, lmatrix as lmatrix, logsumexp as logsumexp, lrow as lrow,
    lrows as lrows, lscalar as lscalar, lscalars as lscalars, ltensor3 as ltensor3, ltensor3s as ltensor3s,
    ltensor4 as ltensor4, ltensor4s as ltensor4s, ltensor5 as ltensor5, ltensor5s as ltensor5s, ltensor6 as ltensor6,
    ltensor6s as ltensor6s, ltensor7 as ltensor7, ltensor7s as ltensor7s, lvector as lvector, lvectors as lvectors,
    make_vector as make_vector, matmul as matmul, matrices as matrices, matrix as matrix,
    matrix_product as matrix_product, max as max, mean as mean, meshgrid as meshgrid, mgrid as mgrid, min as min,
    moveaxis as moveaxis, nonzero as nonzero, nonzero_values as nonzero_values, norm as norm, ogrid as ogrid,
    ones as ones, outer as outer, pad as pad, patternbroadcast as patternbroadcast, prod as prod, ptp as ptp,
    ravel as ravel, ravel_multi_index as ravel_multi_index, register_rebroadcast_c_code as register_rebroadcast_c_code,
    register_shape_c_code as register_shape_c_code, register_shape_i_c_code as register_shape_i_c_code,
    register_specify_shape_c_code as register_specify_shape_c_code, register_transfer as register_transfer,
    repeat as repeat, reshape as reshape, rewrites as rewrites, roll as roll, row as row, rows as rows,
    scalar as scalar, scalar_from_tensor as scalar_from_tensor, scalars as scalars, searchsorted as searchsorted,
    set_subtensor as set_subtensor, shape as shape, shape_i as shape_i, shape_padaxis as shape_padaxis,
    shape_padleft as shape_padleft, shape_padright as shape_padright, size as size, sort as sort,
    sparse_grad as sparse_grad, specify_shape as specify_shape, split as split, squeeze as squeeze, stack as stack,
    stacklists as stacklists, static_int as static_int, static_lengths as static_lengths, std as std, sum as sum,
    swapaxes as swapaxes, take as take, tensor as tensor, tensor3 as tensor3, tensor3s as tensor3s, tensor4 as tensor4,
    tensor4s as tensor4s, tensor5 as tensor5, tensor5s as tensor5s, tensor6 as tensor6, tensor6s as tensor6s,
    tensor7 as tensor7, tensor7s as tensor7s, tensor_from_scalar as tensor_from_scalar, tensordot as tensordot,
    tile as tile, to_one_hot as to_one_hot, topk as topk, topk_and_argtopk as topk_and_argtopk, trace as trace,
    transfer as transfer, transpose as transpose, tri as tri, tril as tril, tril_indices as tril_indices,
    tril_indices_from as tril_indices_from, triu as triu, triu_indices as triu_indices,
    triu_indices_from as triu_indices_from, unbroadcast as unbroadcast, unique as unique,
    unravel_index as unravel_index, var as var, vdot as vdot, vector as vector, vectorize as vectorize,
    vectorize_graph as vectorize_graph, vectors as vectors, vertical_stack as vertical_stack, vmap as vmap,
    wcol as wcol, wcols as wcols, wmatrices as wmatrices, wmatrix as wmatrix, wrow as wrow, wrows as wrows,
    wscalar as wscalar, wscalars as wscalars, wtensor3 as wtensor3, wtensor3s as wtensor3s, wtensor4 as wtensor4,
    wtensor4s as wtensor4s, wtensor5 as wtensor5, wtensor5s as wtensor5s, wtensor6 as wtensor6, wtensor6s as wtensor6s,
    wtensor7 as wtensor7, wtensor7s as wtensor7s, wvector as wvector, wvectors as wvectors, zcol as zcol,
    zcols as zcols, zero_grad as zero_grad, zeros as zeros, zmatrices as zmatrices, zmatrix as zmatrix, zrow as zrow,
    zrows as zrows, zscalar as zscalar, zscalars as zscalars, ztensor3 as ztensor3, ztensor3s as ztensor3s,
    ztensor4 as ztensor4, ztensor4s as ztensor4s, ztensor5 as ztensor5, ztensor5s as ztensor5s, ztensor6 as ztensor6,
    ztensor6s as ztensor6s, ztensor7 as ztensor7, ztensor7s as ztensor7s, zvector as zvector, zvectors as zvectors,
)
from theano_tensor.elemwise import (
    DimShuffle as DimShuffle, Elemwise as Elemwise, abs_ as abs_, add as add, and_ as and_, angle as angle,
    arccos as arccos, arccosh as arccosh, arcsin as arcsin, arcsinh as arcsinh, arctan as arctan, arctan2 as arctan2,
    arctanh as arctanh, betainc as betainc, betaincinv as betaincinv, betaln as betaln, bitwise_and as bitwise_and,
    bitwise_not as bitwise_not, bitwise_or as bitwise_or, bitwise_xor as bitwise_xor, cast as cast, cbrt as cbrt,
    ceil as ceil, chi2sf as chi2sf, clip as clip, complex as complex, cos as cos, cosh as cosh, deg2rad as deg2rad,
    dimshuffle as dimshuffle, divmod as divmod, eq as eq, erf as erf, erfc as erfc, erfcinv as erfcinv, erfcx as erfcx,
    erfinv as erfinv, exp as exp, exp2 as exp2, expm1 as expm1, fill as fill, floor as floor, floor_div as floor_div,
    gamma as gamma, gammainc as gammainc, gammaincc as gammaincc, gammainccinv as gammainccinv,
    gammaincinv as gammaincinv, gammal as gammal, gammaln as gammaln, gammau as gammau, ge as ge, gt as gt,
    hyp2f1 as hyp2f1, hypot as hypot, i0 as i0, i1 as i1, imag as imag, int_div as int_div,
    int_or_true_div as int_or_true_div, intdiv as intdiv, inv as inv, invert as invert, iround as iround,
    isclose as isclose, iv as iv, ive as ive, j0 as j0, j1 as j1, jv as jv, kve as kve, le as le, log as log,
    log10 as log10, log1mexp as log1mexp, log1p as log1p, log2 as log2, logaddexp as logaddexp, lt as lt,
    maximum as maximum, minimum as minimum, mod as mod, mod_check as mod_check, mul as mul, neg as neg, neq as neq,
    ones_like as ones_like, or_ as or_, owens_t as owens_t, pow as pow, psi as psi, rad2deg as rad2deg, real as real,
    reciprocal as reciprocal, round as round, round_half_away_from_zero as round_half_away_from_zero,
    round_half_to_even as round_half_to_even, second as second, sgn as sgn, sigmoid as sigmoid, sin as sin,
    sinc as sinc, sinh as sinh, softplus as softplus, sqr as sqr, sqrt as sqrt, square as square, sub as sub,
    switch as switch, tan as tan, tanh as tanh, tensor_copy as tensor_copy, tri_gamma as tri_gamma,
    true_div as true_div, truediv as truediv, trunc as trunc, where as where, xor as xor, zeros_like as zeros_like,
    zeta as zeta,
)
from ..gof.utils import hashtype as hashtype
from ._historical import (
    advanced_inc_subtensor as advanced_inc_subtensor, advanced_inc_subtensor1 as advanced_inc_subtensor1,
    advanced_set_subtensor as advanced_set_subtensor, advanced_set_subtensor1 as advanced_set_subtensor1,
    advanced_subtensor as advanced_subtensor, advanced_subtensor1 as advanced_subtensor1, all_dtypes as all_dtypes,
    alloc as alloc, complex_dtypes as complex_dtypes, continuous_dtypes as continuous_dtypes,
    discrete_dtypes as discrete_dtypes, extract_constant as extract_constant, float_dtypes as float_dtypes,
    get_vector_length as get_vector_length, int_dtypes as int_dtypes, integer_dtypes as integer_dtypes,
    inverse_permutation as inverse_permutation, uint_dtypes as uint_dtypes, _allclose as _allclose,
    _get_atol_rtol as _get_atol_rtol, float16_atol as float16_atol, float16_rtol as float16_rtol,
    float32_atol as float32_atol, float32_rtol as float32_rtol, float64_atol as float64_atol,
    float64_rtol as float64_rtol,
)
from ._old_rewrites import MaxAndArgmax as MaxAndArgmax, max_and_argmax as max_and_argmax
from ._old_functions import (
    _cast_mapping as _cast_mapping, _scal_elemwise as _scal_elemwise,
    _scal_elemwise_with_nfunc as _scal_elemwise_with_nfunc, _convert_to_bool as _convert_to_bool,
    _convert_to_complex128 as _convert_to_complex128, _convert_to_complex64 as _convert_to_complex64,
    _convert_to_float16 as _convert_to_float16, _convert_to_float32 as _convert_to_float32,
    _convert_to_float64 as _convert_to_float64, _convert_to_int16 as _convert_to_int16,
    _convert_to_int32 as _convert_to_int32, _convert_to_int64 as _convert_to_int64,
    _convert_to_int8 as _convert_to_int8, _convert_to_uint16 as _convert_to_uint16,
    _convert_to_uint32 as _convert_to_uint32, _convert_to_uint64 as _convert_to_uint64,
    _convert_to_uint8 as _convert_to_uint8, _dot as _dot, alloc_validate_shape as alloc_validate_shape,
    ceil_intdiv as ceil_intdiv, check_and_normalize_axes as check_and_normalize_axes,
    check_equal_numpy as check_equal_numpy, complex_from_polar as complex_from_polar,
    complex_matrix_types as complex_matrix_types, complex_scalar_types as complex_scalar_types,
    complex_types as complex_types, complex_vector_types as complex_vector_types, conj as conj,
    constant_cache as constant_cache, constructor as constructor, cov as cov, div_proxy as div_proxy,
    float_matrix_types as float_matrix_types, float_scalar_types as float_scalar_types, float_types as float_types,
    float_vector_types as float_vector_types,
    get_scalar_constant_value_elemwises as get_scalar_constant_value_elemwises, int_matrix_types as int_matrix_types,
    int_scalar_types as int_scalar_types, int_types as int_types, int_vector_types as int_vector_types,
    integer_types as integer_types, is_flat as is_flat, isinf as isinf, isinf_ as isinf_, isnan as isnan,
    isnan_ as isnan_, join_ as join_, largest as largest, makeKeepDims as makeKeepDims,
    numpy_diagonal_return_view as numpy_diagonal_return_view, numpy_scalar as numpy_scalar, smallest as smallest,
)
from .var import _tensor_py_operators as _tensor_py_operators
# isort: on
# fmt: on
# End of the names of names.toml.

from typing import TYPE_CHECKING

import numpy as np  # noqa: F401 - a star import brings it, as in Theano 1.0

from .._names import FROM_TESTING, from_testing, lazy_names

#: Module -> the names that it has, and that are imported when they are asked for.
_LAZY = {
    "theano": "theano compile config gof printing scal=scalar",
    "..gof.params_type": "ParamsType",
    "..gof.utils": "MethodNotDefined",
    "..printing": "min_informative_str pprint",
    ".": "elemwise",
    "._old_ops": (
        "Default Mean PermuteRowElements Tile Tri _permute_row_elements default permute_row_elements setdefault=default"
    ),
    ".type": "values_eq_approx_always_true",
    "._index_tools": "NoneConst",
}

# Names that are not those of the layer.
#: The class of types of arrays, by its oldest name.
Tensor = TensorType
Argmax = ArgMax
Shape = ShapeOf
Shape_i = ShapeI
as_tensor = as_tensor_variable
power = pow

if TYPE_CHECKING:
    import theano as theano
    from theano import compile as compile, config as config, gof as gof, printing as printing
    from theano_linker_c.cop import ParamsType as ParamsType
    from theano_testing.tensor import verify_grad as verify_grad

    from ..gof.utils import MethodNotDefined as MethodNotDefined
    from ..printing import min_informative_str as min_informative_str, pprint as pprint
    from . import elemwise as elemwise
    from ._index_tools import NoneConst as NoneConst
    from ._old_ops import (
        Default as Default,
        Mean as Mean,
        PermuteRowElements as PermuteRowElements,
        Tile as Tile,
        Tri as Tri,
        _permute_row_elements as _permute_row_elements,
        default as default,
        permute_row_elements as permute_row_elements,
        setdefault as setdefault,
    )
    from .type import values_eq_approx_always_true as values_eq_approx_always_true
else:
    _find, __dir__ = lazy_names(__name__, __package__, _LAZY)

    def __getattr__(name: str) -> object:
        """Look up a name that is imported on first use; a star import does not ask."""
        return from_testing(__name__, name) if name in FROM_TESTING or name == "__all__" else _find(name)
