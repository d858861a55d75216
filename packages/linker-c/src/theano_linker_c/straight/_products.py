"""Products of vectors and matrices, convolutions and pooling: calls of the library's functions, or loops."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np

from ..kernels import POOLING_MODES, ConvolutionKernel, MatrixProductKernel, PoolingKernel, memory_type
from ..scalar import CValue
from ._arrays import ONE, ZERO, CArray, Length, product_of, straight_kernel
from ._block import Block

# ---- Products of vectors and matrices: calls of the library's functions, or loops where there is little to do

#: Products of so few multiplications are written as loops where they stand.
_SMALL = 512
#: So many rows, of so many elements, of a left factor are copied together, and at most so many more.
_PANEL, _TILE = 256, 8
_KINDS = {"float32": "float", "float64": "double"}


@straight_kernel.register(MatrixProductKernel)
def _product(kernel: MatrixProductKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    if kernel.dtype not in _KINDS:
        raise block.refuse(f"products of {kernel.dtype} have no form in C", "use real numbers of 32 or 64 bits")
    if kernel.kind == "batched":
        return [_batched(kernel, block, inputs)]
    one = block.constant(np.asarray(1, kernel.dtype))
    zero = block.constant(np.asarray(0, kernel.dtype))
    z: CArray | None = None
    alpha, beta = one, zero
    if len(inputs) >= 4:
        z, alpha, a, b = inputs[:4]
        beta = inputs[4] if len(inputs) == 5 else one
    else:
        a, b = inputs[:2]
        alpha = inputs[2] if len(inputs) == 3 else one
    left, right, shape, sizes = _as_matrices(kernel.kind, block, a, b)
    if z is not None:
        shape = tuple(
            block.same(x, y, "the array that is added to has not the shape of the product")
            for x, y in zip(shape, z.shape, strict=True)
        )
    target = block.result(0, kernel.dtype, shape, (0,) if z is not None else ())
    if z is not None and target.pointer != z.pointer and beta.value != 0:
        block.copy(z, target)
    _write(block, kernel.dtype, sizes, alpha, left, right, beta, target, _target_strides(kernel.kind, target))
    return [target]


Operand = tuple[CArray, Length, Length]


def _as_matrices(
    kind: str, block: Block, a: CArray, b: CArray
) -> tuple[Operand, Operand, tuple[Length, ...], tuple[Length, Length, Length]]:
    """Return both factors as matrices, with strides of rows and columns; the result's shape; rows, columns, terms."""
    text = "the factors of a product do not fit each other"
    if kind == "ger":
        m, n = a.shape[0], b.shape[0]
        return (a, a.strides[0], ZERO), (b, ZERO, b.strides[0]), (m, n), (m, n, ONE)
    terms = block.same(a.shape[-1], b.shape[0], text)
    rows = a.shape[0] if a.ndim == 2 else ONE
    columns = b.shape[1] if b.ndim == 2 else ONE
    left = (a, a.strides[0] if a.ndim == 2 else ZERO, a.strides[-1])
    right = (b, b.strides[0], b.strides[1] if b.ndim == 2 else ZERO)
    shape = (*a.shape[:-1], *b.shape[1:])
    return left, right, shape, (rows, columns, terms)


def _target_strides(kind: str, target: CArray) -> tuple[Length, Length]:
    if target.ndim == 2:
        return target.strides[0], target.strides[1]
    if target.ndim == 0:
        return ZERO, ZERO
    return (ZERO, target.strides[0]) if kind == "vecmat" else (target.strides[0], ZERO)


def _write(
    block: Block,
    dtype: str,
    sizes: tuple[Length, Length, Length],
    alpha: CArray,
    left: Operand,
    right: Operand,
    beta: CArray,
    target: CArray,
    steps: tuple[Length, Length],
    offsets: tuple[str, str, str] = ("0", "0", "0"),
) -> None:
    """Write ``made = alpha * left @ right + beta * made``."""
    rows, columns, terms = sizes
    kind = _KINDS[dtype]
    factor, factors = alpha.load("0").text, beta.load("0").text
    work = rows * columns * terms
    block.largest_product = max(block.largest_product, work.factor if work.known else float("inf"))
    if work.known and work.factor <= _SMALL:
        _write_loops(block, dtype, sizes, factor, left, right, factors, target, steps, offsets, beta.value == 0)
        return
    a, b, c = (
        x.pointer if offset == "0" else f"{x.pointer} + {offset}"
        for x, offset in zip((left[0], right[0], target), offsets, strict=True)
    )
    if rows == ONE and columns == ONE:
        dot = block.call(f"theano_dot_{kind}", terms, a, left[2], b, right[1])
        old = "" if beta.value == 0 else f" + {factors} * {target.element(offsets[2])}"
        block.store(target, offsets[2], CValue(f"{factor} * {dot}{old}", dtype))
        return
    if columns == ONE:
        arguments = (rows, terms, factor, a, left[1], left[2], b, right[1], factors, c, steps[0])
        block.line(block.call(f"theano_gemv_{kind}", *arguments) + ";")
    elif rows == ONE:
        arguments = (columns, terms, factor, b, right[2], right[1], a, left[2], factors, c, steps[1])
        block.line(block.call(f"theano_gemv_{kind}", *arguments) + ";")
    else:
        room = product_room(block, dtype, rows, terms, left[2])
        operands = (a, left[1], left[2], b, right[1], right[2], factors, c, steps[0], steps[1], room)
        block.line(block.call(f"theano_gemm_{kind}", rows, columns, terms, factor, *operands) + ";")


def product_room(block: Block, dtype: str, rows: Length, terms: Length, step: Length) -> str:
    """Return a pointer to memory to which a product of matrices copies a part of its left factor.

    Parameters
    ----------
    block : Block
    dtype : str
    rows, terms : Length
        Lengths of the left factor.
    step : Length
        How far the elements of a row are apart; nothing is copied where they follow each other.
    """
    if ONE in (step, terms):
        return "NULL"
    least = [length.factor if length.known else _PANEL for length in (rows, terms)]
    size = Length((min(least[0], _PANEL) + _TILE) * min(least[1], _PANEL))
    return block.allocate(dtype, (size,), local=True).pointer


def _write_loops(
    block: Block,
    dtype: str,
    sizes: tuple[Length, Length, Length],
    factor: str,
    left: Operand,
    right: Operand,
    factors: str,
    target: CArray,
    steps: tuple[Length, Length],
    offsets: tuple[str, str, str],
    fresh: bool,
) -> None:
    rows, columns, terms = sizes
    i, j, k, total = (block.fresh(prefix) for prefix in "ijkr")
    with block.scope(), ExitStack() as stack:
        for index, length in ((i, rows), (j, columns)):
            if length != ONE:
                stack.enter_context(block.loop(index, length))
        i, j = ("0" if rows == ONE else i), ("0" if columns == ONE else j)
        block.variable(_KINDS[dtype], total, "0")
        a = _at(offsets[0], (i, left[1]), (k, left[2]))
        b = _at(offsets[1], (k, right[1]), (j, right[2]))
        with block.loop(k, terms):
            block.line(f"{total} += {left[0].load(a).text} * {right[0].load(b).text};", changes=(total,))
        c = _at(offsets[2], (i, steps[0]), (j, steps[1]))
        old = "" if fresh else f" + {factors} * {target.element(c)}"
        product = total if factor in ("(1.0)", "(1.0f)") else f"{factor} * {total}"
        block.store(target, c, CValue(f"({product}{old})", dtype))


def _at(start: str, *terms: tuple[str, Length]) -> str:
    found = [] if start == "0" else [start]
    for index, stride in terms:
        if index != "0" and stride != ZERO:
            found.append(index if stride == ONE else f"{index} * {stride.atom}")
    return " + ".join(found) or "0"


def _batched(kernel: MatrixProductKernel, block: Block, inputs: Sequence[CArray]) -> CArray:
    a, b = inputs
    count = block.same(a.shape[0], b.shape[0], "two stacks of matrices have not the same length")
    terms = block.same(a.shape[2], b.shape[1], "the factors of a product do not fit each other")
    rows, columns = a.shape[1], b.shape[2]
    target = block.result(0, kernel.dtype, (count, rows, columns))
    one, zero = (block.constant(np.asarray(k, kernel.dtype)) for k in (1, 0))
    index = block.fresh("i")
    with block.loop(index, count):
        offsets = tuple(_at("0", (index, x.strides[0])) for x in (a, b, target))
        left, right = (a, a.strides[1], a.strides[2]), (b, b.strides[1], b.strides[2])
        steps = target.strides[1], target.strides[2]
        _write(block, kernel.dtype, (rows, columns, terms), one, left, right, zero, target, steps, offsets)  # type: ignore[arg-type]
    return target


# ---- Convolutions and pooling: calls of the library's functions, with the geometry as a table of numbers

__all__: list[str] = []

#: So many elements of windows are copied at a time, if a row of windows has not more.
_ROOM = 1 << 15
_FIT = "images, filters and the result of a convolution do not fit each other"
_POOLED = "the operands of a pooling do not fit each other"
_TASKS = {"forward": 0, "input_grad": 1, "weight_grad": 2}


def _table(block: Block, parts: Sequence[Sequence[Length]]) -> str:
    """Write the numbers of the geometry, and return the name of the table; the first axes are filled up."""
    fill = (ONE, ONE, ONE, ONE, ONE, ZERO)
    numbers = [
        str(n) for part, remainder in zip(parts, fill, strict=True) for n in [*[remainder] * (3 - len(part)), *part]
    ]  # fmt: skip
    name = block.fresh("way")
    block.line(f"const int64_t {name}[18] = {{{', '.join(numbers)}}};", defines=(name,))
    return name


def _quotient(block: Block, a: Length, b: int, text: str) -> Length:
    if b == 1:
        return a
    if a.known:
        if a.factor % b:
            raise block.refuse(text, "pass a number of channels and filters that the groups divide")
        return Length(a.factor // b)
    block.check(f"{a.atom} % {b} == 0", text)
    return block.length(f"{a.atom} / {b}")


@straight_kernel.register(ConvolutionKernel)
def _convolution(kernel: ConvolutionKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    axes = len(kernel.strides)
    operands = [block.in_order(x) for x in inputs[:2]]
    lengths = block.numbers(inputs[2], axes) if len(inputs) == 3 else []
    count, channels, filters, image, window = _sizes(kernel, block, operands, lengths)
    before, output = _slide(kernel, block, image, window)
    image_shape = (count, Length(kernel.groups) * channels, *image)
    weights = (Length(kernel.groups) * filters, channels, *window)
    result = (count, Length(kernel.groups) * filters, *output)
    shapes = {"forward": (image_shape, weights, result), "input_grad": (weights, result, image_shape)}
    first, second, made_shape = shapes.get(kernel.task, (image_shape, result, weights))
    for x, shape in zip(operands, (first, second), strict=True):
        for a, b in zip(x.shape, shape, strict=True):
            block.same(a, b, _FIT)
    target = block.result(0, kernel.dtype, made_shape)
    row = channels * product_of(window) * output[-1]
    room = _room(block, row, product_of(output[:-1]))
    columns = block.allocate(kernel.dtype, (room,), local=True)
    taps = channels * product_of(window)
    copied = product_room(block, kernel.dtype, taps, filters, ZERO) if kernel.task == "input_grad" else "NULL"
    steps, apart = ([Length(n) for n in numbers] for numbers in (kernel.strides, kernel.dilations))
    table = _table(block, (image, window, output, steps, apart, before))
    kind = memory_type(kernel.dtype)
    one, other = (f"({kind} *){x.pointer}" for x in operands)
    order = {"forward": (one, other, target.pointer), "input_grad": (target.pointer, one, other)}
    pointers = order.get(kernel.task, (one, target.pointer, other))
    name = f"theano_convolve_{kind}"
    task, flip = _TASKS[kernel.task], int(kernel.flip)
    numbers = (count, kernel.groups, channels, filters)
    block.line(block.call(name, task, table, flip, *numbers, *pointers, columns.pointer, room, copied) + ";")
    return [target]


def _room(block: Block, row: Length, rows: Length) -> Length:
    """Return how many elements of windows are copied at a time: rows of windows, one at least."""
    if row.known and rows.known:
        return row * Length(max(min(rows.factor, _ROOM // max(row.factor, 1)), 1))
    size = (row * rows).atom
    return block.length(f"{size} < {_ROOM} ? {size} : {row.atom} < {_ROOM} ? {_ROOM} : {row.atom}")


def _sizes(
    kernel: ConvolutionKernel, block: Block, sizes: Sequence[CArray], lengths: list[Length]
) -> tuple[Length, Length, Length, list[Length], list[Length]]:
    """Return the number of images, channels and filters of a group, and lengths of images and filters."""
    a, b = sizes
    channel_text = "the channels of a convolution cannot be divided into its groups"
    filter_text = "the filters of a convolution cannot be divided into its groups"
    if kernel.task == "forward":
        filters = _quotient(block, b.shape[0], kernel.groups, filter_text)
        return a.shape[0], b.shape[1], filters, list(a.shape[2:]), list(b.shape[2:])
    if kernel.task == "input_grad":
        filters = _quotient(block, a.shape[0], kernel.groups, filter_text)
        return b.shape[0], a.shape[1], filters, lengths, list(a.shape[2:])
    channels = _quotient(block, a.shape[1], kernel.groups, channel_text)
    filters = _quotient(block, b.shape[1], kernel.groups, filter_text)
    return a.shape[0], channels, filters, list(a.shape[2:]), lengths


def _slide(
    kernel: ConvolutionKernel, block: Block, image: Sequence[Length], window: Sequence[Length]
) -> tuple[list[Length], list[Length]]:
    """Return the zeros before each axis, and the lengths of the result."""
    lengths: tuple[list[Length], list[Length]] = [], []
    for axis, (n, k) in enumerate(zip(image, window, strict=True)):
        sides = [side[axis] for side in kernel.sides]
        step, apart = kernel.strides[axis], kernel.dilations[axis]
        block.at_least(k, 1, "a filter has no elements")
        if n.known and k.known:
            span = (k.factor - 1) * apart
            first, last = ({-1: (span + 1) // 2, -2: span}.get(side, side) for side in sides)
            room = n.factor + first + last - span - 1
            if room < 0:
                raise block.refuse("the filters do not fit into the images", "pass larger images, or smaller filters")
            lengths[0].append(Length(first))
            lengths[1].append(Length(room // step + 1))
            continue
        width = block.length(f"({k.atom} - 1) * {apart}")
        borders = [
            block.length(f"({width} + 1) / 2") if side == -1 else width if side == -2 else Length(side)
            for side in sides
        ]
        left = block.length(f"{n.atom} + {borders[0]} + {borders[1]} - {width} - 1")
        block.check(f"{left} >= 0", "the filters do not fit into the images")
        lengths[0].append(borders[0])
        lengths[1].append(block.length(f"{left} / {step} + 1"))
    return lengths


@straight_kernel.register(PoolingKernel)
def _pooling(kernel: PoolingKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    axes = kernel.ndim
    layout = [block.numbers(x, axes) for x in inputs[-3:]]
    arrays = [block.in_order(x) for x in inputs[: 3 if kernel.task.startswith("max") else 1]]
    outer = arrays[0].shape[:-axes]
    average = kernel.task == "average_pool_grad"
    lengths = block.numbers(inputs[1], axes) if average else list(arrays[0].shape[-axes:])
    counts = [_count(kernel, block, n, *how) for n, *how in zip(lengths, *layout, strict=True)]
    full_shape, pooled = (*outer, *lengths), (*outer, *counts)
    shapes = {"pool": [full_shape], "average_pool_grad": [pooled], "max_pool_grad": [full_shape, pooled, pooled]}
    for x, shape in zip(arrays, shapes.get(kernel.task, [full_shape, pooled, full_shape]), strict=True):
        for a, b in zip(x.shape, shape, strict=True):
            block.same(a, b, _POOLED)
    target = block.result(0, kernel.dtype, pooled if kernel.task in ("pool", "max_pool_grad_grad") else full_shape)
    windows, steps, pads = layout
    table = _table(block, (lengths, windows, counts, steps, [ONE] * axes, pads))
    kind, mode, count = memory_type(kernel.dtype), POOLING_MODES.index(kernel.mode), product_of(outer)
    if kernel.task == "pool":
        text = block.call(f"theano_pool_{kind}", table, mode, count, arrays[0].pointer, target.pointer)
    elif average:
        text = block.call(f"theano_pool_back_{kind}", table, mode, count, arrays[0].pointer, target.pointer)
    else:
        back = kernel.task == "max_pool_grad"
        third = f"({kind} *){arrays[2].pointer}"
        last = (target.pointer, third) if back else (third, target.pointer)
        arguments = (table, int(back), count, arrays[0].pointer, arrays[1].pointer, *last)
        text = block.call(f"theano_pool_largest_{kind}", *arguments)
    block.line(text + ";")
    return [target]


def _count(kernel: PoolingKernel, block: Block, n: Length, window: Length, step: Length, pad: Length) -> Length:
    """Return the number of windows along an axis."""
    for length, least in ((window, 1), (step, 1), (pad, 0)):
        block.at_least(length, least, "windows and steps of a pooling are at least 1, and its padding at least 0")
    if kernel.mode in ("max", "average_exc_pad"):
        _smaller(block, pad, window)
    if not kernel.ignore_border:
        block.same(pad, ZERO, "padding needs ignore_border=True")
    if n.known and window.known and step.known and pad.known:
        room = n.factor + 2 * pad.factor - window.factor
        if kernel.ignore_border:
            return Length(max(room // step.factor + 1, 0))
        return Length(min((room + window.factor - 1) // step.factor, max(-(-room // step.factor), 0)) + 1)
    return block.length(block.call("theano_count_windows", n, window, step, pad, int(kernel.ignore_border)))


def _smaller(block: Block, pad: Length, window: Length) -> None:
    text = "the padding of a pooling must be smaller than its windows"
    if not (pad.known and window.known):
        block.check(f"{pad.atom} < {window.atom}", text)
    elif pad.factor >= window.factor:
        raise block.refuse(text, "pass less padding")


__all__ = ["product_room"]
