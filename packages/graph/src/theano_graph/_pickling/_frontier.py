"""Where a graph begins to be new to a pickler, which alone knows what it has written."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from .._expression._node_state import is_plain

if TYPE_CHECKING:
    from .._expression._nodes import Apply

#: How many nodes each step of the search visits, at least. Where the last step still finds new nodes, all ancestors are
#: collected.
_SIZES = (4, 64, 1024, 16384)


class PicklingFrontier:
    """A bounded reverse search: ancestors of a node, breadth first, more of them each time.

    Between two steps the pickler writes the nodes that it has been given. The search ends at nodes that it has written
    before. Where it has not ended after some 17,500 nodes, all ancestors are collected.

    Parameters
    ----------
    last : Apply
    """

    __slots__ = ("_frontier", "_is_given_up", "_last", "_seen")

    def __init__(self, last: Apply) -> None:
        self._last = last
        #: Nodes in order of arrival.
        self._seen: dict[Any, None] = {last: None}
        #: New nodes, and some that may be, whose inputs have not been looked at.
        self._frontier: deque[Apply] = deque((last,))
        self._is_given_up = False

    def each(self) -> Iterator[Callable[[Container[Apply]], list[Any]]]:
        """Yield the steps: each takes those of the nodes before that the pickler knew, and returns the next nodes."""
        for size in _SIZES:
            yield partial(self._search_step, size)

    def _search_step(self, size: int, known: Container[Apply]) -> list[Any]:
        self._settle(known)
        seen, frontier = self._seen, self._frontier
        found: list[Any] = []
        while frontier and len(found) < size and not self._is_given_up:
            for variable in frontier.popleft().inputs:
                node = variable if variable.owner is None else variable.owner
                if node in seen:
                    continue
                seen[node] = None
                found.append(node)
                if node is not variable:
                    frontier.append(node)
                    # A node with pickles of its own kind needs all its ancestors before it.
                    self._is_given_up |= not is_plain(type(node))
        if self._is_given_up:
            for node in found:
                del seen[node]
            return []
        found.reverse()
        return found

    def all(self, known: Container[Apply], collect: Callable[[], list[Any]]) -> list[Any]:
        """Return all nodes that matter: what was seen, and what `collect` gives besides if new ones came to the end."""
        self._settle(known)
        rest: list[Any] = []
        if self._frontier or self._is_given_up:
            rest = [node for node in collect() if node not in self._seen]
        return [*self._seen, *rest]

    def _settle(self, known: Container[Apply]) -> None:
        if known:
            self._frontier = deque(node for node in self._frontier if node not in known)
