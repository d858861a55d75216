"""Navigators, which apply local optimizers to the nodes of a graph, in the forms that programs for Theano 1.0 use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

from theano_graph import Apply, FunctionGraph, InconsistencyError, config
from theano_optimize import (
    EquilibriumRewriter,
    GraphRewriter,
    NodeRewriter,
    RewriteDetails,
    RewriteError,
    RewriteOptions,
    RewriteProfile,
    WalkRewriter,
    rewrite_node,
)

from ._local_optimizers import LocalOptGroup, LocalOptimizer, graph_of
from ._optimizers import EngineOptimizer, report_failure

#: ``failure_callback(error, navigator, replacements, local_optimizer, node)``.
FailureCallback = Callable[[Any, Any, list[Any], Any, Any], object]


class NavigatorOptimizer(EngineOptimizer):
    """Applies a local optimizer to nodes; subclasses say in `apply(fgraph)` which nodes, with :meth:`process_node`.

    Parameters
    ----------
    local_opt : LocalOptimizer
    ignore_newtrees : bool or "auto"
        Whether nodes that the local optimizer makes are left alone in this run; "auto": unless it says that it is not
        ``reentrant``.
    failure_callback : callable, optional
        ``failure_callback(error, self, replacements, local_opt, node)`` is called where it fails, and the run goes on.
    """

    __module__ = "theano.gof.opt"

    def __init__(
        self,
        local_opt: NodeRewriter,
        ignore_newtrees: bool | Literal["auto"] = "auto",
        failure_callback: FailureCallback | None = None,
    ) -> None:
        super().__init__()
        self.local_opt = local_opt
        self.ignore_newtrees = (
            not getattr(local_opt, "reentrant", True) if ignore_newtrees == "auto" else bool(ignore_newtrees)
        )
        self.failure_callback = failure_callback

    @staticmethod
    def warn(exc: Exception, nav: Any, repl_pairs: list[Any], local_opt: Any, node: Any) -> None:
        """Handle a failure as the flag `on_opt_error` says."""
        report_failure(exc, local_opt, node)

    @staticmethod
    def warn_inplace(exc: Exception, nav: Any, repl_pairs: list[Any], local_opt: Any, node: Any) -> None:
        """Pass over a replacement that would make the graph inconsistent; else handle it by the flag."""
        if not isinstance(exc, InconsistencyError):
            report_failure(exc, local_opt, node)

    @staticmethod
    def warn_ignore(exc: Exception, nav: Any, repl_pairs: list[Any], local_opt: Any, node: Any) -> None:
        """Pass over every failure."""

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach the features that the local optimizer needs."""
        self.local_opt.add_requirements(fgraph)

    def process_node(self, fgraph: FunctionGraph, node: Apply, lopt: NodeRewriter | None = None) -> bool:
        """Apply the local optimizer (or `lopt`) to one node; tell whether the graph has changed."""
        options = self.own_options(RewriteOptions(config.on_opt_error))
        return rewrite_node(lopt or self.local_opt, fgraph, node, options)

    def own_options(self, options: RewriteOptions) -> RewriteOptions:
        """Return `options` with failures reported to the callback, if there is one."""
        callback = self.failure_callback
        if callback is None:
            return options

        def failed(error: RewriteError) -> bool:
            callback(error.__cause__ or error, self, [], error.rule or self.local_opt, error.node)
            return True

        return replace(options, on_failure=failed)

    def summary_lines(self) -> list[str]:
        return [f"{type(self).__name__} {self.name}", *(f"  {line}" for line in self.local_opt.summary_lines())]


class TopoOptimizer(NavigatorOptimizer):
    """Applies a local optimizer to each node, in topological order or against it.

    `optimize` returns the optimizer, the number of changes, the numbers of nodes before and after, and the times of
    sorting, of the loop and of callbacks, and the local optimizer.

    Parameters
    ----------
    local_opt : LocalOptimizer
    order : {"in_to_out", "out_to_in"}
    ignore_newtrees, failure_callback
        See :class:`NavigatorOptimizer`.
    """

    __module__ = "theano.gof.opt"
    below = WalkRewriter

    def __init__(
        self,
        local_opt: NodeRewriter,
        order: Literal["in_to_out", "out_to_in"] = "in_to_out",
        ignore_newtrees: bool | Literal["auto"] = False,
        failure_callback: FailureCallback | None = None,
    ) -> None:
        super().__init__(local_opt, ignore_newtrees, failure_callback)
        self.order: Literal["in_to_out", "out_to_in"] = order
        self.name = local_opt.name
        self._walk()

    def _walk(self) -> WalkRewriter:
        return WalkRewriter(self.local_opt, self.order, self.name, visit_new=not self.ignore_newtrees)

    def run(self, fgraph: FunctionGraph, options: RewriteOptions) -> RewriteProfile:
        return self._walk().run(fgraph, self.own_options(options))

    def numbers(self, profile: RewriteProfile) -> Sequence[Any]:
        """Return changes, sizes and times."""
        details = profile.details or RewriteDetails()
        loop = profile.seconds - details.toposort_seconds
        sizes = (profile.nodes_before, profile.nodes_after)
        times = (details.toposort_seconds, loop, details.callback_seconds)
        return (self, profile.changes, *sizes, *times, self.local_opt)


class OpKeyOptimizer(TopoOptimizer):
    """Applies a local optimizer to the nodes with the ops that its method `op_key()` names.

    Parameters
    ----------
    local_opt : LocalOptimizer
        With a method `op_key` that returns an op or a list of ops.
    ignore_newtrees, failure_callback
        See :class:`NavigatorOptimizer`.
    """

    __module__ = "theano.gof.opt"

    def __init__(
        self,
        local_opt: NodeRewriter,
        ignore_newtrees: bool | Literal["auto"] = False,
        failure_callback: FailureCallback | None = None,
    ) -> None:
        if not hasattr(local_opt, "op_key"):
            raise TypeError(f"{local_opt} has no method `op_key`, which says the ops that OpKeyOptimizer looks for")
        keys = local_opt.op_key()
        self._keys = tuple(keys) if isinstance(keys, (list, tuple)) else (keys,)
        super().__init__(local_opt, "in_to_out", ignore_newtrees, failure_callback)

    def _walk(self) -> WalkRewriter:
        return WalkRewriter(
            _AtOps(self.local_opt, self._keys), self.order, self.name, visit_new=not self.ignore_newtrees
        )


class _AtOps(LocalOptimizer):
    """A rule that is asked at nodes with some ops only."""

    def __init__(self, rewriter: NodeRewriter, keys: Sequence[Any]) -> None:
        super().__init__(info=rewriter.info, reach=rewriter.reach)
        self._rewriter = rewriter
        self._keys = keys

    def tracks(self) -> Any:
        return self._keys

    def attempt(self, fgraph: FunctionGraph, node: Apply) -> Any:
        return self._rewriter.attempt(fgraph, node)

    def transform(self, node: Apply) -> Any:  # type: ignore[override]  # the documented form has no graph
        with graph_of(node) as fgraph:
            return self._rewriter.attempt(fgraph, node)[1]


def topogroup_optimizer(
    order: Literal["in_to_out", "out_to_in"], *local_opts: NodeRewriter, name: str | None = None, **kwargs: Any
) -> TopoOptimizer:
    """Return a :class:`TopoOptimizer` of one local optimizer or of a group of them.

    Parameters
    ----------
    order : {"in_to_out", "out_to_in"}
    *local_opts : LocalOptimizer
        The first that changes a node wins.
    name : str, optional
    **kwargs
        As for :class:`TopoOptimizer`.
    """
    local_opt = local_opts[0] if len(local_opts) == 1 else LocalOptGroup(*local_opts)
    kwargs.setdefault("failure_callback", TopoOptimizer.warn_inplace)
    optimizer = TopoOptimizer(local_opt, order=order, **kwargs)
    optimizer.name = optimizer.__name__ = name or local_opt.name  # type: ignore[attr-defined]  # programs ask for both
    return optimizer


def in2out(*local_opts: NodeRewriter, name: str | None = None, **kwargs: Any) -> TopoOptimizer:
    """Return an optimizer that applies local optimizers from the inputs to the outputs."""
    return topogroup_optimizer("in_to_out", *local_opts, name=name, **kwargs)


def out2in(*local_opts: NodeRewriter, name: str | None = None, **kwargs: Any) -> TopoOptimizer:
    """Return an optimizer that applies local optimizers from the outputs to the inputs."""
    return topogroup_optimizer("out_to_in", *local_opts, name=name, **kwargs)


class EquilibriumOptimizer(NavigatorOptimizer):
    """Applies local and global optimizers until none of them changes the graph.

    Parameters
    ----------
    optimizers : iterable of LocalOptimizer and Optimizer
        Global ones run when no local one applies.
    failure_callback : callable, optional
        See :class:`NavigatorOptimizer`.
    ignore_newtrees, tracks_on_change_inputs : bool
        When new nodes, and nodes with new inputs, are looked at: in this pass or the next one. They are looked at in
        any case, so that the result is the same.
    max_use_ratio : float, optional
        How many times one optimizer may be applied for each node of the graph at the start.
    final_optimizers, cleanup_optimizers : iterable of Optimizer, optional
        Clean-up runs when no optimizer applies any more; final ones run when the clean-up has nothing to do either.
    """

    __module__ = "theano.gof.opt"
    below = EquilibriumRewriter

    def __init__(
        self,
        optimizers: Iterable[NodeRewriter | GraphRewriter],
        failure_callback: FailureCallback | None = None,
        ignore_newtrees: bool = True,
        tracks_on_change_inputs: bool = False,
        max_use_ratio: float | None = None,
        final_optimizers: Iterable[GraphRewriter] | None = None,
        cleanup_optimizers: Iterable[GraphRewriter] | None = None,
        name: str | None = None,
    ) -> None:
        opts = list(optimizers)
        local = [opt for opt in opts if not isinstance(opt, GraphRewriter)]
        super().__init__(LocalOptGroup(*local), ignore_newtrees, failure_callback)
        if name is not None:
            self.name = name
        self.tracks_on_change_inputs = tracks_on_change_inputs
        self.global_optimizers = [opt for opt in opts if isinstance(opt, GraphRewriter)]
        self.engine = EquilibriumRewriter(
            local,
            self.name,
            cleanup=[*self.global_optimizers, *(cleanup_optimizers or ())],
            final=final_optimizers or (),
            max_use_ratio=16.0 if max_use_ratio is None else max_use_ratio,
        )

    @property
    def max_use_ratio(self) -> float:
        """How many times one optimizer may be applied for each node of the graph at the start."""
        return self.engine.max_use_ratio

    def get_local_optimizers(self) -> tuple[NodeRewriter, ...]:
        """Return the local optimizers."""
        return self.engine.node_rewriters

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach the features that the optimizers need."""
        self.engine.add_requirements(fgraph)

    def run(self, fgraph: FunctionGraph, options: RewriteOptions) -> RewriteProfile:
        return self.engine.run(fgraph, self.own_options(options))

    def numbers(self, profile: RewriteProfile) -> Sequence[Any]:
        """Return the times of the passes, the rules applied in each, sizes, times, and nodes created."""
        details = profile.details or RewriteDetails()
        largest = max(details.most_nodes, profile.nodes_before, profile.nodes_after)
        return (
            self,
            [entry.seconds for entry in details.rounds],
            [entry.rules for entry in details.rounds],
            (profile.nodes_before, profile.nodes_after, largest),
            sum(entry.clean_seconds for entry in details.rounds),
            details.toposort_seconds,
            details.seconds,
            details.created,
        )

    def summary_lines(self) -> list[str]:
        return self.engine.summary_lines()
