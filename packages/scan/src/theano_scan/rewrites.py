"""Rewrites of loops: what is computed for nothing goes, what all steps can do at once leaves the loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import theano_tensor as T
from theano_graph import Apply, Constant, FunctionGraph, Op, Variable, clone_replace, graph_inputs, toposort
from theano_linker_c.modes import optdb
from theano_optimize import NodeRewriter, Phase, node_rewriter
from theano_tensor import DimShuffle, Dot, Elemwise, Subtensor

from ._op import FINAL, LAST, STACK, SUM, Plan, Scan

_RUN_TAGS = ("fast_run", "o3", "o4", "unsafe", "scan")
#: These keep values of all steps that would otherwise not be kept.
_MORE_MEMORY = (*_RUN_TAGS, "more_mem")
Found = dict[Variable, Variable] | list[Variable] | None
Transform = Callable[[FunctionGraph, Apply], Found]


def _rule(*tracks: Op | type[Op], name: str, tags: tuple[str, ...] = _RUN_TAGS) -> Callable[[Transform], NodeRewriter]:
    """Return a decorator that makes a rule of a function and registers it with the rules of canonicalization."""

    def decorate(function: Transform) -> NodeRewriter:
        made = node_rewriter(list(tracks), phase=Phase.CANONICALIZE, name=name)(function)
        databases: Any = optdb
        databases[Phase.CANONICALIZE.tag].register(name, made, *tags)
        return made

    return decorate


class Parts:
    """A loop taken apart, to be put together again with other results.

    Attributes
    ----------
    rows, states, constants : list of pairs
        Inner variable and outer variable, or for `rows` the sequence.
    results : list of list
        Inner variable, what becomes of it, the inner variable that has its shape (or None), and the old output that
        it stands for (or None).
    """

    def __init__(self, node: Apply) -> None:
        op: Scan = node.op
        self.node, self.op, self.plan = node, op, op.plan
        inner: list[Any] = [v.type.make_variable(v.name) for v in op.fgraph.inputs]
        outs = op.inlined(inner)
        pairs = list(zip(inner, node.inputs[1:], strict=True))
        first, last = self.plan.sequences, self.plan.sequences + self.plan.states
        self.rows, self.states, self.constants = pairs[:first], pairs[first:last], pairs[last:]
        self.condition = outs[-1] if self.plan.until else None
        self.results: list[list[Any]] = [
            [out, kind, inner[like] if kind == SUM else None, old]
            for out, kind, like, old in zip(outs, self.plan.kinds, self.plan.likes, node.outputs, strict=False)
        ]

    @property
    def others(self) -> list[list[Any]]:
        """The results that are no states."""
        return self.results[self.plan.states :]

    def together(self) -> tuple[dict[Variable, Variable], list[Any]]:
        """Return what the old outputs are now, and all outputs of the new loop; unused inputs are left out."""
        outputs = [r[0] for r in self.results] + ([] if self.condition is None else [self.condition])
        used = set(graph_inputs(outputs)) | {r[2] for r in self.results if r[2] is not None}
        rows = [p for p in self.rows if p[0] in used]
        constants = [p for p in self.constants if p[0] in used]
        pairs = [*rows, *self.states, *constants]
        place = {inner: k for k, (inner, _) in enumerate(pairs)}
        plan: Plan = replace(
            self.plan,
            sequences=len(rows),
            kinds=tuple(r[1] for r in self.results),
            likes=tuple(-1 if r[2] is None else place[r[2]] for r in self.results),
        )
        op = Scan([inner for inner, _ in pairs], outputs, plan, self.op.name, self.op.options, self.op.memory)
        made: list[Any] = op(self.node.inputs[0], *(outer for _, outer in pairs), return_list=True)
        new = {r[3]: made[k] for k, r in enumerate(self.results) if r[3] is not None}
        if self.plan.until:
            new[self.node.outputs[-1]] = made[-1]
        return new, made


@_rule(Scan, name="scan_remove_unused")
def scan_remove_unused(fgraph: FunctionGraph, node: Apply) -> Found:
    """Results that nobody uses are not computed, states that nobody uses not kept; so are inputs."""
    plan: Plan = node.op.plan
    unused = [not fgraph.has_clients(v) for v in node.outputs[: len(plan.kinds)]]
    idle = [k for k, gone in enumerate(unused) if gone and (k >= plan.states or plan.kinds[k] in (STACK, LAST))]
    if not idle:
        return None
    parts = Parts(node)
    for k in idle:
        if k < plan.states:
            parts.results[k][1] = FINAL
            parts.results[k][3] = None
    parts.results = [r for k, r in enumerate(parts.results) if k < plan.states or k not in idle]
    new, _ = parts.together()
    return {old: v for old, v in new.items() if fgraph.has_clients(old)}


@_rule(Subtensor, name="scan_save_mem")
def scan_save_mem(fgraph: FunctionGraph, node: Apply) -> Found:
    """Where only the last step of an output is used, only that one is kept."""
    history = node.inputs[0]
    loop = history.owner
    if loop is None or not isinstance(loop.op, Scan) or not _takes_last(node):
        return None
    k = loop.outputs.index(history)
    plan: Plan = loop.op.plan
    if k >= len(plan.kinds) or plan.kinds[k] != STACK:
        return None
    clients = [client for client, _ in fgraph.clients(history)]
    if not all(isinstance(c, Apply) and isinstance(c.op, Subtensor) and _takes_last(c) for c in clients):
        return None
    parts = Parts(loop)
    parts.results[k][1:] = [LAST, None, None]
    new, made = parts.together()
    found: dict[Variable, Variable] = {old: v for old, v in new.items() if fgraph.has_clients(old)}
    for client in clients:
        found[client.outputs[0]] = made[k]  # type: ignore[union-attr]  # all are nodes
    return found


def _takes_last(node: Any) -> bool:
    """Tell whether a node is ``x[-1]``."""
    entries = node.op.entries
    return len(entries) == 1 and _is_last(entries[0], node)


def _is_last(entry: Any, node: Any) -> bool:
    if isinstance(entry, int):
        return entry == -1
    if isinstance(entry, slice) or len(node.inputs) != 2:
        return False
    position = node.inputs[1]
    number = node.outputs[0].type.ndim < node.inputs[0].type.ndim
    return number and isinstance(position, Constant) and int(position.data) == -1


class Wholes:
    """Expressions for all steps at once.

    Parameters
    ----------
    parts : Parts
    known : dict
        Inner variable -> its values in all steps.
    """

    def __init__(self, parts: Parts, known: dict[Any, Any]) -> None:
        self.known = dict(known)
        self.fixed: dict[Any, Any] = dict(parts.constants)

    def add(self, node: Apply) -> bool:
        """Take in a node, if it can be computed for all steps at once."""
        if not isinstance(node.op, (Elemwise, DimShuffle, Dot)) or len(node.outputs) != 1:
            return False
        inputs: list[Any] = list(node.inputs)
        if not all(v in self.known or v in self.fixed or isinstance(v, Constant) for v in inputs):
            return False
        if not any(v in self.known for v in inputs):
            (self.fixed[node.outputs[0]],) = [node.op(*[self.fixed.get(v, v) for v in inputs])]
            return True
        made = self._whole(node.op, inputs)
        if made is None:
            return False
        self.known[node.outputs[0]] = made
        return True

    def _whole(self, op: Any, inputs: list[Any]) -> Any:
        if isinstance(op, DimShuffle):
            return self.known[inputs[0]].dimshuffle(0, *[o if o == "x" else int(o) + 1 for o in op.order])
        if isinstance(op, Elemwise):
            return op(*[self._beside(v) for v in inputs])
        x, y = inputs
        if x in self.known and y not in self.known:
            return (
                T.dot(self.known[x], self.fixed.get(y, y)) if y.type.ndim in (1, 2) and x.type.ndim in (1, 2) else None
            )
        return None

    def _beside(self, v: Any) -> Any:
        if v in self.known:
            return self.known[v]
        fixed = self.fixed.get(v, v)
        return fixed.dimshuffle("x", *range(fixed.type.ndim))


def _nodes(parts: Parts) -> list[Apply]:
    inputs = [inner for inner, _ in (*parts.rows, *parts.states, *parts.constants)]
    outputs = [r[0] for r in parts.results] + ([] if parts.condition is None else [parts.condition])
    return list(toposort(inputs, outputs))


@_rule(Scan, name="scanOp_pushout_seqs_ops", tags=_MORE_MEMORY)
def scan_pushout_seqs_ops(fgraph: FunctionGraph, node: Apply) -> Found:
    """What depends on sequences and constants alone is computed for all steps at once, before the loop."""
    parts = Parts(node)
    wholes = Wholes(parts, dict(parts.rows))
    moved = [n for n in _nodes(parts) if wholes.add(n)]
    outside = {n.outputs[0] for n in moved}
    worth = any(not isinstance(n.op, DimShuffle) for n in moved)
    if not worth:
        return None
    results = [r[0] for r in parts.results] + ([] if parts.condition is None else [parts.condition])
    border = _border(results, outside)
    if not any(not isinstance(v.owner.op, DimShuffle) for v in border):
        return None
    stand_ins = {v: v.type.make_variable(v.name) for v in border}
    bodies = clone_replace(results, stand_ins)
    for r, body in zip(parts.results, bodies, strict=False):
        r[0] = body
    if parts.condition is not None:
        parts.condition = bodies[-1]
    for v, inner in stand_ins.items():
        (parts.rows if v in wholes.known else parts.constants).append((inner, wholes.known.get(v, wholes.fixed.get(v))))
    new, _ = parts.together()
    return {old: v for old, v in new.items() if fgraph.has_clients(old)}


def _border(results: Sequence[Any], outside: set[Any]) -> list[Any]:
    """Return those variables of `outside` that what stays inside uses."""
    found: dict[Any, None] = {}
    seen: set[Any] = set()
    pending = list(results)
    while pending:
        v = pending.pop()
        if v in seen:
            continue
        seen.add(v)
        if v in outside:
            found[v] = None
        elif v.owner is not None:
            pending += v.owner.inputs
    return list(found)


@_rule(Scan, name="scan_pushout_dot1", tags=_MORE_MEMORY)
def scan_pushout_dot1(fgraph: FunctionGraph, node: Apply) -> Found:
    """A sum over the steps of matrix products is one product of what all steps multiply."""
    plan: Plan = node.op.plan
    if plan.until or not any(kind == SUM for kind in plan.kinds):
        return None
    parts = Parts(node)
    sums = [r for r in parts.others if r[1] == SUM and _is_product(r[0])]
    if not sums:
        return None
    rows = dict(parts.rows)
    kept = {r[0]: r for r in parts.results if r[1] == STACK}
    products = []
    for r in sums:
        parts.results.remove(r)
        factors = []
        for factor in r[0].owner.inputs:
            base, order = _turned(factor)
            if base not in rows and base not in kept:
                kept[base] = [base, STACK, None, None]
                parts.results.append(kept[base])
            factors.append((base, order))
        products.append((r[3], factors))
    new, made = parts.together()
    stacks = {r[0]: made[k] for k, r in enumerate(parts.results) if r[1] == STACK}
    found = {old: v for old, v in new.items() if fgraph.has_clients(old)}
    for old, factors in products:
        a, b = (_all_steps(stacks.get(base, rows.get(base)), order) for base, order in factors)
        product = T.tensordot(a, b, axes=[[0, 2], [0, 1]])
        found[old] = old.type.filter_variable(product)
    return found


def _is_product(v: Any) -> bool:
    return v.owner is not None and isinstance(v.owner.op, Dot) and all(x.type.ndim == 2 for x in v.owner.inputs)


def _turned(v: Any) -> tuple[Any, list[Any] | None]:
    """Return what a variable is a DimShuffle of, and the order; itself and None otherwise."""
    if v.owner is not None and isinstance(v.owner.op, DimShuffle):
        return v.owner.inputs[0], list(v.owner.op.order)
    return v, None


def _all_steps(stack: Any, order: list[Any] | None) -> Any:
    return stack if order is None else stack.dimshuffle(0, *[o if o == "x" else int(o) + 1 for o in order])


@_rule(Scan, name="scanOp_pushout_output", tags=_MORE_MEMORY)
def scan_pushout_output(fgraph: FunctionGraph, node: Apply) -> Found:
    """Outputs that are computed of kept values are computed for all steps at once, after the loop."""
    if node.op.plan.until:
        return None
    parts = Parts(node)
    kept = {r[0]: r[3] for r in parts.results if r[1] == STACK}
    gone: list[list[Any]] = []
    for r in parts.others:
        sources = {v: old for v, old in kept.items() if v is not r[0]}
        if r[1] == STACK and _leaves_loop(parts, r[0], sources):
            gone.append(r)
            del kept[r[0]]
    if not gone:
        return None
    parts.results = [r for r in parts.results if not any(r is g for g in gone)]
    new, made = parts.together()
    wholes = Wholes(parts, dict(parts.rows) | {r[0]: made[k] for k, r in enumerate(parts.results) if r[1] == STACK})
    found: dict[Variable, Variable] = {old: v for old, v in new.items() if fgraph.has_clients(old)}
    for r in gone:
        _computes(wholes, r[0])
        found[r[3]] = r[3].type.filter_variable(wholes.known[r[0]])
    return found


def _leaves_loop(parts: Parts, inner: Any, sources: dict[Any, Any]) -> bool:
    """Tell whether a result can be computed of kept ones, and is worth it."""
    if inner.owner is None or isinstance(inner.owner.op, DimShuffle) or inner in sources:
        return False
    if not any(v in sources for v in _near(inner, sources)):
        return False
    return _computes(Wholes(parts, dict(parts.rows) | sources), inner)


def _near(inner: Any, sources: dict[Any, Any]) -> list[Any]:
    """Return all variables between a result and the kept values that it is computed of."""
    found: dict[Any, None] = {}
    pending = list(inner.owner.inputs)
    while pending:
        v = pending.pop()
        if v not in found:
            found[v] = None
            if v not in sources and v.owner is not None:
                pending += v.owner.inputs
    return list(found)


def _computes(wholes: Wholes, inner: Any) -> bool:
    """Take in all that `inner` needs; tell whether that was possible."""
    nodes = toposort([*wholes.known, *wholes.fixed], [inner])
    return all(wholes.add(n) for n in nodes) and inner in wholes.known
