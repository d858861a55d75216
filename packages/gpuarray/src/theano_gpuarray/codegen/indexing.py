"""Parts of arrays by index, on devices: reading, writing and incrementing."""

from __future__ import annotations

from collections.abc import Sequence

from theano_graph import format_error
from theano_linker_c.kernels import IndexArray, IndexReadKernel, IndexWriteKernel, memory_type
from theano_linker_c.scalar import CValue, c_stored, c_type

from ._form import DeviceOperand, Operand, Recorder, register_device_form
from ._index_regions import (
    Move,
    Region,
    check_mask,
    checked_positions,
    flat_strides,
    host_positions,
    move_of,
    plain_dimensions,
    resolve,
)
from ._kernel_writer import (
    KernelWriter,
    broadcast_to,
    contiguous,
    copy_into,
    is_device_dtype,
    loaded,
    merged_dimensions,
    move_type,
    on_device,
    spread,
)
from .sorting import sorted_pairs

# ---- Reading


def _has_mask(kernel: IndexReadKernel) -> bool:
    return any(isinstance(e, IndexArray) and e.mask for e in kernel.entries)


@register_device_form(
    IndexReadKernel,
    supports=lambda kernel: is_device_dtype(kernel.dtypes[0]),
    host_inputs=lambda kernel, count: host_positions(kernel.entries),
    needs_values=_has_mask,
)
def _read(kernel: IndexReadKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    move = move_of(recorder, kernel.entries, on_device(recorder, operands[0]), operands, kernel.ndims)
    part = recorder.empty(kernel.dtypes[0], move.shape)
    if not part.size:
        check_positions(recorder, move)
        return [part]
    kind, writer = move_type(part.itemsize), KernelWriter("index_read")
    checked_positions(recorder, writer, move, [("p", part, part.strides)], writes="p")
    writer.add(f"*(GLOBAL_MEM {kind} *)(p + p_o) = *(GLOBAL_MEM const {kind} *)(x + o);")
    writer.end()
    writer.launch(recorder, *spread(recorder, part.size))
    return [part]


def check_positions(recorder: Recorder, move: Move) -> None:
    """Look at the positions of a part that has no elements, or of which nothing is read yet."""
    if move.index_count and any(not source.entry.mask for source in move.region.sources):
        writer = KernelWriter("index_check")
        checked_positions(recorder, writer, move, plain=False)
        writer.end()
        writer.launch(recorder, *spread(recorder, move.index_count))


# ---- Sums in the order of the index arrays, as on the CPU


def add_in_order(recorder: Recorder, move: Move, part: DeviceOperand) -> None:
    """Add a part; elements of the index arrays are sorted by the cells that they choose, and each cell adds its own.

    The cells of positions out of bounds come last, and get nothing.
    """
    count = move.index_count
    if not count:
        return
    cells = recorder.empty("int64", (1, count))
    writer = KernelWriter("index_cells")
    writer.writes(c=cells)
    writer.number("cells", move.cells)
    refused = "*(GLOBAL_MEM int64_t *)(c + c_at + 8 * k_o) = cells; continue;"
    numbers = [("k", None, flat_strides(move))]
    checked_positions(recorder, writer, move, numbers, plain=False, on_refusal=refused, cells=True)
    writer.add("*(GLOBAL_MEM int64_t *)(c + c_at + 8 * k_o) = cell;")
    writer.end()
    writer.launch(recorder, *spread(recorder, count))
    if part.size:
        _add_sorted(recorder, move, part, *sorted_pairs(recorder, cells))


def _add_sorted(
    recorder: Recorder, move: Move, part: DeviceOperand, cells: DeviceOperand, order: DeviceOperand
) -> None:
    """Launch the sums: where a cell comes first in `cells`, all its elements are added, for each plain position."""
    region, index = move.region, move.index
    first, last = region.before, region.before + len(index)
    plain_strides = (*part.strides[:first], *part.strides[last:])
    shape, (into, out_of) = merged_dimensions(region.shape, region.strides, plain_strides)
    writer = KernelWriter("index_add_in_order")
    writer.writes(x=move.x)
    writer.reads(y=part, c=cells, order=order)
    lengths, steps, others = writer.numbers("n", shape), writer.numbers("s", into), writer.numbers("t", out_of)
    index_lengths, index_steps = writer.numbers("m", index), writer.numbers("u", part.strides[first:last])
    axes = [source.lengths[0] for source in region.sources]
    axis_lengths = writer.numbers("axis", axes)
    axis_steps = writer.numbers("step", [source.strides[0] for source in region.sources])
    writer.number("cells", move.cells)
    writer.number("size", move.index_count)
    writer.number("start", region.start)
    plain = 1
    for n in shape:
        plain *= n
    writer.number("plain", plain)
    writer.walk(move.index_count * plain)
    writer.add(
        "GLOBAL_MEM const int64_t *const sorted = (GLOBAL_MEM const int64_t *)(c + c_at);",
        "GLOBAL_MEM const int64_t *const places = (GLOBAL_MEM const int64_t *)(order + order_at);",
        "int64_t k = i / plain; r = i % plain;",
        "const int64_t cell = sorted[k];",
        "if (cell == cells || (k > 0 && sorted[k - 1] == cell)) continue;",
        "int64_t o = x_at + start, y_o = y_at, left = cell;",
    )
    writer.decode(lengths, [("o", steps), ("y_o", others)])
    for length, step in reversed(list(zip(axis_lengths, axis_steps, strict=True))):
        writer.add(f"o += left % {length} * {step}; left /= {length};")
    _add_run(writer, part.dtype, index_lengths, index_steps)
    writer.end()
    writer.launch(recorder, *spread(recorder, move.index_count * plain))


def _add_run(writer: KernelWriter, dtype: str, lengths: list[str], steps: list[str]) -> None:
    memory, wide = memory_type(dtype), "float32" if dtype == "float16" else dtype
    value = loaded(dtype, f"*(GLOBAL_MEM const {memory} *)(y + at)").text
    sums = "sum | " if dtype == "bool" else "sum + "
    to = f"*(GLOBAL_MEM {memory} *)(x + o)"
    writer.add(
        f"{c_type(wide)} sum = {loaded(dtype, to).text};",
        "for (; k < size && sorted[k] == cell; k++) {",
        "int64_t at = y_o, number = places[k];",
        *(f"at += number % {n} * {s}; number /= {n};" for n, s in reversed(list(zip(lengths, steps, strict=True)))),
        f"sum = {sums}{value};",
        "}",
        f"{to} = {c_stored(CValue('sum', wide), dtype)};",
    )


# ---- Writing and incrementing
#
# Of several values for one element the last one stays, as on the CPU: each element of the index arrays first writes its
# number to its cell, the largest number stays there, and only that element is stored. Sums of several values are
# atomic,
# in any order, unless the recorder wants a fixed one.


def _reads_values(kernel: IndexWriteKernel) -> bool:
    """Tell whether each true element of a mask gets another value, so that the host has to know how many there are."""
    if not any(isinstance(e, IndexArray) and e.mask for e in kernel.entries):
        return False
    before, plain = plain_dimensions(kernel.entries, kernel.ndims)
    axis = len(kernel.broadcastable) - (plain - before) - 1
    return axis >= 0 and not kernel.broadcastable[axis]


@register_device_form(
    IndexWriteKernel,
    supports=lambda kernel: is_device_dtype(kernel.dtypes[0]),
    host_inputs=lambda kernel, count: host_positions(kernel.entries),
    needs_values=_reads_values,
)
def _write(kernel: IndexWriteKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x = _overwritten(recorder, on_device(recorder, operands[0]), operands)
    part = on_device(recorder, operands[1])
    if any(isinstance(e, IndexArray) for e in kernel.entries):
        if any(isinstance(e, IndexArray) and e.mask for e in kernel.entries) and not _reads_values(kernel):
            return [_write_under_mask(kernel, recorder, x, part, operands)]
        return [_write_at(kernel, recorder, x, part, operands)]
    region = resolve(kernel.entries, x, operands, kernel.ndims)
    part = _fitting(kernel, part, tuple(region.shape))
    selected = x.view(region.shape, region.strides, x.offset + region.start)
    if kernel.replace:
        copy_into(recorder, selected, part)
    elif selected.size:
        _add(recorder, selected, part)
    return [x]


def _overwritten(recorder: Recorder, x: DeviceOperand, operands: Sequence[Operand]) -> DeviceOperand:
    """Return the array that is written into: the first input where that is allowed, or a copy."""
    others = [o for o in operands[1:] if isinstance(o, DeviceOperand)]
    if recorder.may_overwrite(x) and all(o.slot != x.slot for o in others):
        return x
    return contiguous(recorder, x, copied=True)


def _fitting(kernel: IndexWriteKernel, part: DeviceOperand, shape: tuple[int, ...]) -> DeviceOperand:
    """Return the new part, broadcast; only dimensions that are declared to have length 1 broadcast, as on the CPU."""
    flags = kernel.broadcastable
    fits = part.ndim <= len(shape) and all(
        have == 1 if flag else have == want
        for have, want, flag in zip(part.shape[::-1], shape[::-1], flags[::-1], strict=False)
    )
    if not fits:
        raise ValueError(
            format_error(
                f"a part of shape {part.shape} does not fit into the indexed part of shape {shape}",
                hint="give the new part the shape of the indexed part; only a dimension that is declared "
                "broadcastable broadcasts (T.addbroadcast)",
            )
        )
    return broadcast_to(part, shape)


def _sum_of(dtype: str, to: str, of: str) -> str:
    """Return the statement that adds one element to another."""
    if dtype == "bool":
        return f"{to} |= {of} != 0;"
    wide = "float32" if dtype == "float16" else dtype
    a, b = loaded(dtype, to).text, loaded(dtype, of).text
    return f"{to} = {c_stored(CValue(f'({a} + {b})', wide), dtype)};"


def _add(recorder: Recorder, selected: DeviceOperand, part: DeviceOperand) -> None:
    """Add a part to elements that are all different ones."""
    shape, (into, out_of) = merged_dimensions(selected.shape, selected.strides, part.strides)
    memory, writer = memory_type(part.dtype), KernelWriter("index_add_view")
    writer.writes(x=selected)
    writer.reads(y=part)
    lengths, steps, others = writer.numbers("n", shape), writer.numbers("s", into), writer.numbers("t", out_of)
    writer.walk(selected.size)
    writer.add("int64_t o = x_at, y_o = y_at;")
    writer.decode(lengths, [("o", steps), ("y_o", others)])
    writer.add(_element_sum(part.dtype, memory))
    writer.end()
    writer.launch(recorder, *spread(recorder, selected.size))


def _element_sum(dtype: str, memory: str) -> str:
    return _sum_of(dtype, f"*(GLOBAL_MEM {memory} *)(x + o)", f"*(GLOBAL_MEM {memory} *)(y + y_o)")


def _element_copy(memory: str) -> str:
    return f"*(GLOBAL_MEM {memory} *)(x + o) = *(GLOBAL_MEM {memory} *)(y + y_o);"


def _write_under_mask(
    kernel: IndexWriteKernel,
    recorder: Recorder,
    x: DeviceOperand,
    part: DeviceOperand,
    operands: Sequence[Operand],
) -> DeviceOperand:
    """Write one value to all true elements: nobody has to know where they are."""
    region = resolve(kernel.entries, x, operands, kernel.ndims)
    (source,) = region.sources
    mask = on_device(recorder, operands[source.entry.position])
    check_mask(mask, x, source.axis)
    behind = len(region.shape) - region.before
    # The dimension of the true elements stands for those of the mask; along it nothing changes.
    part = _fitting(kernel, part, region.whole_shape((-1,)))
    axis = part.ndim - behind - 1
    whole = region.whole_shape(mask.shape)
    selected = _spread(region, source.strides)
    shape, strides = merged_dimensions(
        whole,
        selected,
        (*part.strides[:axis], *(0,) * mask.ndim, *part.strides[axis + 1 :]),
        _spread(Region(strides=[0] * len(region.shape), before=region.before), mask.strides),
    )
    memory, writer = memory_type(x.dtype), KernelWriter("index_masked")
    writer.writes(x=x)
    writer.reads(y=part, m=mask)
    writer.number("start", region.start)
    lengths = writer.numbers("n", shape)
    sums = [(n, writer.numbers(f"{n}s", s)) for n, s in zip(("o", "y_o", "m_o"), strides, strict=True)]
    count = 1
    for n in shape:
        count *= n
    writer.walk(count)
    writer.add("int64_t o = x_at + start, y_o = y_at, m_o = m_at;")
    writer.decode(lengths, sums)
    writer.add("if (*(GLOBAL_MEM const uint8_t *)(m + m_o) == 0) continue;")
    writer.add(_element_copy(memory) if kernel.replace else _element_sum(x.dtype, memory))
    writer.end()
    writer.launch(recorder, *spread(recorder, count))
    return x


def _spread(region: Region, strides: Sequence[int]) -> tuple[int, ...]:
    return (*region.strides[: region.before], *strides, *region.strides[region.before :])


def _write_at(
    kernel: IndexWriteKernel,
    recorder: Recorder,
    x: DeviceOperand,
    part: DeviceOperand,
    operands: Sequence[Operand],
) -> DeviceOperand:
    """Write at the positions of index arrays."""
    move = move_of(recorder, kernel.entries, x, operands, kernel.ndims)
    part = _fitting(kernel, part, move.shape)
    if kernel.replace:
        _replace(recorder, move, part)
    elif any(source.entry.mask for source in move.region.sources):
        _launch_write(recorder, move, part, _element_sum(x.dtype, memory_type(x.dtype)))
    elif recorder.deterministic or (part.itemsize == 8 and not recorder.properties.long_atomics):
        add_in_order(recorder, move, part)
    else:
        memory, dtype = memory_type(x.dtype), part.dtype
        value = "1" if dtype == "bool" else loaded(dtype, f"*(GLOBAL_MEM const {memory} *)(y + y_o)").text
        condition = "if (*(GLOBAL_MEM const uint8_t *)(y + y_o)) " if dtype == "bool" else ""
        added = f"theano_atomic_add_{dtype}((GLOBAL_MEM {memory} *)(x + o), {value});"
        _launch_write(recorder, move, part, condition + added)
    return x


def _launch_write(recorder: Recorder, move: Move, part: DeviceOperand, *statements: str) -> None:
    writer = KernelWriter("index_write")
    # With an empty part positions are looked at all the same.
    plain = part.size > 0
    checked_positions(recorder, writer, move, [("y", part, part.strides)], plain=plain, writes="x")
    writer.add(*statements if plain else ())
    writer.end()
    writer.launch(recorder, *spread(recorder, part.size if plain else move.index_count))


def _replace(recorder: Recorder, move: Move, part: DeviceOperand) -> None:
    """Set elements; of several values for one element the last stays."""
    memory, count = memory_type(part.dtype), move.index_count
    first, last = move.region.before, move.region.before + len(move.index)
    alike = all(n == 1 or s == 0 for n, s in zip(move.index, part.strides[first:last], strict=True))
    if alike or not part.size or any(source.entry.mask for source in move.region.sources):
        _launch_write(recorder, move, part, _element_copy(memory))
        return
    dtype = "uint32" if count < 2**32 - 1 else "uint64"
    winners, word = recorder.empty(dtype, (move.cells,)), f"{dtype}_t"
    recorder.fill(winners, 0)
    numbers = flat_strides(move)
    for decides in (True, False):
        writer = KernelWriter("index_winners" if decides else "index_set")
        others = [("k", None, numbers)] if decides else [("k", None, numbers), ("y", part, part.strides)]
        writer.array("won", winners, written=decides)
        checked_positions(recorder, writer, move, others, plain=not decides, cells=True, writes="" if decides else "x")
        writer.add(f"GLOBAL_MEM {word} *const winner = (GLOBAL_MEM {word} *)(won + won_at) + cell;")
        if decides:
            writer.add(f"theano_atomic_max_{dtype}(winner, ({word})(k_o + 1));")
        else:
            writer.add(f"if (*winner == ({word})(k_o + 1)) {{", _element_copy(memory), "}")
        writer.end()
        writer.launch(recorder, *spread(recorder, count if decides else part.size))


__all__: list[str] = []
