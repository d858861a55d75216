"""Which nodes are needed in the same calls, where some nodes leave branches out."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Mapping, Sequence

from theano_graph import Apply, FunctionGraph, RuleTable, Variable, has_own_thunk

from ._schedule import branch_of, lazy_form

#: The number of nodes that every call needs.
ALWAYS = 0

certain_error: RuleTable[Callable[[Apply], Exception | None]] = RuleTable("certain_error")
"""Op class -> the error that a node raises whenever it runs; None where the graph itself may never run."""


class Calls:
    """In which calls each node of a graph is needed: sets of calls by number.

    A set is all calls (:data:`ALWAYS`), those of another set in which a condition is true, or is false, or a union.

    Attributes
    ----------
    numbers : dict of Apply to int
        The nodes that not every call needs.
    branches : dict of int to (int, Variable, bool)
        Number -> the set of which it is a part, the condition, and whether that is true there.
    unions : dict of int to frozenset of int
        Number -> the sets that it is the union of. All have smaller numbers.
    """

    def __init__(self) -> None:
        self.numbers: dict[Apply, int] = {}
        self.branches: dict[int, tuple[int, Variable, bool]] = {}
        self.unions: dict[int, frozenset[int]] = {}
        self._numbers: dict[Hashable, int] = {}

    def of(self, variable: Variable) -> int:
        """Return the number of the calls in which a variable is computed."""
        return ALWAYS if variable.owner is None else self.numbers.get(variable.owner, ALWAYS)

    def of_inputs(self, node: Apply) -> list[int]:
        """Return for each input of a node the number of the calls in which the node reads it."""
        number = self.numbers.get(node, ALWAYS)
        conditions = [number] * len(node.inputs)
        branch = branch_of(node)
        if branch is not None:
            condition = node.inputs[branch.condition]
            chosen, otherwise = {*branch.chosen} - {branch.condition}, {*branch.otherwise} - {branch.condition}
            for taken, positions in ((True, chosen - otherwise), (False, otherwise - chosen)):
                part = self.of_branch(number, condition, taken)
                for i in positions:
                    conditions[i] = part
        return conditions

    def of_branch(self, calls: int, condition: Variable, taken: bool) -> int:
        """Return the number of those of some calls in which a condition is true, or false."""
        branch = (calls, condition, taken)
        number = self._number(branch)
        self.branches[number] = branch
        return number

    def number_of_branch(self, calls: int, condition: Variable, taken: bool) -> int | None:
        """Return the number that :meth:`of_branch` has given; None where nobody has asked."""
        return self._numbers.get((calls, condition, taken))

    def of_all(self, parts: set[int]) -> int:
        """Return the number of the calls that are in one of several sets."""
        left = set(parts)
        needed = []
        # A branch has a greater number than the calls that it is a part of.
        waiting = [-number for number in parts]
        heapq.heapify(waiting)
        while waiting and ALWAYS not in left:
            number = -heapq.heappop(waiting)
            if number not in left:
                continue
            branch = self.branches.get(number)
            if branch is not None:
                calls, condition, taken = branch
                if calls in left:
                    continue
                other = self.number_of_branch(calls, condition, not taken)
                if other in left:
                    left -= {number, other}
                    left.add(calls)
                    heapq.heappush(waiting, -calls)
                    continue
            needed.append(number)
        if ALWAYS in left:
            return ALWAYS
        if len(needed) == 1:
            return needed[0]
        everything = frozenset(needed)
        number = self._number(everything)
        self.unions[number] = everything
        return number

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers) + 1)


def when_needed(order: Sequence[Apply], outputs: Sequence[Variable]) -> Mapping[Apply, int]:
    """Return a number for each node that not every call needs; nodes of one number are needed in the same calls.

    A node joined with one of another number would be computed where nobody asks for it, and could fail there. Ops
    that are lazy by their thunks alone are taken to need all of their inputs.

    Parameters
    ----------
    order : sequence of Apply
        The nodes of a graph, in topological order.
    outputs : sequence of Variable
        The outputs that every call computes.
    """
    return calls_of(order, outputs).numbers


def calls_of(order: Sequence[Apply], outputs: Sequence[Variable]) -> Calls:
    """Return in which calls each node is needed; see :func:`when_needed`."""
    calls = Calls()
    if all(lazy_form.get(op) is None for op in {type(node.op): node.op for node in order}.values()):
        return calls
    parts: dict[Apply, set[int]] = {node: set() for node in order}
    for variable in outputs:
        if variable.owner in parts:
            parts[variable.owner].add(ALWAYS)
    for node in reversed(order):
        number = calls.of_all(parts.pop(node))
        if number != ALWAYS:
            calls.numbers[node] = number
        for v, part in zip(node.inputs, calls.of_inputs(node), strict=True):
            if v.owner in parts:
                parts[v.owner].add(part)
    return calls


def certain_failure(fgraph: FunctionGraph) -> tuple[Apply, Exception] | None:
    """Return a node that every call runs and that always fails, with its error; None where there is none."""
    ops = {type(node.op): node.op for node in fgraph.apply_nodes}.values()
    if all(certain_error.get(op) is None for op in ops) or any(map(has_own_thunk, ops)):
        return None  # a thunk may be lazy
    order = fgraph.toposort()
    needed = when_needed(order, fgraph.outputs)
    for node in order:
        rule = certain_error.get(node.op)
        error = None if rule is None or needed.get(node, ALWAYS) != ALWAYS else rule(node)
        if error is not None:
            return node, error
    return None
