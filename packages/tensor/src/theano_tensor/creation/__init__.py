"""New tensors: filled, counted, identities."""

from ._alloc import Alloc as Alloc, alloc as alloc, full as full, ones as ones, zeros as zeros
from ._ranges import ARange as ARange, Eye as Eye, arange as arange, eye as eye, identity_like as identity_like

__all__ = ["ARange", "Alloc", "Eye", "alloc", "arange", "eye", "full", "identity_like", "ones", "zeros"]
