"""Checks of rewrites, for their authors: that a rule fires, that values stay, that rules commute.

They need the graph and the rewriting layer only. Values are computed by an interpreter over ``perform``, or by an
evaluator that is given, such as a compiled function.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from theano_graph import FunctionGraph, Variable, equal_computations
from theano_optimize import (
    EquilibriumRewriter,
    GraphRewriter,
    MergeRewriter,
    NodeRewriter,
    RewriteCycleError,
    RewriteEvent,
    RewriteProfile,
    RewriteTrace,
    WalkRewriter,
)

from ._seeds import fetch_seed
from .graph import interpret

#: Whether two values agree.
Same: TypeAlias = Callable[[Any, Any], bool]
#: ``evaluate(fgraph, values)``: the values of the outputs for a value of each input.
Evaluate: TypeAlias = Callable[[FunctionGraph, Sequence[Any]], Sequence[Any]]
#: ``sample(variable, rng)``: a random value for an input.
Sample: TypeAlias = Callable[[Variable, random.Random], Any]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A graph before and after rewriting, and its trace.

    Attributes
    ----------
    before, after : FunctionGraph
    profile : RewriteProfile
    """

    before: FunctionGraph
    after: FunctionGraph
    profile: RewriteProfile

    def ops(self) -> list[str]:
        """Return the names of the ops after rewriting, in order."""
        return [str(node.op) for node in self.after.toposort()]


def apply_rewrite(
    rewriter: NodeRewriter | GraphRewriter,
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    trace: RewriteTrace | None = None,
) -> Rewritten:
    """Apply a rewriter to a copy of a graph, once to each node where it is a rule for nodes.

    Parameters
    ----------
    rewriter : NodeRewriter or GraphRewriter
    inputs, outputs : sequence of Variable
    trace : RewriteTrace, optional
        Records the rules that fire.
    """
    before = FunctionGraph(list(inputs), list(outputs))
    after = before.clone()
    full = WalkRewriter(rewriter) if isinstance(rewriter, NodeRewriter) else rewriter
    profile = full.rewrite(after, trace=trace)
    after.check_integrity()
    return Rewritten(before, after, profile)


def check_rewrite(
    rewriter: NodeRewriter | GraphRewriter,
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    values: Sequence[Sequence[Any]] = (),
    *,
    fires: bool = True,
    same: Same | None = None,
    evaluate: Evaluate | None = None,
) -> Rewritten:
    """Check that a rewriter changes a graph (or leaves it) and keeps its values.

    Parameters
    ----------
    rewriter : NodeRewriter or GraphRewriter
    inputs, outputs : sequence of Variable
    values : sequence of sequences
        Each is a value for each input; both graphs are run on it.
    fires : bool
        Whether the rewriter is expected to change something.
    same : callable, optional
        Whether two values agree; by default ``type.values_eq_approx`` of the output.
    evaluate : callable, optional
        ``evaluate(fgraph, values)`` computes the outputs of a graph; by default an interpreter does.

    Raises
    ------
    AssertionError
        If one of the expectations fails. The message shows both graphs.
    """
    result = apply_rewrite(rewriter, inputs, outputs)
    if (result.profile.changes > 0) != fires:
        verb = "did not fire on" if fires else f"fired {result.profile.changes} times on"
        raise AssertionError(f"{rewriter.name} {verb} {result.before}\n  which became {result.after}")
    for row in values:
        _compare(rewriter.name, result, row, same, evaluate or run_by_interpreter)
    return result


def check_values(
    rewriter: NodeRewriter | GraphRewriter,
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    sample: Sample,
    *,
    trials: int = 20,
    seed: int | None = None,
    same: Same | None = None,
    evaluate: Evaluate | None = None,
) -> Rewritten:
    """Check that values before and after a rewriter are equal on random inputs.

    Parameters
    ----------
    rewriter : NodeRewriter or GraphRewriter
        A rule, or a whole pipeline.
    inputs, outputs : sequence of Variable
    sample : callable
        ``sample(variable, rng)`` draws a value for an input with a :class:`random.Random`.
    trials : int
        How many times inputs are drawn.
    seed : int, optional
        By default that of :func:`fetch_seed`; the message of a failure tells it.
    same, evaluate
        See :func:`check_rewrite`.

    Raises
    ------
    AssertionError
        If the rewriter does not fire, or a value differs. The message shows both graphs and the inputs.
    """
    seed = fetch_seed(seed)
    rng = random.Random(seed)
    result = check_rewrite(rewriter, inputs, outputs)
    for _ in range(trials):
        row = [sample(variable, rng) for variable in result.before.inputs]
        _compare(f"{rewriter.name} (seed {seed})", result, row, same, evaluate or run_by_interpreter)
    return result


def run_by_interpreter(fgraph: FunctionGraph, values: Sequence[Any]) -> list[Any]:
    """Compute the outputs of a graph by calling ``perform`` of each node."""
    return interpret(fgraph.outputs, dict(zip(fgraph.inputs, values, strict=True)))


def _compare(name: str, result: Rewritten, row: Sequence[Any], same: Same | None, evaluate: Evaluate) -> None:
    requested, got = evaluate(result.before, row), evaluate(result.after, row)
    for output, a, b in zip(result.before.outputs, requested, got, strict=True):
        agree = output.type.values_eq_approx(a, b) if same is None else same(a, b)
        if not agree:
            raise AssertionError(
                f"{name} changed a value\n  before: {result.before}\n  after: {result.after}\n"
                f"  inputs: {list(row)!r}\n  value before: {a!r}\n  value after: {b!r}"
            )


def rules_of(rewriter: NodeRewriter | GraphRewriter) -> Iterator[NodeRewriter]:
    """Yield the rules for nodes that a rewriter consists of, those of groups and parts included."""
    stack: list[Any] = [rewriter]
    while stack:
        current = stack.pop()
        parts = [
            part for name in ("rewriters", "node_rewriters", "cleanup", "final") for part in getattr(current, name, ())
        ]
        if isinstance(current, NodeRewriter) and not parts:
            yield current
        stack.extend(reversed(parts))


def check_fires(
    rule: NodeRewriter | str, pipeline: GraphRewriter, inputs: Sequence[Variable], outputs: Sequence[Variable]
) -> list[RewriteEvent]:
    """Check that a rule fires when a full pipeline rewrites an expression.

    Parameters
    ----------
    rule : NodeRewriter or str
        The rule or its name.
    pipeline : GraphRewriter
        All the rewriting that an expression goes through: a query of a database, say.
    inputs, outputs : sequence of Variable

    Returns
    -------
    list of RewriteEvent
        Where it fired.

    Raises
    ------
    AssertionError
        If it does not fire. The message says whether the rule is in the pipeline, whether it was asked, what fired
        instead, and shows both graphs.
    """
    name = rule if isinstance(rule, str) else rule.name
    trace = RewriteTrace()
    result = apply_rewrite(pipeline, inputs, outputs, trace)
    events = [event for event in trace.events if event.rewriter == name]
    if events:
        return events
    if trace.calls[name]:
        why = f"it was asked {trace.calls[name]} times and never answered"
    elif any(known.name == name for known in rules_of(pipeline)):
        why = "it is part of the pipeline, but no node with an op that it tracks was left when its turn came"
    else:
        why = "it is not part of the pipeline: register it, and query with one of its tags"
    fired = ", ".join(f"{count} x {other}" for other, count in trace.counts().items()) or "nothing"
    raise AssertionError(
        f"{name} did not fire in {pipeline.name}: {why}\n  fired: {fired}\n  before: {result.before}\n"
        f"  after: {result.after}"
    )


@dataclass(frozen=True, slots=True)
class Shuffled:
    """The results of rules on an expression in one order.

    Attributes
    ----------
    order : tuple of str
        Names of the rules, in the order in which they were asked.
    after : FunctionGraph
    """

    order: tuple[str, ...]
    after: FunctionGraph


def shuffled_results(
    rules: EquilibriumRewriter | Iterable[NodeRewriter],
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    *,
    shuffles: int = 10,
    seed: int | None = None,
) -> list[Shuffled]:
    """Apply the rules of a phase in their own order and in random ones, each to a copy of an expression.

    Parameters
    ----------
    rules : EquilibriumRewriter or iterable of NodeRewriter
    inputs, outputs : sequence of Variable
    shuffles : int
        The number of random orders.
    seed : int, optional
        By default that of :func:`fetch_seed`.
    """
    cleanup: tuple[GraphRewriter, ...] = ()
    if isinstance(rules, EquilibriumRewriter):
        cleanup = (*rules.cleanup, *rules.final)
        rules = rules.node_rewriters
    order = list(rules)
    rng = random.Random(fetch_seed(seed))
    results = []
    for turn in range(shuffles + 1):
        if turn:
            rng.shuffle(order)
        phase = EquilibriumRewriter(order, "shuffled", cleanup=(*cleanup, MergeRewriter()))
        results.append(Shuffled(tuple(r.name for r in order), apply_rewrite(phase, inputs, outputs).after))
    return results


def check_commute(
    rules: EquilibriumRewriter | Iterable[NodeRewriter],
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    *,
    shuffles: int = 10,
    seed: int | None = None,
) -> FunctionGraph:
    """Check that the rules of a phase give the same expression in any order.

    Parameters
    ----------
    rules, inputs, outputs, shuffles, seed
        See :func:`shuffled_results`.

    Returns
    -------
    FunctionGraph
        The expression that all orders lead to.

    Raises
    ------
    AssertionError
        If two orders lead to different expressions, or rules do not end in one of them. The message shows the orders.
    """
    rules = rules if isinstance(rules, EquilibriumRewriter) else tuple(rules)
    try:
        first, *others = shuffled_results(rules, inputs, outputs, shuffles=shuffles, seed=seed)
    except RewriteCycleError as error:
        raise AssertionError(f"the rules do not come to an end in every order: {error}") from error
    for other in others:
        if not equal_computations(first.after.outputs, other.after.outputs, first.after.inputs, other.after.inputs):
            raise AssertionError(
                f"the order of rules matters\n  {' , '.join(first.order)}\n    gives {first.after}\n"
                f"  {' , '.join(other.order)}\n    gives {other.after}"
            )
    return first.after
