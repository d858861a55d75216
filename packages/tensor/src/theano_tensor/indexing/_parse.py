"""A user's index, in every form that NumPy takes, and where the dimensions of the result come from."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theano_graph import Constant, Type, Variable, describe, format_error, record
from theano_linker_c.scalar import ScalarType

from .._core._convert import as_tensor_variable, constant, tensor_from_scalar
from .._core._dtypes import INTEGER_DTYPES
from .._core._type import StaticShape, Tensor, TensorConstant
from .._errors import IndexingError
from ..shape import as_length, static_int
from .entries import NEWAXIS, SYMBOL, Bound, Entries, Entry, Slice, as_python, check_number, static_slice_length

# ---- A user's index, in every form that NumPy takes, split into entries and inputs


@record
class ParsedIndex:
    """A user's index.

    Parameters
    ----------
    entries : tuple of Entry
        From the left; dimensions without an entry are taken whole.
    inputs : tuple of Tensor
        The values of SYMBOL, in order.
    advanced : bool
        Whether there are arrays or truth values in it. Only then the entries contain NEWAXIS.
    new_axes : tuple of (int or "x"), or None
        Of a basic index: the pattern for dimshuffle afterwards, where newaxis was used. It drops broadcastable
        dimensions that the index does not name.
    apart : bool
        Whether an Ellipsis that stands for no dimension stands between arrays: they count as not being neighbours.
    """

    entries: Entries
    inputs: tuple[Tensor, ...]
    advanced: bool
    new_axes: tuple[int | str, ...] | None
    apart: bool = False


def parse_index(x: Tensor, index: Any) -> ParsedIndex:
    """Split a user's index into static and symbolic parts.

    Raises
    ------
    IndexingError
        If it is no index, or has more entries than `x` has dimensions.
    """
    items = [_normal(x, item) for item in (index if isinstance(index, tuple) else (index,))]
    count = sum(consumed(item) for item in items)
    if count > x.type.ndim:
        raise IndexingError(
            format_error(
                f"too many indices for array: {count} for {x.type.ndim} dimensions",
                context=[describe(x)],
                hint="use at most x.ndim indices; a mask counts once for each of its dimensions",
            )
        )
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexingError(
            format_error(
                "an index can have only one Ellipsis (...)", context=[describe(x)], hint="write `:` for the others"
            )
        )
    missing = x.type.ndim - count
    apart = not missing and any(item is Ellipsis for item in items) and _ellipsis_between(items)
    items = _with_lengths(x, _expand(items, missing))
    inputs: list[Tensor] = []
    entries = [NEWAXIS if item is None else _entry(x, item, inputs) for item in items]
    if any(is_array_index(item) for item in items):
        return ParsedIndex(_trimmed(entries), tuple(inputs), True, None, apart)
    basic = [entry for entry in entries if entry is not NEWAXIS]
    order = _order(x, entries) if len(basic) < len(entries) else None
    return ParsedIndex(_trimmed(basic), tuple(inputs), False, order)


#: From `_order` to the line with ``x[index]``: `parse_index`, `getitem`, `call`, ``__getitem__``.
_CALLS_BEFORE_PROGRAM = 6

#: The meaning of variables of other types in an index, by the class of the type: functions from the variable to None or
#: a slice, or to a function that gives the slice for the length of the dimension.
INDEX_FORMS: dict[type[Type], Callable[[Variable], Any]] = {}


def _with_lengths(x: Tensor, items: list[Any]) -> list[Any]:
    """Return entries in which the ones that wait for the length of their dimension have got it."""
    axis, items_with_lengths = 0, []
    for item in items:
        items_with_lengths.append(item(x.shape[axis]) if callable(item) else item)
        axis += consumed(item)
    return items_with_lengths


def _ellipsis_between(items: list[Any]) -> bool:
    position = next(i for i, item in enumerate(items) if item is Ellipsis)
    arrays = [i for i, item in enumerate(items) if isinstance(item, (int, Tensor))]
    return bool(arrays) and arrays[0] < position < arrays[-1]


def is_array_index(item: Any) -> bool:
    """Tell whether an entry with variables in it makes an index an advanced one."""
    return isinstance(item, Tensor) and (item.type.ndim > 0 or item.type.dtype == "bool")


def consumed(item: Any) -> int:
    """Return how many dimensions an entry of an index stands for."""
    if item is None or item is Ellipsis:
        return 0
    return item.type.ndim if isinstance(item, Tensor) and item.type.dtype == "bool" else 1


def _trimmed(entries: list[Entry]) -> Entries:
    while entries and entries[-1] == Slice():
        entries.pop()
    return tuple(entries)


def _order(x: Tensor, entries: list[Entry]) -> tuple[int | str, ...]:
    """Return the pattern for dimshuffle after a basic index with new axes in it.

    Dimensions that the index does not name are dropped where all of them are broadcastable, as Theano 1.0 does.
    """
    order: list[int | str] = []
    n_kept = 0
    for entry in entries:
        if entry is NEWAXIS:
            order.append("x")
        elif isinstance(entry, Slice):
            order.append(n_kept)
            n_kept += 1
    unnamed = x.type.shape[sum(entry is not NEWAXIS for entry in entries) :]
    if not unnamed or set(unnamed) != {1}:
        return (*order, *range(n_kept, n_kept + len(unnamed)))
    text = format_error(  # without the variable, so that each line warns once
        "an index with None drops the broadcastable dimensions that it does not name, unlike in NumPy",
        hint="name all dimensions, as in x[:, None, :] or x[:, None, ...], to keep them",
    )
    warnings.warn(text, UserWarning, stacklevel=_CALLS_BEFORE_PROGRAM)
    return tuple(order)


def _expand(items: list[Any], missing: int) -> list[Any]:
    for i, item in enumerate(items):
        if item is Ellipsis:
            return items[:i] + [slice(None)] * missing + items[i + 1 :]
    return items


def _normal(x: Tensor, item: Any) -> Any:
    """Return None, Ellipsis, a slice (or a function from a length to one), an int, or an integer or boolean tensor."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, (int, np.integer)) and not isinstance(item, (bool, np.bool_)):
        return int(item)
    if _holds_bool(item):
        raise IndexingError(
            format_error(
                f"{item!r} is no index: it is, or holds, a Python bool",
                context=[describe(x)],
                hint="use np.array([True, False]) or T.eq(x, y) for a mask, and int(...) where a number is meant",
            )
        )
    if isinstance(item, Variable) and isinstance(item.type, ScalarType):
        return int(item.data) if isinstance(item, Constant) else tensor_from_scalar(item)
    if isinstance(item, Variable) and type(item.type) in INDEX_FORMS:
        return INDEX_FORMS[type(item.type)](item)
    if isinstance(item, (Variable, np.ndarray, list, tuple)):
        return _array(x, item)
    raise IndexingError(
        format_error(
            f"{item!r} ({type(item).__name__}) is no index",
            context=[describe(x)],
            hint="use integers, slices, None, Ellipsis, and arrays of integers or truth values",
        )
    )


def _holds_bool(item: Any) -> bool:
    """Tell whether an item is a bool, or a list with bools in it, which may be meant as a mask or as numbers."""
    if isinstance(item, (list, tuple)):
        return any(_holds_bool(entry) or getattr(entry, "dtype", None) == "bool" for entry in item)
    return isinstance(item, (bool, np.bool_))


def _array(x: Tensor, item: Any) -> Any:
    try:
        variable = as_tensor_variable(item)
    except TypeError as error:
        raise IndexingError(
            format_error(
                f"{item!r} is no index: it is no array of numbers",
                context=[describe(x)],
                hint="give slices and Ellipsis in a tuple: x[1:, [0, 2]]",
            )
        ) from error
    if not isinstance(item, Variable) and variable.type.shape == (0,):
        variable = constant(np.zeros(0, dtype="int64"))  # an empty list says nothing about its dtype
    if variable.type.dtype not in INTEGER_DTYPES and variable.type.dtype != "bool":
        raise IndexingError(
            format_error(
                f"an index must be of integers or truth values, not {variable.type.dtype}",
                context=[describe(x), describe(variable)],
                hint="convert it: T.cast(i, 'int64')",
            )
        )
    if variable.type.dtype == "bool":
        return variable
    if isinstance(variable, TensorConstant) and variable.type.dtype != "uint64" and variable.type.ndim:
        return constant(variable.data.astype("int64"), name=variable.name)
    if variable.type.ndim == 0:
        length = static_int(variable)
        return variable if length is None else length
    return variable


def _entry(x: Tensor, item: Any, inputs: list[Tensor]) -> Entry:
    if isinstance(item, slice):
        bounds = [_bound(x, b, inputs) for b in (item.start, item.stop, item.step)]
        if bounds[2] == 0:
            raise IndexingError(
                format_error("a slice cannot have step 0", context=[describe(x)], hint="use a step of 1 or -1")
            )
        return Slice(*bounds)
    if isinstance(item, int):
        return item
    inputs.append(item)
    return SYMBOL


def _bound(x: Tensor, value: Any, inputs: list[Tensor]) -> Bound:
    if value is None or (isinstance(value, Constant) and value.data is None):
        return None
    number = None if isinstance(value, slice) or value is Ellipsis else _normal(x, value)
    if isinstance(number, int):
        if not -(2**63) <= number < 2**63:
            raise IndexingError(
                format_error(
                    f"the bound {number} of a slice is no int64", context=[describe(x)], hint="leave the bound out"
                )
            )
        return number
    if number is None or callable(number) or is_array_index(number):
        shown = [describe(value)] if isinstance(value, Variable) else []
        raise IndexingError(
            format_error(
                f"a bound of a slice must be an integer, not {'an array' if shown else repr(value)}",
                context=[describe(x), *shown],
                hint="give a whole number or an integer scalar",
            )
        )
    inputs.append(as_length(number, "an index"))
    return SYMBOL


# ---- Where the dimensions of ``x[index]`` come from when there are arrays in the index, as NumPy has it
#
# Numbers count as arrays without dimensions. The dimensions of the arrays, broadcast against each other, stand where
# the
# arrays stood if these are neighbours, else in front; a mask of k dimensions stands for k dimensions of the tensor and
# gives one, the number of its true elements.


@record
class Layout:
    """Dimensions of the result of an advanced index.

    Parameters
    ----------
    before, after : tuple
        Dimensions of slices and new axes: (axis of the tensor, slice), or None for a new axis.
    arrays : tuple
        (first axis of the tensor, number or tensor) for each array.
    ndim : int
        Number of dimensions of the arrays, broadcast against each other.
    """

    before: tuple[Any, ...]
    after: tuple[Any, ...]
    arrays: tuple[tuple[int, Any], ...]
    ndim: int


def is_mask(item: Any) -> bool:
    """Tell whether an entry is a tensor of truth values."""
    return isinstance(item, Tensor) and item.type.dtype == "bool"


def layout(entries: Entries, inputs: Sequence[Variable], ndim: int) -> Layout:
    """Return where the dimensions of the result come from, for a tensor of `ndim` dimensions."""
    plain: list[tuple[int, Any]] = []
    arrays: list[tuple[int, Any]] = []
    places: list[int] = []
    axis = 0
    items = as_python(entries, inputs)
    for position, item in enumerate(items):
        if item is None or isinstance(item, slice):
            plain.append((position, None if item is None else (axis, item)))
        else:
            arrays.append((axis, item))
            places.append(position)
        axis += consumed(item)
    plain.extend((len(items) + k, (a, slice(None))) for k, a in enumerate(range(axis, ndim)))
    neighbours = places == list(range(places[0], places[0] + len(places)))
    before = [found for place, found in plain if neighbours and place < places[0]]
    after = [found for _, found in plain[len(before) :]]
    return Layout(tuple(before), tuple(after), tuple(arrays), max(array_ndim(item) for _, item in arrays))


def array_ndim(item: Any) -> int:
    """Return how many dimensions an entry gives to the arrays of an index."""
    return len(array_shape(item))


def array_shape(item: Any) -> StaticShape:
    """Return the static shape of an entry as an index array; a mask is as long as it has true elements."""
    if is_mask(item):
        return (int(item.data.sum()) if isinstance(item, Constant) else None,)
    shape: StaticShape = item.type.shape if isinstance(item, Tensor) else ()
    return shape


def broadcast_pattern(item: Any) -> tuple[bool, ...]:
    """Return which dimensions of an index array are known to have length 1."""
    return tuple(n == 1 for n in array_shape(item))


def static_advanced(shape: StaticShape, entries: Entries, inputs: Sequence[Variable]) -> StaticShape:
    """Return the static shape of a tensor indexed by an advanced index.

    Raises
    ------
    IndexError
        If a known number is out of range of a known length, or known lengths do not fit.
    """
    plan = layout(entries, inputs, len(shape))
    for axis, item in plan.arrays:
        _check_known(shape, axis, item)

    def length(part: Any) -> int | None:
        return 1 if part is None else static_slice_length(shape[part[0]], part[1])

    index = _static_broadcast([array_shape(item) for _, item in plan.arrays], plan.ndim)
    return (*map(length, plan.before), *index, *map(length, plan.after))


def _check_known(shape: StaticShape, axis: int, item: Any) -> None:
    if is_mask(item):
        for d, length in enumerate(item.type.shape):
            own = shape[axis + d]
            if own is not None and length is not None and own != length:
                raise IndexError(
                    f"boolean index did not match indexed array along axis {axis + d}; size of axis is {own} but "
                    f"size of corresponding boolean axis is {length}"
                )
        return
    values = item.data if isinstance(item, Constant) else np.asarray(item) if isinstance(item, int) else None
    if values is not None and values.size:
        check_number(int(values.min()), shape[axis], axis)
        check_number(int(values.max()), shape[axis], axis)


def _static_broadcast(shapes: Sequence[StaticShape], ndim: int) -> StaticShape:
    result: list[int | None] = []
    for position in range(ndim):
        lengths_here = [s[position - ndim + len(s)] for s in shapes if position - ndim + len(s) >= 0]
        lengths = {n for n in lengths_here if n != 1}
        lengths_known = lengths - {None}
        if len(lengths_known) > 1:
            texts = ", ".join(str(s).replace("None", "?") for s in shapes)
            raise IndexError(f"shape mismatch: indexing arrays could not be broadcast together with shapes {texts}")
        result.append(lengths_known.pop() if lengths_known else None if lengths else 1)
    return tuple(result)


def _check_range(value: Any, length: int, axis: int) -> None:
    """Refuse numbers out of range, also where nothing is selected, which NumPy 1 does not look at."""
    numbers = np.asarray(value)
    outside = numbers[(numbers < -length) | (numbers >= length)]
    if outside.size:
        raise IndexError(f"index {outside.flat[0]} is out of bounds for axis {axis} with size {length}")


def check_arrays(found: Layout, items: Sequence[Any], x_shape: Sequence[int]) -> None:
    """Check values of index arrays against each other: lengths that are not known to be 1, or of masks, must be equal.

    Raises
    ------
    IndexError
        If they differ, a number is out of range, or a mask has another shape than its dimensions.
    """
    shapes = []
    for (axis, item), value in zip(found.arrays, items, strict=True):
        mask = is_mask(item)
        if mask and value.shape != tuple(x_shape[axis : axis + value.ndim]):
            raise IndexError(
                f"boolean index of shape {value.shape} did not match the indexed array of shape {tuple(x_shape)} "
                f"from axis {axis} on"
            )
        if not mask:
            _check_range(value, x_shape[axis], axis)
        shapes.append((int(np.count_nonzero(value)),) if mask else np.shape(value))
    for d in range(found.ndim):
        lengths = set()
        for (_, item), shape in zip(found.arrays, shapes, strict=True):
            at = d - found.ndim + len(shape)
            # A mask that selects one element broadcasts, as in NumPy: nothing is known of it before.
            if at >= 0 and not (shape[at] == 1 if is_mask(item) else broadcast_pattern(item)[at]):
                lengths.add(shape[at])
        if len(lengths) > 1:
            texts = " ".join(map(str, shapes))
            raise IndexError(
                format_error(
                    f"shape mismatch: indexing arrays could not be broadcast together with shapes {texts}",
                    context=[describe(item) for _, item in found.arrays if isinstance(item, Variable)],
                    hint="give them one shape; only a dimension that is declared broadcastable broadcasts",
                )
            )
