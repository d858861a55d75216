"""Operations that move, count, or sort elements, in straight-line C; nodes as kernels with any dtypes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from theano_graph import Apply
from theano_linker_c.kernels import (
    ArrayRoutineKernel,
    ConcatenateKernel,
    FullKernel,
    IndexArray,
    IndexReadKernel,
    IndexWriteKernel,
    Kernel,
    ReshapeKernel,
    SpecifyShapeKernel,
    SplitKernel,
    StackKernel,
    memory_type,
    native_kernel,
)
from theano_linker_c.scalar import CValue, add, c_cast, c_type, mul
from theano_linker_c.straight import STRAIGHT, Block, CArray, Length, straight_op

from .._core._dtypes import COMPLEX_DTYPES, DISCRETE_DTYPES, FLOAT_DTYPES
from .._core._type import Tensor, TensorType
from ..creation import Alloc, ARange
from ..extra_ops import (
    AllocDiag,
    BinCount,
    CpuContiguous,
    Cumulative,
    ExtractDiag,
    FillDiagonal,
    FillDiagonalOffset,
    Recurrence,
    RepeatedNumbers,
    SearchsortedOp,
    Unique,
)
from ..indexing import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor, Nonzero
from ..indexing._rules import index_entries, operand_types
from ..joining import Join, Split
from ..linear import Dot
from ..shape import MakeVector, Reshape, Roll, SpecifyShape, static_int
from ..sorting import ArgSort, Sort, TopK

# ---- The common part of the rules in this folder


@contextmanager
def loops(block: Block, lengths: Sequence[Length]) -> Iterator[list[str]]:
    """Write a loop for each length, one inside the other; gives their indices."""
    indices = [block.fresh("i") for _ in lengths]
    with ExitStack() as stack:
        for index, length in zip(indices, lengths, strict=True):
            stack.enter_context(block.loop(index, length))
        yield indices


def offset(x: CArray, indices: Sequence[str]) -> str:
    """Return the offset of an element, by its index along each axis."""
    terms = [f"{i} * {s.atom}" for i, s in zip(indices, x.strides, strict=True) if i != "0" and str(s) != "0"]
    return " + ".join(terms) or "0"


# ---- Nodes as kernels, with any dtypes of lengths, indices and values: C that stands alone converts as it reads

_straight = native_kernel.for_target(STRAIGHT)


def _has_complex(node: Apply) -> bool:
    return any(v.type.dtype in COMPLEX_DTYPES for v in (*node.inputs, *node.outputs))


@_straight.register(Alloc)
def _filled(node: Apply[Alloc, Tensor]) -> Kernel | None:
    value = node.inputs[0].type
    return FullKernel(value.dtype, value.broadcastable)


@_straight.register(MakeVector)
def _stacked(node: Apply[MakeVector, Tensor]) -> Kernel | None:
    return StackKernel(node.op.dtype)


@_straight.register(Reshape)
def _reshaped(node: Apply[Reshape, Tensor]) -> Kernel | None:
    x = node.inputs[0].type
    return ReshapeKernel(x.dtype, x.ndim, node.op.ndim)


@_straight.register(SpecifyShape)
def _specified(node: Apply[SpecifyShape]) -> Kernel | None:
    x, axes = node.inputs[0].type, list(node.op.axes)
    if not isinstance(x, TensorType) or axes != sorted(axes):
        return None
    return SpecifyShapeKernel(tuple(i in axes for i in range(x.ndim)))


@_straight.register(Join)
def _joined(node: Apply[Join, Tensor]) -> Kernel | None:
    axis, result = static_int(node.inputs[0]), node.outputs[0].type
    return None if axis is None else ConcatenateKernel(result.dtype, result.ndim, axis % result.ndim)


@_straight.register(Split)
def _parts(node: Apply[Split, Tensor]) -> Kernel | None:
    x, axis = node.inputs[0], static_int(node.inputs[1])
    return None if axis is None else SplitKernel(x.type.dtype, x.type.ndim, axis % x.type.ndim)


@_straight.register(AdvancedSubtensor)
def _read(node: Apply[AdvancedSubtensor, Tensor]) -> Kernel | None:
    entries = index_entries(node, 1)
    if not any(isinstance(e, IndexArray) for e in entries):
        return None
    return IndexReadKernel(entries, *operand_types(node))


@_straight.register(IncSubtensor, AdvancedIncSubtensor)
def _write(node: Apply[IncSubtensor | AdvancedIncSubtensor, Tensor]) -> Kernel | None:
    op, entries = node.op, index_entries(node, 2)
    if getattr(op, "ignore_duplicates", False) or _has_complex(node):
        return None
    if isinstance(op, AdvancedIncSubtensor) and not any(isinstance(e, IndexArray) for e in entries):
        return None
    broadcastable = node.inputs[1].type.broadcastable
    return IndexWriteKernel(entries, *operand_types(node), op.set_instead_of_inc, broadcastable)


@_straight.register(ARange)
def _range_kernel(node: Apply[ARange, Tensor]) -> Kernel | None:
    dtypes = {v.type.dtype for v in (*node.inputs, *node.outputs)}
    return ArrayRoutineKernel("arange", node.op.dtype) if dtypes <= DISCRETE_DTYPES else None


@_straight.register(Cumulative)
def _cumulative(node: Apply[Cumulative, Tensor]) -> Kernel | None:
    task = "cumsum" if node.op.mode == "add" else "cumprod"
    return None if _has_complex(node) else ArrayRoutineKernel(task, node.outputs[0].type.dtype, node.op.axis)


@_straight.register(Recurrence)
def _recurrence(node: Apply[Recurrence, Tensor]) -> Kernel | None:
    dtype = node.outputs[0].type.dtype
    return ArrayRoutineKernel("recurrence", dtype, node.op.axis) if dtype in FLOAT_DTYPES else None


# ---- Products of integers, ranges of floats, and operations that move or count elements


@straight_op.register(Dot)
def _dot(node: Apply[Dot, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    a, b = inputs
    dtype = node.outputs[0].type.dtype
    if dtype.startswith("complex"):
        raise block.refuse("products of complex numbers have no form in C", "use their real and imaginary parts")
    terms = block.same(a.shape[-1], b.shape[0], "the factors of a product do not fit each other")
    target = block.result(0, dtype, (*a.shape[:-1], *b.shape[1:]))
    number = "float" if dtype == "float16" else c_type(dtype)
    with block.scope(not target.shape), loops(block, target.shape) as indices:
        rows, columns = indices[: a.ndim - 1], indices[a.ndim - 1 :]
        total = block.fresh("r")
        block.variable(number, total, "0")
        with loops(block, [terms]) as (k,):
            left, right = (c_cast(x.load(offset(x, at)), dtype) for x, at in ((a, [*rows, k]), (b, [k, *columns])))
            if dtype == "bool":
                block.assign(total, f"{total} || (({left}) && ({right}))")
            else:
                product = mul.c_expression([CValue(f"({left})", dtype), CValue(f"({right})", dtype)], dtype)
                both = [CValue(total, dtype), CValue(f"({product})", dtype)]
                block.assign(total, f"({number})({add.c_expression(both, dtype)})")
        block.store(target, offset(target, indices), CValue(total, dtype))
    return [target]


@straight_op.register(ARange)
def _range(node: Apply[ARange, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    dtype = node.op.dtype
    if dtype in DISCRETE_DTYPES:
        raise block.refuse("a range of integers has bounds that are none", "convert the bounds")
    start, stop, step = (c_cast(x.load("0"), "float64") for x in inputs)
    block.check(f"{step} != 0", "the step of a range is 0")
    count = block.length(block.call("theano_real_range_length", start, stop, step))
    target = block.result(0, dtype, (count,))
    number = "double" if dtype == "float64" else "float"
    first, by = block.fresh("x"), block.fresh("x")
    block.let(number, first, f"({number}){start}")
    block.let(number, by, f"({number})({start} + {step}) - {first}")
    with loops(block, [count]) as (i,):
        block.store(target, i, CValue(f"({first} + ({number}){i} * {by})", dtype))
    return [target]


@straight_op.register(CpuContiguous)
def _contiguous(node: Apply[CpuContiguous, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    return list(inputs)


@straight_op.register(Roll)
def _roll(node: Apply[Roll, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    x, shift, where = inputs
    known = block.number(where)
    if not known.known or not -x.ndim <= known.factor < x.ndim:
        raise block.refuse("the axis that is rolled is not known, or out of range", "give the axis as a number")
    axis = known.factor % x.ndim
    length = x.shape[axis]
    target = block.result(0, x.dtype, x.shape)
    by = (
        block.length(f"{length} == 0 ? 0 : {block.number(shift).atom} % {length.atom}", total=False)
        if length != Length(0)
        else length
    )
    with loops(block, x.shape) as indices:
        to = block.fresh("k")
        block.variable("int64_t", to, f"{indices[axis]} + {by}")
        block.line(f"{to} += {to} < 0 ? {length} : {to} >= {length.atom} ? -({length}) : 0;", changes=(to,))
        moved = [to if k == axis else index for k, index in enumerate(indices)]
        block.move(x, offset(x, indices), target, offset(target, moved))
    return [target]


def _count(block: Block) -> str:
    """Define a number that is counted up."""
    name = block.fresh("n")
    block.variable("int64_t", name, "0")
    return name


@straight_op.register(Nonzero)
def _nonzero(node: Apply[Nonzero, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    (x,) = inputs
    count = _count(block)
    with loops(block, x.shape) as indices:
        block.line(f"{count} += {x.load(offset(x, indices)).text} != 0;", changes=(count,))
    results = [block.result(k, "int64", (Length(1, (count,)),)) for k in range(len(node.outputs))]
    position = block.fresh("k")
    block.variable("int64_t", position, "0")
    with loops(block, x.shape) as indices, block.block(f"if ({x.load(offset(x, indices)).text} != 0)"):
        for target, index in zip(results, indices, strict=True):
            block.store(target, position, CValue(index, "int64"))
        block.line(f"{position}++;", changes=(position,))
    return results


@straight_op.register(RepeatedNumbers)
def _repeated(node: Apply[RepeatedNumbers, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    (x,) = inputs
    count = _count(block)
    with loops(block, x.shape) as (i,):
        value = x.load(offset(x, [i])).text
        if not x.dtype.startswith(("u", "b")):
            block.check(f"{value} >= 0", "something is repeated less than 0 times")
        block.assign(count, block.call("theano_add_lengths", count, f"(int64_t){value}"))
    block.check(f"{count} >= 0", "the repetitions are more than the length of any array")
    target = block.result(0, "int64", (Length(1, (count,)),))
    position = block.fresh("k")
    block.variable("int64_t", position, "0")
    with loops(block, x.shape) as (i,):
        left = block.fresh("k")
        value = x.load(offset(x, [i])).text
        with block.block(f"for (int64_t {left} = (int64_t){value}; {left} > 0; {left}--)"):
            block.line(f"{target.element(position + '++')} = {i};", changes=(position,))
    return [target]


@straight_op.register(BinCount)
def _bincount(node: Apply[BinCount, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    x, least, *weights = inputs
    length = block.fresh("n")
    start = block.number(least)
    block.at_least(start, 0, "the least length of counts is negative")
    block.variable("int64_t", length, str(start))
    for w in weights:
        block.same(w.shape[0], x.shape[0], "there is not one weight for each number")
    with loops(block, x.shape) as (i,):
        value = x.load(offset(x, [i])).text
        if not x.dtype.startswith(("u", "b")):
            block.check(f"{value} >= 0", "a number that is counted is negative")
        if x.dtype.endswith("64"):
            block.check(f"(uint64_t){value} < INT64_MAX", "a number that is counted is too large")
        block.assign(length, f"(int64_t){value} < {length} ? {length} : (int64_t){value} + 1")
    dtype = node.outputs[0].type.dtype
    target = block.result(0, dtype, (Length(1, (length,)),))
    with loops(block, target.shape) as (i,):
        block.store(target, i, CValue("0", "int64"))
    with loops(block, x.shape) as (i,):
        at = f"(int64_t){x.load(offset(x, [i])).text}"
        more = c_cast(weights[0].load(offset(weights[0], [i])), dtype) if weights else "1"
        terms = [target.load(at), CValue(f"({more})", dtype)]
        block.store(target, at, CValue(f"({add.c_expression(terms, dtype)})", dtype))
    return [target]


# ---- Diagonals: taken out of tensors, put into them, and made to matrices


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


# ---- Sorting, and searches by it. Equal elements keep their order


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


__all__ = ["loops", "offset"]
