"""Sums of the values for each element in the order of the index arrays, which is that of the CPU."""

from __future__ import annotations

from theano_linker_c.kernels import memory_type
from theano_linker_c.scalar import CValue, c_stored, c_type

from .._form import DeviceOperand, Recorder
from .._kernel_writer import KernelWriter, loaded, merged_dimensions, spread
from ..sorting import sorted_pairs
from ._moves import Move, checked_positions, flat_strides

__all__ = ["add_in_order"]


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
