"""To which function graph a node belongs, and the measuring of callbacks."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._graph_store import GraphStore


def timed(seconds: dict[str, float], name: str, callback: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls `callback` and adds the time it takes to ``seconds[name]``."""

    def call(*args: Any) -> Any:
        start = perf_counter()
        try:
            return callback(*args)
        finally:
            seconds[name] = seconds.get(name, 0.0) + perf_counter() - start

    return call


class Membership:
    """Says of a node that it belongs to a graph, or has left it, without keeping the graph alive."""

    __slots__ = ("graph",)

    def __init__(self, graph: GraphStore) -> None:
        self.graph = weakref.ref(graph)

    def is_current(self) -> bool:
        """Tell whether the graph exists, and what is marked with this is in it."""
        graph = self.graph()
        return graph is not None and graph._here is self
