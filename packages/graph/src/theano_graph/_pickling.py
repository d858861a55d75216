"""Pickles and deep copies of graphs whose depth exceeds the recursion limit.

A pickler follows references depth first, so that a long chain of nodes would overflow its stack. Therefore the state
of the first node that a pickler meets is preceded by all its ancestors, inputs first: when their turn comes, everything
that they refer to is in the pickler's memo already. The ancestors are handed over by a generator, which notes what it
hands over; those nodes are written without ancestors of their own.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any


class _Handed(threading.local):
    """The lists that picklers of this thread have begun, until the picklers are gone."""

    def __init__(self) -> None:
        self.begun: list[weakref.ref[Ancestors]] = []


_handed = _Handed()


def is_covered(node: Any) -> bool:
    """Tell, once, whether `node` was handed over by an :class:`Ancestors`, after its own ancestors."""
    for reference in _handed.begun:
        ancestors = reference()
        if ancestors is not None and node in ancestors.waiting:
            ancestors.waiting.remove(node)
            return True
    return False


class Ancestors:
    """A list of nodes that a pickler shall meet in this order; it comes back as a plain list.

    Parameters
    ----------
    collect : callable
        Gives the nodes, each after those that it refers to, without the outputs of apply nodes; called when the pickler
        arrives here.
    """

    __slots__ = ("__weakref__", "_collect", "waiting")

    def __init__(self, collect: Callable[[], list[Any]]) -> None:
        self._collect = collect
        #: Nodes that were handed over and that the pickler has not asked yet: it takes some at once, never all.
        self.waiting: set[Any] = set()

    def _hand_over(self) -> Iterator[Any]:
        begun = _handed.begun
        begun.append(weakref.ref(self, begun.remove))
        for node in self._collect():
            self.waiting.add(node)
            self.waiting.update(getattr(node, "outputs", ()))  # written with the node that refers to them
            yield node

    def __reduce__(self) -> tuple[Any, ...]:
        return (list, (), None, self._hand_over())
