"""An order of nodes that respects data and orderings, kept up to date by local repairs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice

from theano_graph import Apply, FunctionGraph, Variable

from ._versions import Versions

# ---- A list with comparison of positions, and insertion anywhere, in constant time
#
# Each place has an integer label that grows along the list. Where two neighbours leave no room between them, the places
# of the smallest surrounding range that is not too crowded get new, evenly spread labels; that is O(log n) labels for
# each insertion, averaged over any sequence of insertions.
#
# References
# ----------
# Bender, Cole, Demaine, Farach-Colton, Zito: Two simplified algorithms for maintaining order in a list (ESA 2002).

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
            position = Place(node, number * step)
            self._place[node] = position
            _link(previous, position)
            previous = position
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
        result = []
        position = self._head.after
        while position.node is not None:
            result.append(position.node)
            position = position.after
        return result

    def insert_after(self, node: Apply, predecessor: Apply | None) -> None:
        """Put a new node right after `predecessor`, or first where that is None."""
        position = self._place[node] = Place(node, 0)
        self._put(position, self._head if predecessor is None else self._place[predecessor])

    def move_after(self, nodes: Iterable[Apply], predecessor: Apply) -> None:
        """Put nodes of the list right after `predecessor`, which is none of them, in the given order."""
        previous = self._place[predecessor]
        for node in nodes:
            position = self._place[node]
            _link(position.before, position.after)
            self._put(position, previous)
            previous = position

    def move_before(self, nodes: Iterable[Apply], successor: Apply) -> None:
        """Put nodes of the list right before `successor`, which is none of them, in the given order."""
        target = self._place[successor]
        for node in nodes:
            position = self._place[node]
            _link(position.before, position.after)
            self._put(position, target.before)

    def remove(self, node: Apply) -> None:
        """Take a node out."""
        position = self._place.pop(node)
        _link(position.before, position.after)

    def _put(self, position: Place, previous: Place) -> None:
        if previous.after.label - previous.label < 2:
            _make_room(previous if previous.node is not None else previous.after)
            if previous.after.label - previous.label < 2:
                _make_room(previous.after)
        position.label = (previous.label + previous.after.label) // 2
        following = previous.after
        _link(previous, position)
        _link(position, following)


def _link(first: Place, second: Place) -> None:
    first.after = second
    second.before = first


def _make_room(position: Place) -> None:
    """Spread the labels around `place`, which is no end of the list."""
    first = last = position
    count = 1
    for bits in range(1, LABEL_BITS + 1):
        low = position.label >> bits << bits
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


# ---- Proofs of reachability for one comparison: numbers of a depth-first forest
#
# Where `b` stands below `a` in the forest, a path leads from `a` to `b`. The converse does not hold, so that an answer
# of "no" says nothing; searches ask at each node that they pass. The numbers survive the replacement of a node by
# another that reads the same inputs, the usual case while in-place forms are put in.

#: The parent of a root.
NO_PARENT = -1


class Intervals:
    """Numbers of a depth-first forest; empty until :meth:`build` and after a change that invalidates them."""

    def __init__(self) -> None:
        self._number: dict[Apply, int] = {}
        self._last: list[int] = []
        self._parent: list[int] = []
        self._moving: dict[Apply, Apply] = {}

    def __bool__(self) -> bool:
        return bool(self._number)

    def clear(self) -> None:
        """Forget all."""
        self._number.clear()
        self._moving.clear()
        self._last, self._parent = [], []

    def build(self, nodes: Iterable[Apply], following: Callable[[Apply], Sequence[Apply]]) -> None:
        """Number all nodes.

        Parameters
        ----------
        nodes : iterable of Apply
            In topological order.
        following : callable
            The readers of a node's results, in topological order: the first is searched first, so that
            long ways become branches and shortcuts are left out.
        """
        self.clear()
        number, last, parent = self._number, self._last, self._parent
        for root in nodes:
            if root in number:
                continue
            number[root] = len(last)
            last.append(len(last))
            parent.append(NO_PARENT)
            stack = [(root, iter(following(root)))]
            while stack:
                node, pending = stack[-1]
                for child in pending:
                    if child not in number:
                        number[child] = len(last)
                        parent.append(number[node])
                        last.append(len(last))
                        stack.append((child, iter(following(child))))
                        break
                else:
                    stack.pop()
                    last[number[node]] = len(last) - 1

    def targets(self, nodes: Iterable[Apply]) -> list[int]:
        """Return the numbers of some nodes for :meth:`leads_to`, in order. Call it before each search."""
        if self._moving:
            # A node was replaced for some of its readers only: the numbers below it are no proof any more.
            self.clear()
        return sorted(self._number[node] for node in nodes if node in self._number)

    def leads_to(self, node: Apply, targets: Sequence[int]) -> bool:
        """Tell whether the forest proves that one of the targets can be reached from `node`."""
        number = self._number.get(node)
        if number is None or not targets:
            return False
        first = bisect_left(targets, number)
        return first < len(targets) and targets[first] <= self._last[number]

    # ---- changes of the graph

    def changed(self, node: Apply, old: Variable, new: Variable) -> None:
        """Note that `node` reads `new` where it read `old`."""
        number = self._number.get(node)
        parent = None if old.owner is None else self._number.get(old.owner)
        if number is None or parent is None or self._parent[number] != parent:
            return
        model, newcomer = old.owner, new.owner
        if model is None or any(v.owner is model for v in node.inputs):
            return
        # The only change after which the numbers still hold: the node that `node` stands below is being replaced.
        fits = newcomer is not None and newcomer not in self._number and _reads_all_of(newcomer, model)
        if newcomer is None or not fits or self._moving.setdefault(model, newcomer) is not newcomer:
            self.clear()

    def gone(self, node: Apply) -> None:
        """Note that `node` left the graph."""
        heir = self._moving.pop(node, None)
        number = self._number.pop(node, None)
        if number is None or heir is None:
            return
        if _reads_all_of(heir, node):
            self._number[heir] = number
        else:
            self.clear()


def _reads_all_of(new: Apply, old: Apply) -> bool:
    if new.inputs == old.inputs:
        return True
    return set(new.inputs) >= set(old.inputs)


# ---- The order of a graph, repaired locally
#
# Each reader of a version has to run before the node that overwrites it. All such pairs and all data dependencies
# together must leave an order in which the nodes can run. One such order is kept; a new pair that contradicts it is
# examined by two searches that meet or run dry, forward from the node that is to be later and backward from the nodes
# that are to be earlier, and that never leave the interval of the order between them. The cost is that of the smaller
# search.
#
# References
# ----------
# Bender, Fineman, Gilbert, Tarjan: A new approach to incremental cycle detection and related problems (2015);
# Pearce, Kelly: A dynamic topological sort algorithm for directed acyclic graphs (2007).

#: How many readers are listed, and then nodes looked at after the one that overwrites, before all readers are listed.
PROBE = 16

#: Steps of searches for each node of the graph after which the proofs of reachability are worked out anew.
PATIENCE = 2


class _Front:
    """The nodes that a search has found, and those of them that it has not gone beyond."""

    __slots__ = ("open", "seen")

    def __init__(self, starts: Iterable[Apply]) -> None:
        self.open = list(starts)
        self.seen = set(self.open)

    def add(self, node: Apply) -> None:
        self.seen.add(node)
        self.open.append(node)


class Sequencer:
    """Keeps an order of the nodes of one function graph; see the text of the module.

    Parameters
    ----------
    nodes : iterable of Apply
        All nodes of the graph, in topological order.
    versions : Versions
        Of the same graph, kept up to date by somebody else.

    Attributes
    ----------
    unchecked : dict
        Nodes whose place may be wrong; the owner of the object clears it.
    """

    def __init__(self, nodes: Iterable[Apply], versions: Versions) -> None:
        self._versions = versions
        self._order = NodeOrder(nodes)
        self._intervals = Intervals()
        self._steps = 0
        self._fresh: set[Apply] = set()
        self.unchecked: dict[Apply, None] = {}

    # ---- changes of the graph

    def add_node(self, node: Apply) -> None:
        """Take in a node, right after the last of its prerequisites."""
        order = self._order
        last, label = None, -1
        for variable in node.inputs:
            owner = variable.owner
            if owner is not None and order.label(owner) > label:
                last, label = owner, order.label(owner)
        order.insert_after(node, last)
        self._fresh.add(node)
        self.unchecked[node] = None

    def remove_node(self, node: Apply) -> None:
        """Let go of a node."""
        self._order.remove(node)
        self._fresh.discard(node)
        self.unchecked.pop(node, None)
        self._intervals.gone(node)

    def change_input(self, node: Apply, old: Variable, new: Variable) -> None:
        """Note that `node` reads `new` where it read `old`."""
        self.unchecked[node] = None
        self._intervals.changed(node, old, new)

    def takes_over(self, old: Variable, new: Variable) -> None:
        """Note that `new` replaces `old` somewhere: a node that has just come in gets the place of the one it replaces.

        Most replacements then need no search.
        """
        newcomer, model = new.owner, old.owner
        if newcomer not in self._fresh or newcomer is None or model is None or model not in self._order:
            return
        self._fresh.discard(newcomer)
        order = self._order
        if newcomer is not model and order.label(newcomer) < order.label(model):
            order.move_after([newcomer], model)

    def settled(self) -> None:
        """Note that all nodes have been looked at."""
        self._fresh.clear()

    # ---- searches

    def settle(self, fgraph: FunctionGraph, node: Apply) -> Apply | None:
        """Repair the order around a node.

        Returns
        -------
        None if that is possible; otherwise a node that would have to run both before and after another.
        """
        label = self._order.label
        here = label(node)
        late = [v.owner for v in node.inputs if v.owner is not None and label(v.owner) > here]
        if late and not self._put_before(fgraph, late, node):
            return node
        for destroyer in self._destroyers_after(node):
            if label(node) > label(destroyer) and not self._put_before(fgraph, [node], destroyer):
                return destroyer
        roots = self._versions.destroyed_by(node)
        if roots and not self._settle_destroyer(fgraph, node, roots):
            return node
        return None

    def _settle_destroyer(self, fgraph: FunctionGraph, node: Apply, roots: list[Variable]) -> bool:
        label = self._order.label
        here = label(node)
        readers = chain.from_iterable(self._versions.readers(fgraph, root) for root in roots)
        first = list(islice(readers, PROBE))
        # Where there are many readers, a look at the next nodes is cheaper than a list of all of them.
        if len(first) == PROBE and self._meets_reader(fgraph, node, roots):
            return False
        late = dict.fromkeys(r for r in chain(first, readers) if label(r) > here)
        return not late or self._put_before(fgraph, late, node)

    def _meets_reader(self, fgraph: FunctionGraph, node: Apply, roots: list[Variable]) -> bool:
        """Tell whether a reader of the memory that `node` overwrites is among the next few dependents of `node`."""
        root_of = self._versions.root_of
        seen = {node}
        queue = [node]
        for current in queue:
            for client in self._following(fgraph, current):
                if client in seen:
                    continue
                if any(root_of(v) in roots for v in client.inputs):
                    return True
                if len(seen) >= PROBE:
                    return False
                seen.add(client)
                queue.append(client)
        return False

    def _put_before(self, fgraph: FunctionGraph, early: Iterable[Apply], node: Apply) -> bool:
        """Change the order so that `early` come before `node`; False if they depend on it."""
        order, intervals = self._order, self._intervals
        early = list(early)
        if self._steps > PATIENCE * len(order):
            self._steps = 0
            intervals.build(order.nodes(), lambda n: self._data_clients(fgraph, n))
        targets = intervals.targets(early)
        if node in early or intervals.leads_to(node, targets):
            return False
        top = max(early, key=order.label)
        forward, backward = _Front([node]), _Front(early)
        while True:
            self._steps += 2
            if self._advance(forward, backward, fgraph, order.label(top), targets):
                return False
            if not forward.open:
                order.move_after(sorted(forward.seen, key=order.label), top)
                return True
            if self._retreat(backward, forward, fgraph, order.label(node)):
                return False
            if not backward.open:
                order.move_before(sorted(backward.seen, key=order.label), node)
                return True

    def _advance(self, front: _Front, other: _Front, fgraph: FunctionGraph, upper: int, targets: Sequence[int]) -> bool:
        """Take one step forward, not beyond `upper`; tell whether the searches met."""
        label, leads_to = self._order.label, self._intervals.leads_to
        for client in self._following(fgraph, front.open.pop()):
            if client in other.seen or leads_to(client, targets):
                return True
            if client not in front.seen and label(client) <= upper:
                front.add(client)
        return False

    def _retreat(self, front: _Front, other: _Front, fgraph: FunctionGraph, lower: int) -> bool:
        """Take one step backward, not beyond `lower`; tell whether the searches met."""
        label = self._order.label
        for parent in self._preceding(fgraph, front.open.pop()):
            if parent in other.seen:
                return True
            if parent not in front.seen and label(parent) > lower:
                front.add(parent)
        return False

    def _following(self, fgraph: FunctionGraph, node: Apply) -> Iterator[Apply]:
        """Yield the nodes that have to come after `node`."""
        for output in node.outputs:
            for client, _ in fgraph.clients(output):
                if isinstance(client, Apply):
                    yield client
        yield from self._destroyers_after(node)

    def _destroyers_after(self, node: Apply) -> Iterator[Apply]:
        versions = self._versions
        for variable in node.inputs:
            for destroyer in versions.destroyers_of(versions.root_of(variable)):
                if destroyer is not node:
                    yield destroyer

    def _preceding(self, fgraph: FunctionGraph, node: Apply) -> Iterator[Apply]:
        """Yield the nodes that have to come before `node`."""
        for variable in node.inputs:
            if variable.owner is not None:
                yield variable.owner
        for root in self._versions.destroyed_by(node):
            for reader in self._versions.readers(fgraph, root):
                if reader is not node:
                    yield reader

    def _data_clients(self, fgraph: FunctionGraph, node: Apply) -> list[Apply]:
        result = {c: None for output in node.outputs for c, _ in fgraph.clients(output) if isinstance(c, Apply)}
        return sorted(result, key=self._order.label)
