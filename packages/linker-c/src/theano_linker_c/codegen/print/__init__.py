"""The loop IR as text: as C99 for compilers, and as it is for readers and tests."""

from ._c99 import c99_lines as c99_lines, portable as portable
from ._elements import (
    element_text as element_text,
    expression_value as expression_value,
    load_text as load_text,
    store_text as store_text,
)
from ._shown import shown as shown

__all__ = [
    "c99_lines",
    "element_text",
    "expression_value",
    "load_text",
    "portable",
    "shown",
    "store_text",
]
