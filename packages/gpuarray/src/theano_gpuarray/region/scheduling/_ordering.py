"""An order by dependences."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush

__all__ = ["ordered"]


def ordered(needs: Mapping[int, set[int]]) -> list[int] | None:
    """Return numbers each after its needs, and otherwise from small to large.

    Parameters
    ----------
    needs : mapping of int to set of int
        Each number with the numbers before it, which are in the mapping, too.

    Returns
    -------
    list of int or None
        None where some need each other in a circle.
    """
    left = {i: len(found) for i, found in needs.items()}
    readers: dict[int, list[int]] = {i: [] for i in needs}
    for i, sources in needs.items():
        for j in sources:
            readers[j].append(i)
    ready = [i for i, count in left.items() if not count]
    heapify(ready)
    order: list[int] = []
    while ready:
        i = heappop(ready)
        order.append(i)
        for j in readers[i]:
            left[j] -= 1
            if not left[j]:
                heappush(ready, j)
    return order if len(order) == len(needs) else None
