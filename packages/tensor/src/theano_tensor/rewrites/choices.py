"""Rewrites of choices whose outcome is known, or does not matter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Apply, Constant, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_optimize import Phase

from .._core._ops import Assert
from .._core._type import Tensor
from ..control import IfElse, ifelse
from ..creation import Alloc
from ..elemwise import DimShuffle, Elemwise
from ..indexing import IncSubtensor, Subtensor
from ..linear import BatchedDot, Dot
from ..reduce import Reduce
from ..shape import Reshape
from ..sorting import TopK
from ._language import can_replace, lift, maker, number, operands
from ._registry import rule

Found = list[Variable] | None


@rule(IfElse, key="cond_constant", reach=0)
def choice_by_a_constant(fgraph: FunctionGraph, node: Apply[IfElse]) -> Found:
    """A constant condition leaves one branch."""
    condition, *branches = node.inputs
    if not isinstance(condition, Constant):
        return None
    n = node.op.n_outs
    return _fitting(node, branches[:n] if condition.data else branches[n:])


@rule(IfElse, key="cond_remove_identical", reach=0)
def choice_between_equals(fgraph: FunctionGraph, node: Apply[IfElse]) -> Found:
    """Equal branches need no choice."""
    condition, *branches = node.inputs
    n = node.op.n_outs
    left = [k for k in range(n) if branches[k] is not branches[n + k]]
    if len(left) == n:
        return None
    chosen: Sequence[Any] = (
        ifelse(condition, [branches[k] for k in left], [branches[n + k] for k in left], node.op.name) if left else []
    )
    replacements = dict(zip(left, chosen, strict=True))
    return _fitting(node, [replacements.get(k, branches[k]) for k in range(n)])


@rule(IfElse, key="cond_same_condition", phases=(Phase.CANONICALIZE,))
def choice_inside_a_choice(fgraph: FunctionGraph, node: Apply[IfElse]) -> Found:
    """A choice by the same condition, inside of a branch, is known there."""
    condition, *branches = node.inputs
    n = node.op.n_outs
    seen = [_seen_through(v, condition, k < n) for k, v in enumerate(branches)]
    if all(a is b for a, b in zip(seen, branches, strict=True)):
        return None
    return _fitting(node, ifelse(condition, seen[:n], seen[n:], node.op.name))


@rule(IfElse, key="cond_unused_outputs")
def choice_without_unused_outputs(fgraph: FunctionGraph, node: Apply[IfElse]) -> list[Variable | None] | None:
    """Unused outputs are not computed in either branch."""
    condition, *branches = node.inputs
    n = node.op.n_outs
    used = [k for k, output in enumerate(node.outputs) if fgraph.has_clients(output)]
    if len(used) == n or not used:
        return None
    chosen = ifelse(condition, [branches[k] for k in used], [branches[n + k] for k in used], node.op.name)
    replacements = dict(zip(used, chosen, strict=True))
    return [replacements.get(k) for k in range(n)]


@rule(TopK, key="local_useless_topk")
def selection_without_unused_output(fgraph: FunctionGraph, node: Apply[TopK, Tensor]) -> list[Variable | None] | None:
    """The largest elements are not taken where only their numbers are used, and the other way round."""
    op = node.op
    used = [fgraph.has_clients(output) for output in node.outputs]
    if used not in ([True, False], [False, True]):
        return None
    values, indices = used
    (selection,) = TopK(op.axis, op.sorted, op.idx_dtype, values, indices).make_node(*node.inputs).outputs
    return [selection if is_used else None for is_used in used]


#: Operations that go into branches.
WORK = (Elemwise, DimShuffle, Reduce, Dot, BatchedDot, Reshape, Subtensor, IncSubtensor)


@rule(IfElse, tags=("fast_run",), key="ifelse_lift_single_if_through_acceptable_ops")
def work_inside_a_choice(fgraph: FunctionGraph, node: Apply[IfElse]) -> dict[Variable, Variable] | None:
    """``f(ifelse(c, a, 0), y) -> ifelse(c, f(a, y), f(0, y))``: work on zeros need not be done.

    Gradients of choices are such expressions: zero for the branch that is not taken. The needs of its gradient are
    then only computed where the branch is taken. Either branch has a constant value, and all choices among the inputs
    are made by the same condition, so that graphs do not grow by the number of combinations.
    """
    clients = dict.fromkeys(client for output in node.outputs for client, _ in fgraph.clients(output))
    work = [client for client in clients if isinstance(client, Apply) and isinstance(client.op, WORK)]
    results = {client.outputs[0] for client in work}
    replacements: dict[Variable, Variable] = {}
    for client in work:
        if results.isdisjoint(client.inputs):  # else its needs go first
            new = _inside(client)
            if new is not None:
                replacements[client.outputs[0]] = new
    return replacements or None


def _inside(node: Apply[Any, Tensor]) -> Variable | None:
    if len(node.outputs) != 1 or node.op.destroy_map:
        return None
    choices = [v.owner if v.owner is not None and isinstance(v.owner.op, IfElse) else None for v in node.inputs]
    present_choices = [choice for choice in choices if choice is not None]
    if not present_choices or any(choice.inputs[0] is not present_choices[0].inputs[0] for choice in present_choices):
        return None
    pairs = [_branches(v) if choice else (v, v) for v, choice in zip(node.inputs, choices, strict=True)]
    chosen = [pair for pair, choice in zip(pairs, choices, strict=True) if choice]
    if not any(_is_constant(a) or _is_constant(b) for a, b in chosen):
        return None
    condition = present_choices[0].inputs[0]
    results = [_applied(node, [pair[k] for pair in pairs]) for k in range(2)]
    new: Variable = ifelse(condition, results[0], results[1], present_choices[0].op.name)
    return new if can_replace(node.outputs[0], new) else None


def _applied(node: Apply[Any, Tensor], inputs: list[Tensor]) -> Tensor:
    """Return the op of a node applied to other inputs; zeros are left out of sums."""
    if node.op == lift(scalar.add):
        nonzero = [v for v in inputs if _constant_of(v) != 0]
        if len(nonzero) == 1 and can_replace(node.outputs[0], nonzero[0]):
            return nonzero[0]
        if len(nonzero) > 1:
            total: Tensor = node.op.make_node(*nonzero).outputs[0]
            if can_replace(node.outputs[0], total):
                return total
    result: Tensor = node.op.make_node(*inputs).outputs[0]
    return result


def _branches(variable: Tensor) -> tuple[Tensor, Tensor]:
    owner = maker(variable)
    k = variable.index or 0
    return owner.inputs[1 + k], owner.inputs[1 + owner.op.n_outs + k]


def _is_constant(variable: Tensor) -> bool:
    """Tell whether the value is known now."""
    return isinstance(variable, Constant) or _constant_of(variable) is not None


def _constant_of(variable: Tensor) -> Any:
    """Return the number that all elements are known to be, or None."""
    owner = variable.owner
    if owner is not None and isinstance(owner.op, (Dot, BatchedDot)):
        # A product with zeros may not have been rewritten yet.
        return 0 if any(_filling(v) == 0 for v in owner.inputs) else None
    return _filling(variable)


def _filling(variable: Tensor) -> Any:
    while variable.owner is not None and isinstance(variable.owner.op, DimShuffle):
        variable = variable.owner.inputs[0]
    fill = operands(variable, scalar.second)
    if fill is not None:
        return number(fill[1])
    owner = variable.owner
    value = owner.inputs[0] if owner is not None and isinstance(owner.op, Alloc) else variable
    while value.owner is not None and isinstance(value.owner.op, Assert):
        value = value.owner.inputs[0]  # The remainder of products with zeros until their lengths are known to fit.
    return number(value)


def _seen_through(variable: Tensor, condition: Tensor, value: bool) -> Variable:
    owner = variable.owner
    if owner is None or not isinstance(owner.op, IfElse) or owner.inputs[0] is not condition:
        return variable
    index = (variable.index or 0) + (1 if value else 1 + owner.op.n_outs)
    inner: Variable = owner.inputs[index]
    return inner


def _fitting(node: Apply[Any, Tensor], found: list[Variable]) -> Found:
    """Return replacements that have the types of the outputs, or none."""
    return found if all(o.type.is_super(v.type) for o, v in zip(node.outputs, found, strict=True)) else None
