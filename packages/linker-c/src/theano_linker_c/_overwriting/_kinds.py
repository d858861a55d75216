"""Which operations may put their result into the memory of an operand that dies there.

There are no in-place forms of native operations: the machine sees who else refers to an array. Whether it may use that
at all is a matter of the mode. A rewriter for each kind of operation says yes, and so the documented names of in-place
rewrites include and exclude it.
"""

from __future__ import annotations

from theano_graph import Feature, FunctionGraph
from theano_optimize import GraphRewriter, Phase, RewriteInfo, RewriteProfile

from ..kernels import Overwriting as Overwriting

#: Every kind: for graphs that no mode has a say in.
ALL_KINDS = frozenset(Overwriting)


class _Allowed(Feature):
    """The kinds of operations that may overwrite in a graph."""

    def __init__(self) -> None:
        self.kinds: set[Overwriting] = set()


class AllowOverwriting(GraphRewriter):
    """Let operations of one kind reuse the memory of their operands. The graph stays as it is.

    Parameters
    ----------
    name : str
    kind : Overwriting

    Examples
    --------
    >>> from theano_graph import FunctionGraph
    >>> fgraph = FunctionGraph([], [])
    >>> _ = AllowOverwriting("inplace_setsubtensor", Overwriting.INDEX_WRITE).rewrite(fgraph)
    >>> [str(kind) for kind in overwriting_of(fgraph)]
    ['index_write']
    """

    def __init__(self, name: str, kind: Overwriting) -> None:
        super().__init__(info=RewriteInfo(name, Phase.INPLACE, ("inplace",)))
        self.kind = kind

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile:
        """Note the kind at the graph."""
        allowed = next((f for f in fgraph.features if isinstance(f, _Allowed)), None)
        if allowed is None:
            allowed = _Allowed()
            fgraph.attach_feature(allowed)
        allowed.kinds.add(self.kind)
        return RewriteProfile(self.name)


def overwriting_of(fgraph: FunctionGraph) -> frozenset[Overwriting]:
    """Return the kinds of operations that rewriting has let overwrite."""
    return frozenset(kind for f in fgraph.features if isinstance(f, _Allowed) for kind in f.kinds)
