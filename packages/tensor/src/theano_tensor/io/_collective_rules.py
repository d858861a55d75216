"""Derivatives of computations by all processes together.

Differentiated is the sum of the costs of all processes. Then the transpose of a sum that all get is the same sum, and
the transpose of a copy to all is a sum that one gets, as in J. Bradbury et al., "JAX" (2018), `psum`; the rules are
linear, so forward derivatives are the operations themselves.
"""

from __future__ import annotations

from typing import Any

from theano_graph import Apply, Variable, pullback, pushforward, shape_rule

from ..gradient import grad_undefined
from ._collective import CollectiveOp, MPIAllReduce, MPIBroadcast, MPIReduce

Found = list[Variable | None]


@pullback.register(MPIAllReduce)
def _all(node: Apply[MPIAllReduce], cotangents: list[Variable]) -> Found:
    op: MPIAllReduce = node.op
    return [op(cotangents[0])] if op.operation == "sum" else [_undefined(node)]


@pullback.register(MPIReduce)
def _one(node: Apply[MPIReduce], cotangents: list[Variable]) -> Found:
    op: MPIReduce = node.op
    return [MPIBroadcast(op.root, op.tag)(cotangents[0])] if op.operation == "sum" else [_undefined(node)]


@pullback.register(MPIBroadcast)
def _copies(node: Apply[MPIBroadcast], cotangents: list[Variable]) -> Found:
    op: MPIBroadcast = node.op
    return [MPIReduce(op.root, "sum", op.tag)(cotangents[0])]


def _undefined(node: Apply) -> Variable:
    undefined: Variable = grad_undefined(
        node.op, 0, node.inputs[0], "only sums over processes are differentiated; use operation='sum'"
    )
    return undefined


@pushforward.register(CollectiveOp)
def _forward(node: Apply[CollectiveOp], tangents: Found) -> Found:
    op = node.op
    if tangents[0] is None:
        return [None]
    return [op(tangents[0])] if getattr(op, "operation", "sum") == "sum" else [_undefined(node)]


@shape_rule.register(CollectiveOp)
def _shape(node: Apply[CollectiveOp], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]
