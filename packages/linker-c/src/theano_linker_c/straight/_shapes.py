"""Views, and arrays that follow from shapes."""

from __future__ import annotations

from collections.abc import Sequence

from ..kernels import (
    ArrayRoutineKernel,
    ConcatenateKernel,
    FullKernel,
    LengthKernel,
    ReshapeKernel,
    SpecifyShapeKernel,
    SplitKernel,
    StackKernel,
    TransposeKernel,
)
from ..scalar import CValue, add, c_cast, c_type, mul
from ._arrays import ONE, ZERO, CArray, Length, contiguous_strides, product_of, straight_kernel
from ._block import Block

__all__: list[str] = []


@straight_kernel.register(TransposeKernel)
def _transpose(kernel: TransposeKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    (x,) = inputs
    for axis in kernel.drop:
        block.same(x.shape[axis], ONE, f"axis {axis} is dropped, and has not length 1")
    shape = [ONE if axis is None else x.shape[axis] for axis in kernel.order]
    strides = [ZERO if axis is None else x.strides[axis] for axis in kernel.order]
    view = block.view(x, shape, strides)
    return [_with_numbers(view, x)]


def _with_numbers(view: CArray, x: CArray) -> CArray:
    """Let a view of one number, or of all of a vector, know these numbers."""
    if x.numbers is not None and view.ndim <= 1 and view.size == x.size:
        return CArray(view.dtype, view.shape, view.strides, view.pointer, view.root, None, x.numbers)
    return view


@straight_kernel.register(LengthKernel)
def _length(kernel: LengthKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    return [block.number_array(inputs[0].shape[kernel.axis])]


@straight_kernel.register(StackKernel)
def _stack(kernel: StackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    target = block.result(0, kernel.dtype, (Length(len(inputs)),))
    for i, x in enumerate(inputs):
        block.store(target, str(i), x.load("0"))
    numbers = None
    if kernel.dtype == "int64":
        numbers = tuple(block.number(x) for x in inputs)
    return [CArray(target.dtype, target.shape, target.strides, target.pointer, target.root, None, numbers)]


@straight_kernel.register(ReshapeKernel)
def _reshape(kernel: ReshapeKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    x, wanted = inputs
    lengths = block.numbers(wanted, kernel.ndim_out)
    shape = _filled_in(block, x.size, lengths)
    if x.contiguous:
        return [block.view(x, shape, contiguous_strides(shape))]
    target = block.result(0, x.dtype, shape)
    block.copy(x, block.view(target, x.shape, contiguous_strides(x.shape)))
    return [target]


def _filled_in(block: Block, size: Length, lengths: Sequence[Length]) -> list[Length]:
    """Return a shape in which -1 has become the quotient of the numbers of elements."""
    missing = [k for k, length in enumerate(lengths) if length == Length(-1)]
    text = "the number of elements changes"
    if len(missing) > 1:
        raise block.refuse("a new shape has two lengths of -1", "give all lengths but one")
    if missing:
        others = product_of(length for k, length in enumerate(lengths) if k != missing[0])
        shape = list(lengths)
        shape[missing[0]] = _divided(block, size, others, text)
        return shape
    if any(not length.known for length in lengths):
        unknown = [k for k, length in enumerate(lengths) if not length.known]
        if product_of(lengths) == size:
            return list(lengths)
        # A length that is known at run time only may be -1 there.
        if len(unknown) == 1:
            k = unknown[0]
            others = product_of(length for i, length in enumerate(lengths) if i != k)
            left = _divided(block, size, others, text) if others != ZERO else lengths[k]
            block.check(f"{lengths[k].atom} == {left.atom} || {lengths[k].atom} == -1", text)
            return [left if i == k else length for i, length in enumerate(lengths)]
        for k in unknown:
            block.check(f"{lengths[k].atom} >= 0", "a new shape has negative lengths that are known at run time only")
    product = product_of(lengths)
    block.same(product if product == size else block.checked(product), size, text)
    return list(lengths)


def _divided(block: Block, size: Length, others: Length, text: str) -> Length:
    """Return how often a length goes into another."""
    if size.known and others.known:
        if others.factor == 0 or size.factor % others.factor:
            raise block.refuse(text, "give lengths whose product is the number of elements")
        return Length(size.factor // others.factor)
    names = list(size.names)
    if size.factor and others.factor and size.factor % others.factor == 0:
        for name in others.names:
            if name not in names:
                break
            names.remove(name)
        else:
            return Length(size.factor // others.factor, tuple(names))
    others = block.checked(others)
    block.check(f"{others.atom} > 0 && {size.atom} % {others.atom} == 0", text)
    return block.length(f"{size.atom} / {others.atom}", total=False)


@straight_kernel.register(FullKernel)
def _full(kernel: FullKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    x, *numbers = inputs
    shape = [block.number(number) for number in numbers]
    for length in shape:
        block.at_least(length, 0, "a length is negative")
    strides, shape = block.spread(x, shape, kernel.broadcastable, "the value and the result differ in length")
    target = block.result(0, kernel.dtype, shape)
    with block.loops(block.nest(shape, (), [strides, target.strides])) as (a, b):
        block.store(target, b, x.load(a))
    return [target]


@straight_kernel.register(ConcatenateKernel)
def _concatenate(kernel: ConcatenateKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    parts, axis = inputs[1:], kernel.axis
    shape = list(parts[0].shape)
    for part in parts[1:]:
        for other in range(kernel.ndim):
            if other != axis:
                text = f"arrays that are joined differ in length along axis {other}"
                shape[other] = block.same(shape[other], part.shape[other], text)
    shape[axis] = block.total([part.shape[axis] for part in parts], "the result of joining is too long")
    target = block.result(0, kernel.dtype, shape)
    begin: list[Length] = []
    for part in parts:
        start = block.sum(begin)
        _copy_part(block, part, target, axis, start)
        begin.append(part.shape[axis])
    if target.ndim == 1 and all(part.numbers is not None for part in parts):
        numbers = tuple(number for part in parts for number in part.numbers or ())
        return [CArray(target.dtype, target.shape, target.strides, target.pointer, target.root, None, numbers)]
    return [target]


def _copy_part(block: Block, part: CArray, made: CArray, axis: int, start: Length) -> None:
    offset = start * made.strides[axis] if made.shape[axis] != ONE else ZERO
    target = block.view(made, part.shape, [
        ZERO if length == ONE else stride for length, stride in zip(part.shape, made.strides, strict=True)
    ], str(offset), written=True)  # fmt: skip
    block.copy(part, target)


@straight_kernel.register(SpecifyShapeKernel)
def _specify_shape(kernel: SpecifyShapeKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    x, *numbers = inputs
    iterator = iter(numbers)
    shape = list(x.shape)
    for axis, checked in enumerate(kernel.checked):
        if checked:
            length = block.number(next(iterator)) if numbers else ONE
            shape[axis] = block.same(x.shape[axis], length, f"axis {axis} has not the length that was promised")
    return [CArray(x.dtype, tuple(shape), x.strides, x.pointer, x.root, x.value, x.numbers)]


@straight_kernel.register(SplitKernel)
def _split(kernel: SplitKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    x, _, lengths = inputs
    assert block.step is not None
    count, axis = len(block.step.instruction.outputs), kernel.axis
    block.same(lengths.shape[0], Length(count), "there is not one length for each part")
    parts = block.numbers(lengths, count)
    for part in parts:
        block.at_least(part, 0, "a part has a negative length")
    text = "the lengths of the parts do not add up to the length of the whole"
    block.same(block.total(parts, text), x.shape[axis], text)
    views: list[CArray] = []
    begin: list[Length] = []
    for part in parts:
        shape = [part if a == axis else length for a, length in enumerate(x.shape)]
        offset = block.sum(begin) * x.strides[axis]
        views.append(block.view(x, shape, x.strides, str(offset)))
        begin.append(part)
    return views


@straight_kernel.register(ArrayRoutineKernel)
def _routine(kernel: ArrayRoutineKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    return [_ROUTINES[kernel.task](kernel, block, inputs)]


def _cumulative(kernel: ArrayRoutineKernel, block: Block, inputs: Sequence[CArray]) -> CArray:
    (x, *_) = inputs
    join, start = (add, "0") if kernel.task == "cumsum" else (mul, "1")
    axis = kernel.number
    target = block.result(0, kernel.dtype, x.shape)
    others = [a for a in range(x.ndim) if a != axis]
    lengths = [x.shape[a] for a in others]
    with block.loops(block.nest(lengths, (), [[v.strides[a] for a in others] for v in (x, target)])) as (a, b):
        total, index = block.fresh("r"), block.fresh("i")
        wide = "float64" if kernel.dtype.startswith("float") else kernel.dtype
        kind = c_type(wide)
        with block.scope(not lengths):
            block.variable(kind, total, start)
            with block.loop(index, x.shape[axis]):
                value = x.load(f"{a} + {index} * {x.strides[axis].atom}")
                text = join.c_expression([CValue(total, wide), CValue(c_cast(value, wide), wide)], wide)
                block.assign(total, f"({kind})({text})")
                offset = f"{b} + {index} * {target.strides[axis].atom}"
                block.store(target, offset, CValue(total, wide))
    return target


def _diagonal(kernel: ArrayRoutineKernel, block: Block, inputs: Sequence[CArray]) -> CArray:
    (x,) = inputs
    down, right = max(-kernel.number, 0), max(kernel.number, 0)
    rows, columns = x.shape
    if rows.known and columns.known:
        count = Length(max(min(rows.factor - down, columns.factor - right), 0))
    else:
        block.routines.add("theano_least")
        count = block.length(f"theano_least({rows.atom} - {down}, {columns.atom} - {right})")
    step = block.sum(x.strides)
    start = block.sum([Length(down) * x.strides[0], Length(right) * x.strides[1]])
    target = block.result(0, kernel.dtype, (count,))
    with block.loops(block.nest((count,), (), [(step,), target.strides])) as (a, b):
        block.store(target, b, x.load(f"{start} + {a}"))
    return target


def _arange(kernel: ArrayRoutineKernel, block: Block, inputs: Sequence[CArray]) -> CArray:
    start, stop, step = (block.number(x) for x in inputs)
    if start.known and stop.known and step.known:
        count = Length(len(range(start.factor, stop.factor, step.factor)))
    else:
        block.check(f"{step.atom} != 0", "the step of a range is 0")
        block.routines.add("theano_range_length")
        count = block.length(f"theano_range_length({start}, {stop}, {step})")
    target = block.result(0, kernel.dtype, (count,))
    index = block.fresh("i")
    with block.loop(index, count):
        text = f"(int64_t)((uint64_t){start.atom} + (uint64_t){index} * (uint64_t){step.atom})"
        block.store(target, index, CValue(text, "int64"))
    return target


def _eye(kernel: ArrayRoutineKernel, block: Block, inputs: Sequence[CArray]) -> CArray:
    rows, columns, diagonal = (block.number(x) for x in inputs)
    for length in (rows, columns):
        block.at_least(length, 0, "a length is negative")
    target = block.result(0, kernel.dtype, (rows, columns))
    i, j = block.fresh("i"), block.fresh("j")
    with (
        block.loop(i, rows),
        block.loop(j, columns),
    ):
        offset = f"{i} * {columns.atom} + {j}"
        block.store(target, offset, CValue(f"({j} - {i} == {diagonal})", "bool"))
    return target


def _recurrence(kernel: ArrayRoutineKernel, block: Block, inputs: Sequence[CArray]) -> CArray:
    x, factors = inputs
    axis = kernel.number
    target = block.result(0, kernel.dtype, x.shape)
    others = [a for a in range(x.ndim) if a != axis]
    lengths = [x.shape[a] for a in others]
    with block.loops(block.nest(lengths, (), [[v.strides[a] for a in others] for v in (x, factors, target)])) as places:
        total, index = block.fresh("r"), block.fresh("i")
        with block.scope(not lengths):
            block.variable("double", total, "0")
            with block.loop(index, x.shape[axis]):
                value, factor = (
                    c_cast(v.load(f"{place} + {index} * {v.strides[axis].atom}"), "float64")
                    for v, place in zip((x, factors), places, strict=False)
                )
                block.assign(total, f"{value} + ({index} ? {factor} * {total} : 0)")
                offset = f"{places[2]} + {index} * {target.strides[axis].atom}"
                block.store(target, offset, CValue(total, "float64"))
    return target


_ROUTINES = {
    "recurrence": _recurrence,
    "cumsum": _cumulative,
    "cumprod": _cumulative,
    "diagonal": _diagonal,
    "arange": _arange,
    "eye": _eye,
}
