"""The broadcasting rule on the shapes of values: a dimension broadcasts only where it is declared to."""

from __future__ import annotations

from collections.abc import Sequence

from theano_graph import format_error

__all__ = ["broadcast_lengths"]


def broadcast_lengths(
    shapes: Sequence[Sequence[int]], broadcast: Sequence[Sequence[bool]], ndim: int
) -> tuple[int, ...]:
    """Return the common shape of operands.

    Parameters
    ----------
    shapes : sequence of shapes
        One for each operand, all of `ndim` lengths.
    broadcast : sequence of patterns
        For each operand and dimension, whether it broadcasts: its static length is 1. A length that is known at run
        time only does not broadcast where it is 1.
    ndim : int

    Returns
    -------
    tuple of int

    Raises
    ------
    ValueError
        If two lengths that do not broadcast differ, or one that does is not 1.

    Examples
    --------
    >>> broadcast_lengths([(2, 1), (2, 3)], [(False, True), (False, False)], 2)
    (2, 3)
    """
    result: list[int] = []
    for axis in range(ndim):
        first = -1
        for i, shape in enumerate(shapes):
            if broadcast[i][axis]:
                if shape[axis] != 1:
                    raise ValueError(_not_one(i, axis, shape[axis]))
            elif first < 0:
                first = i
            elif shape[axis] != shapes[first][axis]:
                raise ValueError(_mismatch(first, i, axis, shapes))
        result.append(shapes[first][axis] if first >= 0 else 1)
    return tuple(result)


def _mismatch(i: int, j: int, axis: int, shapes: Sequence[Sequence[int]]) -> str:
    n, m = shapes[i][axis], shapes[j][axis]
    what = f"Input dimension mis-match. (input[{i}].shape[{axis}] = {n}, input[{j}].shape[{axis}] = {m})"
    if 1 in (n, m):
        hint = (
            "a length of 1 broadcasts only where it is declared: make the variable with shape "
            "1 there (row, col, broadcastable=...)"
        )
    else:
        hint = "pass arrays whose lengths are equal in this dimension"
    return format_error(what, hint=hint)


def _not_one(i: int, axis: int, length: int) -> str:
    return format_error(
        f"input {i} has length {length} in dimension {axis}, which was declared to broadcast",
        hint="pass an array whose length is 1 there",
    )
