"""Where the arrays of a call lie: those whose lifetimes do not meet share memory."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable

from ._arrays import Root

__all__ = ["ALIGNMENT", "arranged"]

#: Arrays begin at multiples of so many elements.
ALIGNMENT = 8


def arranged(roots: Iterable[Root], end: int) -> tuple[dict[str, int], int]:
    """Give each array of known size an offset in one piece of memory, whose elements are all of one type.

    Parameters
    ----------
    roots : iterable of Root
        In the order in which they come to life; roots that live on have no end yet.
    end : int
        The time at which these end.

    Returns
    -------
    dict of str to int, int
        Offsets in elements, by name; and how many elements there are in all.
    """
    free: list[tuple[int, int]] = []
    living: list[tuple[int, int, int]] = []
    offsets: dict[str, int] = {}
    total = 0
    for root in sorted(roots, key=lambda root: root.begin):
        while living and living[0][0] < root.begin:
            _, offset, size = living.pop(0)
            _give_back(free, offset, size)
        size = -(-max(root.size.factor, 1) // ALIGNMENT) * ALIGNMENT
        gap = _taken(free, size)
        offset, total = (total, total + size) if gap is None else (gap, total)
        offsets[root.name] = offset
        insort(living, (end if root.end < 0 else root.end, offset, size))
    return offsets, total


def _taken(free: list[tuple[int, int]], size: int) -> int | None:
    """Take memory out of the smallest gap that is large enough."""
    best = min(((gap, offset) for offset, gap in free if gap >= size), default=None)
    if best is None:
        return None
    gap, offset = best
    free.remove((offset, gap))
    if gap > size:
        insort(free, (offset + size, gap - size))
    return offset


def _give_back(free: list[tuple[int, int]], offset: int, size: int) -> None:
    """Add a gap, joined with those beside it."""
    for other in [(o, s) for o, s in free if o + s == offset or offset + size == o]:
        free.remove(other)
        offset, size = min(offset, other[0]), size + other[1]
    insort(free, (offset, size))
