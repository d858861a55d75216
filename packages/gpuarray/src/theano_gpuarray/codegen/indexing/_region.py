"""What ``x[index]`` stands for on an array of known shape: plain dimensions, and arrays of positions along others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from theano_graph import format_error
from theano_linker_c.kernels import IndexArray, IndexEntry, IndexInput, IndexNumber, IndexSlice

from .._copies import host_numbers
from .._form import DeviceOperand, Operand

__all__ = ["Region", "Source", "host_positions", "index_shape", "out_of_bounds", "plain_dimensions", "resolve"]

_MEND = "use indices from -length up to length - 1, or T.clip them"
#: Bounds of slices are numbers of so many bits, whatever the program says.
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
        The inputs; those that give numbers are on the host.
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
