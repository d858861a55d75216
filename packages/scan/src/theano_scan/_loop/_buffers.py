"""Buffers of loops: arrays whose first rows are what a loop starts from, and whose other rows its steps write.

Between them and what loops are made of here (a first value, the rows of all steps) goes no copy where the form of an
expression says so: a part that has just been written is known.
"""

from __future__ import annotations

from typing import Any

import theano_tensor as T
from theano_graph import Apply, Variable
from theano_linker_c.scalar import add as scalar_add
from theano_tensor import (
    AllocEmpty,
    DimShuffle,
    Elemwise,
    NotScalarConstantError,
    Subtensor,
    as_tensor_variable,
    get_scalar_constant_value,
    set_subtensor,
)
from theano_tensor.indexing import IncSubtensor
from theano_tensor.indexing.entries import Slice
from theano_tensor.shape import Rebroadcast

LAST_ROW = (-1,)


def first_rows(number: int) -> tuple[Slice]:
    """Return the index of the first rows."""
    return (Slice(None, number, None),)


def rows_after(number: int) -> tuple[Slice]:
    """Return the index of all rows but the first ones."""
    return (Slice(number, None, None),)


def expanded(rows: Any, number: int, steps: Any) -> Any:
    """Return an array that begins with `number` rows and has room for those of `steps` steps."""
    lengths = [rows.shape[i] for i in range(1, rows.type.ndim)]
    empty = AllocEmpty(rows.type.dtype)(steps + number, *lengths)
    found = set_subtensor(empty[:number], rows)
    found.tag.nan_guard_mode_check = False
    return found


def start_of(buffer: Any, place: int, depth: int) -> Any:
    """Return row `place` of the first `depth` rows of a buffer."""
    rows = _written(buffer, first_rows(depth))
    if rows is None:
        return buffer[place]
    if depth == 1:
        single = rows.owner.inputs[0] if rows.owner is not None and isinstance(rows.owner.op, Rebroadcast) else rows
        node = single.owner
        if node is not None and isinstance(node.op, DimShuffle):
            inner: Any = node.inputs[0]
            if tuple(node.op.order) == ("x", *range(inner.type.ndim)):
                return inner
    return rows[place]


def _written(buffer: Variable, entries: tuple[Slice]) -> Any:
    """Return the part of a buffer that its node has just written, if it is that part."""
    node = buffer.owner
    if node is None or not isinstance(node.op, IncSubtensor) or not node.op.set_instead_of_inc:
        return None
    if node.op.entries != entries:
        return None
    part, whole = node.inputs[1].type, node.inputs[0].type
    return node.inputs[1] if part.ndim == whole.ndim else None


def parts_of_cotangent(g: Any, depth: int) -> tuple[Any, Any, Any]:
    """Return what a cotangent of a buffer says of its first rows, of the others, and of the last one alone.

    What is known to be zero is None. The first two have the lengths of their parts.
    """
    node = g.owner
    if node is not None and isinstance(node.op, IncSubtensor) and _is_zero(node.inputs[0]):
        if node.op.entries == rows_after(depth) and node.inputs[1].type.ndim == g.type.ndim:
            return None, node.inputs[1], None
        if node.op.entries == LAST_ROW and node.inputs[1].type.ndim == g.type.ndim - 1:
            return None, None, node.inputs[1]
    if node is not None and isinstance(node.op, Elemwise) and node.op.scalar_op == scalar_add:
        if all(v.type.ndim == g.type.ndim and not v.type.broadcastable[0] for v in node.inputs):
            terms = [parts_of_cotangent(v, depth) for v in node.inputs]
            first, rows, last = (_sum([t[k] for t in terms if t[k] is not None]) for k in range(3))
            return first, rows, last
    return g[:depth], g[depth:], None


def _sum(terms: list[Any]) -> Any:
    return sum(terms[1:], terms[0]) if terms else None


def _is_zero(v: Variable) -> bool:
    try:
        return bool(get_scalar_constant_value(v) == 0)
    except NotScalarConstantError:
        return False


def with_first_rows(like: Any, rows: list[Any], dtype: str) -> Any:
    """Return zeros like a buffer, but for its first rows."""
    zeros = T.zeros_like(as_tensor_variable(like), dtype=dtype)
    given = T.shape_padleft(rows[0]) if len(rows) == 1 else T.stack(rows)
    return set_subtensor(zeros[: len(rows)], given)


def reads_rows_after(node: Apply, depth: int) -> bool:
    """Tell whether a node reads all rows but the first ones."""
    return isinstance(node.op, Subtensor) and node.op.entries == rows_after(depth)


def reads_last_row(node: Apply) -> bool:
    """Tell whether a node reads the last row alone."""
    return isinstance(node.op, Subtensor) and node.op.entries == LAST_ROW
