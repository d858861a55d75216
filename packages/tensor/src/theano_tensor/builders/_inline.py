"""The rewrite that puts graphs in the place of the ops that hold them."""

from __future__ import annotations

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c.modes import optdb
from theano_optimize import WalkRewriter, node_rewriter

from ._op_from_graph import OpFromGraph


@node_rewriter([OpFromGraph], name="inline_ofg_expansion")
def inline_ofg_expansion(fgraph: FunctionGraph, node: Apply[OpFromGraph]) -> list[Variable] | None:
    """An op that was made with ``inline=True`` gives way to its graph."""
    return node.op.inlined(node.inputs) if node.op.inline else None


#: Before the first merge, so that the nodes inside are rewritten together with those around.
optdb.register(
    "inline_ofg_expansion",
    WalkRewriter(inline_ofg_expansion, order="out_to_in", visit_new=True),
    *("fast_run", "fast_compile", "o1", "o2", "o3", "o4", "unsafe"),
    position=-0.01,
)
