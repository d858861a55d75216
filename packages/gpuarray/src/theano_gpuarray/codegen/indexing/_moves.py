"""Moves between the part of an array that an index selects and another array: what reading and writing share."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from theano_linker_c.kernels import IndexEntry, memory_type

from .._copies import on_device
from .._form import DeviceOperand, Operand, Recorder, contiguous_strides
from .._kernel_writer import KernelWriter, merged_dimensions
from .._refusals import add_refusals, refusal
from ._masks import check_mask, true_offsets
from ._region import Region, index_shape, out_of_bounds, resolve

__all__ = ["Move", "checked_positions", "flat_strides", "move_of"]


@dataclass(frozen=True)
class Move:
    """The part of an array that an index selects.

    Parameters
    ----------
    x : DeviceOperand
        The array.
    region : Region
        The index, with its plain dimensions.
    arrays : tuple of DeviceOperand
        For each source of the region its positions; for a mask the offsets of its true elements.
    index : tuple of int
        The common shape of the index arrays.
    """

    x: DeviceOperand
    region: Region
    arrays: tuple[DeviceOperand, ...]
    index: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the part."""
        return self.region.whole_shape(self.index)

    @property
    def index_count(self) -> int:
        """How many elements the index arrays have, broadcast."""
        count = 1
        for n in self.index:
            count *= n
        return count

    @property
    def cells(self) -> int:
        """How many positions along the indexed axes there are."""
        count = 1
        for source in self.region.sources:
            for n in source.lengths:
                count *= n
        return count

    def spread_plain(self, strides: Sequence[int]) -> tuple[int, ...]:
        """Return strides of the plain dimensions as strides of the whole part."""
        return self._between(strides, (0,) * len(self.index))

    def spread_index(self, strides: Sequence[int]) -> tuple[int, ...]:
        """Return strides of the dimensions of the index arrays as strides of the whole part."""
        return self._between((0,) * len(self.region.shape), strides)

    def _between(self, plain: Sequence[int], index: Sequence[int]) -> tuple[int, ...]:
        before = self.region.before
        return (*plain[:before], *index, *plain[before:])

    def array_strides(self, k: int) -> tuple[int, ...]:
        """Return the strides of an index array along the dimensions of the index arrays."""
        array, flags = self.arrays[k], self.region.sources[k].entry.broadcastable
        strides = [0 if n == 1 or flag else s for n, s, flag in zip(array.shape, array.strides, flags, strict=True)]
        return (0,) * (len(self.index) - array.ndim) + tuple(strides)


def move_of(
    recorder: Recorder,
    entries: Sequence[IndexEntry],
    x: DeviceOperand,
    operands: Sequence[Operand],
    ndims: Sequence[int],
) -> Move:
    """Return what an index selects of an array; the host waits for the device where there is a mask."""
    region = resolve(entries, x, operands, ndims)
    arrays = []
    for source in region.sources:
        array = on_device(recorder, operands[source.entry.position])
        if source.entry.mask:
            check_mask(array, x, source.axis)
            array = true_offsets(recorder, array, source.strides)
        arrays.append(array)
    return Move(x, region, tuple(arrays), index_shape(region, [a.shape for a in arrays]))


def checked_positions(
    recorder: Recorder,
    writer: KernelWriter,
    move: Move,
    others: Sequence[tuple[str, DeviceOperand | None, Sequence[int]]] = (),
    *,
    plain: bool = True,
    on_refusal: str = "continue;",
    cells: bool = False,
    writes: Collection[str] = (),
) -> None:
    """Write the loop over the elements of a part up to where addresses are known; `end` of the writer closes it.

    Within the loop ``o`` is the offset of the element in the array, and ``cell`` (if asked for) the number of its
    position along the indexed axes.

    Parameters
    ----------
    recorder : Recorder
    writer : KernelWriter
    move : Move
    others : sequence of (str, DeviceOperand or None, sequence of int)
        Names of further offsets, the arrays that they belong to (None: they count from 0), and strides along the part.
    plain : bool
        Whether the loop goes over the plain dimensions, too, not over those of the index arrays alone.
    on_refusal : str
        What is done for a position that is out of bounds.
    cells : bool
        Whether ``cell`` is worked out.
    writes : collection of str
        Names among ``x`` and those of `others`, of arrays that are written to.
    """
    region, sources = move.region, move.region.sources
    writer.array("x", move.x, written="x" in writes)
    for name, operand, _ in others:
        if operand is not None:
            writer.array(name, operand, written=name in writes)
    steps: list[Sequence[int]] = [move.spread_plain(region.strides), *(strides for _, _, strides in others)]
    steps += [move.spread_index(move.array_strides(k)) for k in range(len(sources))]
    whole, dims = move.shape, range(len(move.shape))
    if not plain:
        dims = range(region.before, region.before + len(move.index))
    shape, strides = merged_dimensions([whole[d] for d in dims], *([step[d] for d in dims] for step in steps))
    lengths, count = writer.numbers("n", shape), 1
    for n in shape:
        count *= n
    names = ["o", *(f"{name}_o" for name, _, _ in others), *(f"u{k}" for k in range(len(sources)))]
    sums = [
        (name, writer.numbers(f"{name}s", strides_of_part))
        for name, strides_of_part in zip(names, strides, strict=True)
    ]
    for k, array in enumerate(move.arrays):
        writer.array(f"i{k}", array)
    writer.number("start", region.start)
    writer.walk(count)
    writer.add("int64_t o = x_at + start;")
    writer.add(*(f"int64_t {n}_o = {'0' if a is None else f'{n}_at'};" for n, a, _ in others))
    writer.add(*(f"int64_t u{k} = i{k}_at;" for k in range(len(sources))))
    writer.decode(lengths, sums)
    if cells:
        writer.add("int64_t cell = 0;")
    _add_positions(recorder, writer, move, on_refusal, cells)


def _add_positions(recorder: Recorder, writer: KernelWriter, move: Move, on_refusal: str, cells: bool) -> None:
    """Write how positions are read, looked at, and added to the offset."""
    may_refuse = False
    for k, (source, array) in enumerate(zip(move.region.sources, move.arrays, strict=True)):
        if source.entry.mask:
            writer.add(f"o += *(GLOBAL_MEM const int64_t *)(i{k} + u{k});")
            continue
        if not may_refuse:
            may_refuse = True
            _may_refuse(recorder, writer, move.x.shape)
        length, stride, axis = writer.numbers(f"axis{k}_", (source.lengths[0], source.strides[0], source.axis))
        value = f"(int64_t)*(GLOBAL_MEM const {memory_type(array.dtype)} *)(i{k} + u{k})"
        writer.add(
            f"const int64_t v{k} = {value}, w{k} = v{k} < 0 ? v{k} + {length} : v{k};",
            f"if (w{k} < 0 || w{k} >= {length}) {{",
            refusal(axis, f"v{k}", length),
            on_refusal,
            "}",
            f"o += w{k} * {stride};",
        )
        if cells:
            writer.add(f"cell = cell * {length} + w{k};")


def _may_refuse(recorder: Recorder, writer: KernelWriter, shape: Sequence[int]) -> None:
    """Add what a kernel needs that may find a position out of bounds."""

    def explain(axis: int, value: int, length: int) -> Exception:
        return out_of_bounds(value, axis, length, shape)

    add_refusals(recorder, writer, explain)


def flat_strides(move: Move) -> tuple[int, ...]:
    """Return strides, along the part, of the number of an element of the index arrays."""
    return move.spread_index(contiguous_strides(move.index, 1))
