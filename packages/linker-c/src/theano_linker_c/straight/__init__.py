"""Whole programs as straight-line C.

A program (`theano_linker_c.program`) becomes the statements of one C function: `_emit` goes through its instructions,
and the rule for each kernel or op (`_arrays`) adds them to a `Block`, which knows names, loops, checks and memory. They
are statements of the loop IR (`theano_linker_c.codegen`), some of them opaque C text. Lengths are numbers
where they are known, and products of C variables otherwise (`codegen.lengths`).
"""

from . import (
    _elementwise as _elementwise,
    _indexing as _indexing,
    _linear_algebra as _linear_algebra,
    _products as _products,
    _shapes as _shapes,
)
from ._arrays import (
    ONE as ONE,
    ZERO as ZERO,
    CArray as CArray,
    Length as Length,
    NoStraightForm as NoStraightForm,
    Root as Root,
    arranged as arranged,
    as_length as as_length,
    contiguous_strides as contiguous_strides,
    product_of as product_of,
    straight_kernel as straight_kernel,
    straight_op as straight_op,
    straight_value as straight_value,
)
from ._block import Block as Block, Message as Message
from ._emit import (
    STRAIGHT as STRAIGHT,
    StraightTarget as StraightTarget,
    Wanted as Wanted,
    emit_program as emit_program,
    function_program as function_program,
    inline_program as inline_program,
)
from ._loops import emit_loop as emit_loop

__all__ = [
    "ONE",
    "STRAIGHT",
    "ZERO",
    "Block",
    "CArray",
    "Length",
    "Message",
    "NoStraightForm",
    "Root",
    "StraightTarget",
    "Wanted",
    "arranged",
    "as_length",
    "contiguous_strides",
    "emit_loop",
    "emit_program",
    "function_program",
    "inline_program",
    "product_of",
    "straight_kernel",
    "straight_op",
    "straight_value",
]
