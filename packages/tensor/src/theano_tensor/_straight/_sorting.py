"""Sorting, and searches by it. Equal elements keep their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Apply
from theano_linker_c.kernels import memory_type
from theano_linker_c.scalar import CValue
from theano_linker_c.straight import Block, CArray, Length, straight_op

from .._core._type import Tensor
from ..extra_ops import SearchsortedOp, Unique
from ..sorting import ArgSort, Sort, TopK
from ._loops import loops, offset

__all__: list[str] = []


def _ordered_as(block: Block, x: CArray) -> CArray:
    """Return an array whose order is that of another one: itself, or float16 as float32, which holds all of them."""
    if x.dtype != "float16":
        return x
    wide = block.allocate("float32", x.shape, local=True)
    block.copy(x, wide)
    return wide


def _ordered(block: Block, x: CArray, start: str, length: Length, stride: Length) -> str:
    """Write the numbers of some elements in ascending order; returns the name of their array."""
    order, space = (block.allocate("int64", (length,), local=True) for _ in range(2))
    sort = f"theano_argsort_{memory_type(x.dtype)}"
    block.line(block.call(sort, length, f"{x.pointer} + {start}", stride, order.pointer, space.pointer) + ";")
    return order.pointer


def _others(x: CArray, axis: int) -> list[Length]:
    return [length for k, length in enumerate(x.shape) if k != axis]


def _at(indices: Sequence[str], axis: int, index: str) -> list[str]:
    """Return indices with one for the axis that was left out."""
    return [*indices[:axis], index, *indices[axis:]]


@straight_op.register(Sort, ArgSort)
def _sort(node: Apply[Sort | ArgSort, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    (x,) = inputs
    axis = node.op.axis % x.ndim
    target = block.result(0, node.outputs[0].type.dtype, x.shape)
    order, key = _space(block, x, axis), _ordered_as(block, x)
    with loops(block, _others(x, axis)) as indices:
        _call(block, key, axis, indices, order)
        with loops(block, [x.shape[axis]]) as (i,):
            number = f"{order[0].pointer}[{i}]"
            offset_text = offset(target, _at(indices, axis, i))
            if isinstance(node.op, Sort):
                block.move(x, offset(x, _at(indices, axis, number)), target, offset_text)
            else:
                block.store(target, offset_text, CValue(number, "int64"))
    return [target]


def _space(block: Block, x: CArray, axis: int) -> tuple[CArray, CArray]:
    first, second = (block.allocate("int64", (x.shape[axis],), local=True) for _ in range(2))
    return first, second


def _call(block: Block, x: CArray, axis: int, indices: Sequence[str], order: tuple[CArray, CArray]) -> None:
    sort, start = f"theano_argsort_{memory_type(x.dtype)}", offset(x, _at(indices, axis, "0"))
    arguments = (x.shape[axis], f"{x.pointer} + {start}", x.strides[axis], order[0].pointer, order[1].pointer)
    block.line(block.call(sort, *arguments) + ";")


@straight_op.register(TopK)
def _top(node: Apply[TopK, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    x, op, k = inputs[0], node.op, block.number(inputs[1])
    axis, length = op.axis, inputs[0].shape[op.axis]
    if k.known:
        count = Length(abs(k.factor))
        block.at_least(count, 1, "topk: k is 0")
    else:
        count = block.length(f"{k} < 0 ? -{k} : {k}")
    if count.known and length.known and count.factor > length.factor:
        raise block.refuse(f"{count} of {length} elements cannot be had", "ask for fewer elements")
    block.check(f"{count} > 0 && {count} <= {length}", "topk: k is 0, or larger than the length of the axis")
    shape = [count if a == axis else n for a, n in enumerate(x.shape)]
    results = [block.result(i, v.type.dtype, shape) for i, v in enumerate(node.outputs)]
    order, key = _space(block, x, axis), _ordered_as(block, x)
    with loops(block, _others(x, axis)) as indices:
        _call(block, key, axis, indices, order)
        with loops(block, [count]) as (i,):
            number = f"{order[0].pointer}[{k} > 0 ? {length} - 1 - {i} : {i}]"
            position = _at(indices, axis, i)
            values: list[Any] = [x.load(offset(x, _at(indices, axis, number)))] * op.return_values
            values += [CValue(number, "int64")] * op.return_indices
            for target, value in zip(results, values, strict=True):
                block.store(target, offset(target, position), value)
    return results


@straight_op.register(SearchsortedOp)
def _search(node: Apply[SearchsortedOp, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    x, v, *sorter = inputs
    target = block.result(0, "int64", v.shape)
    for order in sorter:
        block.same(order.shape[0], x.shape[0], "the sorter has not the length of the vector")
    with block.scope(not v.shape), loops(block, v.shape) as indices:
        low, high, middle = (block.fresh("k") for _ in range(3))
        block.variable("int64_t", low, "0")
        block.variable("int64_t", high, str(x.shape[0]))
        with block.block(f"while ({low} < {high})"):
            block.let("int64_t", middle, f"{low} + ({high} - {low}) / 2")
            position = middle
            if sorter:
                position = block.fresh("k")
                block.let("int64_t", position, f"(int64_t){sorter[0].load(offset(sorter[0], [middle])).text}")
                block.check(f"{position} >= 0 && {position} < {x.shape[0].atom}", "the sorter is out of bounds")
            a, b = x.load(offset(x, [position])).text, v.load(offset(v, indices)).text
            before = (
                _before(a, x.dtype, b, v.dtype) if node.op.side == "left" else f"!({_before(b, v.dtype, a, x.dtype)})"
            )
            both = f"if ({before}) {low} = {middle} + 1;", f"else {high} = {middle};"
            block.line(*both, changes=(low, high))
        block.store(target, offset(target, indices), CValue(low, "int64"))
    return [target]


def _before(a: str, a_dtype: str, b: str, b_dtype: str) -> str:
    """Return the C text for whether a stands before b; NaN stands last."""
    if a == b:
        return "0"
    mixed = {a_dtype.startswith("u"), b_dtype.startswith("u")} == {True, False}
    if mixed and not (a_dtype.startswith("f") or b_dtype.startswith("f")):
        a, b = f"(double){a}", f"(double){b}"
    less = f"{a} < {b}"
    if not b_dtype.startswith("f"):
        return less
    defined = f" && {a} == {a}" if a_dtype.startswith("f") else ""
    return f"{less} || ({b} != {b}{defined})"


@straight_op.register(Unique)
def _unique(node: Apply[Unique, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    op, x = node.op, block.in_order(inputs[0])
    if op.axis is not None and x.ndim > 1:
        raise block.refuse("distinct slices have no form in C", "flatten the tensor, or leave this one to Python")
    size, key = x.size, _ordered_as(block, x)
    order = _ordered(block, key, "0", size, Length(1))
    count = block.fresh("n")
    block.variable("int64_t", count, "0")
    first = block.allocate("int64", (size,), local=True)
    numbers = block.allocate("int64", (size,), local=True)
    with loops(block, [size]) as (i,):
        now, before = key.element(f"{order}[{i}]"), key.element(f"{order}[{i} - 1]")
        both = f" && ({now} == {now} || {before} == {before})" if x.dtype.startswith("f") else ""
        # Compilers warn of a number that is compared with itself, as the only element would be.
        other = "" if now == before else f" || ({now} != {before}{both})"
        block.line(f"if ({i} == 0{other}) {first.pointer}[{count}++] = {i};", changes=(count,))
        block.line(f"{numbers.pointer}[{order}[{i}]] = {count} - 1;")
    distinct = (Length(1, (count,)),)
    flags = (True, op.return_index, op.return_inverse, op.return_counts)
    shapes = [shape for shape, flag in zip((distinct, distinct, (size,), distinct), flags, strict=True) if flag]
    results = [block.result(k, v.type.dtype, s) for k, (v, s) in enumerate(zip(node.outputs, shapes, strict=True))]
    targets = iter(results[1:])
    with loops(block, distinct) as (i,):
        block.line(f"{results[0].pointer}[{i}] = {x.element(f'{order}[{first.pointer}[{i}]]')};")
    if op.return_index:
        target = next(targets)
        with loops(block, distinct) as (i,):
            block.line(f"{target.pointer}[{i}] = {order}[{first.pointer}[{i}]];")
    if op.return_inverse:
        block.copy(numbers, next(targets))
    if op.return_counts:
        target = next(targets)
        with loops(block, distinct) as (i,):
            end = f"({i} + 1 < {count} ? {first.pointer}[{i} + 1] : {size})"
            block.line(f"{target.pointer}[{i}] = {end} - {first.pointer}[{i}];")
    return results
