"""Loops over all elements of some arrays that go along with each other."""

from __future__ import annotations

from collections.abc import Sequence

from theano_graph import record

from ..codegen.ir import Index
from ._lengths import ONE, Length

__all__ = ["Nest", "joined_nest", "offset_text"]


@record
class Nest:
    """Lengths of nested loops, the outermost first, and how far each operand moves in each of them.

    Parameters
    ----------
    shape : tuple of Length
    strides : tuple of tuple of Length
        For each operand, one for each loop, in elements.
    """

    shape: tuple[Length, ...]
    strides: tuple[tuple[Length, ...], ...]


def joined_nest(shape: Sequence[Length], strides: Sequence[Sequence[Length]], keep: Sequence[int] = ()) -> Nest:
    """Leave out loops of one turn, and make one loop of two wherever all operands allow it.

    Parameters
    ----------
    shape : sequence of Length
    strides : sequence of sequence of Length
        For each operand.
    keep : sequence of int
        Positions in `shape` before which loops are not joined.
    """
    lengths: list[Length] = []
    columns: list[list[Length]] = []
    closed = False
    for axis, length in enumerate(shape):
        closed = closed or axis in keep
        if length == ONE:
            continue
        column = [row[axis] for row in strides]
        if lengths and not closed and all(a == b * length for a, b in zip(columns[-1], column, strict=True)):
            lengths[-1] = lengths[-1] * length
            columns[-1] = column
        else:
            lengths.append(length)
            columns.append(column)
        closed = False
    return Nest(tuple(lengths), tuple(tuple(column[k] for column in columns) for k in range(len(strides))))


def offset_text(indices: Sequence[str], strides: Sequence[Length]) -> str:
    """Return the C text of the offset of an element, from its indices."""
    return str(Index.of(indices, strides))
