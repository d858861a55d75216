"""Parts of arrays that an index selects: the region of an index, masks, and moves between it and another array."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from theano_graph import format_error
from theano_linker_c.kernels import IndexArray, IndexEntry, IndexInput, IndexNumber, IndexSlice, memory_type

from ._form import DeviceOperand, Operand, Recorder, contiguous_strides
from ._kernel_writer import KernelWriter, add_refusals, host_numbers, merged_dimensions, on_device, refusal

# ---- Regions: plain dimensions, and arrays of positions along others

_MEND = "use indices from -length up to length - 1, or T.clip them"
#: Bounds of slices are numbers of so many bits, for any program.
_FAR = 2**63 - 1


@dataclass(frozen=True)
class Source:
    """An array of the index: positions along one axis, or a mask over several.

    Parameters
    ----------
    entry : IndexArray
    axis : int
        The first axis that it indexes.
    lengths, strides : tuple of int
        Of the axes that it indexes; strides in bytes.
    """

    entry: IndexArray
    axis: int
    lengths: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass
class Region:
    """The part of an array that an index selects.

    Parameters
    ----------
    start : int
        Bytes from the first element of the array.
    shape, strides : list of int
        The plain dimensions: those of slices, new axes, and axes without an entry.
    before : int
        How many of them come before the dimensions of the index arrays.
    sources : list of Source
    """

    start: int = 0
    shape: list[int] = field(default_factory=list)
    strides: list[int] = field(default_factory=list)
    before: int = 0
    sources: list[Source] = field(default_factory=list)

    def whole_shape(self, index: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of the part, for the common shape of the index arrays."""
        return (*self.shape[: self.before], *index, *self.shape[self.before :])


def host_positions(entries: Sequence[IndexEntry]) -> list[int]:
    """Return the inputs that give numbers and bounds of slices."""
    positions: list[int] = []
    for entry in entries:
        numbers = (entry.start, entry.stop, entry.step) if isinstance(entry, IndexSlice) else (entry,)
        positions += [n.position for n in numbers if isinstance(n, IndexInput)]
    return positions


def _index_numbers(entries: Sequence[IndexEntry], operands: Sequence[Operand]) -> Mapping[int, int]:
    return {position: host_numbers(operands[position])[0] for position in host_positions(entries)}


def out_of_bounds(index: int, axis: int, length: int, shape: Sequence[int]) -> IndexError:
    """Return the error for an index that is out of bounds."""
    what = f"index {index} is out of bounds for axis {axis} with size {length} (shape {tuple(shape)})"
    return IndexError(format_error(what, hint=_MEND))


def _value(number: IndexNumber | None, numbers: Mapping[int, int]) -> int | None:
    if number is None:
        return None
    value = numbers[number.position] if isinstance(number, IndexInput) else number
    return max(-_FAR, min(value, _FAR))


def resolve(
    entries: Sequence[IndexEntry], x: DeviceOperand, operands: Sequence[Operand], ndims: Sequence[int]
) -> Region:
    """Return the part of an array that an index selects.

    Parameters
    ----------
    entries : sequence of IndexEntry
    x : DeviceOperand
    operands : sequence of Operand
        The inputs; the ones that give numbers are on the host.
    ndims : sequence of int
        Numbers of dimensions of the inputs: a mask indexes as many axes as it has.

    Raises
    ------
    IndexError
        If a number is out of bounds.
    ValueError
        If the step of a slice is 0.
    """
    axis, numbers = 0, _index_numbers(entries, operands)
    region = Region(before=plain_dimensions(entries, ndims)[0])
    for entry in entries:
        if entry is None:
            region.shape.append(1)
            region.strides.append(0)
        elif isinstance(entry, IndexSlice):
            _add_slice(region, entry, x, axis, numbers)
            axis += 1
        elif isinstance(entry, IndexArray):
            count = ndims[entry.position] if entry.mask else 1
            region.sources.append(Source(entry, axis, x.shape[axis : axis + count], x.strides[axis : axis + count]))
            axis += count
        else:
            _add_number(region, entry, x, axis, numbers)
            axis += 1
    region.shape += x.shape[axis:]
    region.strides += x.strides[axis:]
    return region


def plain_dimensions(entries: Sequence[IndexEntry], ndims: Sequence[int]) -> tuple[int, int]:
    """Return how many plain dimensions a part has before those of the index arrays, and how many in all."""
    # Numbers count as index arrays where there is one: dimensions of arrays stand together only if all are adjacent.
    places = [i for i, e in enumerate(entries) if isinstance(e, (IndexArray, int, IndexInput))]
    advanced = any(isinstance(e, IndexArray) for e in entries)
    adjacent = advanced and places == list(range(places[0], places[0] + len(places)))
    taken = sum(ndims[e.position] if isinstance(e, IndexArray) and e.mask else 1 for e in entries if e is not None)
    return places[0] if adjacent else 0, len(entries) - len(places) + ndims[0] - taken


def _add_slice(region: Region, entry: IndexSlice, x: DeviceOperand, axis: int, numbers: Mapping[int, int]) -> None:
    start, stop, step = (_value(n, numbers) for n in (entry.start, entry.stop, entry.step))
    if step == 0:
        raise ValueError(format_error("slice step cannot be zero", hint="use another step"))
    positions = range(*slice(start, stop, step).indices(x.shape[axis]))
    stride = x.strides[axis]
    if positions:
        region.start += positions.start * stride
    region.shape.append(len(positions))
    region.strides.append(positions.step * stride if len(positions) > 1 else stride)


def _add_number(region: Region, entry: IndexNumber, x: DeviceOperand, axis: int, numbers: Mapping[int, int]) -> None:
    value, length = _value(entry, numbers), x.shape[axis]
    assert value is not None, "an entry is a number"
    if not -length <= value < length:
        raise out_of_bounds(value, axis, length, x.shape)
    region.start += (value % length) * x.strides[axis]


def index_shape(region: Region, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the common shape of the index arrays, which have the given shapes (of masks: how many are true).

    Only dimensions that are declared to have length 1 broadcast, as on the CPU.

    Raises
    ------
    IndexError
        If they do not fit.
    """
    ndim = max((len(shape) for shape in shapes), default=0)
    common = [-1] * ndim
    for source, shape in zip(region.sources, shapes, strict=True):
        first = ndim - len(shape)
        for d, (n, broadcasts) in enumerate(zip(shape, source.entry.broadcastable, strict=True), first):
            if (n != 1) if broadcasts else common[d] not in (-1, n):
                texts = " ".join(str(tuple(s)).replace(" ", "") for s in shapes)
                raise IndexError(
                    format_error(
                        f"shape mismatch: indexing arrays could not be broadcast together with shapes {texts}",
                        hint="give them one shape; only a dimension that is declared broadcastable broadcasts",
                    )
                )
            if not broadcasts:
                common[d] = n
    return tuple(1 if n == -1 else n for n in common)


# ---- Masks as indices: the places of true elements, in order

#: Elements that a work-item counts one after the other.
_RUN = 16

#: The sum of `value` over the work-items up to this one; `sums` holds one number for each of them.
_SCAN = """static inline int64_t theano_scan(LOCAL_MEM_ARG int64_t *sums, int64_t value) {
  const int me = (int)LID_0;
  sums[me] = value;
  local_barrier();
  for (int step = 1; step < (int)LDIM_0; step *= 2) {
    const int64_t before = me >= step ? sums[me - step] : 0;
    local_barrier();
    sums[me] += before;
    local_barrier();
  }
  return sums[me];
}
"""


def check_mask(mask: DeviceOperand, x: DeviceOperand, axis: int) -> None:
    """Raise IndexError if a mask has not the lengths of the axes that it indexes."""
    if mask.shape != x.shape[axis : axis + mask.ndim]:
        raise IndexError(
            format_error(
                f"boolean index of shape {mask.shape} did not match the indexed array of shape {x.shape} "
                f"from axis {axis} on",
                hint="give the mask the lengths of the axes that it indexes",
            )
        )


def true_offsets(recorder: Recorder, mask: DeviceOperand, strides: Sequence[int]) -> DeviceOperand:
    """Return the sums of positions times `strides` of all true elements of a mask, as int64, in order.

    The host has to know how many there are: it waits for the device.
    """
    if not mask.size:
        return recorder.empty("int64", (0,))
    local = min(128, recorder.properties.max_local)
    groups = -(-mask.size // (local * _RUN))
    counts = recorder.empty("int64", (groups + 1,))
    _launch(recorder, mask, strides, counts, None, (groups, local))
    _add_up(recorder, counts, local)
    (total,) = recorder.read(counts.view((1,), (8,), counts.offset + 8 * groups))
    offsets = recorder.empty("int64", (int(total),))
    if total:
        _launch(recorder, mask, strides, counts, offsets, (groups, local))
    return offsets


def _launch(
    recorder: Recorder,
    mask: DeviceOperand,
    strides: Sequence[int],
    counts: DeviceOperand,
    offsets: DeviceOperand | None,
    layout: tuple[int, int],
) -> None:
    """Count the true elements of each group; or write where they are, from the place on that `counts` tells."""
    groups, local = layout
    shape, (steps, weights) = merged_dimensions(mask.shape, mask.strides, tuple(strides))
    writer = KernelWriter("mask_count" if offsets is None else "mask_offsets")
    writer.function(_SCAN)
    writer.reads(m=mask)
    writer.array("c", counts, written=offsets is None)
    writer.writes(q=offsets)
    lengths, along, each = writer.numbers("n", shape), writer.numbers("s", steps), writer.numbers("w", weights)
    writer.number("count", mask.size)
    element = [
        "uint64_t r = (uint64_t)i; int64_t a = m_at, o = 0;",
        *_decoded(lengths, along, each),
        "const int is_true = *(GLOBAL_MEM const uint8_t *)(m + a) != 0;",
    ]
    loop = "for (int64_t i = begin; i < begin + RUN && i < count; i++) {".replace("RUN", str(_RUN))
    writer.local("int64_t", "sums", local)
    writer.add(
        f"const int64_t begin = ((int64_t)GID_0 * LDIM_0 + LID_0) * {_RUN};",
        "int64_t own = 0;",
        loop,
        *element,
        "own += is_true;",
        "}",
        "const int64_t upto = theano_scan(sums, own);",
        "GLOBAL_MEM int64_t *const of_group = (GLOBAL_MEM int64_t *)(c + c_at) + GID_0;",
    )
    if offsets is None:
        writer.add("if (LID_0 == LDIM_0 - 1) *of_group = upto;")
    else:
        writer.add(
            "GLOBAL_MEM int64_t *to = (GLOBAL_MEM int64_t *)(q + q_at) + *of_group + upto - own;",
            loop,
            *element,
            "if (is_true) *to++ = o;",
            "}",
        )
    writer.launch(recorder, (groups,), (local,))


def _decoded(lengths: Sequence[str], along: Sequence[str], each: Sequence[str]) -> list[str]:
    lines = []
    for d in reversed(range(len(lengths))):
        position = f"r % (uint64_t){lengths[d]}" if d else "r"
        division = f" r /= (uint64_t){lengths[d]};" if d else ""
        lines.append(f"{{ const int64_t j = {position};{division} a += j * {along[d]}; o += j * {each[d]}; }}")
    return lines


def _add_up(recorder: Recorder, counts: DeviceOperand, local: int) -> None:
    """Replace counts by the sums of those before each, by one group."""
    writer = KernelWriter("mask_sums")
    writer.function(_SCAN)
    writer.writes(c=counts)
    writer.number("count", counts.shape[0])
    writer.local("int64_t", "sums", local)
    writer.add(
        "GLOBAL_MEM int64_t *const p = (GLOBAL_MEM int64_t *)(c + c_at);",
        "int64_t before = 0;",
        "for (int64_t begin = 0; begin < count; begin += LDIM_0) {",
        "const int64_t i = begin + LID_0;",
        # The last place has no count: it gets the sum of all.
        "const int64_t own = i < count - 1 ? p[i] : 0;",
        "const int64_t upto = theano_scan(sums, own);",
        "if (i < count) p[i] = before + upto - own;",
        "before += sums[LDIM_0 - 1];",
        "local_barrier();",
        "}",
    )
    writer.launch(recorder, (1,), (local,))


# ---- Moves between a region and another array, for reading and writing


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
    """Return the part of an array that an index selects; the host waits for the device where there is a mask."""
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
        The action for a position that is out of bounds.
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
    """Add the parameters of a kernel that may find a position out of bounds."""

    def explain(axis: int, value: int, length: int) -> Exception:
        return out_of_bounds(value, axis, length, shape)

    add_refusals(recorder, writer, explain)


def flat_strides(move: Move) -> tuple[int, ...]:
    """Return strides, along the part, of the number of an element of the index arrays."""
    return move.spread_index(contiguous_strides(move.index, 1))


__all__ = [
    "Region",
    "Source",
    "host_positions",
    "index_shape",
    "out_of_bounds",
    "plain_dimensions",
    "resolve",
    "check_mask",
    "true_offsets",
    "Move",
    "checked_positions",
    "flat_strides",
    "move_of",
]
