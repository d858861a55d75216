"""Indexing: parts of tensors, and tensors with a part changed."""

from ._index import SYMBOL as SYMBOL, Slice as Slice
from ._subtensor import (
    IncSubtensor as IncSubtensor,
    Subtensor as Subtensor,
    inc_subtensor as inc_subtensor,
    set_subtensor as set_subtensor,
)

__all__ = ["SYMBOL", "IncSubtensor", "Slice", "Subtensor", "inc_subtensor", "set_subtensor"]
