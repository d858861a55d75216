"""Basic indices as data: what is static stands in the op, what is symbolic becomes an input."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import numpy as np

from theano_graph import Variable, compose, describe

from .._convert import as_tensor_variable
from .._dtypes import INTEGER_DTYPES
from .._errors import IndexingError
from .._type import StaticShape
from .._variable import TensorVariable
from ..shape import as_length, static_int


class Symbol(Enum):
    """Stands in an index for a number that is an input of the op."""

    SYMBOL = "int64"


SYMBOL = Symbol.SYMBOL
Bound: TypeAlias = int | Symbol | None


@dataclass(frozen=True, slots=True)
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


Entry: TypeAlias = int | Symbol | Slice
Entries: TypeAlias = tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class ParsedIndex:
    """A user's index.

    Parameters
    ----------
    entries : tuple of Entry
        One for each dimension from the left; dimensions without one are taken whole.
    inputs : tuple of TensorVariable
        The symbolic numbers, in order.
    new_axes : tuple of (int or "x"), or None
        Pattern for dimshuffle afterwards, where newaxis was used.
    """

    entries: Entries
    inputs: tuple[TensorVariable, ...]
    new_axes: tuple[int | str, ...] | None


def parse_index(x: TensorVariable, index: Any) -> ParsedIndex:
    """Split a user's index into static and symbolic parts.

    Raises
    ------
    IndexingError
        If it is no basic index, or has more entries than `x` has dimensions.
    """
    items = list(index) if isinstance(index, tuple) else [index]
    wanted = sum(1 for item in items if item is not None and item is not Ellipsis)
    if wanted > x.type.ndim:
        raise IndexingError(
            compose(
                f"too many indices: {wanted} for {x.type.ndim} dimensions",
                where=[describe(x)],
                mend="use at most x.ndim indices",
            )
        )
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexingError(compose("an index can have only one Ellipsis (...)", where=[describe(x)]))
    items = _expand(items, x.type.ndim - wanted)
    entries: list[Entry] = []
    inputs: list[TensorVariable] = []
    order: list[int | str] = []
    kept = 0
    for item in items:
        if item is None:
            order.append("x")
            continue
        entry = _entry(x, item, inputs)
        entries.append(entry)
        if isinstance(entry, Slice):
            order.append(kept)
            kept += 1
    order.extend(range(kept, kept + x.type.ndim - len(entries)))
    while entries and entries[-1] == Slice():
        entries.pop()
    return ParsedIndex(tuple(entries), tuple(inputs), tuple(order) if "x" in order else None)


def _expand(items: list[Any], missing: int) -> list[Any]:
    for i, item in enumerate(items):
        if item is Ellipsis:
            return items[:i] + [slice(None)] * missing + items[i + 1 :]
    return items


def _entry(x: TensorVariable, item: Any, inputs: list[TensorVariable]) -> Entry:
    if isinstance(item, slice):
        bounds = [_bound(x, b, inputs) for b in (item.start, item.stop, item.step)]
        if bounds[2] == 0:
            raise IndexingError(compose("a slice cannot have step 0", where=[describe(x)]))
        return Slice(*bounds)
    bound = _bound(x, item, inputs)
    if bound is None:
        raise IndexingError(compose(f"{item!r} is no index", where=[describe(x)]))
    return bound


def _bound(x: TensorVariable, value: Any, inputs: list[TensorVariable]) -> Bound:
    if value is None:
        return None
    if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)):
        return int(value)
    advanced = isinstance(value, (list, np.ndarray, bool, np.bool_))
    if isinstance(value, Variable) and not advanced:
        variable = as_tensor_variable(value)
        advanced = variable.type.ndim > 0 or variable.type.dtype == "bool"
        if not advanced:
            if variable.type.dtype not in INTEGER_DTYPES:
                raise IndexingError(
                    compose(
                        f"an index must be an integer, not {variable.type.dtype}",
                        where=[describe(x), describe(variable)],
                        mend="convert it: T.cast(i, 'int64')",
                    )
                )
            known = static_int(variable)
            if known is not None:
                return known
            inputs.append(as_length(variable, "an index"))
            return SYMBOL
    if advanced:
        raise IndexingError(
            compose(
                "indexing with arrays of integers or truth values is not available yet",
                where=[describe(x), *([describe(value)] if isinstance(value, Variable) else [])],
                mend="index with integers, slices, None and Ellipsis; T.switch(mask, x, 0) keeps the shape",
            )
        )
    raise IndexingError(
        compose(
            f"{value!r} ({type(value).__name__}) is no index",
            where=[describe(x)],
            mend="use integers, slices, None and Ellipsis",
        )
    )


def fill_in(entries: Entries, numbers: Sequence[Any]) -> tuple[Any, ...]:
    """Return the index with the values of its symbols, for NumPy."""
    values = iter(numbers)

    def resolve(bound: Bound) -> int | None:
        return int(next(values)) if isinstance(bound, Symbol) else bound

    index: list[Any] = []
    for entry in entries:
        if isinstance(entry, Slice):
            start, stop = resolve(entry.start), resolve(entry.stop)
            index.append(slice(start, stop, resolve(entry.step)))
        else:
            index.append(resolve(entry))
    # The ellipsis keeps a result without dimensions an array.
    return (*index, ...)


def as_python(entries: Entries, inputs: Sequence[Variable]) -> tuple[Any, ...]:
    """Return the index as the user could have written it, with variables in it."""
    values: Iterator[Variable] = iter(inputs)

    def resolve(bound: Bound) -> Any:
        return next(values) if isinstance(bound, Symbol) else bound

    index: list[Any] = []
    for entry in entries:
        if isinstance(entry, Slice):
            start, stop = resolve(entry.start), resolve(entry.stop)
            index.append(slice(start, stop, resolve(entry.step)))
        else:
            index.append(resolve(entry))
    return tuple(index)


def static_result(shape: StaticShape, entries: Entries) -> StaticShape:
    """Return the static shape of an indexed tensor.

    Raises
    ------
    IndexError
        If a number is out of range of a known length.
    """
    result: list[int | None] = []
    for length, entry in zip(shape, entries, strict=False):
        if isinstance(entry, Slice):
            result.append(_slice_length(length, entry))
        elif isinstance(entry, int) and length is not None and not -length <= entry < length:
            raise IndexError(f"index {entry} is out of range for a dimension of length {length}")
    result.extend(shape[len(entries) :])
    return tuple(result)


def _slice_length(length: int | None, entry: Slice) -> int | None:
    start, stop, step = entry.start, entry.stop, entry.step
    if isinstance(start, Symbol) or isinstance(stop, Symbol) or isinstance(step, Symbol):
        return None
    if length is not None:
        return len(range(length)[slice(start, stop, step)])
    return length
