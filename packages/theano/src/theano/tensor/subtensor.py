"""Indexing."""

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

from ._historical import (
    advanced_inc_subtensor as advanced_inc_subtensor,
    advanced_inc_subtensor1 as advanced_inc_subtensor1,
    advanced_set_subtensor as advanced_set_subtensor,
    advanced_subtensor as advanced_subtensor,
    advanced_subtensor1 as advanced_subtensor1,
)
