"""Indexing: parts of tensors, and tensors with a part changed."""

from . import _batches as _batches, _native as _native, _supports as _supports
from ._advanced._change import (
    AdvancedBooleanIncSubtensor as AdvancedBooleanIncSubtensor,
    AdvancedIncSubtensor as AdvancedIncSubtensor,
    AdvancedIncSubtensor1 as AdvancedIncSubtensor1,
)
from ._advanced._read import (
    AdvancedBooleanSubtensor as AdvancedBooleanSubtensor,
    AdvancedSubtensor as AdvancedSubtensor,
    AdvancedSubtensor1 as AdvancedSubtensor1,
)
from ._advanced._rules import register_sparse_gradient as register_sparse_gradient
from ._choose import Choose as Choose, choose as choose
from ._getitem import inc_subtensor as inc_subtensor, set_subtensor as set_subtensor, sparse_grad as sparse_grad
from ._nonzero import (
    Nonzero as Nonzero,
    flatnonzero as flatnonzero,
    nonzero as nonzero,
    nonzero_values as nonzero_values,
)
from ._parse import INDEX_FORMS as INDEX_FORMS
from ._parts import sum_to as sum_to
from ._subtensor import IncSubtensor as IncSubtensor, Subtensor as Subtensor, slice_length as slice_length
from ._take import compress as compress, take as take
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
