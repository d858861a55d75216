"""Products of matrices as BLAS computes them, and the rewrites that find them."""

from typing import TYPE_CHECKING

from theano_linker_c.cop import blas_arguments as ldflags, blas_declarations as blas_header_text
from theano_tensor.linear import (
    BatchedDot as BatchedDot,
    Dot22 as Dot22,
    Dot22Scalar as Dot22Scalar,
    Gemm as Gemm,
    Gemv as Gemv,
    Ger as Ger,
    batched_dot as batched_dot,
    dot22 as _dot22,
    dot22_scalar as _dot22scalar,
    gemm_inplace as gemm_inplace,
    gemm_no_inplace as gemm_no_inplace,
    gemv_inplace as gemv_inplace,
    gemv_no_inplace as gemv_no_inplace,
    ger as ger,
    ger_destructive as ger_destructive,
)
from theano_tensor.rewrites import GemmOptimizer as GemmOptimizer

from .._names import lazy_names
from ._linear_algebra import blas_header_version as blas_header_version

#: The op that adds a product to a matrix, and the one for vectors.
gemm = gemm_no_inplace
gemv = gemv_no_inplace

__all__ = [
    "BatchedDot",
    "Dot22",
    "Dot22Scalar",
    "Gemm",
    "GemmOptimizer",
    "Gemv",
    "Ger",
    "_dot22",
    "_dot22scalar",
    "batched_dot",
    "blas_header_text",
    "blas_header_version",
    "gemm",
    "gemm_inplace",
    "gemm_no_inplace",
    "gemv",
    "gemv_inplace",
    "gemv_no_inplace",
    "ger",
    "ger_destructive",
    "ldflags",
]

if TYPE_CHECKING:
    from theano_graph import Apply as Apply, InconsistencyError as InconsistencyError, Op as Op, config as config
    from theano_linker_c import optdb as optdb
    from theano_linker_c.cop import ParamsType as ParamsType
    from theano_tensor.linear import view_roots as view_roots
    from theano_tensor.rewrites.blas import blas_optdb as blas_optdb

    from ..gof import ReplacementDidntRemovedError as ReplacementDidntRemovedError
    from ..gof.opt import (
        EquilibriumOptimizer as EquilibriumOptimizer,
        Optimizer as Optimizer,
        in2out as in2out,
        local_optimizer as local_optimizer,
    )
    from ..gof.optdb import SequenceDB as SequenceDB
    from ..printing import debugprint as debugprint, pprint as pprint
    from ._linear_algebra import (
        GemmRelated as GemmRelated,
        _as_scalar as _as_scalar,
        _beta_L_plus_alpha_M as _beta_L_plus_alpha_M,
        _factor_canonicalized as _factor_canonicalized,
        _gemm_canonicalize as _gemm_canonicalize,
        _is_real_matrix as _is_real_matrix,
        _is_real_vector as _is_real_vector,
        blas_opt_inplace as blas_opt_inplace,
        check_init_y as check_init_y,
        have_fblas as have_fblas,
        local_dot22_to_dot22scalar as local_dot22_to_dot22scalar,
        local_dot22_to_ger_or_gemv as local_dot22_to_ger_or_gemv,
        local_dot_to_dot22 as local_dot_to_dot22,
        local_gemm_to_gemv as local_gemm_to_gemv,
        local_gemm_to_ger as local_gemm_to_ger,
        local_inplace_gemm as local_inplace_gemm,
        local_inplace_gemv as local_inplace_gemv,
        local_inplace_ger as local_inplace_ger,
        local_print_as_we_go_along as local_print_as_we_go_along,
        res_is_a as res_is_a,
    )
else:
    LAZY = {
        "theano_graph": "Apply InconsistencyError Op config",
        "theano_linker_c": "optdb",
        "theano_tensor.linear": "view_roots",
        "theano_tensor.rewrites.blas": "blas_optdb",
        "..gof": "ReplacementDidntRemovedError toolbox utils",
        "..gof.opt": "EquilibriumOptimizer Optimizer in2out local_optimizer",
        "..gof.optdb": "SequenceDB",
        "..gof.params_type": "ParamsType",
        "..printing": "FunctionPrinter debugprint pprint",
        "..scalar": "bool_t=bool",
        ".opt": "local_dimshuffle_lift",
        ".type": "values_eq_approx_remove_inf_nan",
        "theano": "T=tensor theano",
        "._linear_algebra": (
            "GemmRelated _as_scalar _beta_L_plus_alpha_M _factor_canonicalized _gemm_canonicalize _is_real_matrix "
            "_is_real_vector blas_opt_inplace check_init_y have_fblas local_dot22_to_dot22scalar "
            "local_dot22_to_ger_or_gemv local_dot_to_dot22 local_gemm_to_gemv local_gemm_to_ger local_inplace_gemm "
            "local_inplace_gemv local_inplace_ger local_print_as_we_go_along res_is_a"
        ),
    }
    __getattr__, __dir__ = lazy_names(__name__, __package__, LAZY)
