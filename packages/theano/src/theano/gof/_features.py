"""Features of graphs and helpers of rewriting that programs for Theano 1.0 use."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from theano_graph import (
    Apply,
    Constant,
    Feature,
    FunctionGraph,
    Op,
    Variable,
    config,
    format_error,
    is_same_graph,
    nodes_constructed,
    toposort,
)
from theano_linker_c import SharedVariable, function, shared
from theano_optimize import Tracks, fast_inplace_check as _check

from ._local_optimizers import LocalOptGroup, LocalOptimizer, transform_alone
from ._optimizers import copy_stack_trace

# ---- Features of graphs and helpers of rewriting that programs for Theano 1.0 use

# ---- Features that programs for Theano 1.0 find in `theano.gof`, and that nothing here needs


class PreserveVariableAttributes(Feature):
    """Gives a replacement the name and the NanGuardMode mark of its original; graphs do that by themselves."""

    __module__ = "theano.gof.toolbox"

    def on_change_input(
        self, fgraph: FunctionGraph, node: Any, i: int, old: Variable, new: Variable, reason: object = None
    ) -> None:
        """Hand over the name, and the mark."""
        if old.name is not None and new.name is None:
            new.name = old.name
        if getattr(old.tag, "nan_guard_mode_check", False) and not getattr(new.tag, "nan_guard_mode_check", False):
            new.tag.nan_guard_mode_check = old.tag.nan_guard_mode_check


class PreserveNames(Feature):
    """Gives a replacement the name of its original; graphs do that by themselves."""

    __module__ = "theano.gof.toolbox"

    def on_change_input(
        self, fgraph: FunctionGraph, node: Any, i: int, old: Variable, new: Variable, reason: object = None
    ) -> None:
        """Hand over the name."""
        if old.name is not None and new.name is None:
            new.name = old.name


class ChangeTracker(Feature):
    """Remembers whether a graph has changed, and counts the nodes that came into it.

    The graph has it as its attribute `change_tracker`.

    Attributes
    ----------
    changed : bool
        Whether anything has changed since the last :meth:`reset`.
    nb_imported : int
    """

    __module__ = "theano.gof.opt"

    def __init__(self) -> None:
        self.changed = False
        self.nb_imported = 0

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Count a node."""
        self.nb_imported += 1
        self.changed = True

    def on_change_input(
        self, fgraph: FunctionGraph, node: Any, i: int, old: Variable, new: Variable, reason: object = None
    ) -> None:
        """Remember a change."""
        self.changed = True

    def reset(self) -> None:
        """Forget that there were changes."""
        self.changed = False

    def on_attach(self, fgraph: Any) -> None:
        """Let the graph know its tracker."""
        fgraph.change_tracker = self

    def on_detach(self, fgraph: Any) -> None:
        """Take the tracker from the graph."""
        del fgraph.change_tracker


class Updater(Feature):
    """Calls functions at changes of a graph.

    Parameters
    ----------
    importer, pruner : callable or None
        Called with a node that came in, or left.
    chin : callable or None
        Called with a node, the number of its input that changed, the old and new variable, and the reason.
    name : str, optional
    """

    __module__ = "theano.gof.opt"

    def __init__(
        self,
        importer: Callable[[Apply], Any] | None,
        pruner: Callable[[Apply], Any] | None,
        chin: Callable[..., Any] | None,
        name: str | None = None,
    ) -> None:
        self.importer = importer
        self.pruner = pruner
        self.chin = chin
        self.name = name

    def __str__(self) -> str:
        return f"Updater{{{self.name}}}"

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Tell of a node that came in."""
        if self.importer is not None:
            self.importer(node)

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Tell of a node that left."""
        if self.pruner is not None:
            self.pruner(node)

    def on_change_input(
        self, fgraph: FunctionGraph, node: Any, i: int, old: Variable, new: Variable, reason: object = None
    ) -> None:
        """Tell of an input that changed."""
        if self.chin is not None:
            self.chin(node, i, old, new, reason)

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Forget the functions."""
        self.importer = self.pruner = self.chin = None


# ---- Helpers for rewrites that programs for Theano 1.0 find in `theano.gof.opt`, and that nothing here needs


def merge_dict(d1: Mapping[Any, Any], d2: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return both dictionaries in one, with sums of the values under equal keys.

    Examples
    --------
    >>> merge_dict({"a": 1, "b": 2}, {"b": 3})
    {'a': 1, 'b': 5}
    """
    merged = dict(d1)
    for key, value in d2.items():
        merged[key] = merged[key] + value if key in merged else value
    return merged


def is_same_graph_with_merge(var1: Variable, var2: Variable, givens: Any = None) -> bool:
    """Tell whether two variables are computed in the same way; see :func:`theano.gof.graph.is_same_graph`."""
    return is_same_graph(var1, var2, givens)


@contextmanager
def inherit_stack_trace(from_var: Variable | Sequence[Variable]) -> Iterator[None]:
    """Let all variables that are made in a block say that they were made where others were."""
    with nodes_constructed() as outputs_copy:
        yield
    copy_stack_trace(from_var, list(outputs_copy))


def check_chain(r: Variable | Apply, *chain: Any) -> bool:
    """Tell whether a variable is made by the first of some ops from a result of the second, and so on.

    Parameters
    ----------
    r : Variable or Apply
    *chain : Op, class of ops, callable or None
        A function is asked of the op; None lets any op, or nothing, stand there.
        Each may be a pair of one of these and the number of the input from which the chain goes on.
    """
    variable = r.outputs[0] if isinstance(r, Apply) else r
    for link in chain:
        expected, link_index = link if isinstance(link, tuple) else (link, 0)
        node = variable.owner
        if expected is None:
            return node is None
        if node is None or not _fits(expected, node.op):
            return False
        variable = node.inputs[link_index]
    return True


def _fits(expected: Any, op: Op) -> bool:
    if isinstance(expected, type):
        return isinstance(op, expected)
    return bool(expected(op)) if callable(expected) and not isinstance(expected, Op) else bool(op == expected)


def _free_nodes(variables: Iterable[Any]) -> Iterator[Apply]:
    """Yield the nodes that variables are computed from and that are in no graph yet, the latest first."""
    waiting = [v.owner for v in variables if getattr(v, "owner", None) is not None]
    seen: set[Apply] = set()
    while waiting:
        node = waiting.pop()
        if node in seen or node.fgraph is not None:
            continue
        seen.add(node)
        yield node
        waiting += [v.owner for v in node.inputs if v.owner is not None]


def pre_constant_merge(vars: Any) -> Any:
    """Let equal constants that variables are computed from be one constant, before the nodes come into a graph.

    Parameters
    ----------
    vars : Variable or sequence
        Things in it that are no variables are passed over.

    Returns
    -------
    list
        The variables.
    """
    variables = [vars] if isinstance(vars, Variable) else list(vars)
    constants: dict[Any, Variable] = {}

    def merged(variable: Any) -> Any:
        return constants.setdefault(variable.signature(), variable) if isinstance(variable, Constant) else variable

    for node in _free_nodes(variables):
        node.inputs[:] = [merged(v) for v in node.inputs]
    return [merged(v) for v in variables]


def pre_greedy_local_optimizer(list_optimizations: Sequence[Any], out: Variable) -> Variable:
    """Return `out` as local optimizers make it, which are applied once to each node that is in no graph yet.

    Parameters
    ----------
    list_optimizations : sequence of LocalOptimizer
    out : Variable
    """
    if out.owner is None:
        return out
    replacements: dict[Variable, Any] = {}
    inside = {v for node in toposort((), [out]) if node.fgraph is not None for v in node.outputs}
    for node in toposort(inside, [out]):
        node.inputs[:] = [replacements.get(v, v) for v in node.inputs]
        results: Sequence[Any] = node.outputs
        current = node
        for opt in list_optimizations:
            answer = transform_alone(opt, current)
            if answer:
                results = list(answer)
                if results[0].owner is None:
                    break
                current = results[0].owner
        replacements.update(zip(node.outputs, results, strict=True))
    result: Variable = replacements.get(out, out)
    return result


class LocalMetaOptimizerSkipAssertionError(AssertionError):
    """Says while a function is compiled that :class:`LocalMetaOptimizer` should pass over it without a word."""

    __module__ = "theano.gof.opt"


class LocalMetaOptimizer(LocalOptimizer):
    """Tries several local optimizers on a node, and takes the result that is computed fastest.

    Subclasses define `provide_inputs(node, inputs)`, which gives shared variables with values for those inputs of a
    node that have no test value.
    """

    __module__ = "theano.gof.opt"

    def __init__(self) -> None:
        super().__init__()
        self.verbose = config.metaopt.verbose
        self.track_dict: defaultdict[Any, list[Any]] = defaultdict(list)
        self.tag_dict: defaultdict[str, list[Any]] = defaultdict(list)
        self._tracks: list[Any] = []
        self.optimizers: list[Any] = []

    def register(self, optimizer: Any, tag_list: Iterable[str]) -> None:
        """Add an optimizer, which has to say by `tracks` for which classes of ops it is."""
        self.optimizers.append(optimizer)
        for tracked in optimizer.tracks():
            self.track_dict[tracked].append(optimizer)
            self._tracks.append(tracked)
        for tag in tag_list:
            self.tag_dict[tag].append(optimizer)

    def tracks(self) -> Tracks:
        """Return the classes of ops of interest."""
        return self._tracks

    def provide_inputs(self, node: Apply, inputs: set[Variable]) -> dict[Variable, Variable]:
        """Return a shared variable with a value of the right shape for each of `inputs`; by default for none."""
        return {}

    def get_opts(self, node: Apply) -> Sequence[Any]:
        """Return the optimizers to try."""
        return self.track_dict[type(node.op)]

    def time_call(self, fn: Callable[[], Any]) -> float:
        """Return how many seconds a call takes."""
        start = time.perf_counter()
        fn()
        return time.perf_counter() - start

    def transform(self, node: Apply) -> Any:  # type: ignore[override]  # the documented form has no graph
        """Return the outputs that are computed fastest; None where none could be computed."""
        if not isinstance(node.op, tuple(self._tracks)):
            return None
        givens: dict[Variable, Variable] = {
            v: shared(v.type.filter(v.tag.test_value), v.name, borrow=True)
            for v in node.inputs
            if not isinstance(v, (SharedVariable, Constant)) and hasattr(v.tag, "test_value")
        }
        missing = {v for v in node.inputs if v not in givens and not isinstance(v, (SharedVariable, Constant))}
        if missing:
            givens.update(self.provide_inputs(node, missing))
        if missing - givens.keys():
            self._say(1, f"{type(self).__name__} cannot meta-optimize {node}, some input shapes are unknown")
            return None
        timings = [timing for opt in self.get_opts(node) if (timing := self._timed(opt, node, givens)) is not None]
        if not timings:
            return None
        _, outputs, opt = min(timings, key=lambda timing: timing[0])
        self._say(2, f"= {opt}")
        return outputs

    def _timed(self, opt: Any, node: Apply, givens: Mapping[Variable, Variable]) -> tuple[float, Any, Any] | None:
        outputs = opt.transform(node)
        if not outputs:
            self._say(1, f"* {opt}: not applicable")
            return None
        try:
            compiled = function([], outputs, givens=dict(givens), on_unused_input="ignore")
            seconds = min(self.time_call(compiled) for _ in range(2))
        except LocalMetaOptimizerSkipAssertionError:
            return None
        except Exception as error:  # noqa: BLE001  # an optimizer that fails is not chosen
            self._say(1, f"* {opt}: exception {error}")
            return None
        self._say(2, f"* {opt}: {seconds:.5g} sec")
        return seconds, outputs, opt

    def _say(self, level: int, text: str) -> None:
        if self.verbose >= level:
            print(format_error(text))


class GraphToGPULocalOptGroup(LocalOptGroup):
    """Local optimizers of which the first with an answer is used; once for moving nodes to a GPU."""

    __module__ = "theano.gof.opt"


# ---- Which nodes may overwrite their inputs


def fast_inplace_check(inputs: Sequence[Variable]) -> list[Variable]:
    """Return those inputs of a node that another op in its place could overwrite, as far as a quick look tells.

    Parameters
    ----------
    inputs : sequence of Variable
        ``node.inputs`` of a node in a graph with a destroy handler.
    """
    for variable in inputs:
        for client, _ in variable.clients:
            if client != "output" and client.fgraph is not None:
                return _check(client.fgraph, inputs)
    return _check(inputs)
