"""Shapes, strides and offsets of views."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from theano_graph import format_error, record

from ..codegen import contiguous_strides

__all__ = ["View", "extent", "fortran_strides", "index_view", "is_c_contiguous", "is_f_contiguous", "reshape_strides"]


@record
class View:
    """Where the elements of a view lie.

    Parameters
    ----------
    shape, strides : tuple of int
        Strides are in bytes.
    offset : int
        Bytes from the begin of the memory to the first element.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


def fortran_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return the byte strides of an array whose first index runs fastest."""
    return contiguous_strides(tuple(reversed(shape)), itemsize)[::-1]


def _agree(shape: Sequence[int], strides: Sequence[int], lengths: Sequence[int]) -> bool:
    """Tell whether strides are the wanted ones where they count."""
    return 0 in shape or all(n == 1 or a == b for n, a, b in zip(shape, strides, lengths, strict=True))


def is_c_contiguous(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    """Tell whether elements lie one behind the other, the last index running fastest."""
    return _agree(shape, strides, contiguous_strides(shape, itemsize))


def is_f_contiguous(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    """Tell whether elements lie one behind the other, the first index running fastest."""
    return _agree(shape, strides, fortran_strides(shape, itemsize))


def extent(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> tuple[int, int]:
    """Return the first byte and the one behind the last byte of an array, counted from its first element.

    Examples
    --------
    >>> from theano_gpuarray.arrays._geometry import extent
    >>> extent((3,), (-8,), 8)
    (-16, 8)
    """
    if 0 in shape:
        return 0, 0
    ends = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    return sum(end for end in ends if end < 0), sum(end for end in ends if end > 0) + itemsize


def index_view(shape: Sequence[int], strides: Sequence[int], offset: int, key: Any) -> View:
    """Return the view that numbers, slices, ``...`` and ``newaxis`` take.

    Raises
    ------
    IndexError
        If there are too many indices, or a number is out of bounds.
    TypeError
        If an index is something else: an array, a list, a mask.
    """
    entries = list(key) if isinstance(key, tuple) else [key]
    taken = sum(entry is not None and entry is not Ellipsis for entry in entries)
    gaps = sum(entry is Ellipsis for entry in entries)
    if gaps > 1:
        raise IndexError(format_error("an index has `...` twice", hint="leave one out"))
    if taken > len(shape):
        raise IndexError(
            format_error(
                f"too many indices: {taken} for an array of {len(shape)} dimensions",
                hint=f"give at most {len(shape)} numbers and slices",
            )
        )
    full_slices = [slice(None)] * (len(shape) - taken)
    position = next((i for i, entry in enumerate(entries) if entry is Ellipsis), len(entries))
    entries[position : position + gaps] = full_slices
    new_shape, new_strides, dimension = [], [], 0
    for entry in entries:
        if entry is None:
            new_shape.append(1)
            new_strides.append(0)
            continue
        length, step = shape[dimension], strides[dimension]
        dimension += 1
        if isinstance(entry, slice):
            start, stop, stride = entry.indices(length)
            count = len(range(start, stop, stride))
            offset += start * step if count else 0
            new_shape.append(count)
            new_strides.append(step * stride)
        else:
            offset += _position(entry, length, dimension - 1) * step
    return View(tuple(new_shape), tuple(new_strides), offset)


def _position(entry: Any, length: int, dimension: int) -> int:
    """Return the position that a number means."""
    try:
        if isinstance(entry, bool):
            raise TypeError
        number = operator.index(entry)
    except TypeError:
        raise TypeError(
            format_error(
                f"an array of a device is indexed by numbers, slices, `...` and newaxis, not by {entry!r}",
                hint="index its host copy, numpy.asarray(x)[...], or the variable of a compiled function",
            )
        ) from None
    if not -length <= number < length:
        raise IndexError(
            format_error(
                f"index {number} is out of bounds for dimension {dimension} of length {length}",
                hint=f"take one from {-length} to {length - 1}" if length else "the dimension has no elements",
            )
        )
    return number % length


def complete_shape(shape: Sequence[int], size: int) -> tuple[int, ...]:
    """Return a shape with the length that is given as -1.

    Raises
    ------
    ValueError
        If the shape does not have `size` elements.
    """
    lengths = [operator.index(length) for length in shape]
    product = 1
    for length in lengths:
        product *= length if length != -1 else 1
    if lengths.count(-1) == 1 and product > 0 and size % product == 0:
        lengths[lengths.index(-1)] = size // product
        return tuple(lengths)
    if lengths.count(-1) or min(lengths, default=0) < 0 or product != size:
        raise ValueError(
            format_error(
                f"an array of {size} elements has no shape {tuple(lengths)}",
                hint=f"choose lengths whose product is {size}",
            )
        )
    return tuple(lengths)


def reshape_strides(shape: Sequence[int], strides: Sequence[int], new_shape: Sequence[int]) -> tuple[int, ...] | None:
    """Return the strides of a view of another shape, elements in C order; None where it takes a copy.

    Both shapes have the same number of elements.

    Examples
    --------
    >>> from theano_gpuarray.arrays._geometry import reshape_strides
    >>> reshape_strides((2, 6), (96, 8), (2, 3, 2)), reshape_strides((3, 2), (8, 24), (6,))
    ((96, 16, 8), None)
    """
    old = [(n, step) for n, step in zip(shape, strides, strict=True) if n != 1]
    if 0 in shape:
        return contiguous_strides(new_shape, 1)
    result = [0] * len(new_shape)
    targets = [(n, position) for position, n in enumerate(new_shape) if n != 1]
    i = j = 0
    while i < len(old) and j < len(targets):
        # The shortest runs of old and new dimensions with as many elements as each other.
        first, begin = i, j
        have, want = old[i][0], targets[j][0]
        i, j = i + 1, j + 1
        while have != want:
            if have < want:
                have, i = have * old[i][0], i + 1
            else:
                want, j = want * targets[j][0], j + 1
        if any(old[k][1] != old[k + 1][1] * old[k + 1][0] for k in range(first, i - 1)):
            return None
        step = old[i - 1][1]
        for n, position in reversed(targets[begin:j]):
            result[position] = step
            step *= n
    return tuple(result)
