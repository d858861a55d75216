"""Derivatives of loops with the documented kinds of outputs: those of the loops that run."""

from __future__ import annotations

from typing import Any

from theano_graph import Apply, Variable, pullback, pushforward
from theano_tensor import as_tensor_variable, set_subtensor, zeros_like
from theano_tensor.gradient import DisconnectedType

from .._loop._buffers import expanded, parts_of_cotangent, start_of, with_first_rows
from .._loop._checks import without_test_values
from .._loop._ops import Scan
from .._loop._plan import FINAL
from ._lowering import loop_of, places_in_loop
from ._running import pull_back, push_forward


@pullback.register(Scan)
def _pullback(node: Apply[Scan], cotangents: list[Variable]) -> list[Variable | None]:
    with without_test_values():
        return _cotangents(node, cotangents)


def _cotangents(node: Apply, cotangents: list[Variable]) -> list[Variable | None]:
    op: Scan = node.op
    made, places = loop_of(node), places_in_loop(op)
    inner: list[Any] = [DisconnectedType()() for _ in made]
    firsts: list[Any] = [None] * len(op.depths)
    for k, (g, place) in enumerate(zip(cotangents, places, strict=True)):
        if isinstance(g.type, DisconnectedType):
            continue
        if k >= len(firsts):
            inner[place] = g
            continue
        firsts[k], rows, last = parts_of_cotangent(g, op.depths[k])
        if op.loop.plan.kinds[place] == FINAL and (firsts[k] is not None or rows is not None):
            made = loop_of(node, op.whole_loop)
        inner[place] = (rows, last)
    kinds = made[0].owner.op.plan.kinds
    for place in places[: len(firsts)]:
        if isinstance(inner[place], tuple):
            rows, last = inner[place]
            inner[place] = last if kinds[place] == FINAL else _all_rows(made[place], rows, last)
    if all(isinstance(g.type, DisconnectedType) for g in inner):
        found: list[Any] = [None] * len(made[0].owner.inputs)
    else:
        found = list(pull_back(made[0].owner, inner))
    return _by_buffers(node, found, firsts)


def _all_rows(like: Any, rows: Any, last: Any) -> Any:
    if last is None:
        return rows if rows is not None else DisconnectedType()()
    whole = zeros_like(like) if rows is None else rows
    return set_subtensor(whole[-1], whole[-1] + last)


def _by_buffers(node: Apply, found: list[Any], firsts: list[Any]) -> list[Variable | None]:
    """Return cotangents of the inputs of a Scan, given those of the inputs of its loop and of first rows."""
    op: Scan = node.op
    places = iter(found[1 + op.n_seqs :])
    gradients: list[Variable | None] = found[: 1 + op.n_seqs]
    for buffer, depth, first in zip([*op.outer_mitsot(node), *op.outer_sitsot(node)], op.depths, firsts, strict=True):
        starts = [next(places) for _ in range(depth)][::-1]
        gradients.append(_of_buffer(buffer, starts, first))
    shared = [next(places) for _ in range(op.n_shared_outs)]
    constants = [next(places) if used else None for used in op.used]
    return [*gradients, *shared, *(None for _ in range(op.n_nit_sot)), *constants]


def _of_buffer(buffer: Any, starts: list[Any], first: Any) -> Any:
    known = [g for g in starts if g is not None and not isinstance(g.type, DisconnectedType)]
    if not known:
        return None if first is None else set_subtensor(zeros_like(buffer, dtype=first.dtype)[: len(starts)], first)
    dtype = known[0].type.dtype
    rows = [g if g in known else zeros_like(as_tensor_variable(buffer)[0], dtype=dtype) for g in starts]
    if first is not None:
        rows = [g + first[k] for k, g in enumerate(rows)]
    return with_first_rows(buffer, rows, dtype)


@pushforward.register(Scan)
def _pushforward(node: Apply[Scan], tangents: list[Variable | None]) -> list[Variable | None]:
    with without_test_values():
        return _tangents(node, tangents)


def _tangents(node: Apply, tangents: list[Variable | None]) -> list[Variable | None]:
    op: Scan = node.op
    made, places = loop_of(node, op.whole_loop), places_in_loop(op)
    starts = op.loop_inputs(tangents, lambda t, k, depth: None if t is None else start_of(t, k, depth))
    along = push_forward(made[0].owner, starts)
    buffers = [*op.outer_mitsot(node), *op.outer_sitsot(node)]
    tangents_of = [*op.outer_mitsot(tangents), *op.outer_sitsot(tangents)]
    found: list[Variable | None] = []
    for k, place in enumerate(places):
        moved: Any = along[place]
        if k < len(buffers) and moved is not None:
            depth, t = op.depths[k], tangents_of[k]
            first: Any = zeros_like(buffers[k][:depth]) if t is None else t[:depth]
            whole = expanded(first, depth, moved.shape[0])
            moved = set_subtensor(whole[depth:], moved)
        found.append(moved)
    return found
