"""Functions with messages start them early, wait late, and keep to the order of tags.

Without this, two processes could wait for each other: each for a message that the other one has not yet started.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence

from theano_graph import Apply, Feature, FunctionGraph, toposort
from theano_linker_c.modes import optdb
from theano_linker_c.program import Branch, lazy_form
from theano_optimize import GraphRewriter

from ._collective import CollectiveOp
from ._keys import mpi_keys, mpi_send_wait_key
from ._messages import MessageOp

Orderings = Mapping[Apply, Sequence[Apply]]


def _is_message(node: Apply) -> bool:
    return isinstance(node.op, (MessageOp, CollectiveOp))


class MessageOrder(Feature):
    """Ask for the order of messages, and for everything else that can be done to be done before a wait."""

    def orderings(self, fgraph: FunctionGraph) -> dict[Apply, list[Apply]]:
        """Return the nodes that must run before messages."""
        if not any(_is_message(node) for node in fgraph.apply_nodes):
            return {}
        before = _others(fgraph, self)
        order = toposort(fgraph.inputs, fgraph.outputs, before)
        needed = _needed(fgraph, before, order)
        chosen = sort_messages(order, before)
        found: dict[Apply, list[Apply]] = {}
        last: list[Apply] = []
        meanwhile: list[Apply] = []
        for node in chosen:
            if not _is_message(node):
                meanwhile.append(node)
                found[node] = [start for start in last if mpi_send_wait_key(start) < 0]
            elif node in needed:
                # Computations that ifelse may leave out are not asked for.
                early = [other for other in meanwhile if other in needed] if mpi_send_wait_key(node) > 0 else []
                found[node] = last + early
                last, meanwhile = [node], [] if early else meanwhile
        return {node: earlier for node, earlier in found.items() if earlier}


def _others(fgraph: FunctionGraph, mine: Feature) -> dict[Apply, list[Apply]]:
    merged: dict[Apply, list[Apply]] = {}
    for feature in fgraph.features:
        if feature is not mine:
            for node, before in feature.orderings(fgraph).items():
                merged.setdefault(node, []).extend(before)
    return merged


def _needed(fgraph: FunctionGraph, before: Orderings, order: Sequence[Apply]) -> set[Apply]:
    """Return the nodes that run in any case: all but the ones that are only in a branch."""
    stack = [v.owner for v in fgraph.outputs if v.owner is not None]
    needed: set[Apply] = set()
    while stack:
        node = stack.pop()
        if node in needed:
            continue
        needed.add(node)
        rule: Callable[[Apply], Branch | None] | None = lazy_form.get(node.op)
        branch = None if rule is None else rule(node)
        strict = node.inputs if branch is None else [node.inputs[branch.condition]]
        stack.extend(v.owner for v in strict if v.owner is not None)
        stack.extend(before.get(node, ()))
    return needed


def sort_messages(order: Sequence[Apply], before: Orderings) -> list[Apply]:
    """Sort nodes so that, of the nodes that could run next, the one with the lowest keys does.

    Parameters
    ----------
    order : sequence of Apply
        Nodes in topological order; the position is the last key. Before it comes whether a message waits
        for the node to start.
    before : mapping of Apply to sequence of Apply
        The nodes that must run before a node besides its inputs.
    """
    feeds = _feeds_a_start(order, before)
    keys = [(*(key(node) for key in mpi_keys), node not in feeds, i) for i, node in enumerate(order)]
    position = {node: i for i, node in enumerate(order)}
    waiting = [0] * len(order)
    readers: list[list[int]] = [[] for _ in order]
    for i, node in enumerate(order):
        for other in {*(v.owner for v in node.inputs), *before.get(node, ())}:
            if other in position:
                waiting[i] += 1
                readers[position[other]].append(i)
    ready = [keys[i] for i, count in enumerate(waiting) if not count]
    heapq.heapify(ready)
    found = []
    while ready:
        i = heapq.heappop(ready)[-1]
        found.append(order[i])
        for j in readers[i]:
            waiting[j] -= 1
            if not waiting[j]:
                heapq.heappush(ready, keys[j])
    return found


def _feeds_a_start(order: Sequence[Apply], before: Orderings) -> set[Apply]:
    """Return the nodes that some message waits for to start."""
    nodes: set[Apply] = set()
    for node in reversed(order):
        if node in nodes or mpi_send_wait_key(node) < 0:
            nodes.update(v.owner for v in node.inputs if v.owner is not None)
            nodes.update(before.get(node, ()))
    return nodes


class OrderMessages(GraphRewriter):
    """Attach the feature to graphs that have messages."""

    def apply(self, fgraph: FunctionGraph) -> None:
        """Look for messages."""
        if any(_is_message(node) for node in fgraph.apply_nodes):
            fgraph.attach_feature(MessageOrder())


#: After the last change of the graph.
optdb.register(
    "order_messages",
    OrderMessages("order_messages"),
    *("fast_run", "fast_compile", "o1", "o2", "o3", "o4", "unsafe", "mpi"),
    position=110,
)
