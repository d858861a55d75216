"""Elementwise kernels on devices."""

from ._elementwise import arrays as arrays, fits_parameters as fits_parameters
from ._nest import (
    IndexWidth as IndexWidth,
    Layout as Layout,
    Nest as Nest,
    broadcast_strides as broadcast_strides,
    fits_narrow as fits_narrow,
    merge as merge,
)
from ._texts import element as element, let as let, offset as offset, positions as positions

__all__ = [
    "IndexWidth",
    "Layout",
    "Nest",
    "arrays",
    "broadcast_strides",
    "element",
    "fits_parameters",
    "fits_narrow",
    "let",
    "merge",
    "offset",
    "positions",
]
