"""Which elementwise nodes become one kernel, and which reductions are computed in one pass with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any, Self

import numpy as np

from theano_graph import (
    Apply,
    FunctionGraph,
    Op,
    Variable,
    batch_rule,
    format_error,
    pullback,
    record,
    shape_rule,
    toposort,
)
from theano_linker_c.kernels import Kernel, Reduction, ReductionKernel, can_reduce, native_kernel
from theano_linker_c.program import ALWAYS, when_needed
from theano_linker_c.scalar import Composite, CValue, NoNativeForm, ScalarOp

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._ops import run_in_a_loop
from .._core._type import Tensor, tensor_type
from ..elemwise import Elemwise, broadcast_static, check_broadcast
from ..reduce import Reduce

# ---- Which elementwise nodes become one kernel
#
# Each node gets a level: one more than that of its dependencies, where these cannot be in the same loop, else the
# same. Between two nodes of one level there is no way through a node of another level, so that nodes of one level and
# one loop nest can be joined without making a cycle, whichever they are (K. Kennedy and K. McKinley, "Typed fusion with
# applications to parallel and sequential code generation", 1993). We join nodes that are connected by a tensor of the
# full shape of the nest, since only for these is it known that they loop over the same lengths. Nodes that are not
# needed in the same calls, as those of different branches of an `ifelse`, are never in one loop. Linear in the size of
# the graph.

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


# ---- Reductions that compute the elements that they reduce, and maybe keep some: all in one pass


def is_fusible_reduction(node: Apply[Any, Tensor]) -> bool:
    """Tell whether a node is a reduction that a :class:`FusedReduce` can compute besides others."""
    op = node.op
    if not isinstance(op, Reduce) or not op.axes(node.inputs[0].type.ndim):
        return False
    return can_reduce(op.combine, op.kernel_accumulator(node.inputs[0].type.dtype))


class FusedReduce(Op):
    """Apply a scalar op to each element of some tensors; keep its first results, and reduce each of the others.

    The reduced values are not stored. Mostly there is one reduction, and nothing is kept.

    Made by fusion when functions are compiled; it therefore has no gradient.

    Parameters
    ----------
    scalar_op : ScalarOp
        With as many results as there are kept and reduced ones together.
    reductions : sequence of Reduce
        For the last results; all over the same axes.
    """

    __props__ = ("reductions", "scalar_op")

    def __init__(self, scalar_op: ScalarOp, reductions: Sequence[Reduce]) -> None:
        self.scalar_op = scalar_op
        self.reductions = tuple(reductions)

    @property
    def n_kept(self) -> int:
        """How many results are kept element by element."""
        return self.scalar_op.nout - len(self.reductions)

    def make_node(self, *inputs: TensorLike) -> Apply[Self, Tensor]:
        """Apply to tensors with one number of dimensions.

        Raises
        ------
        TypeError
            If the numbers of dimensions differ.
        """
        variables = [as_tensor_variable(x) for x in inputs]
        if len({x.type.ndim for x in variables}) != 1:
            raise TypeError(
                format_error(
                    "the inputs of a fused reduction have one number of dimensions", hint="pad them on the left"
                )
            )
        shape = broadcast_static(self.scalar_op, variables)
        dtypes = self.scalar_op.result_dtypes(*(x.type.dtype for x in variables))
        outputs = [tensor_type(dtype, shape).make_variable() for dtype in dtypes[: self.n_kept]]
        for reduction, dtype in zip(self.reductions, dtypes[self.n_kept :], strict=True):
            gone = set(reduction.axes(len(shape)))
            left = [n for i, n in enumerate(shape) if i not in gone]
            outputs.append(tensor_type(reduction.result_dtype(dtype), left).make_variable())
        return Apply(self, variables, outputs)

    def element_dtypes(self, node: Apply[Self, Tensor]) -> tuple[str, ...]:
        """Return the dtypes of all results of the scalar op."""
        return self.scalar_op.result_dtypes(*(x.type.dtype for x in node.inputs))

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute with NumPy."""
        shape = check_broadcast([x.shape for x in inputs], [x.type.broadcastable for x in node.inputs])
        with np.errstate(all="ignore"):
            values = self.scalar_op.evaluate(*inputs)
            results = values if self.scalar_op.nout > 1 else (values,)
            for k, (result, dtype) in enumerate(zip(results, self.element_dtypes(node), strict=True)):
                elements = np.broadcast_to(np.asarray(result, dtype=dtype), shape)
                if k >= self.n_kept:
                    elements = self.reductions[k - self.n_kept].reduce_array(elements)
                output_storage[k][0] = np.array(elements, dtype=node.outputs[k].type.dtype)

    def __str__(self) -> str:
        if self.scalar_op.nout == 1:
            return f"{self.reductions[0]}{{{self.scalar_op}}}"
        names = ["kept"] * self.n_kept
        return f"{self.scalar_op} -> ({', '.join([*names, *map(str, self.reductions)])})"


@native_kernel.register(FusedReduce)
def _native(node: Apply[FusedReduce, Tensor]) -> Kernel | None:
    op = node.op
    dtypes, ndim = op.element_dtypes(node), node.inputs[0].type.ndim
    reduced = zip(op.reductions, dtypes[op.n_kept :], node.outputs[op.n_kept :], strict=True)
    return ReductionKernel(
        scalar_op=op.scalar_op,
        input_dtypes=tuple(x.type.dtype for x in node.inputs),
        kept_dtypes=dtypes[: op.n_kept],
        reductions=tuple(
            Reduction(r.combine, r.kernel_accumulator(dtype), v.type.dtype, r.identity) for r, dtype, v in reduced
        ),
        broadcast=tuple(x.type.broadcastable for x in node.inputs),
        ndim=ndim,
        axes=op.reductions[0].axes(ndim),
    )


pullback.declare_absent(FusedReduce, "it is made when functions are compiled, after gradients have been taken")


@shape_rule.register(FusedReduce)
def _shape(node: Apply[FusedReduce, Tensor], input_shapes: list[Any]) -> list[Any]:
    op = node.op
    ndim = node.inputs[0].type.ndim
    pairs = list(zip(input_shapes, node.inputs, strict=True))
    full = tuple(next((s[axis] for s, x in pairs if x.type.shape[axis] != 1), 1) for axis in range(ndim))
    gone = set(op.reductions[0].axes(ndim))
    left = tuple(length for axis, length in enumerate(full) if axis not in gone)
    return [full] * op.n_kept + [left] * len(op.reductions)


batch_rule.register(FusedReduce)(run_in_a_loop)


# ---- Multi-output fusion: which reductions are computed in one pass, with the elementwise node that makes their
# operand
#
# A reduction needs nothing but its operand, so it can always be done where that is made, and several reductions of
# one tensor can always be done together. Beyond that, as for elementwise nodes (see ``_groups``), nodes on one level
# is joined: between two nodes of one level there is no way through others. Nodes that are not needed in the same calls
# stay apart: a reduction of nothing may raise where nobody asks for it.

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
    levels = _cluster_levels(order, homes, axes)
    sets = DisjointSets()
    for node, axes_of_node in axes.items():
        for key in _reduction_ties(node, axes_of_node, reductions[node], homes.get(node), levels[node]):
            sets.join(node, key)
    _join_readers(order, loops, reductions, homes, axes, levels, sets)
    groups: dict[Hashable, Cluster] = {}
    for node in order:
        if node in axes or node in loops:
            cluster = groups.setdefault(sets.find(node), Cluster())
            (cluster.reductions if node in axes else cluster.elementwise).append(node)
    parts = [part for cluster in groups.values() if cluster.reductions for part in _cluster_parts(cluster)]
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


def _cluster_levels(
    order: Sequence[Apply], homes: Mapping[Apply, Apply], axes: Mapping[Apply, Axes]
) -> dict[Apply, int]:
    """Return levels that grow along all paths, but from an elementwise node to the reductions that join it."""
    levels: dict[Apply, int] = {}
    for node in order:
        owners = [v.owner for v in node.inputs if v.owner in levels]
        together = node in axes and node in homes
        levels[node] = max((levels[owner] for owner in owners), default=-1) + (not together)
    return levels


def _reduction_ties(node: Apply, own: Axes, loop: Loop, home: Apply | None, level: int) -> Iterator[Hashable]:
    """Yield the keys that a reduction shares with its possible partners: its elementwise node, and its operands."""
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
        for key in _reduction_ties(node, axes_of_node, reductions[node], homes.get(node), levels[node]):
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


def _cluster_parts(cluster: Cluster) -> Iterator[Cluster]:
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
