"""Which nodes are needed in the same calls, where some nodes leave branches out."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Mapping, Sequence

from theano_graph import Apply, Variable

from ._schedule import lazy_form

#: The number of nodes that every call needs.
ALWAYS = 0


class _Calls:
    """Numbers for sets of calls: those in which a branch is taken, and unions of these."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._branches: dict[int, tuple[int, Variable, bool]] = {}

    def of_branch(self, calls: int, condition: Variable, taken: bool) -> int:
        """Return the number of those of some calls in which a condition is true, or false."""
        branch = (calls, condition, taken)
        number = self._number(branch)
        self._branches[number] = branch
        return number

    def of_all(self, parts: set[int]) -> int:
        """Return the number of the calls that are in one of several sets."""
        left = set(parts)
        kept = []
        # A branch has a greater number than the calls that it is a part of.
        waiting = [-number for number in parts]
        heapq.heapify(waiting)
        while waiting and ALWAYS not in left:
            number = -heapq.heappop(waiting)
            if number not in left:
                continue
            branch = self._branches.get(number)
            if branch is not None:
                calls, condition, taken = branch
                if calls in left:
                    continue
                other = self._numbers.get((calls, condition, not taken))
                if other in left:
                    left -= {number, other}
                    left.add(calls)
                    heapq.heappush(waiting, -calls)
                    continue
            kept.append(number)
        if ALWAYS in left:
            return ALWAYS
        return kept[0] if len(kept) == 1 else self._number(frozenset(kept))

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers) + 1)


def when_needed(order: Sequence[Apply], outputs: Sequence[Variable]) -> Mapping[Apply, int]:
    """Return a number for each node that not every call needs; nodes of one number are needed in the same calls.

    What is joined with a node of another number would be computed where nobody asks for it, and could fail there. Ops
    that are lazy by their thunks alone are taken to need all of their inputs.

    Parameters
    ----------
    order : sequence of Apply
        The nodes of a graph, each after those that it needs.
    outputs : sequence of Variable
        What every call computes.
    """
    if all(lazy_form.get(op) is None for op in {type(node.op): node.op for node in order}.values()):
        return {}
    calls = _Calls()
    parts: dict[Apply, set[int]] = {node: set() for node in order}
    for variable in outputs:
        if variable.owner in parts:
            parts[variable.owner].add(ALWAYS)
    found: dict[Apply, int] = {}
    for node in reversed(order):
        number = calls.of_all(parts.pop(node))
        if number != ALWAYS:
            found[node] = number
        rule = lazy_form.get(node.op)
        branch = None if rule is None else rule(node)
        needed = [(i, number) for i in range(len(node.inputs))]
        if branch is not None:
            condition = node.inputs[branch.condition]
            needed = [(branch.condition, number)]
            for taken, positions in ((True, branch.chosen), (False, branch.otherwise)):
                part = calls.of_branch(number, condition, taken)
                needed += [(i, part) for i in positions]
        for i, part in needed:
            owner = node.inputs[i].owner
            if owner in parts:
                parts[owner].add(part)
    return found
