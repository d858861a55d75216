"""Checks of rewrites: that a rule fires, and that the values stay the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from theano_graph import FunctionGraph, Variable
from theano_optimize import GraphRewriter, NodeRewriter, RewriteProfile, WalkRewriter

from .graph import interpret

Same = Callable[[Any, Any], bool]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A graph before and after rewriting, and what happened.

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
    rewriter: NodeRewriter | GraphRewriter, inputs: Sequence[Variable], outputs: Sequence[Variable]
) -> Rewritten:
    """Apply a rewriter to a copy of a graph, once to each node where it is a rule for nodes."""
    before = FunctionGraph(list(inputs), list(outputs))
    after = before.clone()
    whole = WalkRewriter(rewriter) if isinstance(rewriter, NodeRewriter) else rewriter
    profile = whole.rewrite(after)
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
) -> Rewritten:
    """Check that a rewriter changes a graph (or leaves it) and keeps its values.

    Parameters
    ----------
    rewriter : NodeRewriter or GraphRewriter
    inputs, outputs : sequence of Variable
    values : sequence of sequences
        Each is a value for each input; both graphs are run on it by an interpreter.
    fires : bool
        Whether the rewriter is expected to change something.
    same : callable, optional
        Whether two values agree; by default ``type.values_eq_approx`` of the output.

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
        wanted = interpret(result.before.outputs, dict(zip(result.before.inputs, row, strict=True)))
        got = interpret(result.after.outputs, dict(zip(result.after.inputs, row, strict=True)))
        for output, a, b in zip(result.before.outputs, wanted, got, strict=True):
            agree = output.type.values_eq_approx(a, b) if same is None else same(a, b)
            if not agree:
                raise AssertionError(
                    f"{rewriter.name} changed a value\n  before: {result.before}\n  after: {result.after}\n"
                    f"  inputs: {list(row)!r}\n  value before: {a!r}\n  value after: {b!r}"
                )
    return result
