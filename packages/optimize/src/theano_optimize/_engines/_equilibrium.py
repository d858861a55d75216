"""Rules applied until none applies, driven by a list of the nodes that changed; rewriting that would not end."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Literal

from theano_graph import (
    Apply,
    Constant,
    Feature,
    FunctionGraph,
    Variable,
    begin_origin_from,
    end_origin,
    format_error,
    inherited_origin,
)

from .._info import RewriteCycleError, RewriteInfo, tree_lines
from .._profile import RewriteProfile
from .._rules._node_rewriter import NodeRewriter, RewriterIndex
from ._application import RuleApplication
from ._graph_rewriter import GraphRewriter, RewriteOptions, indented, require_graph_rewriter

# ---- Detection of rewriting that does not end
#
# Each node made by a rule remembers the node it was derived from. Two signs end a run: the same rule fires for the
# third time on the same expression along one line of descent, which means that rules undo each other; and a
# rule fires more often than a multiple of the number of nodes, which means that it feeds itself.

#: Room for small graphs, in which a few nodes may be rewritten many times.
SPARE_NODES = 100

#: How often one rule may fire on one application along a line of descent.
ALLOWED_REPETITIONS = 2

#: How far an expression is described: levels, and inputs of nodes altogether.
MAX_DEPTH = 4
MAX_DESCRIBED = 24

#: Number of firings along a line of descent before expressions are described.
SHORT_LINE = 4

#: How far back a line of descent is searched.
MAX_LINEAGE = 2000


class Derivation:
    """One firing of a rule: its name, its expression, the firing that made that, and how many came before."""

    __slots__ = ("length", "parent", "rule", "state")

    def __init__(self, parent: Derivation | None, rule: str, state: Hashable) -> None:
        self.parent = parent
        self.rule = rule
        self.state = state
        self.length: int = 0 if parent is None else parent.length + 1


class TerminationGuard:
    """Counts firings and follows lines of descent; see the text of the module.

    Parameters
    ----------
    name : str
        Of the rewriter that is guarded, for errors.
    nodes : int
        Size of the graph at the start.
    max_use_ratio : float
        How many times a rule may fire for each node of the graph at the start.
    """

    def __init__(self, name: str, nodes: int, max_use_ratio: float) -> None:
        self.name = name
        self.limit = max_use_ratio * (nodes + SPARE_NODES)
        self.firings: Counter[str] = Counter()
        self._hashes: Counter[int] = Counter()
        self._lineage: dict[Apply, Derivation] = {}
        self._current: Derivation | None = None

    def before(self, rule: str, node: Apply) -> None:
        """Note that `rule` is about to fire on `node`.

        Raises
        ------
        RewriteCycleError
            If rewriting would not end.
        """
        parent = self._lineage.get(node)
        # Most lines of descent are short, and describing expressions takes time.
        long = parent is not None and parent.length >= SHORT_LINE
        state = (rule, self._expression(node) if long else (node.op, *node.inputs))
        current = Derivation(parent, rule, state)
        self.firings[rule] += 1
        if self.firings[rule] > self.limit:
            raise self._error(node, _rules_of(current), f"fired {self.firings[rule]} times, more than {self.limit:.0f}")
        # Hashes keep no nodes alive; the line of descent tells in the end.
        key = hash(state)
        self._hashes[key] += 1
        if self._hashes[key] > ALLOWED_REPETITIONS:
            cycle = _find_cycle(current)
            if cycle:
                raise self._error(node, cycle, "come back to the same expression again and again")
        self._current = current

    def _expression(self, node: Apply) -> Hashable:
        """Return the expression of `node`, so that nodes made anew each time are recognised.

        Nodes that rewriting made are described by their ops, as far as a few levels and nodes; others are themselves.
        """
        budget = MAX_DESCRIBED

        def describe(variable: Variable, depth: int) -> Hashable:
            nonlocal budget
            owner = variable.owner
            if isinstance(variable, Constant):
                return (variable.type, variable.signature())
            if owner is None or depth == 0 or budget <= 0 or owner not in self._lineage:
                return variable
            budget -= owner.nin
            return (owner.op, variable.index, *(describe(v, depth - 1) for v in owner.inputs))

        return (node.op, *(describe(v, MAX_DEPTH) for v in node.inputs))

    def after(self) -> None:
        """Note that the replacement is complete."""
        self._current = None

    def made(self, node: Apply) -> None:
        """Note that `node` came into the graph."""
        if self._current is not None:
            self._lineage[node] = self._current

    def gone(self, node: Apply) -> None:
        """Note that `node` left the graph."""
        self._lineage.pop(node, None)

    def _error(self, node: Apply, rules: tuple[str, ...], how: str) -> RewriteCycleError:
        names = " and ".join(f"`{rule}`" for rule in rules)
        return RewriteCycleError(
            format_error(
                f"rewriting in {self.name} does not end: {names} {how}",
                context=tree_lines(node.outputs[:1], 4),
                hint=f"exclude one of {names}, or give it a condition that its own result does not fulfil",
            ),
            rewriters=rules,
        )


def _line(derivation: Derivation | None) -> Iterable[Derivation]:
    for _ in range(MAX_LINEAGE):
        if derivation is None:
            return
        yield derivation
        derivation = derivation.parent


def _find_cycle(current: Derivation) -> tuple[str, ...]:
    """Return the rules between firings on the same state, or nothing if the line of descent does not repeat."""
    rules: dict[str, None] = {}
    repetitions = 0
    for derivation in _line(current):
        if derivation is not current and derivation.state == current.state:
            repetitions += 1
            if repetitions == ALLOWED_REPETITIONS:
                return tuple(reversed(rules))
        rules[derivation.rule] = None
    return ()


def _rules_of(current: Derivation) -> tuple[str, ...]:
    """Return the rules of the last few firings, the one that fired most recently first."""
    rules: dict[str, None] = {}
    for derivation, _ in zip(_line(current), range(20), strict=False):
        rules[derivation.rule] = None
    return tuple(rules)


# ---- The engine

#: Distance of a node that has not been looked at yet: every rule is asked, but its clients need no second look.
UNSEEN = -1

#: How often the clean-up after the rules may change the graph again.
MAX_ROUNDS = 1000


class Worklist(Feature):
    """The nodes that are worth a look, first come first served.

    Each has the distance to the nearest change below it: 0 for a node that is new or has a new input, 1 for its
    clients, and so on.
    """

    def __init__(self, guard: TerminationGuard) -> None:
        self.guard = guard
        self._queue: deque[Apply] = deque()
        self._distance: dict[Apply, int] = {}
        self._freed: dict[Variable, None] = {}
        self._held: list[tuple[Callable[..., None], tuple[Any, ...]]] | None = None

    def hold(self) -> None:
        """Keep further events back until :meth:`release`: the replacement may be refused."""
        self._held = []

    def release(self, happened: bool) -> None:
        """Take note of the events kept back, or forget them because the graph is as it was."""
        held, self._held = self._held or [], None
        if happened:
            for note, arguments in held:
                note(*arguments)

    def push(self, node: Apply, distance: int) -> None:
        """Put a node on the list; a node that is there keeps its place and the smaller distance."""
        cached = self._distance.get(node)
        if cached is None:
            self._queue.append(node)
            self._distance[node] = distance
        elif distance == 0 or cached > distance:
            # A node that was never looked at keeps UNSEEN unless it changed itself: all rules are due there anyway.
            self._distance[node] = distance

    def pop(self) -> tuple[Apply, int] | None:
        """Take the next node and its distance, or None when the list is empty."""
        while self._queue:
            node = self._queue.popleft()
            distance = self._distance.pop(node, None)
            if distance is not None:
                return node, distance
        return None

    def push_sole_clients(self, fgraph: FunctionGraph) -> bool:
        """Put on the list the nodes that have become the only client of something: patterns may fit now.

        Done in one go when the list is empty, so that a variable with many clients is looked at once and not after
        each change.
        """
        freed, self._freed = self._freed, {}
        variables = fgraph.variables
        for variable in freed:
            if variable in variables:
                client = fgraph.sole_client(variable)
                if client is not None:
                    self.push(client, 1)
        return bool(self._distance)

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        if self._held is not None:
            self._held.append((self.on_import, (fgraph, node, reason)))
            return
        self.guard.made(node)
        self.push(node, 0)

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        if self._held is not None:
            self._held.append((self.on_prune, (fgraph, node, reason)))
            return
        self.guard.gone(node)
        self._distance.pop(node, None)
        for variable in node.outputs:
            self._freed.pop(variable, None)
        for variable in node.inputs:
            if variable.owner is not None:
                self._freed[variable] = None

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object = None,
    ) -> None:
        if self._held is not None:
            self._held.append((self.on_change_input, (fgraph, node, i, old, new, reason)))
            return
        if not isinstance(node, str):
            self.push(node, 0)
        if old.owner is not None:
            self._freed[old] = None


class EquilibriumRewriter(GraphRewriter):
    """Applies node rewriters until none of them has anything to change.

    Every node is looked at once; after that only nodes that are new or have new inputs, and their clients as far up
    as the rules can see (see `reach` of :class:`NodeRewriter`). A rule is asked only about nodes whose op it tracks.
    The cost is therefore linear in the number of nodes as long as each node is rewritten a bounded number of times.

    Parameters
    ----------
    node_rewriters : iterable of NodeRewriter
        The first that answers wins; then its changes drive the list. The order makes the result
        deterministic.
    name : str, optional
    cleanup : iterable of GraphRewriter
        Run when no rule applies any more, :class:`MergeRewriter` for example; rules are asked again where these
        changed something.
    final : iterable of GraphRewriter
        The same, but only when `cleanup` has nothing to do either.
    max_use_ratio : float
        How many times one rule may fire for each node of the graph at the start.

    Raises
    ------
    TypeError
        If something else than node rewriters, or graph rewriters in `cleanup` and `final`, is given.

    Examples
    --------
    >>> from theano_graph import FunctionGraph, Generic, Op
    >>> from theano_optimize import PatternRewriter
    >>> class Neg(Op):
    ...     __props__ = ()
    ...     itypes = otypes = (Generic(),)
    >>> neg, x = Neg(), Generic()("x")
    >>> fgraph = FunctionGraph([x], [neg(neg(neg(neg(x))))])
    >>> EquilibriumRewriter([PatternRewriter((neg, (neg, "x")), "x")]).rewrite(fgraph).nodes_after
    0
    """

    def __init__(
        self,
        node_rewriters: Iterable[NodeRewriter],
        name: str | None = None,
        *,
        cleanup: Iterable[GraphRewriter] = (),
        final: Iterable[GraphRewriter] = (),
        max_use_ratio: float = 16.0,
        info: RewriteInfo | None = None,
    ) -> None:
        super().__init__(name, info=info)
        self.node_rewriters = tuple(node_rewriters)
        self.cleanup = tuple(cleanup)
        self.final = tuple(final)
        self.max_use_ratio = max_use_ratio
        #: For summaries: further names by which a database knows rules.
        self.other_names: dict[NodeRewriter, tuple[str, ...]] = {}
        for rewriter in self.node_rewriters:
            require_node_rewriter(rewriter, f"equilibrium {self.name}")
        for graph_rewriter in (*self.cleanup, *self.final):
            require_graph_rewriter(graph_rewriter, f"the clean-up of equilibrium {self.name}")
        self._index = RewriterIndex(self.node_rewriters)
        self._reach = max((r.reach for r in self.node_rewriters), default=0)

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        for rewriter in self.node_rewriters:
            rewriter.add_requirements(fgraph)
        for graph_rewriter in (*self.cleanup, *self.final):
            graph_rewriter.add_requirements(fgraph)

    def run(self, fgraph: FunctionGraph, options: RewriteOptions) -> RewriteProfile:
        profile = RewriteProfile(self.name)
        work = Worklist(TerminationGuard(self.name, len(fgraph.apply_nodes), self.max_use_ratio))
        # Where no rule wants to see any node, none of them can change anything that another waits for.
        if self._index.any_for(fgraph.apply_nodes):
            for node in options.sorted_nodes(fgraph):
                work.push(node, UNSEEN)
        else:
            profile.visits += len(fgraph.apply_nodes)
        fgraph.attach_feature(work)
        try:
            self._run_rounds(RuleApplication(fgraph, options), work, profile)
        finally:
            fgraph.remove_feature(work)
        return profile

    def _run_rounds(self, application: RuleApplication, work: Worklist, profile: RewriteProfile) -> None:
        """Alternate the rules and the clean-up until neither changes anything."""
        for _ in range(MAX_ROUNDS):
            with application.options.round(application.fgraph, profile):
                self._settle(application, work, profile)
                changed = self._clean(self.cleanup, application, profile) or self._clean(
                    self.final, application, profile
                )
            if not changed:
                return
        names = tuple(r.name for r in (*self.cleanup, *self.final)) + tuple(profile.rules)[-2:]
        raise RewriteCycleError(
            format_error(
                f"rewriting in {self.name} does not end: its rules and its clean-up took {MAX_ROUNDS} rounds",
                context=[f"took part: {', '.join(names)}"],
                hint="exclude one of these",
            ),
            rewriters=names,
        )

    def _settle(self, application: RuleApplication, work: Worklist, profile: RewriteProfile) -> None:
        """Work through the list until it is empty."""
        fgraph = application.fgraph
        while True:
            entry = work.pop()
            if entry is None:
                if work.push_sole_clients(fgraph):
                    continue
                return
            node, distance = entry
            profile.visits += 1
            if self._visit(application, work, profile, node, distance):
                if node in fgraph.apply_nodes:
                    work.push(node, 0)
            elif UNSEEN < distance < self._reach:
                for output in node.outputs:
                    for client, _ in fgraph.clients(output):
                        if isinstance(client, Apply):
                            work.push(client, distance + 1)

    def _visit(
        self, application: RuleApplication, work: Worklist, profile: RewriteProfile, node: Apply, distance: int
    ) -> bool:
        """Ask the rules about one node; tell whether one of them changed the graph."""
        rules = self._index.for_op(node.op, distance)
        if not rules:
            return False
        before = inherited_origin()
        try:
            begin_origin_from(node)
            for rule, pairs in application.answers(rules, node):
                may_refuse = application.may_refuse
                work.guard.before(rule.name, node)
                if may_refuse:
                    work.hold()
                changed = application.replace(rule, node, pairs)
                if may_refuse:
                    work.release(changed)
                work.guard.after()
                if changed:
                    profile.count(rule.name)
                    return True
        finally:
            end_origin(before)
        return False

    @staticmethod
    def _clean(rewriters: Iterable[GraphRewriter], application: RuleApplication, profile: RewriteProfile) -> bool:
        changed = False
        for rewriter in rewriters:
            part = rewriter.run_timed(application.fgraph, application.options)
            if part.changes:
                profile.add_part(part)
                changed = True
        return changed

    def summary_lines(self) -> list[str]:
        lines = [f"{self.name} (until nothing changes)"]
        for rewriter in self.node_rewriters:
            first, *others = rewriter.summary_lines()
            names = self.other_names.get(rewriter)
            lines += indented([f"{first} [{', '.join(names)}]" if names else first, *others])
        for title, parts in (("cleanup", self.cleanup), ("final", self.final)):
            lines += [f"  {title}: {line}" for r in parts for line in r.summary_lines()]
        return lines


def require_node_rewriter(rewriter: object, where: str) -> None:
    """Raise TypeError unless `rewriter` is a node rewriter."""
    if not isinstance(rewriter, NodeRewriter):
        raise TypeError(
            format_error(
                f"{where} needs node rewriters, got {rewriter!r}",
                hint="decorate a function with node_rewriter([...ops it tracks])",
            )
        )
