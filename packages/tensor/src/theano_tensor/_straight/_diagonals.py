"""Diagonals: taken out of tensors, put into them, and made to matrices."""

from __future__ import annotations

from collections.abc import Sequence

from theano_graph import Apply
from theano_linker_c.scalar import CValue
from theano_linker_c.straight import Block, CArray, Length, straight_op

from .._core._type import Tensor
from ..extra_ops import AllocDiag, ExtractDiag, FillDiagonal, FillDiagonalOffset
from ._loops import loops, offset

__all__: list[str] = []


def _length(block: Block, rows: Length, columns: Length, down: int, right: int) -> Length:
    """Return the length of a diagonal."""
    if rows.known and columns.known:
        return Length(max(min(rows.factor - down, columns.factor - right), 0))
    return block.length(block.call("theano_least", f"{rows} - {down}", f"{columns} - {right}"))


@straight_op.register(ExtractDiag)
def _extract(node: Apply[ExtractDiag, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    (x,), op = inputs, node.op
    down, right = max(-op.offset, 0), max(op.offset, 0)
    count = _length(block, x.shape[op.axis1], x.shape[op.axis2], down, right)
    others = [axis for axis in range(x.ndim) if axis not in (op.axis1, op.axis2)]
    step = block.sum([x.strides[op.axis1], x.strides[op.axis2]])
    start = block.sum([Length(down) * x.strides[op.axis1], Length(right) * x.strides[op.axis2]])
    shape = [*(x.shape[axis] for axis in others), count]
    return [block.view(x, shape, [*(x.strides[axis] for axis in others), step], str(start))]


@straight_op.register(AllocDiag)
def _alloc(node: Apply[AllocDiag, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    (x,), op = inputs, node.op
    side = block.total([x.shape[-1], Length(abs(op.offset))], "the result is too long")
    target = block.result(0, x.dtype, op.spread(x.shape[:-1], side))
    with loops(block, target.shape) as indices:
        block.store(target, offset(target, indices), CValue("0", "int64"))
    with block.scope(False), loops(block, x.shape) as indices:
        *front, i = indices
        row, column = f"({i} + {max(-op.offset, 0)})", f"({i} + {max(op.offset, 0)})"
        low, high = op.places
        front.insert(low, row)
        front.insert(high, column)
        block.move(x, offset(x, indices), target, offset(target, front))
    return [target]


def _copied(block: Block, x: CArray) -> CArray:
    target = block.result(0, x.dtype, x.shape, (0,))
    if target.pointer != x.pointer:
        block.copy(x, target)
    return target


@straight_op.register(FillDiagonal)
def _fill(node: Apply[FillDiagonal, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    x, value = inputs
    count = x.shape[0]
    for length in x.shape[1:]:
        if x.ndim > 2:
            count = block.same(count, length, "the lengths of a tensor whose diagonal is filled are not equal")
        else:
            count = _length(block, count, length, 0, 0)
    target = _copied(block, x)
    with loops(block, [count]) as (i,):
        block.store(target, offset(target, [i] * x.ndim), value.load("0"))
    return [target]


@straight_op.register(FillDiagonalOffset)
def _fill_offset(node: Apply[FillDiagonalOffset, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    x, value, shift = inputs
    by = block.number(shift)
    target = _copied(block, x)
    # The least number has no negative one; no matrix has so many rows as the number beside it.
    down = block.length(f"{by.atom} < 0 ? -({by.atom} + ({by.atom} < -INT64_MAX)) : 0")
    right = block.length(f"{by.atom} > 0 ? {by.atom} : 0")
    count = block.length(block.call("theano_least", f"{x.shape[0]} - {down}", f"{x.shape[1]} - {right}"))
    with loops(block, [count]) as (i,):
        at = offset(target, [f"({i} + {down})", f"({i} + {right})"])
        block.store(target, at, value.load("0"))
    return [target]
