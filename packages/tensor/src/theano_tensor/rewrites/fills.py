"""Fills (``second(like, value)``): gradients start with them, and nearly all can go."""

from __future__ import annotations

from typing import cast

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar

from .._core._variable import Tensor
from ..elemwise import Elemwise
from ._language import call, can_replace, lift, number, operands, scalar_constant
from ._registry import rule

Found = list[Variable] | None
#: Levels of rewriting with little in them, FAST_COMPILE among them, go without these.
ONLY_RUN = ("fast_run",)


@rule(scalar.second, reach=0, key="local_useless_fill", names=("local_useless_elemwise",))
def fill_of_equal_shape(fgraph: FunctionGraph, node: Apply) -> Found:
    """``second(like, value) -> value`` where the value has the whole shape: lengths that do not broadcast are equal."""
    _, value = node.inputs
    return [value] if can_replace(node.outputs[0], value) else None


@rule(scalar.second)
def fill_like_fill(fgraph: FunctionGraph, node: Apply) -> Found:
    """``second(second(like, a), b) -> second(like, b)``, where that has the same shape."""
    like, value = cast("list[Tensor]", node.inputs)
    inner = operands(like, scalar.second)
    if inner is None:
        return None
    new = call(scalar.second, inner[0], value)
    return [new] if can_replace(node.outputs[0], new) else None


@rule(Elemwise, key="local_fill_cut", tags=ONLY_RUN)
def fill_inside_elementwise(fgraph: FunctionGraph, node: Apply) -> Found:
    """``f(second(like, value), y) -> f(value, y)`` where y has the shape of the result anyway."""
    op = node.op
    if op.scalar_op == scalar.second:
        return None
    fills = [operands(v, scalar.second) for v in node.inputs]
    if not any(fills):
        return None
    inputs = cast("list[Tensor]", list(node.inputs))
    changed = False
    for i, fill in enumerate(fills):
        if fill is None:
            continue
        trial = [*inputs[:i], fill[1], *inputs[i + 1 :]]
        new = op.make_node(*trial)
        if all(map(can_replace, node.outputs, new.outputs)):
            inputs, changed = trial, True
    return cast("list[Variable]", op.make_node(*inputs).outputs) if changed else None


@rule(Elemwise, key="local_fill_sink", tags=ONLY_RUN)
def fill_outside_elementwise(fgraph: FunctionGraph, node: Apply) -> Found:
    """``f(second(a, b), second(c, d), e) -> second(a, second(c, f(b, d, e)))``, where f is then computed less often."""
    op = node.op
    if type(op) is not Elemwise or op.scalar_op == scalar.second or op.inplace_pattern or len(node.outputs) != 1:
        return None
    fills = [operands(v, scalar.second) for v in node.inputs]
    if not any(fills):
        return None
    inputs = cast("list[Tensor]", node.inputs)
    new: Tensor = op.make_node(
        *(v if fill is None else fill[1] for v, fill in zip(inputs, fills, strict=True))
    ).outputs[0]
    if sum(new.type.broadcastable) <= sum(node.outputs[0].type.broadcastable):
        return None
    for fill in reversed(fills):
        if fill is not None:
            new = call(scalar.second, fill[0], new)
    return [new] if can_replace(node.outputs[0], new) else None


@rule(scalar.second, reach=0, key="local_fill_itself", names=("local_useless_fill",))
def fill_with_itself(fgraph: FunctionGraph, node: Apply) -> Found:
    """``second(x, x) -> x``."""
    like, value = node.inputs
    return [value] if like is value else None


def is_filled_with(variable: Variable, value: float) -> bool:
    """Tell whether all elements of a tensor are known to be `value`."""
    inner = operands(variable, scalar.second)
    return bool(number(variable if inner is None else inner[1]) == value)


def filled_like(like: Tensor, value: float) -> Tensor:
    """Return a tensor of the shape and dtype of `like` that is filled with a number."""
    number_ = scalar_constant(value, like.type.dtype, like.type.ndim)
    return cast(Tensor, lift(scalar.second).make_node(like, number_).outputs[0])
