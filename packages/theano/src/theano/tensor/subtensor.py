"""Indexing."""

from typing import TYPE_CHECKING

from theano_tensor import (
    AdvancedBooleanIncSubtensor as AdvancedBooleanIncSubtensor,
    AdvancedBooleanSubtensor as AdvancedBooleanSubtensor,
    AdvancedIncSubtensor as AdvancedIncSubtensor,
    AdvancedIncSubtensor1 as AdvancedIncSubtensor1,
    AdvancedSubtensor as AdvancedSubtensor,
    AdvancedSubtensor1 as AdvancedSubtensor1,
    IncSubtensor as IncSubtensor,
    NotScalarConstantError as NotScalarConstantError,
    Subtensor as Subtensor,
    inc_subtensor as inc_subtensor,
    set_subtensor as set_subtensor,
    take as take,
)

from .._names import lazy_names

__all__ = [
    "AdvancedBooleanIncSubtensor",
    "AdvancedBooleanSubtensor",
    "AdvancedIncSubtensor",
    "AdvancedIncSubtensor1",
    "AdvancedSubtensor",
    "AdvancedSubtensor1",
    "IncSubtensor",
    "NotScalarConstantError",
    "Subtensor",
    "inc_subtensor",
    "set_subtensor",
    "take",
]

if TYPE_CHECKING:
    from ._index_tools import (
        AdvancedBooleanIndexingError as AdvancedBooleanIndexingError,
        AdvancedIndexingError as AdvancedIndexingError,
        BaseAdvancedIncSubtensor as BaseAdvancedIncSubtensor,
        BaseAdvancedSubtensor as BaseAdvancedSubtensor,
        SubtensorPrinter as SubtensorPrinter,
        _sum_grad_over_bcasted_dims as _sum_grad_over_bcasted_dims,
        adv_index_broadcastable_pattern as adv_index_broadcastable_pattern,
        advanced_boolean_inc_subtensor as advanced_boolean_inc_subtensor,
        advanced_boolean_set_subtensor as advanced_boolean_set_subtensor,
        advanced_boolean_subtensor as advanced_boolean_subtensor,
        advanced_inc_subtensor as advanced_inc_subtensor,
        advanced_inc_subtensor1 as advanced_inc_subtensor1,
        advanced_set_subtensor as advanced_set_subtensor,
        advanced_set_subtensor1 as advanced_set_subtensor1,
        advanced_subtensor as advanced_subtensor,
        advanced_subtensor1 as advanced_subtensor1,
        as_index_variable as as_index_variable,
        check_advanced_indexing_dimensions as check_advanced_indexing_dimensions,
        check_and_reject_bool as check_and_reject_bool,
        get_canonical_form_slice as get_canonical_form_slice,
        get_idx_list as get_idx_list,
        make_constant as make_constant,
        sparse_module_ref as sparse_module_ref,
    )
else:
    LAZY = {
        "._index_tools": (
            "AdvancedBooleanIndexingError AdvancedIndexingError BaseAdvancedIncSubtensor _sum_grad_over_bcasted_dims "
            "BaseAdvancedSubtensor adv_index_broadcastable_pattern advanced_boolean_inc_subtensor "
            "advanced_boolean_set_subtensor advanced_boolean_subtensor advanced_inc_subtensor advanced_inc_subtensor1 "
            "advanced_set_subtensor advanced_set_subtensor1 advanced_subtensor advanced_subtensor1 as_index_variable "
            "check_advanced_indexing_dimensions check_and_reject_bool get_canonical_form_slice get_idx_list "
            "make_constant sparse_module_ref MakeSlice NoneConst NoneTypeT SliceType make_slice"
        ),
        "theano": "config gof theano",
        "..": "scal=scalar",
        "theano_graph": "Apply Op Type",
        "theano_tensor": "DimShuffle DisconnectedType TensorType addbroadcast clip get_scalar_constant_value",
        "..gof.utils": "MethodNotDefined hashtype",
        "..gof.params_type": "ParamsType",
        ".basic": "alloc",
        "..printing": "pprint",
    }
    __getattr__, __dir__ = lazy_names(__name__, __package__, LAZY)
