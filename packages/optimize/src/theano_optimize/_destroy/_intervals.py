"""Proofs of reachability that cost one comparison: numbers of a depth-first forest over a graph.

Where `b` stands below `a` in the forest, a path leads from `a` to `b`. The converse does not hold, so that an answer
of "no" says nothing; searches ask at each node that they pass. The numbers survive the replacement of a node by
another that reads the same inputs, which is what happens all the time while in-place forms are put in.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence

from theano_graph import Apply, Variable

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
            The nodes that read what a node makes, in topological order: what comes first is searched first, so that
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
