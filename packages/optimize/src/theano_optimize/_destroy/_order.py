"""A list of nodes in which two nodes are compared, and a node is inserted anywhere, in constant time.

Each place has an integer label that grows along the list. Where two neighbours leave no room between them, the places
of the smallest surrounding range that is not too crowded get new, evenly spread labels; that is O(log n) labels for
each insertion, averaged over any sequence of insertions.

References
----------
Bender, Cole, Demaine, Farach-Colton, Zito: Two simplified algorithms for maintaining order in a list (ESA 2002).
"""

from __future__ import annotations

from collections.abc import Iterable

from theano_graph import Apply

#: Labels lie below 2 ** LABEL_BITS.
LABEL_BITS = 62

#: A range of 2 ** i labels is crowded when it holds more than GROWTH ** i places.
GROWTH = 1.5


class Place:
    """One place in the list: its label, its neighbours and its node (None at both ends)."""

    __slots__ = ("after", "before", "label", "node")

    def __init__(self, node: Apply | None, label: int) -> None:
        self.node = node
        self.label = label
        self.before: Place = self
        self.after: Place = self


class NodeOrder:
    """Nodes in a total order that can be changed; see the text of the module.

    Parameters
    ----------
    nodes : iterable of Apply
        In order, each once.
    """

    def __init__(self, nodes: Iterable[Apply] = ()) -> None:
        nodes = list(nodes)
        self._head, self._tail = Place(None, 0), Place(None, 1 << LABEL_BITS)
        self._place: dict[Apply, Place] = {}
        step = (1 << LABEL_BITS) // (len(nodes) + 1)
        previous = self._head
        for number, node in enumerate(nodes, start=1):
            place = Place(node, number * step)
            self._place[node] = place
            _link(previous, place)
            previous = place
        _link(previous, self._tail)

    def __contains__(self, node: Apply) -> bool:
        return node in self._place

    def __len__(self) -> int:
        return len(self._place)

    def label(self, node: Apply) -> int:
        """Return a number that is smaller than that of every later node, until the list changes."""
        return self._place[node].label

    def nodes(self) -> list[Apply]:
        """Return all nodes in order."""
        found = []
        place = self._head.after
        while place.node is not None:
            found.append(place.node)
            place = place.after
        return found

    def insert_after(self, node: Apply, predecessor: Apply | None) -> None:
        """Put a new node right after `predecessor`, or first where that is None."""
        place = self._place[node] = Place(node, 0)
        self._put(place, self._head if predecessor is None else self._place[predecessor])

    def move_after(self, nodes: Iterable[Apply], predecessor: Apply) -> None:
        """Put nodes of the list right after `predecessor`, which is none of them, in the given order."""
        previous = self._place[predecessor]
        for node in nodes:
            place = self._place[node]
            _link(place.before, place.after)
            self._put(place, previous)
            previous = place

    def move_before(self, nodes: Iterable[Apply], successor: Apply) -> None:
        """Put nodes of the list right before `successor`, which is none of them, in the given order."""
        target = self._place[successor]
        for node in nodes:
            place = self._place[node]
            _link(place.before, place.after)
            self._put(place, target.before)

    def remove(self, node: Apply) -> None:
        """Take a node out."""
        place = self._place.pop(node)
        _link(place.before, place.after)

    def _put(self, place: Place, previous: Place) -> None:
        if previous.after.label - previous.label < 2:
            _make_room(previous if previous.node is not None else previous.after)
            if previous.after.label - previous.label < 2:
                _make_room(previous.after)
        place.label = (previous.label + previous.after.label) // 2
        following = previous.after
        _link(previous, place)
        _link(place, following)


def _link(first: Place, second: Place) -> None:
    first.after = second
    second.before = first


def _make_room(place: Place) -> None:
    """Spread the labels around `place`, which is no end of the list."""
    first = last = place
    count = 1
    for bits in range(1, LABEL_BITS + 1):
        low = place.label >> bits << bits
        high = low + (1 << bits)
        while first.before.node is not None and first.before.label >= low:
            first = first.before
            count += 1
        while last.after.node is not None and last.after.label < high:
            last = last.after
            count += 1
        # A gap of at least four on each side of every place, so that one more fits.
        if count < GROWTH**bits and (count + 1) * 4 <= 1 << bits:
            break
    step = (high - low) // (count + 1)
    label = low
    while True:
        label += step
        first.label = label
        if first is last:
            return
        first = first.after
