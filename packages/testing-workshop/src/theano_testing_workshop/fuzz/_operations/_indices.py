"""Indexing: reads, writes and additions, with numbers, slices, new axes, arrays and masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import theano_tensor as tt

from .._draw import ALL, DISCRETE, REALS, Draw, NoOperands, called
from .._program import Operation, Options

# ---- Numbers, slices, arrays and masks

Drawn = tuple[Sequence[int], Options]


def indexing_operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation("getitem", lambda x, index: x[index], lambda x, index: x[index], _read, text=_read_text, weight=5),
        Operation("set_subtensor", _write_tt(tt.set_subtensor), _set, _written, text=_write_text("set"), weight=1.5),
        Operation("inc_subtensor", _write_tt(tt.inc_subtensor), _inc, _written, text=_write_text("inc"), weight=1.5),
        Operation("take", tt.take, _take, _taken, weight=1.0, text=_take_text),
        Operation("rows", lambda x, i: x[i], lambda x, i: x[i], _rows, text=_item_text, weight=1.5),
        Operation("inc_rows", _inc_rows_tt, _inc_rows, _written_rows, text=_rows_text("inc"), weight=0.8),
        Operation("set_rows", _set_rows_tt, _set_rows, _written_rows_once, text=_rows_text("set"), weight=0.5),
        Operation("mixed", _mixed_read, _mixed_read, _mixing, text=_mixed_text("{}[{}]"), weight=1.5),
        Operation("inc_mixed", _mixed_inc_tt, _mixed_inc, _mixing_part, text=_mixed_text(_INC_MIXED), weight=0.8),
        Operation("mask", lambda x, m: x[m], lambda x, m: x[m], _masked, text=_item_text, weight=0.8),
        Operation("set_mask", _set_mask_tt, _set_mask, _set_masked, text=_mask_text, weight=0.5),
        Operation("at", lambda x, i: x[i], lambda x, i: x[int(i)], _at, text=_item_text, weight=0.8),
        Operation("from_to", lambda x, i: x[i:], lambda x, i: x[int(i) :], _at, text=_slice_text, weight=0.8),
        Operation("picked", _picked_tt, _picked, _picking, text=_picked_text, weight=0.6),
        Operation("choose", tt.choose, np.choose, _chosen, text=_choose_text, weight=0.3),
    ]


def _item_text(names: Sequence[str], _: Options) -> str:
    return f"{names[0]}[{names[1]}]"


def _slice_text(names: Sequence[str], _: Options) -> str:
    return f"{names[0]}[{names[1]}:]"


def index_text(index: Sequence[Any]) -> str:
    """Return the source of a basic index."""
    parts = []
    for entry in index:
        if isinstance(entry, slice):
            start, stop, step = ("" if v is None else str(v) for v in (entry.start, entry.stop, entry.step))
            parts.append(f"{start}:{stop}" + (f":{step}" if step else ""))
        elif entry is Ellipsis:
            parts.append("...")
        else:
            parts.append(repr(entry))
    return ", ".join(parts) + ("," if len(parts) == 1 else "")


# Numbers and slices
def _entry(d: Draw, length: int) -> Any:
    if length and d.chance(0.3):
        return d.between(-length, length - 1)
    if d.chance(0.25):
        return slice(None)
    step = d.one_of((None, None, 1, 2, -1, -2, 3))
    start = d.one_of((None, d.between(-length - 1, length + 1)))
    stop = d.one_of((None, d.between(-length - 1, length + 1)))
    return slice(start, stop, step)


def _index(d: Draw, shape: Sequence[int], *, newaxis: bool) -> tuple[Any, ...]:
    entries: list[Any] = [_entry(d, n) for n in shape]
    if d.chance(0.15):
        # The dimensions of an ellipsis: some of them, or none.
        start = d.between(0, len(shape))
        entries[start : d.between(start, len(shape))] = [Ellipsis]
    else:
        del entries[d.between(1, len(shape)) :]
    if newaxis and d.chance(0.15):
        entries.insert(d.between(0, len(entries)), None)
    return tuple(entries)


def _read(d: Draw) -> Drawn:
    x = d.pick(ALL, (1, 2, 3, 4))
    index = _index(d, d.shape(x), newaxis=True)
    unnamed = d.broadcastable(x)[sum(entry is not None for entry in index) :]
    if None in index and Ellipsis not in index and all(unnamed):
        index = (*index, Ellipsis)  # without it they are dropped, unlike in NumPy
    return [x], {"index": index}


def _read_text(names: Sequence[str], options: Options) -> str:
    return f"{names[0]}[{index_text(options['index'])}]"


def _written(d: Draw) -> Drawn:
    x = d.pick(ALL, (1, 2, 3))
    index = _index(d, d.shape(x), newaxis=False)
    part = d.variables[x][index]
    shape = d.values[x][index].shape

    def fits(i: int) -> bool:
        if d.dtype(i) != d.dtype(x) or d.ndim(i) > len(shape):
            return False
        lead = len(shape) - d.ndim(i)
        return all(n == shape[lead + k] or d.broadcastable(i)[k] for k, n in enumerate(d.shape(i)))

    try:
        y = d.pick((d.dtype(x),), where=fits)
    except NoOperands:
        known = tuple(1 if b else None for b in part.type.broadcastable)
        y = d.leaf(d.dtype(x), shape, static=known)
    return [x, y], {"index": index}


def _write_tt(write: Any) -> Any:
    return lambda x, y, index: write(x[index], y)


def _set(x: Any, y: Any, index: Any) -> Any:
    result = x.copy()
    result[index] = y
    return result


def _inc(x: Any, y: Any, index: Any) -> Any:
    result = x.copy()
    result[index] = result[index] + y
    return result


def _write_text(kind: str) -> Any:
    return lambda names, o: f"tt.{kind}_subtensor({names[0]}[{index_text(o['index'])}], {names[1]})"


# Arrays of numbers
def _numbers_below(d: Draw, length: int, dims: Sequence[int] = (1,)) -> int:
    def valid(i: int) -> bool:
        value = d.values[i]
        return bool(np.all((value >= -length) & (value < length)))

    try:
        if d.chance(0.4):
            return d.pick(("int64", "int32", "int8", "uint8"), dims, where=valid)
    except NoOperands:
        pass
    if not length:
        raise NoOperands
    shape = tuple(d.between(0 if d.chance(0.1) else 1, 4) for _ in range(d.one_of(dims)))
    low = -length if d.chance(0.4) else 0
    values = d.rng.integers(low, length, shape)
    return d.leaf(str(d.one_of(("int64", "int64", "int32", "int8"))), shape, values=values)


def _rows(d: Draw) -> Drawn:
    x = d.pick(ALL, (1, 2, 3))
    return [x, _numbers_below(d, d.shape(x)[0], (1, 1, 2))], {}


def _taken(d: Draw) -> Drawn:
    x = d.pick(ALL, (1, 2, 3))
    axis = d.between(0, d.ndim(x) - 1)
    return [x, _numbers_below(d, d.shape(x)[axis], (0, 1, 1, 2))], {"axis": axis}


def _take(x: Any, i: Any, axis: int) -> Any:
    """Return the result of `take`, with an error for positions out of bounds: of no elements, NumPy's takes any."""
    return x[(*[slice(None)] * axis, i)]


def _take_text(names: Sequence[str], options: Options) -> str:
    return f"tt.take({names[0]}, {names[1]}, axis={options['axis']})"


def _written_rows(d: Draw) -> Drawn:
    x = d.pick(ALL, (1, 2))
    i = _numbers_below(d, d.shape(x)[0])
    shape = (*d.shape(i), *d.shape(x)[1:])
    static = (*(1 if b else None for b in d.broadcastable(i)), *(1 if b else None for b in d.broadcastable(x)[1:]))
    return [x, i, d.leaf(d.dtype(x), shape, static=static) if d.chance(0.6) else d.leaf(d.dtype(x), ())], {}


def _written_rows_once(d: Draw) -> Drawn:
    x, i, y = _written_rows(d)[0]
    length = d.shape(x)[0]
    if len(set(np.asarray(d.values[i]).astype("int64") % length)) != d.values[i].size:
        raise NoOperands
    return [x, i, y], {}


def _inc_rows_tt(x: Any, i: Any, y: Any) -> Any:
    return tt.inc_subtensor(x[i], y)


def _set_rows_tt(x: Any, i: Any, y: Any) -> Any:
    return tt.set_subtensor(x[i], y)


def _inc_rows(x: Any, i: Any, y: Any) -> Any:
    result = x.copy()
    np.add.at(result, i, y)
    return result


def _set_rows(x: Any, i: Any, y: Any) -> Any:
    result = x.copy()
    result[i] = y
    return result


def _rows_text(kind: str) -> Any:
    return lambda names, _: f"tt.{kind}_subtensor({names[0]}[{names[1]}], {names[2]})"


# Arrays between numbers, slices and new axes
_INC_MIXED = "tt.inc_subtensor({0}[{1}], {2})"


def _mixing(d: Draw) -> Drawn:
    x = d.pick(ALL, (2, 3, 4))
    index: list[Any] = [_entry(d, n) for n in d.shape(x)]
    places = sorted(d.rng.choice(len(index), size=d.between(1, 2), replace=False).tolist())
    if any(not d.shape(x)[k] for k in places):
        raise NoOperands
    length = d.between(1, 3)
    arrays = []
    for k in places:
        n = d.shape(x)[k]
        arrays.append(d.leaf("int64", (length,), values=d.rng.integers(-n, n, length), static=(None,)))
        index[k] = "array"
    if d.chance(0.2):
        index.insert(d.between(0, len(index)), None)
    return [x, *arrays], {"index": tuple(index)}


def _mixing_part(d: Draw) -> Drawn:
    (x, *arrays), options = _mixing(d)
    return [x, *arrays, d.leaf(d.dtype(x), ())], options


def _filled(index: Sequence[Any], arrays: Sequence[Any]) -> tuple[Any, ...]:
    left = iter(arrays)
    return tuple(next(left) if isinstance(entry, str) else entry for entry in index)


def _mixed_read(x: Any, *arrays: Any, index: Any) -> Any:
    return x[_filled(index, arrays)]


def _mixed_inc_tt(x: Any, *others: Any, index: Any) -> Any:
    return tt.inc_subtensor(x[_filled(index, others[:-1])], others[-1])


def _mixed_inc(x: Any, *others: Any, index: Any) -> Any:
    result = x.copy()
    np.add.at(result, _filled(index, others[:-1]), others[-1])
    return result


def _mixed_text(form: str) -> Any:
    def text(names: Sequence[str], options: Options) -> str:
        entries = [index_text([e]).rstrip(",") if not isinstance(e, str) else e for e in options["index"]]
        left = iter(names[1:])
        return form.format(names[0], ", ".join(next(left) if e == "array" else e for e in entries), names[-1])

    return text


# Masks
def _mask_for(d: Draw, x: int) -> int:
    ndim = d.between(1, d.ndim(x))
    shape = d.shape(x)[:ndim]
    try:
        return d.pick(
            ("bool",), where=lambda i: d.shape(i) == shape and d.broadcastable(i) == d.broadcastable(x)[:ndim]
        )
    except NoOperands:
        static = tuple(1 if b else None for b in d.broadcastable(x)[:ndim])
        return d.leaf("bool", shape, static=static)


def _masked(d: Draw) -> Drawn:
    x = d.pick(ALL, (1, 2, 3))
    return [x, _mask_for(d, x)], {}


def _set_masked(d: Draw) -> Drawn:
    x = d.pick(ALL, (1, 2))
    return [x, _mask_for(d, x), d.leaf(d.dtype(x), ())], {}


def _set_mask_tt(x: Any, m: Any, y: Any) -> Any:
    return tt.set_subtensor(x[m], y)


def _set_mask(x: Any, m: Any, y: Any) -> Any:
    result = x.copy()
    result[m] = y
    return result


def _mask_text(names: Sequence[str], _: Options) -> str:
    return f"tt.set_subtensor({names[0]}[{names[1]}], {names[2]})"


# Symbolic numbers
def _at(d: Draw) -> Drawn:
    x = d.pick(ALL, (1, 2, 3))
    length = d.shape(x)[0]
    return [x, _numbers_below(d, length, (0,))], {}


def _picking(d: Draw) -> Drawn:
    x = d.pick(ALL, 2)
    rows = d.shape(x)[0]
    i = _numbers_below(d, d.shape(x)[1])
    if d.values[i].size != rows or not rows:
        i = d.leaf("int64", (rows,), values=d.rng.integers(0, max(d.shape(x)[1], 1), rows))
    if d.broadcastable(x)[0] != d.broadcastable(i)[0] or not d.shape(x)[1]:
        raise NoOperands
    return [x, i], {}


def _picked_tt(x: Any, i: Any) -> Any:
    return x[tt.arange(x.shape[0]), i]


def _picked(x: Any, i: Any) -> Any:
    return x[np.arange(len(x)), i]


def _picked_text(names: Sequence[str], _: Options) -> str:
    return f"{names[0]}[tt.arange({names[0]}.shape[0]), {names[1]}]"


def _chosen(d: Draw) -> Drawn:
    a = d.pick(DISCRETE, (1, 2), where=lambda i: bool(np.all((d.values[i] >= 0) & (d.values[i] < 2))))
    choices = d.pick(
        REALS, where=lambda i: d.ndim(i) == d.ndim(a) + 1 and d.shape(i)[1:] == d.shape(a) and d.shape(i)[0] >= 2
    )
    return [a, choices], {}


def _choose_text(names: Sequence[str], _: Options) -> str:
    return f"tt.choose({names[0]}, {names[1]})"


# ---- Any mixture of numbers, slices, new axes, arrays and masks: read, set, added to

_POSITIONS = ("int64", "int64", "int32", "int16", "int8", "uint8")


def place_operations() -> list[Operation]:
    """Return the operations of this module."""
    imports = "from theano_testing_workshop.fuzz import"
    return [
        Operation("read_at", read_at, _got, _read_at, called("read_at"), 1.5, imports=f"{imports} read_at"),
        Operation("set_at", set_at, _set_at, _written_at(True), called("set_at"), 1.0, imports=f"{imports} set_at"),
        Operation("inc_at", inc_at, _inc_at, _written_at(False), called("inc_at"), 1.0, imports=f"{imports} inc_at"),
    ]


def read_at(x: Any, *others: Any, index: tuple[Any, ...]) -> Any:
    """Return a part of an array.

    Parameters
    ----------
    x : variable or array
    *rest : variables or arrays
        The values of the names in `index`, in their order.
    index : tuple
        Numbers, slices, None, Ellipsis, 'array', 'mask' and 'at' (a number that only run time tells), 'from' and 'to'
        (slices that begin or end there).
    """
    return x[_filled_at(index, others)]


def set_at(x: Any, *others: Any, index: tuple[Any, ...]) -> Any:
    """Return an array with the last operand in the place that the others say."""
    return tt.set_subtensor(x[_filled_at(index, others[:-1])], others[-1])


def inc_at(x: Any, *others: Any, index: tuple[Any, ...]) -> Any:
    """Return an array with the last operand added where the others say, as often as they say it."""
    return tt.inc_subtensor(x[_filled_at(index, others[:-1])], others[-1])


def _filled_at(index: tuple[Any, ...], operands: Sequence[Any]) -> tuple[Any, ...]:
    left = iter(operands)
    matches: list[Any] = []
    for entry in index:
        if not isinstance(entry, str):
            matches.append(entry)
            continue
        value = next(left)
        if isinstance(value, np.ndarray) and entry in ("at", "from", "to"):
            value = int(value)
        matches.append(slice(value, None) if entry == "from" else slice(None, value, 2) if entry == "to" else value)
    return tuple(matches)


def _got(x: Any, *others: Any, index: tuple[Any, ...]) -> Any:
    return x[_within(x, _filled_at(index, others))]


def _set_at(x: Any, *others: Any, index: tuple[Any, ...]) -> Any:
    result = x.copy()
    result[_within(x, _filled_at(index, others[:-1]))] = others[-1]
    return result


def _inc_at(x: Any, *others: Any, index: tuple[Any, ...]) -> Any:
    result = x.copy()
    np.add.at(result, _within(x, _filled_at(index, others[:-1])), others[-1])
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


def _read_at(d: Draw) -> Drawn:
    x = d.pick(ALL, (1, 2, 3, 4))
    operands, index = _places(d, x, distinct=False)
    return [x, *operands], {"index": index}


def _written_at(distinct: bool) -> Any:
    def draw(d: Draw) -> Drawn:
        x = d.pick(ALL if distinct else tuple(name for name in ALL if name != "bool"), (1, 2, 3))
        operands, index = _places(d, x, distinct=distinct)
        values = [d.values[i] for i in operands]
        try:
            part = d.values[x][_filled_at(index, values)]
            if distinct:
                # Which of several values stays is not said.
                count = np.zeros(d.shape(x), int)
                np.add.at(count, _filled_at(index, values), 1)
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
