"""Destroy and view legality: who may overwrite what, in which order, and putting in-place forms in."""

from ._handler import (
    DestroyHandler as DestroyHandler,
    Supervisor as Supervisor,
    fast_inplace_check as fast_inplace_check,
    find_handler as find_handler,
    require_handler as require_handler,
)
from ._maps import destroyed_inputs as destroyed_inputs
from ._rewriters import AddDestroyHandler as AddDestroyHandler, InplaceRewriter as InplaceRewriter

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
