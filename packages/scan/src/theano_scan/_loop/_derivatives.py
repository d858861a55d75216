"""Derivatives of loops, which are loops: back through the steps, and along with them.

The documented op has several kinds of outputs; it is lowered to the loop that runs, whose derivatives are its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import theano_tensor as T
from theano_graph import (
    Apply,
    FunctionGraph,
    InconsistencyError,
    ReplaceValidate,
    Variable,
    clone_replace,
    graph_inputs,
    pullback,
    pushforward,
    record,
)
from theano_linker_c.modes import optdb
from theano_optimize import GraphRewriter
from theano_tensor import TensorType, as_tensor_variable, set_subtensor, zeros_like
from theano_tensor.gradient import DisconnectedType, Lop, Rop, grad_undefined

from ._ops import Loop, Scan
from ._plan import (
    FINAL,
    LAST,
    STACK,
    SUM,
    Plan,
    expanded,
    parts_of_cotangent,
    reads_last_row,
    reads_rows_after,
    start_of,
    with_first_rows,
    without_test_values,
)

# ---- The lowering of documented loops to the form that runs


def loop_of(node: Apply, op: Loop | None = None, start: Callable[[Any, int, int], Any] = start_of) -> list[Any]:
    """Return the outputs of the loop that runs, for a node of a Scan.

    Parameters
    ----------
    node : Apply
    op : Loop, optional
        ``node.op.loop`` by default.
    start : callable, optional
        ``start(buffer, place, depth)`` is the first value of a state.
    """
    scan: Scan = node.op
    results: list[Any] = (op or scan.loop)(*scan.loop_inputs(node.inputs, start), return_list=True)
    return results


def places_in_loop(op: Scan) -> list[int]:
    """Return for each output of a Scan which output of its loop has its rows, or its last value."""
    states = sum(op.depths) + op.n_shared_outs
    first = [sum(op.depths[:k]) for k in range(len(op.depths))]
    nit_sots = [states + k for k in range(op.n_nit_sot)]
    return [*first, *nit_sots, *(sum(op.depths) + k for k in range(op.n_shared_outs))]


class LowerScans(GraphRewriter):
    """Puts loops in the form that runs in the place of those with documented kinds of outputs."""

    def apply(self, fgraph: FunctionGraph) -> None:
        """Rewrite the graph."""
        if not any(type(node.op) is Scan for node in fgraph.apply_nodes):
            return
        if any(node.op.destroy_map for node in fgraph.apply_nodes) and not hasattr(fgraph, "replace_all_validate"):
            fgraph.attach_feature(ReplaceValidate())
        for node in fgraph.toposort():
            if type(node.op) is Scan:
                self._replace(fgraph, node)

    def _replace(self, fgraph: FunctionGraph, node: Apply) -> None:
        replace: Any = getattr(fgraph, "replace_all_validate", fgraph.replace_all)
        try:
            replace(_replacements(fgraph, node), reason=self)
        except InconsistencyError:
            # A row that was copied into a buffer is overwritten before the loop can run, which reads the copy then.
            fgraph.replace_all(_replacements(fgraph, node, _row_of), reason=self)


def _row_of(buffer: Any, position: int, depth: int) -> Any:
    return buffer[position]


def _replacements(
    fgraph: FunctionGraph, node: Apply, start: Callable[[Any, int, int], Any] = start_of
) -> list[tuple[Variable, Variable]]:
    op: Scan = node.op
    places, buffers = places_in_loop(op), [*op.outer_mitsot(node), *op.outer_sitsot(node)]
    loop = op.loop.keeping(
        index
        for k, index in enumerate(places[: len(buffers)])
        if op.loop.plan.kinds[index] == FINAL and not _last_row_alone(fgraph, node.outputs[k])
    )
    results = loop_of(node, loop, start)
    pairs: list[tuple[Variable, Variable]] = []
    for k, (out, position) in enumerate(zip(node.outputs, places, strict=True)):
        if k >= len(buffers):
            pairs.append((out, results[position]))
            continue
        depth, kept_last = op.depths[k], loop.plan.kinds[position] == FINAL
        for client, i in fgraph.clients(out):
            if isinstance(client, Apply) and i == 0:
                if kept_last or reads_rows_after(client, depth):
                    pairs.append((client.outputs[0], results[position]))
        if any(True for client, _ in fgraph.clients(out) if not _is_reader(client, depth, kept_last)):
            pairs.append((out, T.join(0, buffers[k][:depth], results[position])))
    return [(old, old.type.narrow_variable(new)) for old, new in pairs if fgraph.has_clients(old)]


def _last_row_alone(fgraph: FunctionGraph, out: Variable) -> bool:
    return all(isinstance(client, Apply) and i == 0 and reads_last_row(client) for client, i in fgraph.clients(out))


def _is_reader(client: object, depth: int, kept_last: bool) -> bool:
    return isinstance(client, Apply) and (kept_last or reads_rows_after(client, depth))


#: Before equal nodes are merged, so that the loops of gradients find their forward loops.
optdb.register("scan_lower", LowerScans(), "fast_run", "fast_compile", "scan_lower", position=-0.005)


# ---- Derivatives of loops in the form that runs


def is_continuous(variable: Variable) -> bool:
    """Tell whether a variable holds real or complex floating-point numbers."""
    return getattr(variable.type, "dtype", "").startswith(("float", "complex"))


def _is_number(variable: Variable) -> bool:
    """Tell whether a variable holds numbers: gradients by integers are those of floats."""
    return isinstance(variable.type, TensorType)


def _is_state(plan: Plan, k: int) -> bool:
    return plan.sequences <= k < plan.sequences + plan.states


@record(frozen=False)
class Sketch:
    """A loop in the making: inner variables, their outer counterparts, and the uses of the results."""

    sequences: list[tuple[Any, Any]] = field(default_factory=list)
    states: list[tuple[Any, Any]] = field(default_factory=list)
    constants: list[tuple[Any, Any]] = field(default_factory=list)
    results: list[tuple[Any, str, Any]] = field(default_factory=list)

    def run(self, n: Any, backwards: bool, like: Loop) -> list[Any]:
        """Return the outputs; `results` of the states come first, and in their order.

        The third part of a result is the inner variable that has the shape of a sum.
        """
        outputs = [result for result, _, _ in self.results]
        used = set(graph_inputs(outputs)) | {like for _, _, like in self.results if like is not None}
        sequences = [pair for pair in self.sequences if pair[0] in used]
        constants = [pair for pair in self.constants if pair[0] in used]
        pairs = [*sequences, *self.states, *constants]
        positions = {inner: k for k, (inner, _) in enumerate(pairs)}
        plan = Plan(
            len(sequences),
            len(self.states),
            tuple(kind for _, kind, _ in self.results),
            tuple(-1 if of is None else positions[of] for _, _, of in self.results),
            backwards=backwards,
        )
        op = Loop(
            [inner for inner, _ in pairs],
            outputs,
            plan,
            like.name and f"grad_of_{like.name}",
            like.options,
            like.memory,
        )
        items: list[Any] = op(n, *(outer for _, outer in pairs), return_list=True)
        return items


@record(frozen=False)
class Steps:
    """Which rows of the sequences a loop has used, and how many steps it has done."""

    n: Any
    start: Any
    whole: bool

    def of(self, sequence: Any) -> Any:
        """Return those rows of a sequence."""
        return sequence[self.start : self.start + self.n]


def _steps(node: Apply) -> Steps:
    """Return the steps through which gradients go: those done, the last ones where they are truncated."""
    plan: Plan = node.op.plan
    asked = as_tensor_variable(node.inputs[0])
    n = as_tensor_variable(node.outputs[-1]) if plan.until else asked
    start = asked - n if plan.backwards else as_tensor_variable(0)
    if plan.truncate < 0:
        return Steps(n, start, True)
    fewer = T.minimum(n, plan.truncate)
    return Steps(fewer, start if plan.backwards else start + n - fewer, False)


@pullback.register(Loop)
def pull_back(node: Apply[Loop], cotangents: list[Variable]) -> list[Variable | None]:
    """Return the cotangents of the inputs of a loop."""
    op: Loop = node.op
    plan = op.plan
    inner = [v.type.make_variable(v.name) for v in op.fgraph.inputs]
    outs = op.inlined(inner)[: len(plan.kinds)]
    steps = _steps(node)
    loop = Sketch()
    forward = _add_forward_values(loop, _with_all_states(node), inner, outs, steps)
    points = _cotangents_inside(loop, node, outs, cotangents, steps)
    if points is None:
        return [None] * len(node.inputs)
    sources: dict[Any, Any] = {}  # a step may return one variable several times
    for k, point in points.items():
        sources[outs[k]] = sources[outs[k]] + point if outs[k] in sources else point
    wrt = [v for k, v in enumerate(inner) if is_continuous(v) or (_is_number(v) and not _is_state(plan, k))]
    pulled = Lop(list(sources), wrt, list(sources.values()), disconnected_inputs="ignore")
    result = dict(zip(wrt, clone_replace(list(pulled), forward), strict=True))
    return _carry_out(loop, node, inner, result, steps)


def _with_all_states(node: Apply) -> Apply:
    """Return the loop in a form that keeps its states of all steps, which the way back needs."""
    full = node.op.keeping(range(node.op.plan.states))
    return node if full is node.op else full.make_node(*node.inputs)


def _add_forward_values(loop: Sketch, node: Apply, inner: list[Any], outs: list[Any], steps: Steps) -> dict[Any, Any]:
    """Give the loop the arguments of each step, and its results where they are kept.

    Returns
    -------
    dict
        Inner output -> the variable that stands for its kept values.
    """
    op: Loop = node.op
    plan = op.plan
    arguments = node.inputs[1:]
    first, last = plan.sequences, plan.sequences + plan.states
    loop.sequences += [(v, steps.of(x)) for v, x in zip(inner[:first], arguments[:first], strict=True)]
    loop.constants += list(zip(inner[last:], arguments[last:], strict=True))
    for k, (v, start) in enumerate(zip(inner[first:last], arguments[first:last], strict=True)):
        if plan.kinds[k] == STACK:
            loop.sequences.append((v, steps.of(_states_before(node, k, start))))
        else:
            loop.constants.append((v, start))
    places = {out: k for k, out in enumerate(outs) if plan.kinds[k] == STACK and out.owner}
    stacks = {out: out.type.make_variable() for out in places}
    loop.sequences += [(stacks[out], _rows(node, k, steps)) for out, k in places.items()]
    return stacks


def _rows(node: Apply, k: int, steps: Steps) -> Any:
    """Return the rows of a stacked output that belong to the steps."""
    plan: Plan = node.op.plan
    rows: Any = node.outputs[k]
    if steps.whole:
        return rows
    return rows[: steps.n] if plan.backwards else rows[rows.shape[0] - steps.n :]


def _states_before(node: Apply, k: int, start: Any) -> Any:
    """Return the sequence of state k before each step, in places of the sequences."""
    plan: Plan = node.op.plan
    history: Any = node.outputs[k]
    padded = as_tensor_variable(start).dimshuffle("x", *range(as_tensor_variable(start).type.ndim))
    rows = [history[1:], padded] if plan.backwards else [padded, history[:-1]]
    before = T.join(0, *rows)
    if plan.until and plan.backwards:
        # Rows of sequences that the loop did not reach come first.
        return _shifted(before, as_tensor_variable(node.inputs[0]) - before.shape[0])
    return before


def _shifted(rows: Any, by: Any) -> Any:
    empty = T.alloc(T.constant(0, dtype=rows.type.dtype), by, *(rows.shape[i] for i in range(1, rows.type.ndim)))
    return T.join(0, empty, rows)


def _cotangents_inside(
    loop: Sketch, node: Apply, outs: list[Any], cotangents: list[Variable], steps: Steps
) -> dict[int, Any] | None:
    """Return for each inner output its cotangent in a step, and give the loop the parts of it."""
    plan: Plan = node.op.plan
    points: dict[int, Any] = {}
    any_there = False
    for k, out in enumerate(outs):
        if not is_continuous(out):
            continue
        g: Any = cotangents[k]
        there = not isinstance(g.type, DisconnectedType)
        any_there = any_there or there
        terms = []
        if k < plan.states:
            carried = out.type.make_variable()
            start: Any = node.inputs[1 + plan.sequences + k]
            begin = g if there and plan.kinds[k] in (FINAL, LAST) else zeros_like(start)
            loop.states.append((carried, carried.type.narrow_variable(begin)))
            terms.append(carried)
        if there and plan.kinds[k] in (STACK, LAST) and not (k < plan.states and plan.kinds[k] == LAST):
            rows = _rows_of_cotangent(node, k, g, steps)
            row = TensorType(g.type.dtype, shape=out.type.shape).make_variable()
            loop.sequences.append((row, rows))
            terms.append(row)
        elif there and plan.kinds[k] == SUM:
            fixed = g.type.make_variable()
            loop.constants.append((fixed, g))
            terms.append(fixed)
        if terms:
            points[k] = sum(terms[1:], terms[0])
    return points if any_there else None


def _rows_of_cotangent(node: Apply, k: int, g: Any, steps: Steps) -> Any:
    plan: Plan = node.op.plan
    if plan.kinds[k] == STACK:
        if steps.whole:
            return g
        return g[: steps.n] if plan.backwards else g[g.shape[0] - steps.n :]
    zeros = T.alloc(T.constant(0, dtype=g.type.dtype), steps.n, *(g.shape[i] for i in range(g.type.ndim)))
    return set_subtensor(zeros[0 if plan.backwards else -1], g)


def _carry_out(
    loop: Sketch, node: Apply, inner: list[Any], by_input: dict[Any, Any], steps: Steps
) -> list[Variable | None]:
    op: Loop = node.op
    plan = op.plan
    first, last = plan.sequences, plan.sequences + plan.states
    carried = [v for v in inner[first:last] if is_continuous(v)]
    for v, (state, _) in zip(carried, loop.states, strict=True):
        loop.results.append((state.type.narrow_variable(by_input[v]), FINAL, None))
    others = [(v, STACK) for v in inner[:first] if v in by_input] + [(v, SUM) for v in inner[last:] if v in by_input]
    for v, kind in others:
        loop.results.append((by_input[v], kind, v if kind == SUM else None))
    results = iter(loop.run(steps.n, not plan.backwards, op))
    by_inner = {v: next(results) for v in carried} | {v: next(results) for v, _ in others}
    gradients: list[Variable | None] = [None]
    for k, (v, x) in enumerate(zip(inner, node.inputs[1:], strict=True)):
        if v not in by_inner:
            undefined = first <= k < last and not isinstance(v.type, TensorType)
            reason = "the state is no array"
            gradients.append(grad_undefined(op, k + 1, x, reason) if undefined else None)
        elif k < first:
            full: Any = zeros_like(as_tensor_variable(x), dtype=by_inner[v].type.dtype)
            gradients.append(set_subtensor(steps.of(full), by_inner[v]))
        elif k < last and plan.truncate >= 0:
            asked = as_tensor_variable(node.outputs[-1] if plan.until else node.inputs[0])
            gradients.append(T.switch(asked <= plan.truncate, by_inner[v], zeros_like(by_inner[v])))
        else:
            gradients.append(by_inner[v])
    return gradients


@pushforward.register(Loop)
def push_forward(node: Apply[Loop], tangents: list[Variable | None]) -> list[Variable | None]:
    """Return the tangents of the outputs of a loop, None where they are zero."""
    op: Loop = node.op
    plan = op.plan
    inner: list[Any] = [v.type.make_variable(v.name) for v in op.fgraph.inputs]
    outs = op.inlined(inner)
    first, last = plan.sequences, plan.sequences + plan.states
    moving: list[tuple[Any, Any]] = []
    loop = Sketch()
    stacks: list[tuple[Any, Any]] = []
    for k, (v, x, t) in enumerate(zip(inner, node.inputs[1:], tangents[1:], strict=True)):
        group = loop.sequences if k < first else loop.states if k < last else loop.constants
        group.append((v, x))
        if not is_continuous(v) or (t is None and not first <= k < last):
            continue
        tangent = v.type.make_variable()
        outer = zeros_like(as_tensor_variable(x)) if t is None else t
        moving.append((v, tangent))
        if first <= k < last:
            stacks.append((tangent, v.type.narrow_variable(outer)))
        else:
            group.append((tangent, outer))
    smooth = [k for k, out in enumerate(outs[: len(plan.kinds)]) if is_continuous(out)]
    if not smooth or not moving:
        return [None] * len(node.outputs)
    along = Rop([outs[k] for k in smooth], [v for v, _ in moving], [t for _, t in moving], "ignore")
    by_output = dict(zip(smooth, along, strict=True))
    loop.states += stacks
    _forward_results(loop, plan, inner, outs, by_output, stacks)
    steps = node.outputs[-1] if plan.until else node.inputs[0]
    if plan.until and plan.backwards:
        steps_done = _steps(node)
        loop.sequences = [(v, steps_done.of(x)) for v, x in loop.sequences]
    results = loop.run(steps, plan.backwards, op)[plan.states :]
    result: list[Variable | None] = [None] * len(node.outputs)
    for k, variable in zip(smooth, results, strict=True):
        result[k] = variable
    return result


def _forward_results(
    loop: Sketch,
    plan: Plan,
    inner: Sequence[Any],
    outs: Sequence[Any],
    by_output: dict[int, Any],
    stacks: Sequence[tuple[Any, Any]],
) -> None:
    """Set the uses of the states, their tangents, and the tangents of the other outputs."""
    loop.results += [(outs[k], FINAL, None) for k in range(plan.states)]
    tangents = iter(stacks)
    for k, variable in by_output.items():
        if k < plan.states:
            state = next(tangents)[0]
            loop.results.append((state.type.narrow_variable(variable), plan.kinds[k], None))
    for k, variable in by_output.items():
        if k >= plan.states:
            of = inner[plan.likes[k]] if plan.kinds[k] == SUM else None
            loop.results.append((variable, plan.kinds[k], of))


# ---- Derivatives of loops with the documented kinds of outputs


@pullback.register(Scan)
def _pullback(node: Apply[Scan], cotangents: list[Variable]) -> list[Variable | None]:
    with without_test_values():
        return _cotangents(node, cotangents)


def _cotangents(node: Apply, cotangents: list[Variable]) -> list[Variable | None]:
    op: Scan = node.op
    results, places = loop_of(node), places_in_loop(op)
    inner: list[Any] = [DisconnectedType()() for _ in results]
    firsts: list[Any] = [None] * len(op.depths)
    for k, (g, position) in enumerate(zip(cotangents, places, strict=True)):
        if isinstance(g.type, DisconnectedType):
            continue
        if k >= len(firsts):
            inner[position] = g
            continue
        firsts[k], rows, last = parts_of_cotangent(g, op.depths[k])
        if op.loop.plan.kinds[position] == FINAL and (firsts[k] is not None or rows is not None):
            results = loop_of(node, op.whole_loop)
        inner[position] = (rows, last)
    kinds = results[0].owner.op.plan.kinds
    for position in places[: len(firsts)]:
        if isinstance(inner[position], tuple):
            rows, last = inner[position]
            inner[position] = last if kinds[position] == FINAL else _all_rows(results[position], rows, last)
    if all(isinstance(g.type, DisconnectedType) for g in inner):
        result: list[Any] = [None] * len(results[0].owner.inputs)
    else:
        result = list(pull_back(results[0].owner, inner))
    return _by_buffers(node, result, firsts)


def _all_rows(like: Any, rows: Any, last: Any) -> Any:
    if last is None:
        return rows if rows is not None else DisconnectedType()()
    full = zeros_like(like) if rows is None else rows
    return set_subtensor(full[-1], full[-1] + last)


def _by_buffers(node: Apply, cotangents: list[Any], firsts: list[Any]) -> list[Variable | None]:
    """Return cotangents of the inputs of a Scan, given those of the inputs of its loop and of first rows."""
    op: Scan = node.op
    places = iter(cotangents[1 + op.n_seqs :])
    gradients: list[Variable | None] = cotangents[: 1 + op.n_seqs]
    for buffer, depth, first in zip([*op.outer_mitsot(node), *op.outer_sitsot(node)], op.depths, firsts, strict=True):
        starts = [next(places) for _ in range(depth)][::-1]
        gradients.append(_of_buffer(buffer, starts, first))
    shared = [next(places) for _ in range(op.n_shared_outs)]
    constants = [next(places) if used else None for used in op.used]
    return [*gradients, *shared, *(None for _ in range(op.n_nit_sot)), *constants]


def _of_buffer(buffer: Any, starts: list[Any], first: Any) -> Any:
    seen = [g for g in starts if g is not None and not isinstance(g.type, DisconnectedType)]
    if not seen:
        return None if first is None else set_subtensor(zeros_like(buffer, dtype=first.dtype)[: len(starts)], first)
    dtype = seen[0].type.dtype
    rows = [g if g in seen else zeros_like(as_tensor_variable(buffer)[0], dtype=dtype) for g in starts]
    if first is not None:
        rows = [g + first[k] for k, g in enumerate(rows)]
    return with_first_rows(buffer, rows, dtype)


@pushforward.register(Scan)
def _pushforward(node: Apply[Scan], tangents: list[Variable | None]) -> list[Variable | None]:
    with without_test_values():
        return _tangents(node, tangents)


def _tangents(node: Apply, tangents: list[Variable | None]) -> list[Variable | None]:
    op: Scan = node.op
    results, places = loop_of(node, op.whole_loop), places_in_loop(op)
    starts = op.loop_inputs(tangents, lambda t, k, depth: None if t is None else start_of(t, k, depth))
    along = push_forward(results[0].owner, starts)
    buffers = [*op.outer_mitsot(node), *op.outer_sitsot(node)]
    tangents_of = [*op.outer_mitsot(tangents), *op.outer_sitsot(tangents)]
    result: list[Variable | None] = []
    for k, position in enumerate(places):
        moved: Any = along[position]
        if k < len(buffers) and moved is not None:
            depth, t = op.depths[k], tangents_of[k]
            first: Any = zeros_like(buffers[k][:depth]) if t is None else t[:depth]
            full = expanded(first, depth, moved.shape[0])
            moved = set_subtensor(full[depth:], moved)
        result.append(moved)
    return result
