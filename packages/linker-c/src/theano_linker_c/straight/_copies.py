"""Ops that give back what they are given: nothing is copied, since no statement changes what another one reads."""

from __future__ import annotations

from collections.abc import Sequence

from theano_graph import Apply

from ..ops import DeepCopyOp, ViewOp
from ._arrays import CArray
from ._block import Block
from ._rules import straight_op

__all__: list[str] = []


@straight_op.register(DeepCopyOp, ViewOp)
def _same(node: Apply, block: Block, inputs: Sequence[CArray]) -> Sequence[CArray]:
    return inputs[:1]
