"""Elementwise nodes joined into one kernel, and put into the reduction of their result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from theano_graph import Apply, Constant, FunctionGraph, Op, Variable, origin_from, toposort
from theano_linker_c import scalar
from theano_linker_c.kernels import native_kernel
from theano_linker_c.scalar import Composite, ProgramBuilder, ScalarProgram
from theano_optimize import (
    GraphRewriter,
    InplaceRewriter,
    Phase,
    RewriteInfo,
    RewriteProfile,
    SequenceDatabase,
    WalkRewriter,
    node_rewriter,
)

from .._core._type import Tensor
from ..elemwise import Elemwise
from ..reduce import Reduce
from ._groups import MAX_OPERANDS, Cluster, FusedReduce, clusters, fusible_groups, loop_nest_of
from ._language import can_replace, lift, number, sole_client

# ---- Elementwise nodes joined into one kernel, and put into the reduction of their result


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


# ---- The phase that fuses, as a database of its own: sums and products of many terms, elementwise kernels, reductions

#: Modes that fuse.
TAGS = ("fast_run", "fusion", "o2", "o3", "o4", "unsafe")


def joined_with_first(fgraph: FunctionGraph, node: Apply[Any, Tensor]) -> list[Variable] | None:
    """``add(add(x, y), z) -> add(x, y, z)``, likewise for products, where the inner node has no other user."""
    inner = node.inputs[0].owner
    if inner is None or not _joins(fgraph, inner, node, len(inner.inputs)):
        return None
    new: Variable = node.op.make_node(*inner.inputs, *node.inputs[1:]).outputs[0]
    return [new] if new.type.exact == node.outputs[0].type.exact else None


def _joins(fgraph: FunctionGraph, inner: Apply[Any, Tensor], node: Apply[Any, Tensor], terms: int) -> bool:
    """Tell whether a sum of so many terms can become part of the one that a node adds to it."""
    return (
        inner.op == node.op
        and terms + len(node.inputs) <= MAX_OPERANDS
        and sole_client(fgraph, inner.outputs[0]) is node
        and inner.outputs[0].type.dtype == node.outputs[0].type.dtype
        and isinstance(node.op, Elemwise)
    )


@node_rewriter([lift(scalar.add), lift(scalar.mul)], phase=Phase.FUSE)
def sums_and_products_joined(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Any:
    """``add(add(x, y), z) -> add(x, y, z)``, likewise for products, where the inner node has no other user.

    Only first terms are looked into, so that terms are added in the order in which they were before. From the innermost
    node on as many are joined at once as one kernel takes: one by one, a long chain would be copied at each step.
    """
    together = joined_with_first(fgraph, node)
    if together is not None:
        return together
    top, terms = node, list(node.inputs)
    while True:
        user = sole_client(fgraph, top.outputs[0])
        if user is None or user.inputs[0] is not top.outputs[0] or not _joins(fgraph, top, user, len(terms)):
            break
        terms += user.inputs[1:]
        top = user
    if top is node:
        return None
    with origin_from(top):
        new: Variable = node.op.make_node(*terms).outputs[0]
    return {top.outputs[0]: new} if new.type.exact == top.outputs[0].type.exact else None


@node_rewriter([lift(scalar.add), lift(scalar.mul)], phase=Phase.FUSE)
def long_sums_and_products_cut(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> list[Variable] | None:
    """``add(x1, ..., xn) -> add(add(x1, ..., xk), ..., xn)`` where one kernel would have too many operands.

    The terms are added in the order in which they were before, so that no result is rounded differently.
    """
    if len(node.inputs) < MAX_OPERANDS:
        return None
    output: Any = node.outputs[0]
    first, others = node.inputs[: MAX_OPERANDS - 1], node.inputs[MAX_OPERANDS - 1 :]
    total: Any = node.op.make_node(*first).outputs[0]
    if total.type.dtype != output.type.dtype:
        # Terms that are all narrower than the result are added in its dtype, as in one kernel.
        widened = lift(scalar.cast(output.type.dtype)).make_node(first[0]).outputs[0]
        total = node.op.make_node(widened, *first[1:]).outputs[0]
    for start in range(0, len(others), MAX_OPERANDS - 2):
        total = node.op.make_node(total, *others[start : start + MAX_OPERANDS - 2]).outputs[0]
    return [total]


def fusion_database() -> SequenceDatabase:
    """Return the database of rewrites that fuse, in their order."""
    database = SequenceDatabase("elemwise_fusion")
    joined = WalkRewriter(sums_and_products_joined, order="in_to_out")
    database.register("local_add_mul_fusion", joined, *TAGS, position=0)
    database.register(
        "composite_elemwise_fusion",
        FuseElementwise(),
        *TAGS,
        position=1,
        aliases=("local_elemwise_fusion", "FusionOptimizer"),
    )
    database.register("fuse_multi_output", FuseMultiOutput(), *TAGS, position=2)
    database.register("fuse_reductions", FuseReductions(), *TAGS, position=3)
    return database


# ---- Elementwise nodes that overwrite one of their inputs
#
# The machine lets native loops reuse dead buffers, for all graphs. The others are
# nodes that run in NumPy: these get in-place forms here.


def has_native_loop(node: Apply) -> bool:
    """Tell whether a node runs as native code, which reuses buffers by itself."""
    form = native_kernel.get(node.op)
    return form is not None and form(node) is not None


class InplaceElemwiseOptimizer(InplaceRewriter):
    """Put in-place forms of elementwise nodes in where that is safe: each input is tried for the output.

    Parameters
    ----------
    op : class of ops
        The elementwise op.
    native_too : bool
        Whether nodes that run as native code are changed too; these then run in NumPy.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.opt.InplaceElemwiseOptimizer(T.Elemwise).name
    'inplace_elemwise_optimizer'
    """

    def __init__(self, op: type[Elemwise] = Elemwise, native_too: bool = True) -> None:
        self.op = op
        self.native_too = native_too
        super().__init__(self.forms, [op], info=RewriteInfo("inplace_elemwise_optimizer", Phase.INPLACE, ("inplace",)))

    def forms(self, node: Apply) -> Iterator[Op]:
        """Yield the in-place forms of a node."""
        op = node.op
        if type(op) is not self.op or op.inplace_pattern or len(node.outputs) != 1:
            return
        if not self.native_too and has_native_loop(node):
            return
        for i, x in enumerate(node.inputs):
            if x.type == node.outputs[0].type and x.owner is not None:
                yield self.op(op.scalar_op, {0: i})
