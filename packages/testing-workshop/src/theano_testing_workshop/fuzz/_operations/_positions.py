"""Reading, setting and adding at any mixture of numbers, slices, new axes, arrays of numbers and masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import theano_tensor as tt

from .._programs._draw import ALL, Draw, NoOperands
from .._programs._expressions import called
from .._programs._program import Operation, Options

Drawn = tuple[Sequence[int], Options]
_POSITIONS = ("int64", "int64", "int32", "int16", "int8", "uint8")


def place_operations() -> list[Operation]:
    """Return the operations of this module."""
    imports = "from theano_testing_workshop.fuzz import"
    return [
        Operation("read_at", read_at, _got, _read, called("read_at"), 1.5, imports=f"{imports} read_at"),
        Operation("set_at", set_at, _set, _written(True), called("set_at"), 1.0, imports=f"{imports} set_at"),
        Operation("inc_at", inc_at, _inc, _written(False), called("inc_at"), 1.0, imports=f"{imports} inc_at"),
    ]


def read_at(x: Any, *rest: Any, index: tuple[Any, ...]) -> Any:
    """Return a part of an array.

    Parameters
    ----------
    x : variable or array
    *rest : variables or arrays
        What the names in `index` stand for, in their order.
    index : tuple
        Numbers, slices, None, Ellipsis, 'array', 'mask' and 'at' (a number that only run time tells), 'from' and 'to'
        (slices that begin or end there).
    """
    return x[_filled(index, rest)]


def set_at(x: Any, *rest: Any, index: tuple[Any, ...]) -> Any:
    """Return an array with the last operand in the place that the others say."""
    return tt.set_subtensor(x[_filled(index, rest[:-1])], rest[-1])


def inc_at(x: Any, *rest: Any, index: tuple[Any, ...]) -> Any:
    """Return an array with the last operand added where the others say, as often as they say it."""
    return tt.inc_subtensor(x[_filled(index, rest[:-1])], rest[-1])


def _filled(index: tuple[Any, ...], operands: Sequence[Any]) -> tuple[Any, ...]:
    left = iter(operands)
    found: list[Any] = []
    for entry in index:
        if not isinstance(entry, str):
            found.append(entry)
            continue
        value = next(left)
        if isinstance(value, np.ndarray) and entry in ("at", "from", "to"):
            value = int(value)
        found.append(slice(value, None) if entry == "from" else slice(None, value, 2) if entry == "to" else value)
    return tuple(found)


def _got(x: Any, *rest: Any, index: tuple[Any, ...]) -> Any:
    return x[_within(x, _filled(index, rest))]


def _set(x: Any, *rest: Any, index: tuple[Any, ...]) -> Any:
    result = x.copy()
    result[_within(x, _filled(index, rest[:-1]))] = rest[-1]
    return result


def _inc(x: Any, *rest: Any, index: tuple[Any, ...]) -> Any:
    result = x.copy()
    np.add.at(result, _within(x, _filled(index, rest[:-1])), rest[-1])
    return result


def _within(x: Any, index: tuple[Any, ...]) -> tuple[Any, ...]:
    """Refuse numbers out of bounds even where NumPy does not look at them: beside a mask that selects nothing."""
    axis = 0
    for entry in index:
        if isinstance(entry, np.ndarray) and entry.dtype != bool:
            np.take(np.arange(x.shape[axis]), entry)  # raises an IndexError
        if entry is Ellipsis:
            return index  # only the last entry is one
        axis += 0 if entry is None else entry.ndim if isinstance(entry, np.ndarray) and entry.dtype == bool else 1
    return index


def _slice(d: Draw, length: int) -> Any:
    bounds = (None, d.between(-length - 1, length + 1))
    return slice(d.one_of(bounds), d.one_of(bounds), d.one_of((None, None, 1, 2, -1, -2, 3, -3)))


def _positions(d: Draw, length: int, shape: tuple[int, ...], *, distinct: bool) -> int:
    if not length:
        raise NoOperands
    low = -length if d.chance(0.4) else 0
    values = d.rng.integers(low, length, shape)
    if distinct and values.size <= length:
        values = d.rng.permutation(length)[: values.size].reshape(shape)
    dtype = str(d.one_of(_POSITIONS))
    static = tuple(1 if n == 1 else None for n in shape)
    return d.leaf(dtype if low == 0 or dtype[0] == "i" else "int64", shape, values=values, static=static)


def _places(d: Draw, x: int, *, distinct: bool) -> tuple[list[int], tuple[Any, ...]]:
    """Return operands and an index of an item."""
    lengths, entries, operands = list(d.shape(x)), list[Any](), list[int]()
    arrays = tuple(d.between(1, 3) for _ in range(d.one_of((0, 1, 1, 2))))
    axis = 0
    while axis < len(lengths) and (axis == 0 or d.chance(0.8)):
        n = lengths[axis]
        kind = str(d.rng.choice(["slice", "number", "array", "mask", "at", "from", "to", "all"], p=_CHANCES))
        if d.chance(0.1):
            entries.append(None)
        if kind == "array":
            # Any part of the shape of all, with lengths of one where it broadcasts.
            shape = tuple(1 if d.chance(0.2) else m for m in arrays[d.between(0, len(arrays)) :])
            operands.append(_positions(d, n, shape, distinct=distinct))
        elif kind == "mask":
            dims = d.between(1, min(2, len(lengths) - axis))
            static = tuple(1 if b else None for b in d.broadcastable(x)[axis : axis + dims])
            operands.append(d.leaf("bool", tuple(lengths[axis : axis + dims]), static=static))
            axis += dims - 1
        elif kind in ("at", "from", "to"):
            operands.append(_positions(d, n, (), distinct=False))
        named = {"slice": _slice(d, n), "all": slice(None)}
        if kind == "number":
            if not n:
                raise NoOperands
            entries.append(d.between(-n, n - 1))
        else:
            entries.append(named.get(kind, kind))
        axis += 1
    # With None and without an ellipsis, unnamed broadcastable dimensions are dropped, unlike in NumPy.
    if d.chance(0.1) or (None in entries and all(d.broadcastable(x)[axis:])):
        entries.append(Ellipsis)
    return operands, tuple(entries)


_CHANCES = [0.24, 0.14, 0.2, 0.08, 0.1, 0.08, 0.06, 0.1]


def _read(d: Draw) -> Drawn:
    x = d.pick(ALL, (1, 2, 3, 4))
    operands, index = _places(d, x, distinct=False)
    return [x, *operands], {"index": index}


def _written(distinct: bool) -> Any:
    def draw(d: Draw) -> Drawn:
        x = d.pick(ALL if distinct else tuple(name for name in ALL if name != "bool"), (1, 2, 3))
        operands, index = _places(d, x, distinct=distinct)
        values = [d.values[i] for i in operands]
        try:
            part = d.values[x][_filled(index, values)]
            if distinct:
                # Which of several values stays is not said.
                count = np.zeros(d.shape(x), int)
                np.add.at(count, _filled(index, values), 1)
                if count.max(initial=0) > 1:
                    raise NoOperands
        except IndexError as error:
            raise NoOperands from error
        shape = list(part.shape)
        static: list[int | None] = [None] * len(shape)
        for k, n in enumerate(shape):
            if d.chance(0.15) or n == 1:
                shape[k] = static[k] = 1
        drop = d.between(0, len(shape)) if d.chance(0.3) else 0
        y = d.leaf(d.dtype(x), tuple(shape[drop:]), static=tuple(static[drop:]))
        return [x, *operands, y], {"index": index}

    return draw
