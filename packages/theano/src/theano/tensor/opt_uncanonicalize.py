"""Rewrites that undo simplifications which would cost time, late in the compilation."""

from theano_tensor import DimShuffle as DimShuffle, Subtensor as Subtensor

from .._lazy import lazy_names
from ._old_rewrites import (
    local_alloc_dimshuffle as local_alloc_dimshuffle,
    local_dimshuffle_alloc as local_dimshuffle_alloc,
    local_dimshuffle_subtensor as local_dimshuffle_subtensor,
    local_max_to_min as local_max_to_min,
    local_reshape_dimshuffle as local_reshape_dimshuffle,
)
from .elemwise import CAReduce as CAReduce
from .opt import copy_stack_trace as copy_stack_trace, register_uncanonicalize as register_uncanonicalize

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
