"""Lazy programs: the needs of each instruction, when some instructions ask for their inputs themselves.

An op says that it is lazy in one of two ways. A rule in :data:`lazy_form` describes it as a :class:`Branch`, which both
machines run themselves; or the thunk that its `make_thunk` returns has the attribute ``lazy = True``, and answers each
call with the list of the inputs that it wants next, or with nothing when its outputs are there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from theano_graph import Apply, FunctionGraph, RuleTable, Variable, record


@record
class Branch:
    """A node whose outputs are one of two groups of its inputs, as another input says.

    The op's `view_map` has to say that output k may be a view of ``chosen[k]`` and of ``otherwise[k]``.

    Attributes
    ----------
    condition : int
        Number of the input that decides; anything that has a truth value.
    chosen : tuple of int
        For each output, the input that it is where the condition is true.
    otherwise : tuple of int
        The same where it is false.
    """

    condition: int
    chosen: tuple[int, ...]
    otherwise: tuple[int, ...]

    def attempt(self, values: Sequence[Any], values_known: Sequence[bool]) -> list[int] | tuple[Any, ...]:
        """Return the outputs as a tuple, or the list of the inputs that are needed for them and not known."""
        if not values_known[self.condition]:
            return [self.condition]
        branch = self.chosen if values[self.condition] else self.otherwise
        missing = [i for i in branch if not values_known[i]]
        return missing or tuple(values[i] for i in branch)


lazy_form: RuleTable[Callable[[Apply], Branch | None]] = RuleTable("lazy_form")
"""Op class -> its form as a :class:`Branch`, or None for a node that is to run with all of its inputs."""


def branch_of(node: Apply) -> Branch | None:
    """Return a node as a choice between its inputs; None where it is none."""
    rule = lazy_form.get(node.op)
    return None if rule is None else rule(node)


@record
class Schedule:
    """In which order a lazy program may run, and when its registers die.

    Attributes
    ----------
    roots : tuple of int
        Instructions that every call needs, in order.
    needs : tuple of tuple of int
        For each instruction, earlier ones that have to run before it. The requests of a lazy instruction are not here.
    readers : tuple of int
        For each register, how many times instructions read it; 0 where nothing is to be counted, because the register
        is kept or one instruction alone lets go of it.
    """

    roots: tuple[int, ...]
    needs: tuple[tuple[int, ...], ...]
    readers: tuple[int, ...]


def make_schedule(
    fgraph: FunctionGraph,
    order: Sequence[Apply],
    readers: tuple[int, ...],
    lazy: Mapping[int, Branch | None],
    inside: Mapping[Apply, Apply] | None = None,
) -> Schedule:
    """Return the schedule of a program.

    Parameters
    ----------
    fgraph : FunctionGraph
    order : sequence of Apply
        The nodes, one an instruction.
    readers : tuple of int
        For each register that dies by counting, how many times it is read; 0 for the others.
    lazy : mapping of int to Branch or None
        The lazy instructions; None for instructions that run by a thunk.
    inside : mapping of Apply to Apply, optional
        Nodes that have become part of another one, which is in `order`.
    """
    position = {node: i for i, node in enumerate(order)}
    members: dict[Apply, list[Apply]] = {}
    for node, group in (inside or {}).items():
        position[node] = position[group]
        members.setdefault(group, []).append(node)
    before = fgraph.orderings()
    needs = []
    for i, node in enumerate(order):
        earlier = [other for part in members.get(node, (node,)) for other in before.get(part, ())]
        predecessors = {position[other] for other in earlier if other in position}
        predecessors.update(position[v.owner] for v in _strict_inputs(node, i, lazy) if v.owner in position)
        needs.append(tuple(sorted(predecessors - {i})))
    return Schedule(_always_needed(fgraph, position, needs), tuple(needs), readers)


def _strict_inputs(node: Apply, index: int, lazy: Mapping[int, Branch | None]) -> Sequence[Variable]:
    if index not in lazy:
        return node.inputs
    branch = lazy[index]
    return [] if branch is None else [node.inputs[branch.condition]]


def _always_needed(
    fgraph: FunctionGraph, position: Mapping[Apply, int], needs: Sequence[Sequence[int]]
) -> tuple[int, ...]:
    stack = [position[v.owner] for v in fgraph.outputs if v.owner in position]
    needed: set[int] = set()
    while stack:
        i = stack.pop()
        if i not in needed:
            needed.add(i)
            stack.extend(needs[i])
    return tuple(sorted(needed))
