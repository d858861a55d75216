"""Pickles and deep copies of graphs whose depth exceeds the recursion limit.

A pickler follows references depth first, so that a long chain of nodes would overflow its stack. Therefore the state
of the first node that a pickler meets is preceded by all its ancestors, inputs first: when their turn comes, everything
that they refer to is in the pickler's memo already. The ancestors are handed over by a generator, which notes, while it
runs, which nodes it covers; these are written without ancestors of their own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any


class _Covered(threading.local):
    """The nodes that a running generator of this thread hands over."""

    def __init__(self) -> None:
        self.nodes: set[Any] = set()


_covered = _Covered()


def is_covered(node: Any) -> bool:
    """Tell whether `node` is being handed over by an enclosing :class:`Ancestors`."""
    return node in _covered.nodes


class Ancestors:
    """A list of nodes that a pickler shall meet in this order; it comes back as a plain list.

    Parameters
    ----------
    collect : callable
        Gives the nodes, each after those that it refers to; called when the pickler arrives here.
    """

    def __init__(self, collect: Callable[[], list[Any]]) -> None:
        self._collect = collect

    def _hand_over(self) -> Iterator[Any]:
        nodes = self._collect()
        added = set(nodes)
        if _covered.nodes:
            added -= _covered.nodes
            _covered.nodes |= added
        else:
            _covered.nodes = added.copy()
        try:
            yield from nodes
        finally:
            _covered.nodes -= added

    def __reduce__(self) -> tuple[Any, ...]:
        return (list, (), None, self._hand_over())
