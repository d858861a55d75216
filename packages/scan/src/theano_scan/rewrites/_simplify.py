"""Rules that make loops smaller: unused results and steps go, equal inputs, states and loops are merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import theano_tensor as T
from theano_graph import Apply, Constant, FunctionGraph, Variable, ancestors, clone_replace, equal_computations
from theano_linker_c.modes import optdb
from theano_linker_c.program import lazy_form
from theano_optimize import MergeRewriter, SequenceRewriter, WalkRewriter, node_rewriter
from theano_tensor import Subtensor, TensorType

from .._loop._ops import Loop
from .._loop._plan import FINAL, LAST, STACK, SUM, Plan
from ._builder import RUN_TAGS, Found, LoopBuilder, rule

# ---- Pruning: unused results, copies of sequences, all steps but the last


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
    """Rows of sequences that are kept of all steps are the sequences; values equal in all steps are repeated."""
    op: Loop = node.op
    plan: Plan = op.plan
    positions = {v: k for k, v in enumerate(op.fgraph.inputs)}
    first, last = plan.sequences, plan.sequences + plan.states
    result: dict[Variable, Variable] = {}
    for old, kind, value in zip(node.outputs, plan.kinds, op.values, strict=False):
        k = positions.get(value, -1)
        if kind != STACK or k < 0 or first <= k < last or not fgraph.has_clients(old):
            continue
        outer: Any = node.inputs[1 + k]
        steps = node.outputs[-1] if plan.until else node.inputs[0]
        if k < first:
            if not _is_length(fgraph, node.inputs[0], outer) or (plan.until and plan.backwards):
                continue
            full = outer[:steps] if plan.until else outer
        else:
            full = T.alloc(outer, steps, *(outer.shape[i] for i in range(outer.type.ndim)))
        result[old] = old.type.narrow_variable(full)
    return result or None


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
    new, results = builder.build()
    result: dict[Variable, Variable] = {old: v for old, v in new.items() if fgraph.has_clients(old)}
    for client in clients:
        result[client.outputs[0]] = results[k]  # type: ignore[union-attr]  # all are nodes
    return result


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


# ---- Merging: equal inputs, equal states, and loops with the same sequences


@rule(Loop, name="scan_push_constants", aliases=("remove_constants_and_unused_inputs_scan",))
def scan_push_constants(fgraph: FunctionGraph, node: Apply[Loop]) -> Found:
    """Numbers that are known go into the step, so that it can be simplified with them."""
    plan: Plan = node.op.plan
    first = plan.sequences + plan.states
    if not any(_is_number(v) for v in node.inputs[1 + first :]):
        return None
    builder = LoopBuilder(node)
    summed = {r[2] for r in builder.results}
    table = {
        v: x.clone() for v, x in builder.constants if _is_number(x) and x.type.exact == v.type.exact and v not in summed
    }
    if not table:
        return None
    builder.substitute(table)
    return _used(fgraph, builder)


def _is_number(v: Variable) -> bool:
    return isinstance(v, Constant) and isinstance(v.type, TensorType) and v.data.size == 1


@rule(Loop, name="scan_merge_inouts")
def scan_merge_inouts(fgraph: FunctionGraph, node: Apply[Loop]) -> Found:
    """Repeated inputs of a loop become one, repeated results are computed once."""
    plan: Plan = node.op.plan
    ways = [
        *((v, "row") for v in node.inputs[1 : 1 + plan.sequences]),
        *((v, "constant") for v in node.inputs[1 + plan.sequences + plan.states :]),
    ]
    starts = node.inputs[1 + plan.sequences : 1 + plan.sequences + plan.states]
    results = list(zip(plan.kinds, plan.likes, node.op.values, strict=True))
    if all(len(set(value)) == len(value) for value in (ways, starts, results)):
        return None
    builder = LoopBuilder(node)
    if not _simplify(builder):
        return None
    return _used(fgraph, builder)


@node_rewriter([Loop], name="scan_merge")
def scan_merge(fgraph: FunctionGraph, node: Apply[Loop]) -> Found:
    """Two loops over the same steps that share a sequence or a first state are one."""
    if any(lazy_form.get(n.op) is not None for n in fgraph.apply_nodes):
        return None  # one of the loops may not be wanted
    for client, position in fgraph.clients(node.inputs[0]):
        if position == 0 and isinstance(client, Apply) and client is not node and _go_together(node, client):
            builder = _joined(LoopBuilder(node), LoopBuilder(client))
            _simplify(builder)
            return _instead_of_both(fgraph, builder, (node, client))
    return None


def _instead_of_both(fgraph: FunctionGraph, builder: LoopBuilder, loops: Sequence[Apply]) -> Found:
    """Return the replacements of the outputs of two loops; of one of them, where it does all that the other does."""
    new, results = builder.build()
    joined = results[0].owner
    for loop in loops:
        if joined.op == loop.op and joined.inputs == loop.inputs:
            new = {old: loop.outputs[joined.outputs.index(v)] for old, v in new.items() if old.owner is not loop}
    return {old: v for old, v in new.items() if fgraph.has_clients(old)}


#: Before matrix products become BLAS, when the rules above and their kin have done their work.
optdb.register("scan_merge", SequenceRewriter([MergeRewriter(), WalkRewriter(scan_merge)]), *RUN_TAGS, position=1.6)


def _used(fgraph: FunctionGraph, builder: LoopBuilder) -> Found:
    new, _ = builder.build()
    return {old: v for old, v in new.items() if fgraph.has_clients(old)}


def _go_together(a: Apply, b: Apply) -> bool:
    """Tell whether two loops have the same steps, something in common, and none needs the other."""
    if not isinstance(b.op, Loop):
        return False
    one, two = a.op.plan, b.op.plan
    if one.until or two.until or one.backwards != two.backwards or a.op.memory != b.op.memory:
        return False
    if {k: str(v) for k, v in a.op.options.items()} != {k: str(v) for k, v in b.op.options.items()}:
        return False
    moving = [set(node.inputs[1 : 1 + p.sequences + p.states]) for node, p in ((a, one), (b, two))]
    return bool(moving[0] & moving[1]) and not _needs(a, b) and not _needs(b, a)


def _needs(node: Apply, other: Apply) -> bool:
    results = set(other.outputs)
    return any(v in results for v in ancestors(list(node.inputs)))


def _joined(a: LoopBuilder, b: LoopBuilder) -> LoopBuilder:
    """Return `a` with all that `b` has; new states come before other results."""
    states = a.results[: len(a.states)] + b.results[: len(b.states)]
    a.results = [*states, *a.others, *b.others]
    a.rows, a.states, a.constants = a.rows + b.rows, a.states + b.states, a.constants + b.constants
    return a


def _simplify(builder: LoopBuilder) -> bool:
    """Put equal inputs, states and results together; tell whether there were any."""
    instead: dict[Any, Any] = {}
    for pairs in (builder.rows, builder.constants):
        first: dict[Any, Any] = {}
        for inner, outer in pairs:
            original = first.setdefault((outer, inner.type), inner)
            if original is not inner:
                instead[inner] = original
    if instead:
        _put_instead(builder, instead)
    twins = _equal_states(builder)
    if twins:
        _put_instead(builder, {builder.states[j][0]: builder.states[i][0] for j, i in twins.items()})
    dropped = _drop_states(builder, twins)
    return bool(_drop_results(builder)) or bool(instead) or dropped


def _put_instead(builder: LoopBuilder, instead: dict[Any, Any]) -> None:
    builder.substitute(instead)
    for r in builder.results:
        r[2] = instead.get(r[2], r[2])


def _equal_states(builder: LoopBuilder) -> dict[int, int]:
    """Return state -> an earlier one with the same values in all steps.

    States that start equal are taken for equal until a step makes a difference, which may make others differ in turn.
    """
    first: dict[Any, int] = {}
    result = {
        j: i for j, (inner, start) in enumerate(builder.states) if (i := first.setdefault((start, inner.type), j)) != j
    }
    while result:
        bodies = [r[0] for r in builder.results[: len(builder.states)]]
        bodies = clone_replace(bodies, {builder.states[j][0]: builder.states[i][0] for j, i in result.items()})
        wrong = [j for j, i in result.items() if not _same(bodies[i], bodies[j])]
        if not wrong:
            return result
        for j in wrong:
            del result[j]
    return result


def _drop_states(builder: LoopBuilder, twins: dict[int, int]) -> bool:
    """Let states go that are equal to others, and of which the same becomes or nothing is wanted."""
    gone = [
        j for j, i in twins.items() if builder.results[j][3] is None or builder.results[j][1] == builder.results[i][1]
    ]
    for j in gone:
        if builder.results[j][3] is not None:
            builder.twins[builder.results[j][3]] = builder.results[twins[j]]
    builder.results = [r for k, r in enumerate(builder.results) if k not in gone]
    builder.states = [pair for k, pair in enumerate(builder.states) if k not in gone]
    return bool(gone)


def _drop_results(builder: LoopBuilder) -> Sequence[Any]:
    """Let results go that are equal to others of their kind."""
    selection = [r for r in builder.results[: len(builder.states)] if r[1] in (STACK, LAST)]
    count = len(selection)
    gone: list[list[Any]] = []
    for r in builder.others:
        twin = next(
            (k for k in selection if k[1] == r[1] and (r[1] != SUM or k[2] is r[2]) and _same(k[0], r[0])), None
        )
        if twin is None:
            selection.append(r)
        else:
            gone.append(r)
            if r[3] is not None:
                builder.twins[r[3]] = twin
    builder.results = [*builder.results[: len(builder.states)], *selection[count:]]
    return gone


def _same(a: Variable, b: Variable) -> bool:
    return a is b or (a.type == b.type and equal_computations([a], [b]))
