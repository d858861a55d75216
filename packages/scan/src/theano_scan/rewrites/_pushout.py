"""Rules that move expressions out of a loop: those equal in all steps, or computable for all steps at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import theano_tensor as T
from theano_graph import Apply, Constant, FunctionGraph, Variable, toposort
from theano_linker_c.scalar import add as scalar_add
from theano_tensor import DimShuffle, Dot, Elemwise, Sum, TensorType

from .._loop._ops import Loop
from .._loop._plan import STACK, SUM, Plan
from ._builder import MORE_MEMORY, Found, LoopBuilder, rule


class Wholes:
    """Expressions for all steps at once.

    Parameters
    ----------
    builder : LoopBuilder
    known : dict
        Inner variable -> its values in all steps.
    """

    def __init__(self, builder: LoopBuilder, table: dict[Any, Any]) -> None:
        self.known = dict(table)
        self.fixed: dict[Any, Any] = dict(builder.constants)

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
        output = self._whole(node.op, inputs)
        if output is None:
            return False
        self.known[node.outputs[0]] = output
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


def _nodes(builder: LoopBuilder) -> list[Apply]:
    inputs = [inner for inner, _ in (*builder.rows, *builder.states, *builder.constants)]
    return list(toposort(inputs, builder.bodies))


@rule(Loop, name="scanOp_pushout_nonseqs_ops")
def scan_pushout_nonseqs_ops(fgraph: FunctionGraph, node: Apply[Loop]) -> Found:
    """Expressions of constants alone are computed once, before the loop."""
    op: Loop = node.op
    plan: Plan = op.plan
    fixed = set(op.fgraph.inputs[plan.sequences + plan.states :])
    moved: list[Apply] = []
    for inner in op.fgraph.toposort():
        if all(v in fixed or isinstance(v, Constant) for v in inner.inputs):
            fixed.update(inner.outputs)
            moved.append(inner)
    if not moved:
        return None
    builder = LoopBuilder(node)
    fixed = {v for v, _ in builder.constants}
    copies: dict[Any, Any] = dict(builder.constants)
    for inner in _nodes(builder):
        if all(v in fixed or isinstance(v, Constant) for v in inner.inputs):
            fixed.update(inner.outputs)
            outer = inner.clone_with_new_inputs([copies.get(v, v) for v in inner.inputs])
            copies.update(zip(inner.outputs, outer.outputs, strict=True))
    border = [v for v in _border(builder.bodies, fixed) if v.owner is not None]
    if not border:
        return None
    stand_ins = {v: v.type.make_variable(v.name) for v in border}
    builder.substitute(stand_ins)
    builder.constants += [(stand_ins[v], copies[v]) for v in border]
    new, _ = builder.build()
    return {old: v for old, v in new.items() if fgraph.has_clients(old)}


@rule(Loop, name="scanOp_pushout_seqs_ops", tags=MORE_MEMORY)
def scan_pushout_seqs_ops(fgraph: FunctionGraph, node: Apply[Loop]) -> Found:
    """Expressions of sequences and constants alone are computed for all steps at once, before the loop."""
    builder = LoopBuilder(node)
    wholes = Wholes(builder, dict(builder.rows))
    moved = [n for n in _nodes(builder) if wholes.add(n)]
    outside = {n.outputs[0] for n in moved}
    worth = any(not isinstance(n.op, DimShuffle) for n in moved)
    if not worth:
        return None
    border = _border(builder.bodies, outside)
    if not any(not isinstance(v.owner.op, DimShuffle) for v in border):
        return None
    stand_ins = {v: v.type.make_variable(v.name) for v in border}
    builder.substitute(stand_ins)
    for v, inner in stand_ins.items():
        (builder.rows if v in wholes.known else builder.constants).append(
            (inner, wholes.known.get(v, wholes.fixed.get(v)))
        )
    new, _ = builder.build()
    return {old: v for old, v in new.items() if fgraph.has_clients(old)}


def _border(results: Sequence[Any], outside: set[Any]) -> list[Any]:
    """Return the variables of `outside` that the inner graph still uses."""
    result: dict[Any, None] = {}
    seen: set[Any] = set()
    pending = list(results)
    while pending:
        v = pending.pop()
        if v in seen:
            continue
        seen.add(v)
        if v in outside:
            result[v] = None
        elif v.owner is not None:
            pending += v.owner.inputs
    return list(result)


@rule(Loop, name="scan_pushout_dot1", tags=MORE_MEMORY)
def scan_pushout_dot1(fgraph: FunctionGraph, node: Apply[Loop]) -> Found:
    """A sum over the steps of matrix products is one product of the factors of all steps."""
    plan: Plan = node.op.plan
    if plan.until or not any(kind == SUM for kind in plan.kinds):
        return None
    builder = LoopBuilder(node)
    sums = [r for r in builder.others if r[1] == SUM and _is_product(r[0])]
    if not sums:
        return None
    rows = dict(builder.rows)
    stacked_results = {r[0]: r for r in builder.results if r[1] == STACK}
    products = []
    for r in sums:
        builder.results.remove(r)
        factors = []
        for factor in r[0].owner.inputs:
            base, order = _without_dimshuffle(factor)
            if base not in rows and base not in stacked_results:
                stacked_results[base] = [base, STACK, None, None]
                builder.results.append(stacked_results[base])
            factors.append((base, order))
        products.append((r[3], factors))
    new, results = builder.build()
    stacks = {r[0]: results[k] for k, r in enumerate(builder.results) if r[1] == STACK}
    result = {old: v for old, v in new.items() if fgraph.has_clients(old)}
    for old, factors in products:
        a, b = (_all_steps(stacks.get(base, rows.get(base)), order) for base, order in factors)
        result[old] = old.type.narrow_variable(T.dot(_flat(a.dimshuffle(0, 2, 1)).T, _flat(b)))
    return result


def _flat(stack: Any) -> Any:
    """Return the matrix of all rows of all steps; where these lie one after the other, nothing is copied."""
    return stack.reshape((stack.shape[0] * stack.shape[1], stack.shape[2]), ndim=2)


@rule(Loop, name="scan_split_sums", tags=MORE_MEMORY)
def scan_split_sums(fgraph: FunctionGraph, node: Apply[Loop]) -> Found:
    """A sum over the steps of sums with a matrix product is a sum of sums over the steps: the products can leave."""
    plan: Plan = node.op.plan
    if plan.until or not any(kind == SUM for kind in plan.kinds):
        return None
    builder = LoopBuilder(node)
    split: list[tuple[Any, list[list[Any]]]] = []
    for r in builder.others:
        if r[1] == SUM and _is_sum_with_product(r[0]):
            terms = [[term, SUM, r[2], None] for term in r[0].owner.inputs]
            builder.results.remove(r)
            builder.results += terms
            split.append((r[3], terms))
    if not split:
        return None
    new, results = builder.build()
    by_identity = {id(r): results[k] for k, r in enumerate(builder.results)}
    result = {old: v for old, v in new.items() if fgraph.has_clients(old)}
    for old, terms in split:
        result[old] = old.type.narrow_variable(T.add(*(by_identity[id(term)] for term in terms)))
    return result


def _is_sum_with_product(v: Any) -> bool:
    node = v.owner
    if node is None or not isinstance(node.op, Elemwise) or node.op.scalar_op != scalar_add:
        return False
    alike = all(t.type.dtype == v.type.dtype and t.type.broadcastable == v.type.broadcastable for t in node.inputs)
    return alike and any(_is_product(t) for t in node.inputs)


def _is_product(v: Variable) -> bool:
    return v.owner is not None and isinstance(v.owner.op, Dot) and all(x.type.ndim == 2 for x in v.owner.inputs)


def _without_dimshuffle(v: Any) -> tuple[Any, list[Any] | None]:
    """Return the operand of a DimShuffle, and the order; the variable itself and None otherwise."""
    if v.owner is not None and isinstance(v.owner.op, DimShuffle):
        return v.owner.inputs[0], list(v.owner.op.order)
    return v, None


def _all_steps(stack: Any, order: list[Any] | None) -> Any:
    return stack if order is None else stack.dimshuffle(0, *[o if o == "x" else int(o) + 1 for o in order])


@rule(Loop, name="scan_pushout_sums", tags=MORE_MEMORY)
def scan_pushout_sums(fgraph: FunctionGraph, node: Apply[Loop]) -> Found:
    """A sum over the steps of sums over axes of kept values, or of expressions of them, is one of all steps."""
    plan: Plan = node.op.plan
    if plan.until or not any(kind == SUM for kind in plan.kinds):
        return None
    builder = LoopBuilder(node)
    sources = {r[0] for r in builder.results if r[1] == STACK} | set(dict(builder.rows))
    gone = [r for r in builder.others if r[1] == SUM and _is_sum_of(builder, r[0], sources)]
    if not gone:
        return None
    builder.results = [r for r in builder.results if not any(r is g for g in gone)]
    new, results = builder.build()
    stacks = {r[0]: results[k] for k, r in enumerate(builder.results) if r[1] == STACK}
    wholes = Wholes(builder, dict(builder.rows) | stacks)
    items: dict[Variable, Variable] = {old: v for old, v in new.items() if fgraph.has_clients(old)}
    for r in gone:
        total, order = _without_dimshuffle(r[0])
        op: Any = total.owner.op
        (summed,) = total.owner.inputs
        _computes(wholes, summed)
        axes = (0, *(axis + 1 for axis in op.axes(summed.type.ndim)))
        result: Any = Sum(axes, op.dtype, op.acc_dtype)(wholes.known[summed])
        items[r[3]] = r[3].type.narrow_variable(result if order is None else result.dimshuffle(*order))
    return items


def _is_sum_of(builder: LoopBuilder, v: Any, sources: set[Any]) -> bool:
    """Tell whether a result is a sum over axes of kept values, or of expressions of them."""
    total, _ = _without_dimshuffle(v)
    if total.owner is None or not isinstance(total.owner.op, Sum):
        return False
    (summed,) = total.owner.inputs
    return summed in sources or (
        summed.owner is not None
        and any(near in sources for near in _near(summed, sources))
        and _computes(Wholes(builder, {x: _stand_in(x) for x in sources}), summed)
    )


def _stand_in(v: Any) -> Any:
    """Return a variable for the values of an inner one in all steps."""
    return TensorType(v.type.dtype, (None, *v.type.shape)).make_variable()


@rule(Loop, name="scanOp_pushout_output", tags=MORE_MEMORY)
def scan_pushout_output(fgraph: FunctionGraph, node: Apply[Loop]) -> Found:
    """Outputs that are computed of kept values are computed for all steps at once, after the loop."""
    if node.op.plan.until:
        return None
    builder = LoopBuilder(node)
    stacks = {r[0]: r[3] for r in builder.results if r[1] == STACK}
    gone: list[list[Any]] = []
    for r in _products_at_the_end(builder, stacks):
        factor = r[0].owner.inputs[0]
        if factor not in stacks and factor not in dict(builder.rows):
            builder.results.append([factor, STACK, None, None])
            stacks[factor] = _stand_in(factor)
    for r in builder.others:
        sources = {v: old for v, old in stacks.items() if v is not r[0]}
        if r[1] == STACK and _leaves_loop(builder, r[0], sources):
            gone.append(r)
            del stacks[r[0]]
    if not gone:
        return None
    builder.results = [r for r in builder.results if not any(r is g for g in gone)]
    new, results = builder.build()
    wholes = Wholes(
        builder, dict(builder.rows) | {r[0]: results[k] for k, r in enumerate(builder.results) if r[1] == STACK}
    )
    result: dict[Variable, Variable] = {old: v for old, v in new.items() if fgraph.has_clients(old)}
    for r in gone:
        _computes(wholes, r[0])
        result[r[3]] = r[3].type.narrow_variable(wholes.known[r[0]])
    return result


def _products_at_the_end(builder: LoopBuilder, stacks: dict[Any, Any]) -> list[list[Any]]:
    """Return the kept products with a constant matrix that nothing else in the loop uses: one product can do them."""
    result = [
        r for r in builder.others if r[1] == STACK and r[3] is not None and _is_product_with_constant(builder, r[0])
    ]
    if not result:
        return []
    used = {v for n in _nodes(builder) for v in n.inputs}
    return [r for r in result if r[0] not in used and sum(r[0] is other[0] for other in builder.results) == 1]


def _is_product_with_constant(builder: LoopBuilder, v: Variable) -> bool:
    if v.owner is None or not isinstance(v.owner.op, Dot):
        return False
    factor, matrix = v.owner.inputs
    fixed = any(matrix is inner for inner, _ in builder.constants)
    return fixed and factor.owner is not None and matrix.type.ndim == 2 and factor.type.ndim in (1, 2)


def _leaves_loop(builder: LoopBuilder, inner: Variable, sources: dict[Any, Any]) -> bool:
    """Tell whether a result can be computed of kept ones, and is worth it."""
    if inner.owner is None or isinstance(inner.owner.op, DimShuffle) or inner in sources:
        return False
    if not any(v in sources for v in _near(inner, sources)):
        return False
    return _computes(Wholes(builder, dict(builder.rows) | sources), inner)


def _near(inner: Any, sources: Collection[Any]) -> list[Any]:
    """Return all variables between a result and the kept values that it is computed of."""
    result: dict[Any, None] = {}
    pending = list(inner.owner.inputs)
    while pending:
        v = pending.pop()
        if v not in result:
            result[v] = None
            if v not in sources and v.owner is not None:
                pending += v.owner.inputs
    return list(result)


def _computes(wholes: Wholes, inner: Variable) -> bool:
    """Take in all that `inner` needs; tell whether that was possible."""
    nodes = toposort([*wholes.known, *wholes.fixed], [inner])
    return all(wholes.add(n) for n in nodes) and inner in wholes.known
