"""Choices say that they work in place where rewriting is for that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Apply, Variable
from theano_linker_c.modes import optdb
from theano_optimize import InplaceRewriter, Phase

from ._ifelse import IfElse


def _forms(node: Apply) -> Sequence[Sequence[Variable]]:
    op: Any = node.op
    if op.as_view:
        return []
    # What rewriting gained is nothing to the handler of in-place work, so the outputs are made here.
    found: list[Variable] = IfElse(op.n_outs, as_view=True, gpu=op.gpu, name=op.name)(*node.inputs, return_list=True)
    return [found]


#: What is chosen is handed on without a copy, and the text of the op says so.
cond_make_inplace = InplaceRewriter(_forms, [IfElse], "cond_make_inplace")
optdb.register("cond_make_inplace", cond_make_inplace, "fast_run", "inplace", position=Phase.INPLACE)
