"""Rewrites of choices whose outcome is known, or does not matter."""

from __future__ import annotations

from theano_graph import Apply, Constant, FunctionGraph, Variable
from theano_optimize import Phase

from ..control import IfElse, ifelse
from ._registry import rule

Found = list[Variable] | None


@rule(IfElse, key="cond_constant", reach=0)
def choice_by_a_constant(fgraph: FunctionGraph, node: Apply) -> Found:
    """A constant condition leaves one branch."""
    condition, *branches = node.inputs
    if not isinstance(condition, Constant):
        return None
    n = node.op.n_outs
    return _fitting(node, branches[:n] if condition.data else branches[n:])


@rule(IfElse, key="cond_remove_identical", reach=0)
def choice_between_equals(fgraph: FunctionGraph, node: Apply) -> Found:
    """What is the same in both branches needs no choice."""
    condition, *branches = node.inputs
    n = node.op.n_outs
    left = [k for k in range(n) if branches[k] is not branches[n + k]]
    if len(left) == n:
        return None
    chosen = (
        ifelse(condition, [branches[k] for k in left], [branches[n + k] for k in left], node.op.name) if left else []
    )
    found = dict(zip(left, chosen, strict=True))
    return _fitting(node, [found.get(k, branches[k]) for k in range(n)])


@rule(IfElse, key="cond_same_condition", phases=(Phase.CANONICALIZE,))
def choice_inside_a_choice(fgraph: FunctionGraph, node: Apply) -> Found:
    """A choice by the same condition, inside of a branch, is known there."""
    condition, *branches = node.inputs
    n = node.op.n_outs
    seen = [_seen_through(v, condition, k < n) for k, v in enumerate(branches)]
    if all(a is b for a, b in zip(seen, branches, strict=True)):
        return None
    return _fitting(node, ifelse(condition, seen[:n], seen[n:], node.op.name))


@rule(IfElse, key="cond_unused_outputs")
def choice_without_unused_outputs(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """What nobody uses is not computed in either branch."""
    condition, *branches = node.inputs
    n = node.op.n_outs
    used = [k for k, output in enumerate(node.outputs) if fgraph.has_clients(output)]
    if len(used) == n or not used:
        return None
    chosen = ifelse(condition, [branches[k] for k in used], [branches[n + k] for k in used], node.op.name)
    found = dict(zip(used, chosen, strict=True))
    return [found.get(k) for k in range(n)]


def _seen_through(variable: Variable, condition: Variable, value: bool) -> Variable:
    owner = variable.owner
    if owner is None or not isinstance(owner.op, IfElse) or owner.inputs[0] is not condition:
        return variable
    index = (variable.index or 0) + (1 if value else 1 + owner.op.n_outs)
    inner: Variable = owner.inputs[index]
    return inner


def _fitting(node: Apply, found: list[Variable]) -> Found:
    """Return replacements that have the types of the outputs, or none."""
    return found if all(o.type.is_super(v.type) for o, v in zip(node.outputs, found, strict=True)) else None
