"""Records of a run of rewriting: profiles, their report, and traces."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from time import perf_counter
from typing import Any, TextIO

from theano_graph import Apply, Feature, FunctionGraph, Variable, record

from ._info import RewriteInfo

# ---- Profiles: changes and times of a run, and of each rule on request


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
    """The measurements of one rewriter on request.

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
        """Measure the body as one round."""
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
    """One run of a graph rewriter.

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
        Measurements on request only; see :class:`RewriteOptions`.
    numbers : dict
        Counts and times of a rewriter of its own kind; shown in reports, one line each.
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


# ---- Times of the features of a graph, at no cost where nobody asks

#: Callbacks of features, and the measurement that their time counts for.
_MEASURED = {
    "on_import": "callback_seconds",
    "on_prune": "callback_seconds",
    "on_change_input": "callback_seconds",
    "validate": "validate_seconds",
}


class _Reindex(Feature):
    """Attached and removed to make a graph look up the callbacks of its features anew."""


@contextlib.contextmanager
def timed_callbacks(fgraph: FunctionGraph, details: RewriteDetails) -> Iterator[None]:
    """Add the time of callbacks and checks of the present features of `fgraph` to `details`."""
    replaced: list[tuple[Any, str, Any]] = []
    for feature in fgraph.features:
        namespace = getattr(feature, "__dict__", None)
        for name, measurement in _MEASURED.items():
            callback = getattr(feature, name, None)
            if namespace is not None and callback is not None and not getattr(callback, "__is_default__", False):
                replaced.append((feature, name, namespace.get(name)))
                namespace[name] = _timed(callback, details, measurement)
    _look_up_again(fgraph)
    try:
        yield
    finally:
        for feature, name, before in replaced:
            if before is None:
                del vars(feature)[name]
            else:
                vars(feature)[name] = before
        _look_up_again(fgraph)


def _look_up_again(fgraph: FunctionGraph) -> None:
    marker = _Reindex()
    fgraph.attach_feature(marker)
    fgraph.remove_feature(marker)


def _timed(callback: Callable[..., Any], details: RewriteDetails, measurement: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        start = perf_counter()
        try:
            return callback(*args, **kwargs)
        finally:
            setattr(details, measurement, getattr(details, measurement) + perf_counter() - start)

    return call


# ---- The report on rewriting that profiles of compiled functions print
#
# The manual documents its lines; tools read them. Kinds of rewriters appear under the names that it uses.

#: Classes and their names in the report; others go by their own name.
SHOWN_KINDS = {
    "SequenceRewriter": "SeqOptimizer",
    "EquilibriumRewriter": "EquilibriumOptimizer",
    "WalkRewriter": "TopoOptimizer",
    "MergeRewriter": "MergeOptimizer",
    "FunctionGraphRewriter": "FromFunctionOptimizer",
}

#: Of each round, as many rules are listed.
SHOWN_RULES = 5


def profile_report(profile: RewriteProfile) -> str:
    """Return the detailed report on a run of rewriting: for each rewriter its changes and its time.

    Parameters
    ----------
    profile : RewriteProfile
        From ``rewriter.rewrite(fgraph, details=True)``. Without details, unmeasured quantities show as 0.

    Examples
    --------
    >>> print(profile_report(RewriteProfile("nothing", kind="WalkRewriter")).splitlines()[0])
    Optimizer Profile
    """
    return "\n".join(["Optimizer Profile", "-----------------", *block_lines(profile)])


def shown_kind(profile: RewriteProfile) -> str:
    """Return the name of the rewriter's class in the report."""
    return SHOWN_KINDS.get(profile.kind, profile.kind or "Optimizer")


def block_lines(profile: RewriteProfile, level: int = 0) -> list[str]:
    """Return the lines about one rewriter and its parts, indented by `level` steps."""
    lines = _BLOCKS.get(shown_kind(profile), _other)(profile, level)
    return ["  " * level + line if line else line for line in lines]


def _sequence(profile: RewriteProfile, level: int) -> Iterator[str]:
    details = profile.details or RewriteDetails()
    gap = "      " if level else "  "
    yield (
        f"SeqOptimizer{gap}{profile.name}  time {profile.seconds:.3f}s "
        f"for {profile.nodes_before}/{profile.nodes_after} nodes before/after optimization"
    )
    yield f"  {details.validate_seconds:.3f}s for fgraph.validate()"
    yield f"  {details.callback_seconds:.3f}s for callback"
    yield "time      - (name, class, index) - validate time"
    for part in sorted(profile.parts, key=lambda p: -p.seconds):
        validate = part.details.validate_seconds if part.details is not None else 0.0
        yield f"{part.seconds:.6f}s - ('{part.name}', '{shown_kind(part)}', {part.index}) - {validate:.3f}s"
        yield from block_lines(part, 1)


def _equilibrium(profile: RewriteProfile, level: int) -> Iterator[str]:
    details = profile.details or RewriteDetails()
    most = max(details.most_nodes, profile.nodes_before, profile.nodes_after)
    yield f"EquilibriumOptimizer      {profile.name}"
    yield f"  time {profile.seconds:.3f}s for {len(details.rounds)} passes"
    yield f"  nb nodes (start, end, max) {profile.nodes_before} {profile.nodes_after} {most}"
    yield f"  time io_toposort {details.toposort_seconds:.3f}s"
    yield f"  time in local optimizers {sum(details.seconds.values()):.3f}s"
    yield f"  time in global optimizers {sum(r.clean_seconds for r in details.rounds):.3f}s"
    for number, entry in enumerate(details.rounds):
        yield f"  {_round(number, entry)}"
    yield "  times - times applied - nb node created - name:"
    applied = profile.total_rules()
    for rule in sorted(applied, key=lambda name: -details.seconds.get(name, 0.0)):
        yield f"  {details.seconds.get(rule, 0.0):.3f}s - {applied[rule]} - {details.created.get(rule, 0)} - {rule}"
    yield from _unused(details, applied)


def _round(number: int, entry: RewriteRound) -> str:
    """Return the line about one round of an equilibrium."""
    rules = [f"('{rule}', {count})" for rule, count in entry.rules.items()]
    listed = " ".join(rules[:SHOWN_RULES]) + (" ..." if len(rules) > SHOWN_RULES else "")
    return (
        f"{number:>3} - {entry.seconds:.3f}s {sum(entry.rules.values())} ({entry.clean_seconds:.3f}s in global opts, "
        f"{entry.toposort_seconds:.3f}s io_toposort) - {entry.nodes} nodes - {listed}"
    ).rstrip()


def _unused(details: RewriteDetails, applied: dict[str, int]) -> Iterator[str]:
    """Yield the lines about the rules that were asked and never fired."""
    unused = {rule: seconds for rule, seconds in details.seconds.items() if rule not in applied}
    if unused:
        yield (
            f"  {sum(unused.values()):.3f}s - in {len(unused)} optimization that where not used "
            "(display only those with a runtime > 0)"
        )
        for rule in sorted(unused, key=lambda name: -unused[name]):
            if unused[rule] > 0:
                yield f"    {unused[rule]:.3f}s - {rule}"


def _walk(profile: RewriteProfile, level: int) -> Iterator[str]:
    details = profile.details or RewriteDetails()
    yield "TopoOptimizer"
    yield f"  nb_node (start, end, changed) ({profile.nodes_before}, {profile.nodes_after}, {profile.changes})"
    yield f"  init io_toposort {details.toposort_seconds}"
    yield f"  loop time {max(profile.seconds - details.toposort_seconds, 0.0)}"
    yield f"  callback_time {details.callback_seconds}"


def _merge(profile: RewriteProfile, level: int) -> Iterator[str]:
    yield "MergeOptimizer"
    for name, count in sorted(profile.rules.items()):
        yield f"  {name} {count}"


def _function(profile: RewriteProfile, level: int) -> Iterator[str]:
    yield from ()


def _other(profile: RewriteProfile, level: int) -> Iterator[str]:
    if profile.numbers or profile.parts:
        yield shown_kind(profile)
    for name, value in profile.numbers.items():
        yield f"  {name} {value}"
    for part in sorted(profile.parts, key=lambda p: -p.seconds):
        yield from block_lines(part, 1)


_BLOCKS: dict[str, Callable[[RewriteProfile, int], Iterator[str]]] = {
    "SeqOptimizer": _sequence,
    "EquilibriumOptimizer": _equilibrium,
    "TopoOptimizer": _walk,
    "MergeOptimizer": _merge,
    "FromFunctionOptimizer": _function,
}


# ---- Traces: each rule that fired, the expression before and after, and the time


@record
class RewriteEvent:
    """One replacement.

    Attributes
    ----------
    info : RewriteInfo
        Of the rule that fired.
    path : tuple of str
        Names of the rewriters around it, outermost first.
    where : str
        The node that was rewritten, with the user's line where it is known.
    before, after : str
        The expressions, printed to a limited depth; variables that are replaced together are joined by line breaks.
    seconds : float
        Time that the rule and the replacement took.
    equation : str, optional
        The equation that was applied, where the rule is made of equations.
    """

    info: RewriteInfo
    path: tuple[str, ...]
    where: str
    before: str
    after: str
    seconds: float
    equation: str | None = None

    @property
    def rewriter(self) -> str:
        """Name of the rule."""
        return self.info.name

    def as_dict(self) -> dict[str, Any]:
        """Return the event as plain data, for instance for JSON: strings, numbers and lists of these."""
        return {
            **self.info.as_dict(),
            "path": list(self.path),
            "where": self.where,
            "before": self.before,
            "after": self.after,
            "seconds": self.seconds,
            "equation": self.equation,
        }

    def __str__(self) -> str:
        location = "/".join((*self.path, self.rewriter))
        before = self.before.replace("\n", "\n    ")
        after = self.after.replace("\n", "\n    ")
        by = "" if self.equation is None else f"\n  by {self.equation}"
        return f"{location} ({self.seconds * 1e6:.0f} us): {self.where}\n    {before}\n  becomes\n    {after}{by}"


@record(frozen=False)
class RewriteTrace:
    """A record of rewriting, to be passed to :meth:`GraphRewriter.rewrite`. Rewriting without one keeps no text at all.

    Parameters
    ----------
    stream : text file, optional
        Each event is also printed there as it happens.
    depth : int
        To how many levels expressions are printed.

    Attributes
    ----------
    events : list of RewriteEvent
        In the order in which they happened.
    calls, seconds : dict
        For each rule: how many times it was asked, and the time spent in it whether it fired or not.

    Examples
    --------
    >>> trace = RewriteTrace()
    >>> trace.counts()
    {}
    >>> str(trace)
    'no rewrite fired'
    """

    stream: TextIO | None = None
    depth: int = 3
    events: list[RewriteEvent] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    _path: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def inside(self, name: str) -> Iterator[None]:
        """Put `name` on the path of the events that happen inside."""
        self._path.append(name)
        try:
            yield
        finally:
            self._path.pop()

    def asked(self, rule: str, seconds: float) -> None:
        """Note that a rule was asked, and how long it took to answer."""
        self.calls[rule] += 1
        self.seconds[rule] = self.seconds.get(rule, 0.0) + seconds

    def fired(
        self, info: RewriteInfo, where: str, before: str, after: str, seconds: float, equation: str | None = None
    ) -> None:
        """Note a replacement."""
        event = RewriteEvent(info, tuple(self._path), where, before, after, seconds, equation)
        self.events.append(event)
        if self.stream is not None:
            print(event, file=self.stream)

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return the events as plain data; see :meth:`RewriteEvent.as_dict`."""
        return [event.as_dict() for event in self.events]

    def counts(self) -> dict[str, int]:
        """Return how many times each rule fired, the most frequent first."""
        return dict(Counter(event.rewriter for event in self.events).most_common())

    def __str__(self) -> str:
        return "\n".join(map(str, self.events)) or "no rewrite fired"
