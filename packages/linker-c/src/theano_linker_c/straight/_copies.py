"""Ops that return their operand: nothing is copied, since no statement changes a value that another one reads.

A print hands its value on and prints nothing: exported code has no place to print to. A breakpoint is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from theano_graph import Apply

from ..ops import DeepCopyOp, PdbBreakpoint, Print, ViewOp
from ._arrays import CArray
from ._block import Block
from ._rules import straight_op

__all__: list[str] = []


@straight_op.register(DeepCopyOp, ViewOp, Print)
def _same(node: Apply, block: Block, inputs: Sequence[CArray]) -> Sequence[CArray]:
    return inputs[:1]


@straight_op.register(PdbBreakpoint)
def _breakpoint(node: Apply, block: Block, inputs: Sequence[CArray]) -> Sequence[CArray]:
    raise block.refuse("there is no debugger in exported code", "take the breakpoint out of the expression")
