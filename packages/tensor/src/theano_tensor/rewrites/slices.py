"""Two slices, one after the other, as one."""

from __future__ import annotations

from typing import Any

from theano_linker_c import scalar

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._type import Tensor
from ..elemwise import eq, int_div, lt, maximum, minimum, switch
from ..indexing.entries import known_number
from ._language import call, cast_to, scalar_constant


def _bounds(part: slice, length: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Return the first index, the step and the number of elements of a slice of something of a given length."""
    step = as_tensor_variable(1 if part.step is None else part.step)
    backwards = lt(step, 0)
    n = as_tensor_variable(length)
    lower, upper = switch(backwards, -1, 0), switch(backwards, n - 1, n)

    def clamped(bound: TensorLike) -> Tensor:
        value = as_tensor_variable(bound)
        return switch(lt(value, 0), maximum(value + n, lower), minimum(value, upper))

    start = switch(backwards, upper, lower) if part.start is None else clamped(part.start)
    stop = switch(backwards, lower, upper) if part.stop is None else clamped(part.stop)
    span = switch(backwards, start - stop, stop - start)
    size = abs(step)
    return start, step, maximum(int_div(span + size - 1, size), 0)


def merge_two_slices(slice1: slice, len1: Any, slice2: Any, len2: Any) -> Any:
    """Return one slice, or index, that selects the same as two, one after the other.

    Parameters
    ----------
    slice1 : slice
        Applied first, to something of length `len1`.
    len1 : int or scalar variable
    slice2 : slice, int or scalar variable
        Applied to the result, which has length `len2`.
    len2 : int or scalar variable

    Returns
    -------
    slice, or Tensor if `slice2` is an index
        Its parts are scalar variables. An index that does not fit gives one that fits neither.

    Raises
    ------
    TypeError
        If `slice1` is no slice.

    Examples
    --------
    >>> import theano.tensor as T
    >>> merged = T.opt.merge_two_slices(slice(2, None), 10, slice(0, 3), 8)
    >>> [int(part.eval()) for part in (merged.start, merged.stop, merged.step)]
    [2, 5, 1]
    """
    if not isinstance(slice1, slice):
        raise TypeError(f"{slice1!r} is no slice; an index leaves nothing to take a slice of")
    start1, step1, _ = _bounds(slice1, len1)
    if not isinstance(slice2, slice):
        index = as_tensor_variable(slice2)
        at = switch(lt(index, 0), index + len2, index)
        fits = (at >= 0) & (at < len2)
        return switch(fits, start1 + at * step1, len1)
    start2, step2, count = _bounds(slice2, len2)
    first, step = start1 + start2 * step1, step1 * step2
    end = first + count * step
    # Going backwards, an end before the first element must not count from the end.
    end = switch(lt(end, 0), -as_tensor_variable(len1) - 1, end)
    nothing = eq(count, 0)
    return slice(switch(nothing, 0, first), switch(nothing, 0, end), switch(nothing, 1, step))


def part_of_reversed(outer: Any) -> Any:
    """Return the part of a reversed dimension of any length that takes the part `outer` of it, or None.

    A number from one end counts from the other then: number p is number -1 - p, for all numbers, also those that
    are known only when the graph runs.
    """
    if not isinstance(outer, slice):
        return _mirrored(outer)
    step = known_number(outer.step) if outer.step is not None else 1
    if step == -1 and outer.start is None and outer.stop is None:
        return slice(None)
    if not isinstance(step, int) or step < 0:
        return None
    return slice(_mirrored(0 if outer.start is None else outer.start), _mirrored(outer.stop), -step)


def _mirrored(bound: Any) -> Any:
    if bound is None:
        return None
    bound_number = known_number(bound)
    if isinstance(bound_number, int):
        return -1 - bound_number
    count = cast_to(bound, "int64")
    return call(scalar.sub, scalar_constant(-1, "int64", 0), count)
