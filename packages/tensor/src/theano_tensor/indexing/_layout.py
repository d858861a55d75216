"""Where the dimensions of ``x[index]`` come from when there are arrays in the index, as NumPy has it.

Numbers count as arrays without dimensions. The dimensions of the arrays, broadcast against each other, stand where the
arrays stood if these are neighbours, else in front; a mask of k dimensions stands for k dimensions of the tensor and
gives one, the number of its true elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import Constant, Variable, describe, format_error, record

from .._core._type import StaticShape, Tensor
from ._parse import consumed
from .entries import Entries, as_python, check_number, static_slice_length


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
