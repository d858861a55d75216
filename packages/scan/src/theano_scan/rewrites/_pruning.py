"""Rules that drop what loops compute for nothing: unused results, copies of sequences, all steps but the last."""

from __future__ import annotations

from typing import Any

import theano_tensor as T
from theano_graph import Apply, Constant, FunctionGraph, Variable, equal_computations
from theano_tensor import Subtensor

from .._loop._ops import Loop
from .._loop._plan import FINAL, LAST, STACK, Plan
from ._builder import Found, LoopBuilder, rule


@rule(Loop, name="scan_remove_unused")
def scan_remove_unused(fgraph: FunctionGraph, node: Apply[Loop]) -> Found:
    """Results that nobody uses are not computed, states that nobody uses not kept; so are inputs."""
    plan: Plan = node.op.plan
    unused = [not fgraph.has_clients(v) for v in node.outputs[: len(plan.kinds)]]
    idle = [k for k, gone in enumerate(unused) if gone and (k >= plan.states or plan.kinds[k] in (STACK, LAST))]
    if not idle and not _has_unused_inputs(node.op):
        return None
    builder = LoopBuilder(node)
    for k in idle:
        if k < plan.states:
            builder.results[k][1] = FINAL
            builder.results[k][3] = None
    builder.results = [r for k, r in enumerate(builder.results) if k < plan.states or k not in idle]
    new, _ = builder.build()
    return {old: v for old, v in new.items() if fgraph.has_clients(old)}


def _has_unused_inputs(op: Loop) -> bool:
    """Tell whether a sequence or a constant is not used in the steps, and says no shape either."""
    first, last = op.plan.sequences, op.plan.sequences + op.plan.states
    return any(
        not first <= k < last and k not in op.plan.likes and not op.fgraph.has_clients(v)
        for k, v in enumerate(op.fgraph.inputs)
    )


@rule(Loop, name="scan_remove_plain")
def scan_remove_plain(fgraph: FunctionGraph, node: Apply[Loop]) -> Found:
    """Rows of sequences that are kept of all steps are the sequences; what is the same in all steps is repeated."""
    op: Loop = node.op
    plan: Plan = op.plan
    place = {v: k for k, v in enumerate(op.fgraph.inputs)}
    first, last = plan.sequences, plan.sequences + plan.states
    found: dict[Variable, Variable] = {}
    for old, kind, value in zip(node.outputs, plan.kinds, op.values, strict=False):
        k = place.get(value, -1)
        if kind != STACK or k < 0 or first <= k < last or not fgraph.has_clients(old):
            continue
        outer: Any = node.inputs[1 + k]
        steps = node.outputs[-1] if plan.until else node.inputs[0]
        if k < first:
            if not _is_length(fgraph, node.inputs[0], outer) or (plan.until and plan.backwards):
                continue
            whole = outer[:steps] if plan.until else outer
        else:
            whole = T.alloc(outer, steps, *(outer.shape[i] for i in range(outer.type.ndim)))
        found[old] = old.type.narrow_variable(whole)
    return found or None


def _is_length(fgraph: FunctionGraph, n: Variable, sequence: Variable) -> bool:
    """Tell whether a number is known to be the length of a sequence."""
    shapes: Any = getattr(fgraph, "shape_feature", None)
    if shapes is None:
        return False
    length = shapes.get_shape(sequence, 0)
    return length is n or equal_computations([length], [n])


@rule(Subtensor, name="scan_save_mem")
def scan_save_mem(fgraph: FunctionGraph, node: Apply[Subtensor]) -> Found:
    """Where only the last step of an output is used, only that one is kept."""
    history = node.inputs[0]
    loop = history.owner
    if loop is None or not isinstance(loop.op, Loop) or not _takes_last(node):
        return None
    k = loop.outputs.index(history)
    plan: Plan = loop.op.plan
    if k >= len(plan.kinds) or plan.kinds[k] != STACK:
        return None
    clients = [client for client, _ in fgraph.clients(history)]
    if not all(isinstance(c, Apply) and isinstance(c.op, Subtensor) and _takes_last(c) for c in clients):
        return None
    builder = LoopBuilder(loop)
    builder.results[k][1:] = [LAST, None, None]
    new, made = builder.build()
    found: dict[Variable, Variable] = {old: v for old, v in new.items() if fgraph.has_clients(old)}
    for client in clients:
        found[client.outputs[0]] = made[k]  # type: ignore[union-attr]  # all are nodes
    return found


def _takes_last(node: Apply) -> bool:
    """Tell whether a node is ``x[-1]``."""
    entries = node.op.entries
    return len(entries) == 1 and _is_last(entries[0], node)


def _is_last(entry: Any, node: Apply) -> bool:
    if isinstance(entry, int):
        return entry == -1
    if isinstance(entry, slice) or len(node.inputs) != 2:
        return False
    position = node.inputs[1]
    number = node.outputs[0].type.ndim < node.inputs[0].type.ndim
    return number and isinstance(position, Constant) and int(position.data) == -1
