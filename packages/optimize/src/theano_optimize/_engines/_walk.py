"""Applying rules in one walk over the graph."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Literal, TypeAlias

from theano_graph import Apply, Feature, FunctionGraph, begin_origin_from, end_origin, format_error, inherited_origin

from .._info import RewriteInfo
from .._records._trace import RewriteProfile
from .._rules._index import RewriterIndex
from .._rules._node_rewriter import NodeRewriter
from ._application import RuleApplication
from ._equilibrium import require_node_rewriter
from ._graph_rewriter import GraphRewriter, RewriteOptions, indented
from ._termination import TerminationGuard

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
        known = fgraph.apply_nodes
        nodes = deque(order if self.order == "in_to_out" else reversed(order))
        if self.visit_new:
            fgraph.attach_feature(new)
        try:
            while nodes:
                node = nodes.popleft()
                # Earlier replacements may have removed it.
                if node in known:
                    changed = self._visit(application, guard, profile, node)
                    # After a replacement that was refused, what came and went is not new.
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
