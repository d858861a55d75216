"""Whole programs as straight-line C.

A program (`theano_linker_c.program`) becomes the statements of one C function: `_emit` goes through its instructions,
and the rule for each kernel or op (`_rules`) adds them to a `Block`, which knows names, loops, checks and memory. They
are statements of the loop IR (`theano_linker_c.codegen`), some of them opaque C text. Lengths are numbers
where they are known, and products of C variables otherwise (`_lengths`).
"""

from . import (
    _copies as _copies,
    _elementwise as _elementwise,
    _indexing as _indexing,
    _products as _products,
    _shapes as _shapes,
    _stacks as _stacks,
    _windows as _windows,
)
from ._arrays import CArray as CArray, Root as Root, contiguous_strides as contiguous_strides
from ._block import Block as Block, Message as Message
from ._emit import (
    STRAIGHT as STRAIGHT,
    StraightTarget as StraightTarget,
    Wanted as Wanted,
    emit_program as emit_program,
)
from ._inner import (
    function_program as function_program,
    inline_program as inline_program,
)
from ._lengths import ONE as ONE, ZERO as ZERO, Length as Length, as_length as as_length, product_of as product_of
from ._loops import emit_loop as emit_loop
from ._memory import arranged as arranged
from ._rules import (
    NoStraightForm as NoStraightForm,
    straight_kernel as straight_kernel,
    straight_op as straight_op,
    straight_value as straight_value,
)

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
