"""Profiles of rewriting: what a run did, how long it took, and on request what each rule took."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import field
from time import perf_counter
from typing import Any

from theano_graph import Apply, FunctionGraph, Variable, record


@record(frozen=False)
class RewriteRound:
    """One round of an equilibrium: rules until none applies, then the clean-up.

    Attributes
    ----------
    seconds, clean_seconds, toposort_seconds : float
        In all, in graph rewriters of the clean-up, and in sorting nodes.
    nodes : int
        Number of nodes at the start.
    rules : dict
        For each rule that fired, how many times.
    """

    nodes: int
    seconds: float = 0.0
    clean_seconds: float = 0.0
    toposort_seconds: float = 0.0
    rules: dict[str, int] = field(default_factory=dict)


@record(frozen=False)
class RewriteDetails:
    """What one rewriter measures on request.

    Attributes
    ----------
    seconds : dict
        For each rule that was asked, the time spent in it, whether it fired or not, and in its replacements.
    created : dict
        For each rule that fired, the number of nodes that it made.
    rounds : list of RewriteRound
        Of an equilibrium.
    toposort_seconds : float
        Spent in sorting nodes.
    validate_seconds, callback_seconds : float
        Spent in checks by features of the graph, and in all their callbacks; parts included.
    most_nodes : int
        The largest size of the graph.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    created: dict[str, int] = field(default_factory=dict)
    rounds: list[RewriteRound] = field(default_factory=list)
    toposort_seconds: float = 0.0
    validate_seconds: float = 0.0
    callback_seconds: float = 0.0
    most_nodes: int = 0

    def asked(self, rule: str, seconds: float) -> None:
        """Note that a rule was asked, and how long it took to answer."""
        self.seconds[rule] = self.seconds.get(rule, 0.0) + seconds

    def replaced(self, rule: str, seconds: float, created: int, nodes: int) -> None:
        """Note that a rule fired: how long the replacement took, the nodes it made and the size of the graph."""
        self.asked(rule, seconds)
        self.created[rule] = self.created.get(rule, 0) + created
        self.most_nodes = max(self.most_nodes, nodes)

    def cover(self, parts: Iterable[RewriteProfile]) -> None:
        """Let the times in checks and callbacks be no less than those of `parts`, which may have brought features."""
        inner = [part.details for part in parts if part.details is not None]
        self.validate_seconds = max(self.validate_seconds, sum(d.validate_seconds for d in inner))
        self.callback_seconds = max(self.callback_seconds, sum(d.callback_seconds for d in inner))

    def sorted_nodes(self, fgraph: FunctionGraph) -> list[Apply]:
        """Return the nodes of `fgraph` in order; the time counts here and in the current round."""
        start = perf_counter()
        nodes = fgraph.data_order()
        seconds = perf_counter() - start
        self.toposort_seconds += seconds
        if self.rounds:
            self.rounds[-1].toposort_seconds += seconds
        return nodes

    @contextlib.contextmanager
    def round(self, fgraph: FunctionGraph, profile: RewriteProfile) -> Iterator[None]:
        """Measure what happens inside as one round."""
        entry = RewriteRound(len(fgraph.apply_nodes))
        self.rounds.append(entry)
        before = Counter(profile.total_rules())
        parts = len(profile.parts)
        start = perf_counter()
        yield
        entry.seconds = perf_counter() - start
        entry.clean_seconds = sum(part.seconds for part in profile.parts[parts:])
        entry.rules = dict((Counter(profile.total_rules()) - before).most_common())


def count_new(fgraph: FunctionGraph, variables: Iterable[Variable]) -> int:
    """Return how many nodes that are not in `fgraph` some variables need."""
    stack = [v.owner for v in variables if v.owner is not None]
    seen: set[Apply] = set()
    while stack:
        node = stack.pop()
        if node not in seen and node not in fgraph.apply_nodes:
            seen.add(node)
            stack += [v.owner for v in node.inputs if v.owner is not None]
    return len(seen)


@record(frozen=False)
class RewriteProfile:
    """What one run of a graph rewriter did.

    Attributes
    ----------
    name : str
    seconds : float
        Wall time, parts included.
    nodes_before, nodes_after : int
    changes : int
        Number of replacements, parts included.
    visits : int
        How many times a node was looked at.
    rules : dict
        For each rule that fired, how many times.
    parts : list of RewriteProfile
        Of the rewriters that it ran.
    kind : str
        Name of the rewriter's class.
    index : int
        Its place among the parts of the sequence that ran it.
    details : RewriteDetails, optional
        What is only measured on request; see :class:`RewriteOptions`.
    numbers : dict
        What a rewriter of its own kind counts and times; shown in reports, one line each.
    """

    name: str
    seconds: float = 0.0
    nodes_before: int = 0
    nodes_after: int = 0
    changes: int = 0
    visits: int = 0
    rules: dict[str, int] = field(default_factory=dict)
    parts: list[RewriteProfile] = field(default_factory=list)
    kind: str = ""
    index: int = 0
    details: RewriteDetails | None = None
    numbers: dict[str, object] = field(default_factory=dict)

    def count(self, rule: str) -> None:
        """Note that `rule` fired."""
        self.changes += 1
        self.rules[rule] = self.rules.get(rule, 0) + 1

    def add_part(self, part: RewriteProfile) -> None:
        """Note the profile of a rewriter that ran inside this one."""
        self.parts.append(part)
        self.changes += part.changes

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers of the profile and of its parts as plain data, for instance for JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "seconds": self.seconds,
            "nodes_before": self.nodes_before,
            "nodes_after": self.nodes_after,
            "changes": self.changes,
            "visits": self.visits,
            "rules": dict(self.rules),
            "parts": [part.as_dict() for part in self.parts],
        }

    def total_rules(self) -> dict[str, int]:
        """Return how many times each rule fired, parts included, the most frequent first."""
        total: Counter[str] = Counter()
        stack = [self]
        while stack:
            profile = stack.pop()
            total.update(profile.rules)
            stack.extend(profile.parts)
        return dict(total.most_common())

    def lines(self, level: int = 0) -> list[str]:
        """Return the text of the profile; parts are indented and sorted by time."""
        indent = "  " * level
        size = f"{self.nodes_before} -> {self.nodes_after} nodes"
        lines = [f"{indent}{self.name}: {self.seconds * 1e3:.3f} ms, {size}, {self.changes} changes"]
        lines += [
            f"{indent}  {count} x {rule}" for rule, count in sorted(self.rules.items(), key=lambda p: (-p[1], p[0]))
        ]
        for part in sorted(self.parts, key=lambda p: -p.seconds):
            lines += part.lines(level + 1)
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())
