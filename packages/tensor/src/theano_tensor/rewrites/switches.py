"""Choices moved outwards, so that what is not chosen cannot spoil what is: ``0 * inf`` is no number."""

from __future__ import annotations

from typing import cast

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_linker_c.scalar import ScalarOp
from theano_optimize import Exactness

from .._core._variable import Tensor
from ._language import call, cast_to, fitted, is_float, number, operands, scalar_constant, sole_client
from ._registry import rule

Found = list[Variable] | None


def _sunk(fgraph: FunctionGraph, node: Apply, choice: Tensor, op: ScalarOp, rest: list[Tensor]) -> Found:
    """``op(switch(c, x, 0), y) -> switch(c, op(x, y), 0)``, the zero on either side."""
    inner = operands(choice, scalar.switch)
    if inner is None or sole_client(fgraph, choice) is None or not is_float(node.outputs[0]):
        return None
    condition, a, b = inner
    dtype = node.outputs[0].type.dtype
    zero = scalar_constant(0, dtype, node.outputs[0].type.ndim)
    if number(a) == 0 and number(b) != 0:
        return fitted(node, call(scalar.switch, condition, zero, cast_to(call(op, b, *rest), dtype)))
    if number(b) == 0 and number(a) != 0:
        return fitted(node, call(scalar.switch, condition, cast_to(call(op, a, *rest), dtype), zero))
    return None


@rule(
    scalar.mul,
    exactness=Exactness.STABILIZING,
    tags=("fast_run", "fast_compile", "stabilize"),
    key="local_mul_switch_sink",
)
def switch_outside_product(fgraph: FunctionGraph, node: Apply) -> Found:
    """``switch(c, x, 0) * y -> switch(c, x * y, 0)``: 0 without c, also where y is infinite or no number."""
    inputs = cast("list[Tensor]", node.inputs)
    for i, choice in enumerate(inputs):
        found = _sunk(fgraph, node, choice, scalar.mul, [*inputs[:i], *inputs[i + 1 :]])
        if found is not None:
            return found
    return None


@rule(
    scalar.true_div,
    exactness=Exactness.STABILIZING,
    tags=("fast_run", "fast_compile", "stabilize"),
    key="local_div_switch_sink",
)
def switch_outside_quotient(fgraph: FunctionGraph, node: Apply) -> Found:
    """``switch(c, x, 0) / y -> switch(c, x / y, 0)``: 0 where c does not hold, also where y is 0."""
    choice, divisor = cast("list[Tensor]", node.inputs)
    return _sunk(fgraph, node, choice, scalar.true_div, [divisor])


@rule(scalar.add, scalar.sub, scalar.mul, key="local_merge_switch_same_cond")
def switches_on_one_condition(fgraph: FunctionGraph, node: Apply) -> Found:
    """``switch(c, a, 0) + switch(c, b, 0) -> switch(c, a + b, 0)``, where one branch has numbers only."""
    if len(node.inputs) != 2 or node.inputs[0] is node.inputs[1]:
        return None
    first, second = (operands(v, scalar.switch) for v in node.inputs)
    if first is None or second is None or first[0] is not second[0]:
        return None
    if any(sole_client(fgraph, v) is None for v in node.inputs):
        return None
    if not any(number(a) is not None and number(b) is not None for a, b in zip(first[1:], second[1:], strict=True)):
        return None
    dtype = node.outputs[0].type.dtype
    branches = [
        cast_to(call(node.op.scalar_op, cast_to(a, dtype), cast_to(b, dtype)), dtype)
        for a, b in zip(first[1:], second[1:], strict=True)
    ]
    return fitted(node, call(scalar.switch, first[0], *branches))
