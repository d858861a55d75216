"""Pickles of graphs of any depth: nodes first, one by one and empty, then all that they hold, in tables.

A pickler follows references depth first and remembers each object that it writes. A long chain of nodes would overflow
its stack, and half a dozen objects for each node would fill its memory. Therefore the first node that a pickler meets
hands over all its ancestors, inputs first, by a generator. Each is written in as few words as there are: its class and
those of its outputs. What they hold follows by columns, in which a node is the number of its place. Where the pickler
meets one of these nodes once more it knows it, and a variable is told by the node that computes it.

The generator notes which nodes the pickler reduced: it had met the others before, and they are not filled again. The
ancestors of a known node are known too, so a bounded reverse search, over more nodes in each step, finds where a graph
that is partly written begins to be new. So a list of all variables of a graph, from the inputs on, is not walked
through once for each.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Container, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

from ._frontier import PicklingFrontier
from ._tables import Values, filled, linked, links, signature, strangers, tables, values_of

if TYPE_CHECKING:
    from .._expression._nodes import Apply

#: In which stage attributes are read: first those that describe a node, last those that may refer to other nodes; 1 for
#: all others.
_STAGES = {"type": 0, "name": 0, "origin": 0, "_tag": 2, "__dict__": 2}


class _Open(threading.local):
    """The stores whose nodes a pickler of this thread is reading."""

    def __init__(self) -> None:
        self.stores: list[weakref.ref[NodeStore]] = []


_open = _Open()


def store_asked_for(node: Apply) -> NodeStore | None:
    """Return the store that has just handed over `node`, once; None if there is none."""
    for reference in _open.stores:
        store = reference()
        if store is not None and node in store.waiting and store.is_being_read():
            del store.waiting[node]
            return store
    return None


class NodeStore:
    """Some nodes, each after those that it refers to, and what a pickler writes of them.

    Parameters
    ----------
    collect : callable
        Gives the nodes, without the outputs of apply nodes; called when the pickler arrives here.
    last : Apply, optional
        The last of them, if that is what the pickler is writing at that time, so that it does not ask for it.
    """

    __slots__ = (
        "__weakref__",
        "_collect",
        "_frontier",
        "_reader",
        "_reference",
        "asked",
        "has_strangers",
        "last",
        "nodes",
        "waiting",
    )

    def __init__(self, collect: Callable[[], list[Any]], last: Apply | None = None) -> None:
        self._collect = collect
        self.last = last
        self._reference = weakref.ref(self)
        self.nodes: list[Any] = []
        self._reader: FrameType | None = None
        self._frontier = PicklingFrontier(last) if last is not None else None
        #: Nodes that were handed over and that the pickler has not asked yet: it takes some at once, never all.
        self.waiting: dict[Apply, None] = {}
        #: Those that it has asked: they are new to it. When it has read all of them, they are in order.
        self.asked: list[Apply] = []
        #: Whether some of their outputs are not made with them.
        self.has_strangers = False

    def stages(self) -> tuple[Any, ...]:
        """Return what a pickler writes, in this order; when it is read, each part fills nodes and is of no more use."""
        nodes = _Nodes(self, self._all)
        connected = _Links(nodes)
        searches = [] if self._frontier is None else [_Nodes(self, search) for search in self._frontier.each()]
        return (*searches, nodes, connected, *(_Values(connected, stage) for stage in range(3)))

    def _all(self, known: Container[Apply]) -> list[Any]:
        self.nodes = self._collect() if self._frontier is None else self._frontier.all(known, self._collect)
        return self.nodes

    def hand_over(self, collect: Callable[[Container[Apply]], list[Any]]) -> Iterator[Any]:
        """Yield what `collect` gives, which is told which of the nodes before were known to the pickler."""
        if self._reference not in _open.stores:
            _open.stores.append(self._reference)
        self._reader = sys._getframe(1)
        nodes = collect(self.waiting)
        waiting = self.waiting
        waiting.clear()
        try:
            for node in nodes:
                if hasattr(node, "outputs"):
                    waiting[node] = None
                yield node
        except GeneratorExit:  # the pickler has failed
            self.close()
            raise

    def is_being_read(self) -> bool:
        """Tell whether what began to read the nodes is still at it, and not only kept by the traceback of its error."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame is not self._reader:
            frame = frame.f_back
        return frame is not None

    def take(self, node: Apply, made_from: tuple[type | None, ...]) -> None:
        """Note that the pickler has asked for a node, and how it is made."""
        self.asked.append(node)
        if None in made_from:
            self.has_strangers = True

    def finish(self) -> None:
        """Note that the pickler has read the nodes."""
        self.close()
        if self.last is not None:
            self.take(self.last, signature(self.last) or ())
        applied = [node for node in self.nodes if hasattr(node, "outputs")]
        if len(self.asked) < len(applied):
            asked = set(self.asked)
            applied = [node for node in applied if node in asked]
        self.asked = applied

    def close(self) -> None:
        """Take back what was handed over and not asked for."""
        self.waiting.clear()
        self._reader = None
        if self._reference in _open.stores:
            _open.stores.remove(self._reference)


class _Nodes:
    """Nodes of a store; a plain list when it is read."""

    __slots__ = ("collect", "store")

    def __init__(self, store: NodeStore, collect: Callable[[Container[Apply]], list[Any]]) -> None:
        self.store = store
        self.collect = collect

    def __reduce__(self) -> tuple[Any, ...]:
        return (list, (), None, self.store.hand_over(self.collect))


class _Links:
    """The inputs of the nodes that are new to the pickler; when it is read, these and their outputs by class."""

    __slots__ = ("nodes", "values")

    def __init__(self, nodes: _Nodes) -> None:
        self.nodes = nodes
        self.values: Values = {}

    def __reduce__(self) -> tuple[Any, ...]:
        store = self.nodes.store
        store.finish()
        strange = strangers(store.asked) if store.has_strangers else []
        self.values = values_of(store.asked, {id(output) for _, _, output in strange})
        return (linked, (self.nodes, *links(store.nodes, store.asked), *([strange] if strange else [])))


class _Values:
    """The values of some attributes of the nodes that are new to the pickler."""

    __slots__ = ("links", "stage")

    def __init__(self, links: _Links, stage: int) -> None:
        self.links = links
        self.stage = stage

    def __reduce__(self) -> tuple[Any, ...]:
        return (filled, (self.links, tables(self.links.values, lambda name: _STAGES.get(name, 1) == self.stage)))
