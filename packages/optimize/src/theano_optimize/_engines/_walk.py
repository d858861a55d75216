"""Rules applied in one walk over the graph, and groups of rules of which the first match is used."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Literal, TypeAlias

from theano_graph import (
    Apply,
    Feature,
    FunctionGraph,
    Op,
    begin_origin_from,
    end_origin,
    format_error,
    inherited_origin,
)

from .._info import RewriteInfo
from .._profile import RewriteProfile
from .._rules._node_rewriter import NodeRewriter, RewriterIndex, Tracks, TransformResult
from ._application import RuleApplication, is_unchanged
from ._equilibrium import TerminationGuard, require_node_rewriter
from ._graph_rewriter import GraphRewriter, RewriteOptions, indented

# ---- The walk

WalkOrder: TypeAlias = Literal["in_to_out", "out_to_in"]


class _NewNodes(Feature):
    """Collects the nodes that come into the graph."""

    def __init__(self, guard: TerminationGuard) -> None:
        self.guard = guard
        self.nodes: list[Apply] = []

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        self.guard.made(node)
        self.nodes.append(node)

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        self.guard.gone(node)


class WalkRewriter(GraphRewriter):
    """Asks node rewriters about each node of the graph once, in topological order or against it.

    At most one rule fires on a node.

    Parameters
    ----------
    node_rewriters : NodeRewriter or iterable of NodeRewriter
        Asked in this order.
    order : {"in_to_out", "out_to_in"}
        From the inputs to the outputs, or back.
    name : str, optional
    visit_new : bool
        Whether nodes that the rules make are looked at as well, right after they were made.
    max_use_ratio : float
        With `visit_new`, how many times one rule may fire for each node of the graph at the start.

    Raises
    ------
    ValueError
        If `order` is neither of the two.
    TypeError
        If something else than node rewriters is given.

    Examples
    --------
    >>> from theano_optimize import node_rewriter
    >>> @node_rewriter([])
    ... def never(fgraph, node):
    ...     return None
    >>> WalkRewriter(never).name
    'walk(never)'
    """

    def __init__(
        self,
        node_rewriters: NodeRewriter | Iterable[NodeRewriter],
        order: WalkOrder = "in_to_out",
        name: str | None = None,
        *,
        visit_new: bool = False,
        max_use_ratio: float = 16.0,
        info: RewriteInfo | None = None,
    ) -> None:
        rewriters = (node_rewriters,) if isinstance(node_rewriters, NodeRewriter) else tuple(node_rewriters)
        for rewriter in rewriters:
            require_node_rewriter(rewriter, "a walk")
        super().__init__(name or f"walk({', '.join(r.name for r in rewriters)})", info=info)
        if order not in ("in_to_out", "out_to_in"):
            raise ValueError(format_error(f"the order of a walk is {order!r}", hint='pass "in_to_out" or "out_to_in"'))
        self.node_rewriters = rewriters
        self.order = order
        self.visit_new = visit_new
        self.max_use_ratio = max_use_ratio
        self._index = RewriterIndex(rewriters)

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        for rewriter in self.node_rewriters:
            rewriter.add_requirements(fgraph)

    def run(self, fgraph: FunctionGraph, options: RewriteOptions) -> RewriteProfile:
        profile = RewriteProfile(self.name)
        if not self._index.any_for(fgraph.apply_nodes):
            profile.visits += len(fgraph.apply_nodes)
            return profile
        application = RuleApplication(fgraph, options)
        guard = TerminationGuard(self.name, len(fgraph.apply_nodes), self.max_use_ratio)
        new = _NewNodes(guard)
        order = options.sorted_nodes(fgraph)
        members = fgraph.apply_nodes
        nodes = deque(order if self.order == "in_to_out" else reversed(order))
        if self.visit_new:
            fgraph.attach_feature(new)
        try:
            while nodes:
                node = nodes.popleft()
                # Earlier replacements may have removed it.
                if node in members:
                    changed = self._visit(application, guard, profile, node)
                    # After a replacement that was refused, the nodes that came and went are not new.
                    if new.nodes and changed:
                        nodes.extendleft(new.nodes if self.order == "out_to_in" else reversed(new.nodes))
                    new.nodes.clear()
        finally:
            if self.visit_new:
                fgraph.remove_feature(new)
        return profile

    def _visit(
        self, application: RuleApplication, guard: TerminationGuard, profile: RewriteProfile, node: Apply
    ) -> bool:
        profile.visits += 1
        rules = self._index.for_op(node.op)
        if not rules:
            return False
        before = inherited_origin()
        try:
            begin_origin_from(node)
            for rule, pairs in application.answers(rules, node):
                if self.visit_new:
                    guard.before(rule.name, node)
                changed = application.replace(rule, node, pairs)
                guard.after()
                if changed:
                    profile.count(rule.name)
                    return True
        finally:
            end_origin(before)
        return False

    def summary_lines(self) -> list[str]:
        title = f"{self.name} ({self.order})"
        return [title, *(line for r in self.node_rewriters for line in indented(r.summary_lines()))]


# ---- Groups of rules

#: How often the rules of a group are asked about their own results.
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
            classes = rewriter.tracks()
            if classes is None:
                return None
            tracked.update(dict.fromkeys(classes))
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
            instance = _made_by(asked, result)
            if instance is None:
                break
            follower, further = self._first(fgraph, instance)
            # An answer with fewer values, or about other variables, cannot stand for that about the first node.
            if is_unchanged(instance, further) or not _complete(node, further):
                break
            rule, result, asked = follower, further, instance
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
    instance = owners.pop()
    return instance if not owners and instance is not None and list(result) == instance.outputs else None


def _complete(node: Apply, result: TransformResult) -> bool:
    """Tell whether an answer has one variable for each output of `node`."""
    return isinstance(result, (list, tuple)) and len(result) == len(node.outputs) and None not in result
