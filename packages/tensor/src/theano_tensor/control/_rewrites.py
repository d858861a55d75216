"""Choices say that they work in place where rewriting is for that."""

from __future__ import annotations

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c.modes import optdb
from theano_optimize import Phase, WalkRewriter, node_rewriter

from ._ifelse import IfElse


@node_rewriter([IfElse], name="cond_make_inplace")
def cond_make_inplace(fgraph: FunctionGraph, node: Apply[IfElse]) -> list[Variable] | None:
    """The chosen value is handed on without a copy, and the text of the op says so."""
    op = node.op
    if op.as_view:
        return None
    results: list[Variable] = IfElse(op.n_outs, as_view=True, gpu=op.gpu, name=op.name)(*node.inputs, return_list=True)
    return results


#: Before the handler of in-place work is there: it takes no new nodes of which a result may be one of several inputs.
optdb.register(
    "cond_make_inplace",
    WalkRewriter(cond_make_inplace, order="in_to_out", visit_new=False),
    *("fast_run", "inplace"),
    position=Phase.ADD_DESTROY.value - 0.01,
)
