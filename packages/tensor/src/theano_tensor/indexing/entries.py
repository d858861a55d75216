"""Indices as data: static entries stand in the op, symbolic ones become inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, TypeAlias

import numpy as np

from theano_graph import Constant, Type, Variable, record
from theano_linker_c.scalar import ScalarType

from .._core._type import StaticShape


class Symbol(Enum):
    """Stands in an index for an input of the op, or for a new axis."""

    SYMBOL = "int64"
    NEWAXIS = "None"


SYMBOL = Symbol.SYMBOL
NEWAXIS = Symbol.NEWAXIS
Bound: TypeAlias = int | Symbol | None


@record
class Slice:
    """A slice whose bounds are numbers, None, or inputs."""

    start: Bound = None
    stop: Bound = None
    step: Bound = None

    def __str__(self) -> str:
        parts = [
            "" if b is None else b.value if isinstance(b, Symbol) else str(b)
            for b in (self.start, self.stop, self.step)
        ]
        return ":".join(parts[:2] if self.step is None else parts)


#: SYMBOL stands for a scalar, or in an advanced index for an array of integers or truth values.
Entry: TypeAlias = int | Symbol | Slice
Entries: TypeAlias = tuple[Entry, ...]


def entries_text(entries: Entries) -> str:
    """Return an index as it is shown in graphs."""
    return ", ".join(entry.value if isinstance(entry, Symbol) else str(entry) for entry in entries)


def count_symbols(entries: Entries) -> int:
    """Return how many inputs an index stands for."""
    bounds: list[Any] = []
    for entry in entries:
        bounds.extend((entry.start, entry.stop, entry.step) if isinstance(entry, Slice) else (entry,))
    return sum(bound is SYMBOL for bound in bounds)


def fill_in(entries: Entries, numbers: Sequence[Any]) -> tuple[Any, ...]:
    """Return the index with the values of its symbols, for NumPy."""
    values = iter(numbers)

    def resolve(bound: Bound) -> Any:
        if bound is NEWAXIS or bound is None:
            return None
        if bound is not SYMBOL:
            return bound
        value = next(values)
        return int(value) if value.ndim == 0 and value.dtype.kind in "iu" else value

    # The ellipsis keeps a result without dimensions an array.
    return (*_resolved(entries, resolve), ...)


def as_python(entries: Entries, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Return the index as the user could have written it, with variables in it."""
    values: Iterator[Any] = iter(inputs)

    def resolve(bound: Bound) -> Any:
        if bound is NEWAXIS:
            return None
        return next(values) if bound is SYMBOL else bound

    return _resolved(entries, resolve)


def _resolved(entries: Entries, resolve: Any) -> tuple[Any, ...]:
    index: list[Any] = []
    for entry in entries:
        if isinstance(entry, Slice):
            start, stop = resolve(entry.start), resolve(entry.stop)
            index.append(slice(start, stop, resolve(entry.step)))
        else:
            index.append(resolve(entry))
    return tuple(index)


def from_python(index: Sequence[Any]) -> tuple[Entries, list[Variable]]:
    """Split an index with variables in it into entries and inputs; the inverse of :func:`as_python`."""
    inputs: list[Variable] = []

    def split(bound: Any) -> Any:
        if isinstance(bound, Variable):
            inputs.append(bound)
            return SYMBOL
        return bound

    entries = tuple(
        NEWAXIS
        if item is None
        else Slice(split(item.start), split(item.stop), split(item.step))
        if isinstance(item, slice)
        else split(item)
        for item in index
    )
    return entries, inputs


def as_entries(index: Any) -> Entries:
    """Return entries for entries, or for an index in which types of scalars, or scalars, stand where inputs are.

    Raises
    ------
    TypeError
        If it has something else in it.
    """
    return tuple(_as_entry(item) for item in index)


def _as_entry(item: Any) -> Entry:
    if isinstance(item, slice):
        return Slice(_as_bound(item.start), _as_bound(item.stop), _as_bound(item.step))
    entry = item if isinstance(item, Slice) else _as_bound(item)
    if entry is None:
        raise TypeError("None is no entry of an index of views: use dimshuffle for a new axis")
    return entry


def _as_bound(item: Any) -> Bound:
    if item is None or isinstance(item, Symbol):
        return item
    if isinstance(item, int | np.integer):
        return int(item)
    kind: Any = item.type if isinstance(item, Variable) else item
    dtype = getattr(kind, "dtype", None)
    if not isinstance(kind, Type) or dtype is None or np.dtype(dtype).kind not in "iu" or getattr(kind, "ndim", False):
        raise TypeError(f"{item!r} cannot be a part of an index of views: give integers, types of them, and slices")
    return SYMBOL


def index_types(entries: Entries) -> tuple[Any, ...]:
    """Return entries as an index with the type int64 of scalars where inputs stand."""

    def shown(bound: Bound) -> Any:
        return ScalarType("int64") if bound is SYMBOL else None if bound is NEWAXIS else bound

    return tuple(
        slice(shown(e.start), shown(e.stop), shown(e.step)) if isinstance(e, Slice) else shown(e) for e in entries
    )


def static_result(shape: StaticShape, entries: Entries, inputs: Sequence[Variable] = ()) -> StaticShape:
    """Return the static shape of a tensor indexed by a basic index.

    Raises
    ------
    IndexError
        If a number is out of range of a known length.
    """
    result: list[int | None] = []
    for axis, (length, item) in enumerate(zip(shape, as_python(entries, inputs), strict=False)):
        if isinstance(item, slice):
            result.append(static_slice_length(length, item))
        else:
            check_number(item, length, axis)
    result.extend(shape[len(entries) :])
    return tuple(result)


def check_number(value: Any, length: int | None, axis: int) -> None:
    """Refuse a number that is out of range of a known length; variables pass."""
    if isinstance(value, int) and length is not None and not -length <= value < length:
        raise IndexError(f"index {value} is out of bounds for axis {axis} with size {length}")


def static_slice_length(length: int | None, item: slice) -> int | None:
    """Return the number of elements that a slice selects, where that is known."""
    bounds = [known_number(b) for b in (item.start, item.stop, item.step)]
    if any(b is Symbol.SYMBOL for b in bounds):
        return None
    return None if length is None else len(range(length)[slice(*bounds)])


def known_number(bound: Any) -> Any:
    """Return a bound that is a number or a constant as a number, None as None, and SYMBOL for all else."""
    if isinstance(bound, Constant) and isinstance(bound.data, np.ndarray) and bound.data.size == 1:
        return int(bound.data.item())
    return SYMBOL if isinstance(bound, (Variable, Symbol)) else bound
