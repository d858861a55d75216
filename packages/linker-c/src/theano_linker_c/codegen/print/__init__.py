"""The loop IR as text: as C99 and C of devices for compilers, and as it is for readers and tests."""

from ._c99 import c99_lines as c99_lines, portable as portable
from ._device import device_lines as device_lines
from ._elements import (
    element_text as element_text,
    expression_value as expression_value,
)
from ._shown import shown as shown

__all__ = [
    "c99_lines",
    "device_lines",
    "element_text",
    "expression_value",
    "portable",
    "shown",
]
