"""Indexing: parts of tensors, and tensors with a part changed."""

from . import _rules as _rules
from ._advanced import (
    AdvancedBooleanIncSubtensor as AdvancedBooleanIncSubtensor,
    AdvancedBooleanSubtensor as AdvancedBooleanSubtensor,
    AdvancedIncSubtensor as AdvancedIncSubtensor,
    AdvancedIncSubtensor1 as AdvancedIncSubtensor1,
    AdvancedSubtensor as AdvancedSubtensor,
    AdvancedSubtensor1 as AdvancedSubtensor1,
    register_sparse_gradient as register_sparse_gradient,
)
from ._choose import Choose as Choose, choose as choose
from ._getitem import (
    Nonzero as Nonzero,
    compress as compress,
    flatnonzero as flatnonzero,
    inc_subtensor as inc_subtensor,
    nonzero as nonzero,
    nonzero_values as nonzero_values,
    set_subtensor as set_subtensor,
    sparse_grad as sparse_grad,
    take as take,
)
from ._parse import INDEX_FORMS as INDEX_FORMS
from ._subtensor import (
    IncSubtensor as IncSubtensor,
    Subtensor as Subtensor,
    slice_length as slice_length,
    sum_to as sum_to,
)
from .entries import NEWAXIS as NEWAXIS, SYMBOL as SYMBOL, Slice as Slice

__all__ = [
    "NEWAXIS",
    "SYMBOL",
    "AdvancedBooleanIncSubtensor",
    "AdvancedBooleanSubtensor",
    "AdvancedIncSubtensor",
    "AdvancedIncSubtensor1",
    "AdvancedSubtensor",
    "AdvancedSubtensor1",
    "Choose",
    "IncSubtensor",
    "Nonzero",
    "Slice",
    "Subtensor",
    "choose",
    "compress",
    "flatnonzero",
    "inc_subtensor",
    "nonzero",
    "nonzero_values",
    "register_sparse_gradient",
    "set_subtensor",
    "slice_length",
    "sparse_grad",
    "sum_to",
    "take",
]
