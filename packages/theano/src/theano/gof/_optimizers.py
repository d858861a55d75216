"""Rewriters of whole graphs in the forms that programs for Theano 1.0 use."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, TextIO

from theano_graph import Apply, FunctionGraph, Op, ReplaceValidate, Variable, config
from theano_optimize import (
    AddOriginGuard,
    DestroyHandler,
    GraphRewriter,
    MergeRewriter,
    RewriteDetails,
    RewriteOptions,
    RewriteProfile,
    SequenceRewriter,
    copy_origin,
    profile_report,
    report_failure as report_to_log,
    without_origin,
)


class OptimizerProfile(tuple[Any, ...]):
    """The result of `optimize`: a tuple, with the profile it was made from as its attribute `profile`."""

    profile: RewriteProfile


class AlsoBelow(type):
    """Lets objects of the layers below count as instances of the class that stands for them here."""

    #: The class of the layer below.
    below: type | None = None

    def __instancecheck__(cls, instance: object) -> bool:
        below = vars(cls).get("below")
        return super().__instancecheck__(instance) or (below is not None and isinstance(instance, below))


class Optimizer(GraphRewriter, metaclass=AlsoBelow):
    """A rewriter of graphs: subclasses define `apply(fgraph)`, and `add_requirements(fgraph)` for features it needs.

    `optimize(fgraph)` adds the requirements and applies it.
    """

    __module__ = "theano.gof.opt"
    below: ClassVar[type | None] = GraphRewriter

    def optimize(self, fgraph: FunctionGraph, *args: Any, **kwargs: Any) -> Any:
        """Add the requirements, apply, and return the result of `apply`."""
        self.add_requirements(fgraph)
        return self.apply(fgraph, *args, **kwargs)

    def __call__(self, fgraph: FunctionGraph) -> Any:
        """Do the same as :meth:`optimize`."""
        return self.optimize(fgraph)

    @classmethod
    def print_profile(cls, stream: TextIO | None, prof: Any, level: int = 0) -> None:
        """Print the report on a run to `stream`; `prof` is a result of `optimize`, or a profile."""
        profile = getattr(prof, "profile", prof)
        if isinstance(profile, RewriteProfile):
            lines = profile_report(profile).split("\n")
            print("\n".join("    " * level + line for line in lines), file=sys.stdout if stream is None else stream)

    def __repr__(self) -> str:
        return object.__repr__(self)


class EngineOptimizer(Optimizer):
    """Base of the optimizers that stand for a rewriter of the layer below; `optimize` returns a tuple of numbers."""

    def apply(self, fgraph: FunctionGraph) -> Any:
        """Rewrite, and return the numbers of the run as a tuple."""
        profile = self.run_timed(fgraph, RewriteOptions(config.on_opt_error, details=RewriteDetails()))
        answer = OptimizerProfile(self.numbers(profile))
        answer.profile = profile
        return answer

    def numbers(self, profile: RewriteProfile) -> Sequence[Any]:
        """Return the result of `optimize`."""
        return (self, profile.changes, profile.nodes_before, profile.nodes_after, profile.seconds)


class FromFunctionOptimizer(Optimizer):
    """An optimizer made of a function of the graph.

    Parameters
    ----------
    fn : callable
        ``fn(fgraph)``.
    requirements : iterable of callables
        Each is called with the graph before.
    """

    __module__ = "theano.gof.opt"

    def __init__(
        self, fn: Callable[[FunctionGraph], Any], requirements: Iterable[Callable[[FunctionGraph], Any]] = ()
    ) -> None:
        super().__init__(getattr(fn, "__name__", None))
        self.fn = fn
        self.requirements = tuple(requirements)
        self.__doc__ = fn.__doc__

    def apply(self, fgraph: FunctionGraph, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self.fn(fgraph, *args, **kwargs)

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Call the requirements."""
        for requirement in self.requirements:
            requirement(fgraph)


def optimizer(fn: Callable[[FunctionGraph], Any]) -> FromFunctionOptimizer:
    """Make an optimizer of a function of the graph; a decorator."""
    return FromFunctionOptimizer(fn)


def attach_destroy_handler(fgraph: FunctionGraph) -> None:
    """Attach a destroy handler where there is none."""
    if not any(isinstance(feature, DestroyHandler) for feature in fgraph.features):
        fgraph.attach_feature(DestroyHandler())


def inplace_optimizer(fn: Callable[[FunctionGraph], Any]) -> FromFunctionOptimizer:
    """Make an optimizer that puts in-place ops in of a function of the graph; a decorator."""
    return FromFunctionOptimizer(fn, (attach_destroy_handler,))


class SeqOptimizer(EngineOptimizer):
    """Applies optimizers one after the other; a list of them.

    Parameters
    ----------
    *opts : Optimizer
        Or one list of them.
    failure_callback : callable, optional
        ``failure_callback(error, self, optimizer)`` is called when one fails, and the next one runs; without it the
        flag `on_opt_error` decides.
    """

    __module__ = "theano.gof.opt"
    below = SequenceRewriter

    def __init__(
        self,
        *opts: GraphRewriter | Iterable[GraphRewriter],
        failure_callback: Callable[[Exception, Any, Any], object] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        first = opts[0] if len(opts) == 1 else None
        if isinstance(first, Iterable) and not isinstance(first, GraphRewriter):
            opts = tuple(first)
        # The core checks that each is a graph rewriter.
        self._opts: list[GraphRewriter] = list(SequenceRewriter(opts).rewriters)  # type: ignore[arg-type]
        self.failure_callback = failure_callback

    @staticmethod
    def warn(exc: Exception, self: Any, optimizer: Any) -> None:
        """Handle the failure of an optimizer as the flag `on_opt_error` says."""
        report_failure(exc, optimizer)

    def run(self, fgraph: FunctionGraph, options: RewriteOptions) -> RewriteProfile:
        if self.failure_callback is None:
            return SequenceRewriter(self._opts, self.name).run(fgraph, options)
        profile = RewriteProfile(self.name)
        for index, opt in enumerate(self._opts):
            try:
                part = opt.run_timed(fgraph, options)
            except AssertionError:
                raise
            except Exception as error:  # noqa: BLE001  # the caller wants to deal with all of them
                self.failure_callback(error, self, opt)
                continue
            part.index = index
            profile.add_part(part)
        return profile

    def numbers(self, profile: RewriteProfile) -> Sequence[Any]:
        """Return the optimizer, the times of its parts, the times of checks and callbacks, sizes, and the parts."""
        times = [part.seconds for part in profile.parts]
        return (self, times, None, None, {}, profile.nodes_before, profile.nodes_after, profile.parts)

    def append(self, opt: GraphRewriter) -> None:
        """Add an optimizer at the end."""
        self._opts.append(opt)

    def insert(self, index: int, opt: GraphRewriter) -> None:
        """Add an optimizer before the one at `index`."""
        self._opts.insert(index, opt)

    def __iter__(self) -> Iterator[GraphRewriter]:
        return iter(self._opts)

    def __len__(self) -> int:
        return len(self._opts)

    def __getitem__(self, index: int) -> GraphRewriter:
        return self._opts[index]

    def summary_lines(self) -> list[str]:
        return SequenceRewriter(self._opts, self.name).summary_lines()


def report_failure(error: Exception, culprit: object, node: Apply | None = None) -> None:
    """Raise, warn of, or pass over the failure of an optimizer, as the flag `on_opt_error` says."""
    policy = config.on_opt_error
    if policy == "ignore":
        return
    report_to_log(culprit, node, error)
    if policy == "warn" and not isinstance(error, AssertionError):
        return
    if policy == "pdb":
        breakpoint()
    raise error


class MergeOptimizer(EngineOptimizer):
    """Merges equal computations.

    `optimize` returns the number of failures (always 0), the time in seconds, two times and a table of times that are
    only measured in profiles, the number of merged nodes and the number of merged constants.
    """

    __module__ = "theano.gof.opt"
    below = MergeRewriter

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach the state that the merge keeps between runs."""
        MergeRewriter().add_requirements(fgraph)

    def run(self, fgraph: FunctionGraph, options: RewriteOptions) -> RewriteProfile:
        return MergeRewriter().run(fgraph, options)

    def numbers(self, profile: RewriteProfile) -> Sequence[Any]:
        """Return failures, time, and numbers of merged nodes and constants."""
        nodes, constants = (profile.rules.get(kind, 0) for kind in ("merge_nodes", "merge_constants"))
        return (0, profile.seconds, None, None, {}, nodes, constants)


class PureThenInplaceOptimizer(Optimizer):
    """Applies one optimizer, attaches the destroy handler, and applies another one that puts in-place ops in.

    Parameters
    ----------
    pure, inplace : Optimizer
    """

    __module__ = "theano.gof.opt"

    def __init__(self, pure: GraphRewriter, inplace: GraphRewriter) -> None:
        super().__init__()
        self.pure = pure
        self.inplace = inplace

    def apply(self, fgraph: FunctionGraph) -> Any:
        """Apply both."""
        options = RewriteOptions(config.on_opt_error)
        profile = RewriteProfile(self.name)
        profile.add_part(self.pure.run_timed(fgraph, options))
        fgraph.attach_feature(ReplaceValidate())
        attach_destroy_handler(fgraph)
        profile.add_part(self.inplace.run_timed(fgraph, options))
        return profile


class CheckStackTraceOptimization(Optimizer):
    """Checks the origin of nodes that later optimizers make, as the flag `check_stack_trace` says."""

    __module__ = "theano.gof.opt"

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach the feature that looks, unless the flag is "off"."""
        if config.check_stack_trace != "off":
            AddOriginGuard(config.check_stack_trace).add_requirements(fgraph)

    def apply(self, fgraph: FunctionGraph) -> Any:
        """Do nothing more."""


def copy_stack_trace(from_var: Variable | Sequence[Variable], to_var: Any) -> Any:
    """Let one or more variables say that they were made where others were; return `to_var`."""
    copy_origin(from_var, to_var)
    return to_var


def check_stack_trace(
    f_or_fgraph: Any,
    ops_to_check: str | Op | type[Op] | Iterable[Op | type[Op]] | Callable[[Op], bool] = "last",
    bug_print: str = "raise",
) -> bool:
    """Tell whether the nodes of a compiled function or of a graph say where they come from.

    Parameters
    ----------
    f_or_fgraph : Function or FunctionGraph
    ops_to_check : "last", "all", ops and op classes, or callable
        The nodes that make outputs, all nodes, those with one of these ops, or those for whose op it returns True.
    bug_print : {"raise", "warn", "ignore"}
        Further reaction to a node without one.

    Raises
    ------
    ValueError
        If one does not and `bug_print` is "raise", or an argument is none of these.
    """
    fgraph = f_or_fgraph if isinstance(f_or_fgraph, FunctionGraph) else f_or_fgraph.maker.fgraph
    if bug_print not in ("raise", "warn", "ignore"):
        raise ValueError(f"bug_print is {bug_print!r}; pass 'raise', 'warn' or 'ignore'")
    missing: list[Apply] = without_origin(fgraph, ops_to_check)  # type: ignore[arg-type]  # refuses other texts
    if not missing:
        return True
    text = f"{len(missing)} nodes do not say where they come from, {missing[0]} for instance"
    if bug_print == "raise":
        raise ValueError(text)
    if bug_print == "warn":
        warnings.warn(text, stacklevel=2)
    return False
