"""Destroy and view legality: which node may overwrite which memory, in which order, and putting in-place forms in."""

from ._handler import DestroyHandler, Supervisor, fast_inplace_check, find_handler, require_handler
from ._rewriters import AddDestroyHandler, InplaceRewriter
from ._versions import destroyed_inputs

__all__ = [
    "AddDestroyHandler",
    "DestroyHandler",
    "InplaceRewriter",
    "Supervisor",
    "destroyed_inputs",
    "fast_inplace_check",
    "find_handler",
    "require_handler",
]
