"""Tensors put together and taken apart."""

from . import _native as _native
from ._join import (
    Join as Join,
    Split as Split,
    concatenate as concatenate,
    horizontal_stack as horizontal_stack,
    join as join,
    split as split,
    stack as stack,
    stacklists as stacklists,
    vertical_stack as vertical_stack,
)

__all__ = ["Join", "Split", "concatenate", "horizontal_stack", "join", "split", "stack", "stacklists", "vertical_stack"]
