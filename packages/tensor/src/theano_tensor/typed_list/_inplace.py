"""Lists are changed in place where nobody sees it."""

from __future__ import annotations

from collections.abc import Sequence

from theano_graph import Apply, Op
from theano_linker_c.modes import optdb
from theano_optimize import InplaceRewriter, Phase

from ._ops import ListChange


def _forms(node: Apply) -> Sequence[Op]:
    return [] if node.op.inplace else [type(node.op)(inplace=True)]


#: In-place changes of lists, by the ops that copy.
typed_list_inplace = InplaceRewriter(_forms, [ListChange], "typed_list_inplace_opt")
optdb.register("typed_list_inplace_opt", typed_list_inplace, "fast_run", "inplace", position=Phase.INPLACE)
