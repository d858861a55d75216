"""Rewriters of whole graphs: the contract, sequences of them, and a check that nodes keep their origins."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Literal, TextIO, TypeAlias

from theano_graph import (
    Apply,
    Feature,
    FunctionGraph,
    History,
    Op,
    Origin,
    UserFrame,
    Variable,
    describe,
    format_error,
    record,
    warn_user,
)

from .._info import RewriteError, RewriteInfo, RewriteWarning, report_failure
from .._profile import RewriteDetails, RewriteProfile, RewriteTrace, timed_callbacks

# ---- The contract, and sequences

#: The reaction to a rule that fails: the error is raised; it becomes a :class:`RewriteWarning`, or is dropped, and the
#: rule is skipped there; or the debugger is entered before the error is raised.
OnError: TypeAlias = Literal["raise", "warn", "ignore", "pdb"]
ON_ERROR = ("raise", "warn", "ignore", "pdb")

#: Told of a failure before `on_error` applies; true if it has dealt with it and the rule is to be skipped there.
FailureHandler: TypeAlias = Callable[[RewriteError], bool]


@record
class RewriteOptions:
    """How a run of rewriting behaves; handed down from the outermost rewriter to the innermost.

    Parameters
    ----------
    on_error : {"raise", "warn", "ignore", "pdb"}
        The reaction to a rule that fails.
    trace : RewriteTrace, optional
        Records the rules that fire.
    details : RewriteDetails, optional
        Where to record times; each rewriter that runs makes one of its own.
    on_failure : callable, optional
        Told of each failure of a rule first; where it returns true, nothing else happens.
    """

    on_error: OnError = "raise"
    trace: RewriteTrace | None = None
    details: RewriteDetails | None = None
    on_failure: FailureHandler | None = None

    def sorted_nodes(self, fgraph: FunctionGraph) -> list[Apply]:
        """Return the nodes of `fgraph` in topological order, with the time noted where that is wanted."""
        return fgraph.data_order() if self.details is None else self.details.sorted_nodes(fgraph)

    def round(self, fgraph: FunctionGraph, profile: RewriteProfile) -> contextlib.AbstractContextManager[None]:
        """Measure the body as one round of an equilibrium, where that is wanted."""
        return contextlib.nullcontext() if self.details is None else self.details.round(fgraph, profile)


DEFAULT_OPTIONS = RewriteOptions()


class GraphRewriter:
    """Something that changes a function graph into an equivalent one.

    Subclasses define :meth:`apply`, or :meth:`run` where they want to know the options; and :meth:`add_requirements`
    where they need features.

    Parameters
    ----------
    name : str, optional
        The class name by default.
    info : RewriteInfo, optional
        Name, phase, tags, exactness and reference; takes precedence over `name`.

    Notes
    -----
    Changes that :meth:`apply` makes are counted, and undone where it fails and errors are warnings. The cost is to be
    linear in the nodes for a bounded number of changes a node: nothing sweeps the whole graph until it stops changing.

    Examples
    --------
    >>> class CountNodes(GraphRewriter):
    ...     def apply(self, fgraph):
    ...         self.count = len(fgraph.apply_nodes)
    >>> from theano_graph import FunctionGraph, Generic
    >>> x = Generic()("x")
    >>> profile = CountNodes().rewrite(FunctionGraph([x], [x]))
    >>> profile.changes
    0
    """

    # A default, so that a subclass whose constructor does not call this one works too.
    _info: RewriteInfo | None = None

    def __init__(self, name: str | None = None, *, info: RewriteInfo | None = None) -> None:
        self._info = RewriteInfo(name) if info is None and name else info

    @property
    def info(self) -> RewriteInfo:
        """Name, phase, tags, exactness and reference of the rewriter."""
        if self._info is None:
            self._info = RewriteInfo(type(self).__name__)
        return self._info

    @property
    def name(self) -> str:
        """Name of the rewriter."""
        return self.info.name

    @name.setter
    def name(self, name: str) -> None:
        self._info = replace(self.info, name=name)

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach to `fgraph` the features that the rewriter needs."""

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile | None:
        """Change `fgraph`; the requirements have been added."""
        return self.run(fgraph, DEFAULT_OPTIONS)

    def run(self, fgraph: FunctionGraph, options: RewriteOptions) -> RewriteProfile | None:
        """Do the work of :meth:`apply` under given options. By default calls :meth:`apply`."""
        if type(self).apply is GraphRewriter.apply:
            raise TypeError(
                format_error(
                    f"graph rewriter {self.name} has no `apply`", hint=f"define {type(self).__qualname__}.apply(fgraph)"
                )
            )
        before = fgraph.changes
        result = self.apply(fgraph)
        return (
            result if isinstance(result, RewriteProfile) else RewriteProfile(self.name, changes=fgraph.changes - before)
        )

    def rewrite(
        self,
        fgraph: FunctionGraph,
        *,
        on_error: OnError = "raise",
        trace: RewriteTrace | None = None,
        details: bool = False,
    ) -> RewriteProfile:
        """Add the requirements and rewrite `fgraph` in place.

        Parameters
        ----------
        fgraph : FunctionGraph
        on_error : {"raise", "warn", "ignore", "pdb"}
            The reaction to a rule that fails: "warn" and "ignore" skip the rule and leave the graph as it was there;
            "pdb" enters the debugger, then raises.
        trace : RewriteTrace, optional
            Records the rules that fire.
        details : bool
            Whether to measure the time of each rule, which costs time itself; see :func:`profile_report`.

        Returns
        -------
        RewriteProfile

        Raises
        ------
        RewriteError
            If a rule fails and `on_error` is "raise" or "pdb".
        RewriteCycleError
            If rules undo each other; with any `on_error`.
        ValueError
            If `on_error` is none of these.
        """
        if on_error not in ON_ERROR:
            raise ValueError(format_error(f"on_error is {on_error!r}", hint=f"pass one of {', '.join(ON_ERROR)}"))
        return self.run_timed(fgraph, RewriteOptions(on_error, trace, RewriteDetails() if details else None))

    def optimize(self, fgraph: FunctionGraph) -> Any:
        """Add the requirements and rewrite `fgraph`: the part of the documented contract of optimizers."""
        return self.rewrite(fgraph)

    def run_timed(self, fgraph: FunctionGraph, options: RewriteOptions, label: str | None = None) -> RewriteProfile:
        """Add the requirements, run, and return the profile with times and numbers of nodes filled in.

        Parameters
        ----------
        fgraph : FunctionGraph
        options : RewriteOptions
        label : str, optional
            The rewriter's name in the profile and the trace; its own name by default.
        """
        self.add_requirements(fgraph)
        before = len(fgraph.apply_nodes)
        start = perf_counter()
        with contextlib.ExitStack() as around:
            if options.trace is not None:
                around.enter_context(options.trace.inside(label or self.name))
            if options.details is not None:
                details = RewriteDetails()
                options = replace(options, details=details)
                around.enter_context(timed_callbacks(fgraph, details))
            profile = self.run(fgraph, options)
        if not isinstance(profile, RewriteProfile):
            profile = RewriteProfile(self.name)
        profile.name = label or profile.name
        profile.kind = type(self).__name__
        profile.seconds = perf_counter() - start
        profile.nodes_before = before
        profile.nodes_after = len(fgraph.apply_nodes)
        if options.details is not None:
            profile.details = options.details
            options.details.cover(profile.parts)
        return profile

    def summary_lines(self) -> list[str]:
        """Return the lines that describe the rewriter and its parts."""
        return [self.name]

    def print_summary(self, stream: TextIO | None = None) -> None:
        """Print the parts of the rewriter, one line for each rule, to `stream` (standard output by default)."""
        print("\n".join(self.summary_lines()), file=sys.stdout if stream is None else stream)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class ChangeTracker(Feature):
    """Counts the changes of a graph.

    Attributes
    ----------
    changes : int
        How many inputs of nodes, and outputs of the graph, became another variable.
    imported : int
        How many nodes came.
    """

    def __init__(self) -> None:
        self.changes = 0
        self.imported = 0

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Count the node."""
        self.imported += 1

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object = None,
    ) -> None:
        """Count the change."""
        self.changes += 1

    @contextlib.contextmanager
    def attached(self, fgraph: FunctionGraph) -> Iterator[ChangeTracker]:
        """Count the changes of `fgraph` inside."""
        fgraph.attach_feature(self)
        try:
            yield self
        finally:
            if self in fgraph.features:
                fgraph.remove_feature(self)


class UndoableChanges(Feature):
    """Remembers changes of a graph so that they can be undone; unlike a history it lends the graph no methods."""

    def __init__(self) -> None:
        self._history = History()

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object = None,
    ) -> None:
        """Remember the change."""
        self._history.on_change_input(fgraph, node, i, old, new, reason)

    def revert(self, fgraph: FunctionGraph) -> None:
        """Undo all changes since the feature was attached."""
        self._history.revert(fgraph, 0)


class FunctionGraphRewriter(GraphRewriter):
    """A graph rewriter made of a function of the function graph.

    Examples
    --------
    >>> FunctionGraphRewriter(lambda fgraph: None, name="nothing").name
    'nothing'
    """

    def __init__(
        self,
        function: Callable[[FunctionGraph], object],
        name: str | None = None,
        *,
        info: RewriteInfo | None = None,
        requirements: Callable[[FunctionGraph], object] | None = None,
    ) -> None:
        super().__init__(name or getattr(function, "__name__", None), info=info)
        self._function = function
        self._requirements = requirements

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        if self._requirements is not None:
            self._requirements(fgraph)

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile | None:
        result = self._function(fgraph)
        return result if isinstance(result, RewriteProfile) else None


def indented(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines two columns further right."""
    return (f"  {line}" for line in lines)


class SequenceRewriter(GraphRewriter):
    """Runs graph rewriters one after the other, in the given order.

    Parameters
    ----------
    rewriters : iterable of GraphRewriter
    name : str, optional
    labels : iterable of str, optional
        The rewriters' names in profiles, traces and summaries; their own names by default.

    Raises
    ------
    TypeError
        If one of them is no graph rewriter.

    Examples
    --------
    >>> SequenceRewriter([FunctionGraphRewriter(lambda fgraph: None, "first")]).summary_lines()
    ['SequenceRewriter', '  first']
    """

    def __init__(
        self,
        rewriters: Iterable[GraphRewriter],
        name: str | None = None,
        *,
        labels: Iterable[str] | None = None,
        info: RewriteInfo | None = None,
    ) -> None:
        super().__init__(name, info=info)
        self.rewriters = tuple(rewriters)
        for rewriter in self.rewriters:
            require_graph_rewriter(rewriter, f"sequence {self.name}")
        self.labels = tuple(r.name for r in self.rewriters) if labels is None else tuple(labels)

    def run(self, fgraph: FunctionGraph, options: RewriteOptions) -> RewriteProfile:
        profile = RewriteProfile(self.name)
        for index, (label, rewriter) in enumerate(zip(self.labels, self.rewriters, strict=True)):
            part = self._run_part(fgraph, options, label, rewriter)
            if part is not None:
                part.index = index
                profile.add_part(part)
        return profile

    def _run_part(
        self, fgraph: FunctionGraph, options: RewriteOptions, label: str, rewriter: GraphRewriter
    ) -> RewriteProfile | None:
        """Run one rewriter; None if it failed, errors are not to be raised, and the graph is as it was before."""
        undo = UndoableChanges()
        if options.on_error in ("warn", "ignore"):
            fgraph.attach_feature(undo)
        try:
            return rewriter.run_timed(fgraph, options, label)
        except RewriteError:
            raise
        except Exception as error:
            error.add_note(f"raised by graph rewriter `{label}` of `{self.name}`")
            if options.on_error == "pdb":
                breakpoint()
            if undo not in fgraph.features:
                raise
            undo.revert(fgraph)
            if options.on_error == "warn":
                report_failure(label, None, error)
            return None
        finally:
            if undo in fgraph.features:
                fgraph.remove_feature(undo)

    def summary_lines(self) -> list[str]:
        lines = [self.name]
        for label, rewriter in zip(self.labels, self.rewriters, strict=True):
            first, *others = rewriter.summary_lines()
            lines += indented([first if label == rewriter.name else f"{label}: {first}", *others])
        return lines


def require_graph_rewriter(rewriter: object, where: str) -> None:
    """Raise TypeError unless `rewriter` is a graph rewriter."""
    if not isinstance(rewriter, GraphRewriter):
        raise TypeError(
            format_error(
                f"{where} needs graph rewriters, got {rewriter!r}",
                hint="wrap a node rewriter in WalkRewriter or EquilibriumRewriter",
            )
        )


# ---- Origins of nodes through rewriting: copies by hand, and a check for nodes without one

#: The reaction to a node without an origin: it is given one that names the rewrite, silently or with a warning; or it
#: is an error.
OriginPolicy: TypeAlias = Literal["log", "warn", "raise"]

#: All nodes, the nodes of outputs, nodes with some ops or of some classes, or nodes for whose op a function is true.
OpsToCheck: TypeAlias = Literal["all", "last"] | Op | type[Op] | Iterable[Op | type[Op]] | Callable[[Op], bool]

_log = logging.getLogger(__name__)


def copy_origin(source: Variable | Sequence[Variable], target: Variable | Sequence[Variable]) -> None:
    """Let `target` say that it was made where `source` was made.

    Engines do this for all that rules make; graph rewriters that make nodes by themselves use it, or
    :func:`theano_graph.origin_from`.

    Parameters
    ----------
    source : Variable or sequence of Variable
        The first that has an origin counts.
    target : Variable or sequence of Variable

    Examples
    --------
    >>> from theano_graph import Generic
    >>> x, y = Generic()("x"), Generic()("y")
    >>> copy_origin(x, y)
    >>> y.origin is x.origin
    True
    """
    sources = [source] if isinstance(source, Variable) else list(source)
    targets = [target] if isinstance(target, Variable) else list(target)
    origin = next((v.origin for v in sources if v.origin is not None), None)
    if origin is None:
        return
    for variable in targets:
        variable.origin = origin
        if variable.owner is not None:
            variable.owner.origin = origin


def without_origin(fgraph: FunctionGraph, ops: OpsToCheck = "all") -> list[Apply]:
    """Return the nodes that do not know where they come from.

    Parameters
    ----------
    fgraph : FunctionGraph
    ops : "all", "last", ops and op classes, or callable
        The nodes to look at: all, the nodes of outputs of the graph, nodes with one of these ops, or nodes for
        whose op the function returns True.
    """
    return [node for node in chosen_nodes(fgraph, ops) if any(v.origin is None for v in node.outputs)]


def chosen_nodes(fgraph: FunctionGraph, ops: OpsToCheck) -> list[Apply]:
    """Return the nodes that :func:`without_origin` looks at."""
    if isinstance(ops, str):
        if ops == "last":
            return list(dict.fromkeys(v.owner for v in fgraph.outputs if v.owner is not None))
        if ops == "all":
            return fgraph.toposort()
        raise ValueError(format_error(f"{ops!r} names no nodes", hint="pass 'all', 'last', ops or classes of ops"))
    if callable(ops) and not isinstance(ops, (Op, type)):
        return [n for n in fgraph.toposort() if ops(n.op)]
    targets = [ops] if isinstance(ops, (Op, type)) else list(ops)
    return [
        n for n in fgraph.toposort() if any(isinstance(n.op, w) if isinstance(w, type) else n.op == w for w in targets)
    ]


class OriginGuard(Feature):
    """Looks at each node that comes into a graph for where it was made.

    Parameters
    ----------
    policy : {"log", "warn", "raise"}
        The reaction to a rule that names no origin: "log" and "warn" give the node an origin that names the rewrite.
    """

    def __init__(self, policy: OriginPolicy = "raise") -> None:
        self.policy = policy

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Check the node."""
        if all(v.origin is not None for v in node.outputs):
            return
        text = format_error(
            f"rewrite `{reason}` made {node.op} without saying where it comes from",
            context=[describe(v) for v in node.outputs],
            hint="make it inside `origin_from(node)`, or use copy_origin(old, new)",
        )
        if self.policy == "raise":
            raise RewriteError(text, rewriter=str(reason), node=node)
        _log.info(text)
        if self.policy == "warn":
            warn_user(text, RewriteWarning)
        origin = Origin(frames=(UserFrame(f"<rewrite {reason}>", 0, str(reason)),))
        node.origin = origin
        for variable in node.outputs:
            if variable.origin is None:
                variable.origin = origin


class AddOriginGuard(GraphRewriter):
    """Attaches an :class:`OriginGuard` for the rewriting that follows."""

    def __init__(self, policy: OriginPolicy = "raise", name: str = "origin_guard", *, info: RewriteInfo | None = None):
        super().__init__(name, info=info)
        self.policy: OriginPolicy = policy

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        if not any(isinstance(feature, OriginGuard) for feature in fgraph.features):
            fgraph.attach_feature(OriginGuard(self.policy))

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile:
        return RewriteProfile(self.name)
