"""Elementwise nodes joined into one kernel, and put into the reduction of their result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from theano_graph import Apply, Constant, FunctionGraph, Variable, origin_from, toposort
from theano_linker_c.scalar import Composite, ProgramBuilder, ScalarProgram
from theano_optimize import GraphRewriter, Phase, RewriteInfo, RewriteProfile

from .._core._type import Tensor
from ..elemwise import Elemwise
from ..reduce import Reduce
from ._clusters import Cluster, clusters
from ._fused_reduce import FusedReduce
from ._groups import MAX_OPERANDS, fusible_groups, loop_nest_of
from ._language import can_replace, number, sole_client


def composite_of(nodes: Sequence[Apply], outputs: Sequence[Variable]) -> tuple[Composite, list[Variable]]:
    """Return the scalar op that computes `outputs` of elementwise `nodes`, and the tensors that it needs.

    Parameters
    ----------
    nodes : sequence of Apply
        In topological order.
    outputs : sequence of Variable
        Among the outputs of the nodes; others are inputs that are results, too.

    Returns
    -------
    Composite
    list of Variable
        Its inputs, each once, in the order in which a reader of the formula meets them. Constants that hold one number
        have become part of the op.
    """
    results = {v for node in nodes for v in node.outputs}
    inputs: dict[Any, None] = {}
    values: dict[Variable, bytes] = {}
    # In the order in which the formulas of the outputs name them.
    waiting, seen = list(reversed(outputs)), set()
    while waiting:
        variable = waiting.pop()
        if variable in seen:
            continue
        seen.add(variable)
        if variable in results and variable.owner is not None:
            waiting.extend(reversed(variable.owner.inputs))
        else:
            if isinstance(variable, Constant) and number(variable) is not None:
                values[variable] = variable.data.tobytes()
            else:
                inputs[variable] = None
    if len(nodes) == 1 and not values and isinstance(nodes[0].op.scalar_op, Composite):
        (node,) = nodes
        if node.inputs == list(inputs) and node.outputs == list(outputs):
            return node.op.scalar_op, node.inputs
    return Composite.from_program(_program(inputs, values, outputs)), list(inputs)


def _program(
    inputs: Mapping[Any, None], values: Mapping[Variable, bytes], outputs: Sequence[Variable]
) -> ScalarProgram:
    """Return the program of elementwise nodes between `inputs` and `outputs`, with some constants as numbers."""
    builder = ProgramBuilder([v.type.dtype for v in inputs])
    numbers: dict[Any, int] = {v: i for i, v in enumerate(inputs)}

    def number_of(variable: Any) -> int:
        number = numbers.get(variable)
        if number is None:
            number = numbers[variable] = builder.constant(variable.type.dtype, values[variable])
        return number

    for node in toposort({**inputs, **dict.fromkeys(values)}, outputs):
        args = [number_of(v) for v in node.inputs]
        results = builder.step(node.op.scalar_op, args, [v.type.dtype for v in node.inputs])
        numbers.update(zip(node.outputs, results, strict=True))
    return builder.finish([number_of(v) for v in outputs])


class FuseElementwise(GraphRewriter):
    """Join elementwise nodes over the same loop nest into kernels with several outputs.

    Nothing is computed twice: a result needed outside a kernel becomes one more output of it.
    """

    def __init__(self) -> None:
        super().__init__(info=RewriteInfo("fuse_elementwise", Phase.FUSE, ("fast_run", "fusion")))

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile:
        """Change the graph."""
        profile = RewriteProfile(self.name)
        for group in fusible_groups(fgraph):
            if self._fuse(fgraph, group):
                profile.count(self.name)
        return profile

    def _fuse(self, fgraph: FunctionGraph, group: list[Apply]) -> bool:
        inside = set(group)
        outputs = [
            v for node in group for v in node.outputs if any(client not in inside for client, _ in fgraph.clients(v))
        ]
        composite, inputs = composite_of(group, outputs)
        if not inputs:
            return False
        with origin_from(group[-1]):
            new = Elemwise(composite).make_node(*inputs).outputs
        if not all(map(can_replace, outputs, new)):
            return False
        fgraph.replace_all(list(zip(outputs, new, strict=True)), reason=self.name)
        return True


class FuseMultiOutput(GraphRewriter):
    """Do reductions over the same axes in one pass: with each other, and with elementwise results that are kept.

    Nothing is computed twice, and no tensor is read twice for them.
    """

    def __init__(self) -> None:
        super().__init__(info=RewriteInfo("fuse_multi_output", Phase.FUSE, ("fast_run", "fusion")))

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile:
        """Change the graph."""
        profile = RewriteProfile(self.name)
        for cluster in clusters(fgraph):
            if self._fuse(fgraph, cluster):
                profile.count(self.name)
        return profile

    def _fuse(self, fgraph: FunctionGraph, cluster: Cluster) -> bool:
        outputs = cluster.kept(fgraph)
        reduced = [node.inputs[0] for node in cluster.reductions]
        composite, inputs = composite_of(cluster.elementwise, [*outputs, *reduced])
        if not inputs or not _covers(inputs, reduced[0]):
            return False
        with origin_from(cluster.reductions[-1]):
            new = FusedReduce(composite, [node.op for node in cluster.reductions]).make_node(*inputs).outputs
        old = [*outputs, *(node.outputs[0] for node in cluster.reductions)]
        if not all(map(can_replace, old, new)):
            return False
        fgraph.replace_all(list(zip(old, new, strict=True)), reason=self.name)
        return True


class FuseReductions(GraphRewriter):
    """Put an elementwise node into the reduction that is its only user."""

    def __init__(self) -> None:
        super().__init__(info=RewriteInfo("fuse_reductions", Phase.FUSE, ("fast_run", "fusion")))

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile:
        """Change the graph."""
        profile = RewriteProfile(self.name)
        for node in list(fgraph.apply_nodes):
            if isinstance(node.op, Reduce) and self._fuse(fgraph, node):
                profile.count(self.name)
        return profile

    def _fuse(self, fgraph: FunctionGraph, node: Apply[Any, Tensor]) -> bool:
        (x,) = node.inputs
        producer = x.owner
        if producer is None or not node.op.axes(x.type.ndim):
            return False
        if sole_client(fgraph, x) is None or len(producer.outputs) > 1 or loop_nest_of(producer) is None:
            return False
        element, inputs = composite_of([producer], [x])
        if not inputs or len(inputs) >= MAX_OPERANDS or not _covers(inputs, x):
            return False
        with origin_from(node):
            new = FusedReduce(element, [node.op]).make_node(*inputs).outputs[0]
        if not can_replace(node.outputs[0], new):
            return False
        fgraph.replace(node.outputs[0], new, reason=self.name)
        return True


def _covers(inputs: Sequence[Any], x: Tensor) -> bool:
    """Tell whether the inputs that are left, constants taken out, still have the whole shape."""
    patterns = [v.type.broadcastable for v in inputs]
    return all(b == all(p[axis] for p in patterns) for axis, b in enumerate(x.type.broadcastable))
