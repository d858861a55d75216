"""Whole programs as straight-line C.

A program (`theano_linker_c.program`) becomes the statements of one C function: `_emit` goes through its instructions,
and the rule for each kernel or op (`_rules`) writes them into a `Block`, which knows names, loops, checks and memory.
Lengths are numbers where they are known, and products of C variables otherwise (`_lengths`).
"""

from . import (
    _copies as _copies,
    _elementwise as _elementwise,
    _indexing as _indexing,
    _products as _products,
    _shapes as _shapes,
)
from ._arrays import CArray as CArray, Root as Root, contiguous_strides as contiguous_strides
from ._block import Block as Block, Message as Message, Place as Place
from ._emit import (
    STRAIGHT as STRAIGHT,
    StraightTarget as StraightTarget,
    Wanted as Wanted,
    emit_program as emit_program,
)
from ._inner import (
    LoopBody as LoopBody,
    RowPlace as RowPlace,
    emit_inner as emit_inner,
    function_program as function_program,
    inline_program as inline_program,
    stand_in as stand_in,
)
from ._lengths import ONE as ONE, ZERO as ZERO, Length as Length, as_length as as_length, product_of as product_of
from ._memory import arranged as arranged
from ._rules import (
    NoStraightForm as NoStraightForm,
    straight_kernel as straight_kernel,
    straight_op as straight_op,
)

__all__ = [
    "ONE",
    "STRAIGHT",
    "ZERO",
    "Block",
    "CArray",
    "Length",
    "LoopBody",
    "Message",
    "NoStraightForm",
    "Place",
    "Root",
    "RowPlace",
    "StraightTarget",
    "Wanted",
    "arranged",
    "as_length",
    "contiguous_strides",
    "emit_inner",
    "emit_program",
    "function_program",
    "inline_program",
    "product_of",
    "stand_in",
    "straight_kernel",
    "straight_op",
]
