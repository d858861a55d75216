"""Sigmoids, and tools of their rewrites."""

from theano_linker_c.scalar import (
    Sigmoid as ScalarSigmoid,
    Softplus as ScalarSoftplus,
    UltraFastSigmoid as UltraFastScalarSigmoid,
    sigmoid as scalar_sigmoid,
    softplus as scalar_softplus,
    ultra_fast_sigmoid as ultra_fast_scalar_sigmoid,
)
from theano_tensor import NotScalarConstantError as NotScalarConstantError
from theano_tensor.elemwise.inplace import (
    sigmoid_inplace as sigmoid_inplace,
    ultra_fast_sigmoid_inplace as ultra_fast_sigmoid_inplace,
)
from theano_tensor.nnet import (
    hard_sigmoid as hard_sigmoid,
    sigmoid as sigmoid,
    softplus as softplus,
    ultra_fast_sigmoid as ultra_fast_sigmoid,
)

from ..._names import lazy_names
from ...gof.opt import copy_stack_trace as copy_stack_trace
from .._historical import values_eq_approx_remove_inf as values_eq_approx_remove_inf
from ..opt import (
    local_1msigmoid as local_1msigmoid,
    local_exp_over_1_plus_exp as local_exp_over_1_plus_exp,
    local_hard_sigmoid as local_hard_sigmoid,
    local_inv_1_plus_exp as local_inv_1_plus_exp,
    local_sigm_times_exp as local_sigm_times_exp,
    local_ultra_fast_sigmoid as local_ultra_fast_sigmoid,
    log1msigm_to_softplus as log1msigm_to_softplus,
    log1p_neg_sigmoid as log1p_neg_sigmoid,
    log1pexp_to_softplus as log1pexp_to_softplus,
    logsigm_to_softplus as logsigm_to_softplus,
)
from ._mul_trees import (
    compute_mul as compute_mul,
    is_1pexp as is_1pexp,
    is_exp as is_exp,
    is_mul as is_mul,
    is_neg as is_neg,
    parse_mul_tree as parse_mul_tree,
    partition_num_or_denom as partition_num_or_denom,
    perform_sigm_times_exp as perform_sigm_times_exp,
    register_local_1msigmoid as register_local_1msigmoid,
    replace_leaf as replace_leaf,
    simplify_mul as simplify_mul,
)

__all__ = [
    "ScalarSigmoid",
    "ScalarSoftplus",
    "UltraFastScalarSigmoid",
    "hard_sigmoid",
    "scalar_sigmoid",
    "scalar_softplus",
    "sigmoid",
    "sigmoid_inplace",
    "softplus",
    "ultra_fast_scalar_sigmoid",
    "ultra_fast_sigmoid",
    "ultra_fast_sigmoid_inplace",
]

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
