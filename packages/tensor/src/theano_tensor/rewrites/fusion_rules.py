"""The phase that fuses, as a database of its own: sums and products of many terms, elementwise kernels, reductions."""

from __future__ import annotations

from typing import Any

from theano_graph import Apply, FunctionGraph, Variable, origin_from
from theano_linker_c import scalar
from theano_optimize import Phase, SequenceDatabase, WalkRewriter, node_rewriter

from .._core._type import Tensor
from ..elemwise import Elemwise
from ._groups import MAX_OPERANDS
from ._language import lift, sole_client
from .fusion import FuseElementwise, FuseMultiOutput, FuseReductions

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
