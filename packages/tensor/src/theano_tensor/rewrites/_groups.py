"""Which elementwise nodes become one kernel.

Each node gets a level: one more than that of its dependencies, where these cannot be in the same loop, else the
same. Between two nodes of one level there is no way through a node of another level, so that nodes of one level and
one loop nest can be joined without making a cycle, whichever they are (K. Kennedy and K. McKinley, "Typed fusion with
applications to parallel and sequential code generation", 1993). We join nodes that are connected by a tensor of the
full shape of the nest, since only for these is it known that they loop over the same lengths. Nodes that are not
needed in the same calls, as those of different branches of an `ifelse`, are never in one loop. Linear in the size of
the graph.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import lru_cache

from theano_graph import Apply, FunctionGraph, Variable, toposort
from theano_linker_c.program import ALWAYS, when_needed
from theano_linker_c.scalar import Composite, CValue, NoNativeForm, ScalarOp

from ..elemwise import Elemwise

#: A kernel has at most so many inputs and outputs together, and so many scalar operations.
MAX_OPERANDS = 30
MAX_OPERATIONS = 256

LoopNest = tuple[bool, ...]
#: A loop nest, and the calls in which its results are needed.
Loop = tuple[LoopNest, int]


@lru_cache(maxsize=4096)
def has_native_form(op: ScalarOp, inputs: tuple[str, ...], output: str) -> bool:
    """Tell whether a scalar op has C text for the given dtypes."""
    if isinstance(op, Composite):
        return True
    try:
        op.c_statements([CValue(f"x{i}", dtype) for i, dtype in enumerate(inputs)], ["y"])
        op.c_preamble(inputs)
    except NoNativeForm:
        return False
    return True


def loop_nest_of(node: Apply) -> LoopNest | None:
    """Return the loop nest of a node that can be fused, as its broadcastable pattern; None for all others."""
    op = node.op
    if (
        type(op) is not Elemwise
        or op.inplace_pattern
        or (len(node.outputs) > 1 and not isinstance(op.scalar_op, Composite))
    ):
        return None
    dtypes = tuple(v.type.dtype for v in node.inputs)
    if not dtypes or any(not has_native_form(op.scalar_op, dtypes, v.type.dtype) for v in node.outputs):
        return None
    pattern: LoopNest = node.outputs[0].type.broadcastable
    return pattern


def loop_nests(order: Sequence[Apply]) -> Iterator[tuple[Apply, LoopNest]]:
    """Yield the nodes that can be fused, with their loop nests; nodes of one op on the same types have the same one."""
    nests: dict[tuple[int, ...], LoopNest | None] = {}
    for node in order:
        if type(node.op) is Elemwise:
            key = (id(node.op), *[id(v.type) for v in node.inputs], *[id(v.type) for v in node.outputs])
            if key not in nests:
                nests[key] = loop_nest_of(node)
            nest = nests[key]
            if nest is not None:
                yield node, nest


def fusible_groups(fgraph: FunctionGraph) -> list[list[Apply]]:
    """Return the groups of two or more nodes that are to become one kernel each, their nodes in topological order."""
    # Along the first inputs, so that the terms of a long sum are cut together with their operands.
    order = toposort(fgraph.inputs, fgraph.outputs)
    calls = when_needed(order, fgraph.outputs)
    loops = {node: (nest, calls.get(node, ALWAYS)) for node, nest in loop_nests(order)}
    levels = _levels(fgraph, order, loops)
    groups: dict[Hashable, list[Apply]] = {}
    sets = DisjointSets()
    for node, loop in loops.items():
        for key in _ties(node, loop, levels[node]):
            sets.join(node, key)
    for node in loops:
        groups.setdefault(sets.find(node), []).append(node)
    return [part for group in groups.values() if len(group) > 1 for part in _parts(fgraph, group) if len(part) > 1]


def _ties(node: Apply, loop: Loop, level: int) -> Iterator[Hashable]:
    """Yield keys that nodes of one loop have in common."""
    nest, _ = loop
    if not nest:
        yield (level, loop)
    for variable in (*node.inputs, *node.outputs):
        if variable.type.broadcastable == nest:
            yield (level, loop, variable)


def _levels(fgraph: FunctionGraph, order: Sequence[Apply], loops: Mapping[Apply, Loop]) -> dict[Apply, int]:
    """Return levels that bring together nodes that can be computed together.

    A node that something outside of its loop waits for is computed as late as that allows, so that it meets the needed
    nodes there. The rest, which leads to outputs of the graph only, is computed with its operands, or failing that
    with its users.
    """
    earliest: dict[Apply, int] = {}
    for node in order:
        earliest[node] = _after_inputs(node, loops, earliest)[0]
    latest = _latest(fgraph, order, loops, earliest)
    levels: dict[Apply, int] = {}
    for node in order:
        bound = latest.get(node)
        levels[node] = _after_inputs(node, loops, levels)[0] if bound is None else bound
    for node in reversed(order):
        if node in loops and node not in latest and not _after_inputs(node, loops, levels)[1]:
            users = _users(fgraph, node)
            if users:
                levels[node] = max(levels[node], min(levels[u] - (loops.get(u) != loops[node]) for u in users))
    return levels


def _after_inputs(node: Apply, loops: Mapping[Apply, Loop], levels: Mapping[Apply, int]) -> tuple[int, bool]:
    """Return the first level at which a node can be, and whether it is in one loop with one of its inputs there."""
    loop = loops.get(node)
    level, together = 0, False
    for variable in node.inputs:
        owner = variable.owner
        if owner is None or owner not in levels:
            continue
        same = loop is not None and loops.get(owner) == loop
        at = levels[owner] + (not same)
        if at > level:
            level, together = at, same
        elif at == level:
            together = together or same
    return level, together


def _latest(
    fgraph: FunctionGraph, order: Sequence[Apply], loops: Mapping[Apply, Loop], earliest: Mapping[Apply, int]
) -> dict[Apply, int]:
    """Return the last level of each fusible node at which it delays nothing outside of its loop, if anything waits."""
    latest: dict[Apply, int] = {}
    for node in reversed(order):
        loop = loops.get(node)
        if loop is None:
            continue
        bounds = []
        for user in _users(fgraph, node):
            if loops.get(user) != loop:
                bounds.append(earliest[user] - 1)
            elif user in latest:
                bounds.append(latest[user])
        if bounds:
            latest[node] = min(bounds)
    return latest


def _users(fgraph: FunctionGraph, node: Apply) -> list[Apply]:
    return [client for v in node.outputs for client, _ in fgraph.clients(v) if isinstance(client, Apply)]


class DisjointSets:
    """Disjoint sets of nodes that have keys in common, with path compression."""

    def __init__(self) -> None:
        self._parent: dict[Hashable, Hashable] = {}

    def find(self, item: Hashable) -> Hashable:
        parent = self._parent
        root = item
        while (above := parent.setdefault(root, root)) is not root:
            root = above
        while item is not root:
            above = parent[item]
            parent[item] = root
            item = above
        return root

    def join(self, a: Hashable, b: Hashable) -> None:
        first, second = self.find(a), self.find(b)
        if first is not second:
            self._parent[second] = first


def _parts(fgraph: FunctionGraph, group: list[Apply]) -> Iterator[list[Apply]]:
    """Cut a group, along its topological order, where it would have too many operands or operations."""
    part: list[Apply] = []
    inside: set[Apply] = set()
    read: set[Variable] = set()
    pending: dict[Variable, int] = {}
    for node in group:
        new = {v for v in node.inputs if v.owner not in inside} - read
        served = [v for v in node.inputs if v in pending]
        closed = {v for v in served if pending[v] <= served.count(v)}
        operands = len(read) + len(new) + len(pending) - len(closed) + len(node.outputs)
        if part and (operands > MAX_OPERANDS or len(part) >= MAX_OPERATIONS):
            yield part
            part, inside, read, pending = [], set(), set(), {}
            new, served = set(node.inputs), []
        part.append(node)
        inside.add(node)
        read |= new
        for v in served:
            pending[v] -= 1
            if not pending[v]:
                del pending[v]
        for v in node.outputs:
            pending[v] = len(fgraph.clients(v))
    if part:
        yield part
