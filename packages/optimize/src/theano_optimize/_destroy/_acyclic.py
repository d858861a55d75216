"""Keeping the nodes of a graph in an order that respects data and orderings, by local repairs.

Each reader of a version has to run before the node that overwrites it. All such pairs and all data dependencies
together must leave an order in which the nodes can run. One such order is kept; a new pair that contradicts it is
examined by two searches that meet or run dry, forward from the node that is to be later and backward from those that
are to be earlier, and that never leave the interval of the order between them. The cost is that of the smaller search.

References
----------
Bender, Fineman, Gilbert, Tarjan: A new approach to incremental cycle detection and related problems (2015);
Pearce, Kelly: A dynamic topological sort algorithm for directed acyclic graphs (2007).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from theano_graph import Apply, FunctionGraph, Variable

from ._intervals import Intervals
from ._order import NodeOrder
from ._versions import Versions

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
        """Take in a node, right after the last of those that it depends on."""
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
        # Where there are many readers, a look at what follows the node is cheaper than a list of all of them.
        if len(first) == PROBE and self._meets_reader(fgraph, node, roots):
            return False
        late = dict.fromkeys(r for r in chain(first, readers) if label(r) > here)
        return not late or self._put_before(fgraph, late, node)

    def _meets_reader(self, fgraph: FunctionGraph, node: Apply, roots: list[Variable]) -> bool:
        """Tell whether a reader of what `node` overwrites is found among the next few nodes that depend on `node`."""
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
        found = {c: None for output in node.outputs for c, _ in fgraph.clients(output) if isinstance(c, Apply)}
        return sorted(found, key=self._order.label)
