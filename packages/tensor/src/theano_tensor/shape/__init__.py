"""Shapes: reading, claiming and changing them."""

from ._lengths import as_length as as_length, static_int as static_int, static_lengths as static_lengths
from ._rebroadcast import (
    Rebroadcast as Rebroadcast,
    addbroadcast as addbroadcast,
    patternbroadcast as patternbroadcast,
    unbroadcast as unbroadcast,
)
from ._registered import (
    register_rebroadcast_c_code as register_rebroadcast_c_code,
    register_shape_c_code as register_shape_c_code,
    register_shape_i_c_code as register_shape_i_c_code,
    register_specify_shape_c_code as register_specify_shape_c_code,
)
from ._reshape import (
    Reshape as Reshape,
    flatten as flatten,
    reshape as reshape,
    shape_padaxis as shape_padaxis,
    shape_padleft as shape_padleft,
    shape_padright as shape_padright,
    squeeze as squeeze,
    swapaxes as swapaxes,
    transpose as transpose,
)
from ._shape import (
    MakeVector as MakeVector,
    ShapeI as ShapeI,
    ShapeOf as ShapeOf,
    SpecifyShape as SpecifyShape,
    as_lengths as as_lengths,
    lengths_of as lengths_of,
    make_vector as make_vector,
    shape as shape,
    shape_i as shape_i,
    size as size,
    specify_shape as specify_shape,
)

__all__ = [
    "addbroadcast",
    "patternbroadcast",
    "unbroadcast",
    "MakeVector",
    "Rebroadcast",
    "Reshape",
    "ShapeI",
    "ShapeOf",
    "SpecifyShape",
    "as_length",
    "as_lengths",
    "flatten",
    "lengths_of",
    "make_vector",
    "register_rebroadcast_c_code",
    "register_shape_c_code",
    "register_shape_i_c_code",
    "register_specify_shape_c_code",
    "reshape",
    "shape",
    "shape_i",
    "shape_padaxis",
    "shape_padleft",
    "shape_padright",
    "size",
    "specify_shape",
    "squeeze",
    "static_int",
    "static_lengths",
    "swapaxes",
    "transpose",
]
