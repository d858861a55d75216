"""Groups of rules of which the first that matches is used."""

from __future__ import annotations

from collections.abc import Iterable

from theano_graph import Apply, FunctionGraph, Op

from .._info import RewriteInfo
from .._rules._index import RewriterIndex
from .._rules._node_rewriter import NodeRewriter, Tracks, TransformResult
from ._application import is_unchanged

#: How often the rules of a group are asked about what they have made.
MAX_STEPS = 100


class RewriterGroup(NodeRewriter):
    """Rules that are asked in order until one answers; its answer is the group's.

    Traces and errors name the rule that answered, not the group.

    Parameters
    ----------
    rewriters : iterable of NodeRewriter
    name : str, optional
    apply_all : bool
        Ask again about the node that an answer consists of, until no rule answers, and give the last answer. The rules
        then see nodes that are in no graph yet.

    Examples
    --------
    >>> RewriterGroup([], name="none").transform(None, None) is None
    True
    """

    def __init__(
        self,
        rewriters: Iterable[NodeRewriter],
        name: str | None = None,
        *,
        apply_all: bool = False,
        info: RewriteInfo | None = None,
    ) -> None:
        self.rewriters = tuple(rewriters)
        self.apply_all = apply_all
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
        """Return the rule that offers a change and its answer; the group itself and None if there is none."""
        if not self.rewriters:
            return self, None
        rule, result = self._first(fgraph, node)
        if not self.apply_all:
            return rule, result
        asked = node
        for _ in range(MAX_STEPS):
            made = _made_by(asked, result)
            if made is None:
                break
            follower, further = self._first(fgraph, made)
            # An answer with fewer values, or about other variables, cannot stand for that about the first node.
            if is_unchanged(made, further) or not _complete(node, further):
                break
            rule, result, asked = follower, further, made
        return rule, result

    def _first(self, fgraph: FunctionGraph, node: Apply) -> tuple[NodeRewriter, TransformResult]:
        """Return the first rule that offers a change and its answer; the group itself and None if there is none."""
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
        kind = "all that match" if self.apply_all else "first match"
        return [f"{self.name} ({kind})", *(f"  {line}" for r in self.rewriters for line in r.summary_lines())]


def _made_by(node: Apply, result: TransformResult) -> Apply | None:
    """Return the one new node whose outputs an answer about `node` consists of, in order; None if it is otherwise."""
    if not isinstance(result, (list, tuple)) or is_unchanged(node, result):
        return None
    owners = {None if v is None else v.owner for v in result}
    made = owners.pop()
    return made if not owners and made is not None and list(result) == made.outputs else None


def _complete(node: Apply, result: TransformResult) -> bool:
    """Tell whether an answer has one variable for each output of `node`."""
    return isinstance(result, (list, tuple)) and len(result) == len(node.outputs) and None not in result
