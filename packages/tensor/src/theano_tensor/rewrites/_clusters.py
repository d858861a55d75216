"""Multi-output fusion: which reductions are computed in one pass, with the elementwise node that makes their operand.

A reduction needs nothing but its operand, so it can always be done where that is made, and several reductions of
one tensor can always be done together. Beyond that, as for elementwise nodes (see ``_groups``), nodes on one level
is joined: between two nodes of one level there is no way through others. Nodes that are not needed in the same calls
stay apart: a reduction of nothing may raise where nobody asks for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import field

from theano_graph import Apply, FunctionGraph, Variable, record, toposort
from theano_linker_c.program import ALWAYS, when_needed

from ._fused_reduce import is_fusible_reduction
from ._groups import MAX_OPERANDS, DisjointSets, Loop, LoopNest, loop_nests

Axes = tuple[int, ...]
#: Results are kept beside reductions over some axes only where the last one is known to be so long: a loop over whole
#: tensors is faster than one over short rows by more than reading once instead of twice.
LONG_ROWS = 64


@record(frozen=False)
class Cluster:
    """Elementwise nodes in topological order, and reductions over the same axes of their results and operands."""

    elementwise: list[Apply] = field(default_factory=list)
    reductions: list[Apply] = field(default_factory=list)

    @property
    def operands(self) -> int:
        """An upper bound of the number of inputs and outputs."""
        inner_results = {v for node in self.elementwise for v in node.outputs}
        read = {v for node in (*self.elementwise, *self.reductions) for v in node.inputs} - inner_results
        return len(read) + len(inner_results) + len(self.reductions)

    def kept(self, fgraph: FunctionGraph) -> list[Variable]:
        """Return the elementwise results that something else than the reductions needs."""
        inside = {*self.elementwise, *self.reductions}
        return [
            v
            for node in self.elementwise
            for v in node.outputs
            if any(client not in inside for client, _ in fgraph.clients(v))
        ]


def clusters(fgraph: FunctionGraph) -> list[Cluster]:
    """Return the groups that become one pass each; groups of one reduction and nothing else to keep are left out."""
    # Along the first inputs, so that the terms of a long sum are cut together with their operands.
    order = toposort(fgraph.inputs, fgraph.outputs)
    calls = when_needed(order, fgraph.outputs)
    loops = {node: (nest, calls.get(node, ALWAYS)) for node, nest in loop_nests(order) if nest}
    reductions = {node: (_pattern(node), calls.get(node, ALWAYS)) for node in order if is_fusible_reduction(node)}
    homes = {node: x for node, loop in reductions.items() if (x := _made_by(node, loop, loops)) is not None}
    axes = _axes(reductions, homes)
    levels = _levels(order, homes, axes)
    sets = DisjointSets()
    for node, axes_of_node in axes.items():
        for key in _ties(node, axes_of_node, reductions[node], homes.get(node), levels[node]):
            sets.join(node, key)
    _join_readers(order, loops, reductions, homes, axes, levels, sets)
    groups: dict[Hashable, Cluster] = {}
    for node in order:
        if node in axes or node in loops:
            cluster = groups.setdefault(sets.find(node), Cluster())
            (cluster.reductions if node in axes else cluster.elementwise).append(node)
    parts = [part for cluster in groups.values() if cluster.reductions for part in _parts(cluster)]
    return [part_chosen for part in parts if (part_chosen := _worthwhile(fgraph, part)) is not None]


def _worthwhile(fgraph: FunctionGraph, cluster: Cluster) -> Cluster | None:
    """Return the part of a cluster that is faster in one pass: for short rows, only reductions of existing tensors."""
    if not cluster.reductions:
        return None
    outputs = cluster.kept(fgraph)
    node = cluster.reductions[0]
    (x,) = node.inputs
    if outputs and len(node.op.axes(x.type.ndim)) < x.type.ndim and (x.type.shape[-1] or 0) < LONG_ROWS:
        inner_results = {v for node in cluster.elementwise for v in node.outputs}
        cluster, outputs = Cluster([], [node for node in cluster.reductions if node.inputs[0] not in inner_results]), []
    return cluster if len(cluster.reductions) > 1 or outputs else None


def _pattern(reduction: Apply) -> LoopNest:
    pattern: LoopNest = reduction.inputs[0].type.broadcastable
    return pattern


def _made_by(reduction: Apply, loop: Loop, loops: Mapping[Apply, Loop]) -> Apply | None:
    """Return the elementwise node that makes the operand of a reduction, if both are needed in the same calls."""
    home: Apply | None = reduction.inputs[0].owner
    made = None if home is None else loops.get(home)
    return home if made is not None and made[1] == loop[1] else None


def _axes(reductions: Mapping[Apply, Loop], homes: Mapping[Apply, Apply]) -> dict[Apply, Axes]:
    """Return the axes of the reductions that take part: of one elementwise node, those over the commonest axes."""
    every = {node: node.op.axes(node.inputs[0].type.ndim) for node in reductions}
    counts: dict[Apply, Counter[Axes]] = {}
    for node, home in homes.items():
        counts.setdefault(home, Counter())[every[node]] += 1
    chosen = {home: count.most_common(1)[0][0] for home, count in counts.items()}
    return {
        node: axes_of_node
        for node, axes_of_node in every.items()
        if node not in homes or chosen[homes[node]] == axes_of_node
    }


def _levels(order: Sequence[Apply], homes: Mapping[Apply, Apply], axes: Mapping[Apply, Axes]) -> dict[Apply, int]:
    """Return levels that grow along all paths, but from an elementwise node to the reductions that join it."""
    levels: dict[Apply, int] = {}
    for node in order:
        owners = [v.owner for v in node.inputs if v.owner in levels]
        together = node in axes and node in homes
        levels[node] = max((levels[owner] for owner in owners), default=-1) + (not together)
    return levels


def _ties(node: Apply, own: Axes, loop: Loop, home: Apply | None, level: int) -> Iterator[Hashable]:
    """Yield the keys that a reduction shares with those that it may join: its elementwise node, and its operands."""
    (x,) = node.inputs
    yield (level, loop, own, x)
    if home is not None:
        yield home
        for variable in home.inputs:
            if variable.type.broadcastable == loop[0]:
                yield (level, loop, own, variable)


def _join_readers(
    order: Sequence[Apply],
    loops: Mapping[Apply, Loop],
    reductions: Mapping[Apply, Loop],
    homes: Mapping[Apply, Apply],
    axes: Mapping[Apply, Axes],
    levels: Mapping[Apply, int],
    sets: DisjointSets,
) -> None:
    """Let elementwise nodes without reductions join those of one of their operands."""
    homes_of_readers: dict[Hashable, Hashable] = {}
    for node, axes_of_node in axes.items():
        for key in _ties(node, axes_of_node, reductions[node], homes.get(node), levels[node]):
            if isinstance(key, tuple):
                level, loop, _, variable = key
                homes_of_readers.setdefault((level, loop, variable), key)
    loops_above = {homes[node] for node in axes if node in homes}
    for node in order:
        if node in loops and node not in loops_above:
            for variable in node.inputs:
                key = homes_of_readers.get((levels[node], loops[node], variable))
                if key is not None:
                    sets.join(node, key)
                    break


def _parts(cluster: Cluster) -> Iterator[Cluster]:
    """Cut a cluster with too many operands: each elementwise node with its own reductions, the others by operand."""
    if cluster.operands <= MAX_OPERANDS:
        yield cluster
        return
    parts: dict[Hashable, Cluster] = {}
    for node in cluster.elementwise:
        parts[node] = Cluster([node])
    for node in cluster.reductions:
        owner = node.inputs[0].owner
        parts.setdefault(owner if owner in parts else node.inputs[0], Cluster()).reductions.append(node)
    yield from parts.values()
