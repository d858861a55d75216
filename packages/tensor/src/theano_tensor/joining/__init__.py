"""Tensors put together and taken apart."""

from ._join import (
    Join as Join,
    Split as Split,
    concatenate as concatenate,
    join as join,
    split as split,
    stack as stack,
    stacklists as stacklists,
)

__all__ = ["Join", "Split", "concatenate", "join", "split", "stack", "stacklists"]
