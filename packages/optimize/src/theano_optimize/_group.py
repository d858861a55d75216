"""Groups of rules of which the first that matches is used."""

from __future__ import annotations

from collections.abc import Iterable

from theano_graph import Apply, FunctionGraph, Op

from ._application import is_unchanged
from ._index import RewriterIndex
from ._info import RewriteInfo
from ._node_rewriter import NodeRewriter, Tracks, TransformResult


class RewriterGroup(NodeRewriter):
    """Rules that are asked in order until one answers; its answer is the group's.

    Traces and errors name the rule that answered, not the group.

    Parameters
    ----------
    rewriters : iterable of NodeRewriter
    name : str, optional

    Examples
    --------
    >>> RewriterGroup([], name="none").transform(None, None) is None
    True
    """

    def __init__(
        self, rewriters: Iterable[NodeRewriter], name: str | None = None, *, info: RewriteInfo | None = None
    ) -> None:
        self.rewriters = tuple(rewriters)
        super().__init__(name, info=info, reach=max((r.reach for r in self.rewriters), default=0))
        self._index = RewriterIndex(self.rewriters)

    def tracks(self) -> Tracks:
        tracked: dict[Op | type[Op], None] = {}
        for rewriter in self.rewriters:
            own = rewriter.tracks()
            if own is None:
                return None
            tracked.update(dict.fromkeys(own))
        return tuple(tracked)

    def attempt(self, fgraph: FunctionGraph, node: Apply) -> tuple[NodeRewriter, TransformResult]:
        """Return the first rule that offers a change and its answer; the group itself and None if there is none."""
        if not self.rewriters:
            return self, None
        for rewriter in self._index.for_op(node.op):
            try:
                rule, result = rewriter.attempt(fgraph, node)
            except Exception as error:
                error.add_note(f"raised by rule `{rewriter.name}` of group `{self.name}`")
                raise
            if not is_unchanged(node, result):
                return rule, result
        return self, None

    def transform(self, fgraph: FunctionGraph, node: Apply) -> TransformResult:
        """Return the answer of the first rule that offers a change."""
        return self.attempt(fgraph, node)[1]

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        for rewriter in self.rewriters:
            rewriter.add_requirements(fgraph)

    def summary_lines(self) -> list[str]:
        return [f"{self.name} (first match)", *(f"  {line}" for r in self.rewriters for line in r.summary_lines())]
