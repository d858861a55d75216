"""Fills (``second(like, value)``): gradients start with them, and nearly all can go."""

from __future__ import annotations

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_optimize import Fit

from .._core._type import Tensor
from ..elemwise import Elemwise
from ._equations import Anything, Equations, equations
from ._language import call, can_replace, lift, number, operands, scalar_constant
from ._registry import rule
from ._terms import fill

Found = list[Variable] | None
#: Levels of rewriting with little in them, FAST_COMPILE among them, go without these.
ONLY_RUN = ("fast_run",)


@equations(scalar.second, reach=0, key="local_useless_fill", names=("local_useless_elemwise",), fit=Fit.EXACT)
def fill_of_equal_shape(a: Anything, like: Anything) -> Equations:
    """A value that has the whole shape is not filled in: lengths that do not broadcast are equal."""
    return [fill(like, a) >> a]


@equations(scalar.second, fit=Fit.EXACT)
def fill_like_fill(a: Anything, b: Anything, like: Anything) -> Equations:
    """The model of a fill is not filled itself, where it has the same shape."""
    return [fill(fill(like, a), b) >> fill(like, b)]


@rule(Elemwise, key="local_fill_cut", tags=ONLY_RUN)
def fill_inside_elementwise(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``f(second(like, value), y) -> f(value, y)`` where y has the shape of the result anyway."""
    op = node.op
    if op.scalar_op == scalar.second:
        return None
    fills = [operands(v, scalar.second) for v in node.inputs]
    if not any(fills):
        return None
    inputs = list(node.inputs)
    changed = False
    for i, filled in enumerate(fills):
        if filled is None:
            continue
        trial = [*inputs[:i], filled[1], *inputs[i + 1 :]]
        new = op.make_node(*trial)
        if all(map(can_replace, node.outputs, new.outputs)):
            inputs, changed = trial, True
    return list(op.make_node(*inputs).outputs) if changed else None


@rule(Elemwise, key="local_fill_sink", tags=ONLY_RUN)
def fill_outside_elementwise(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``f(second(a, b), second(c, d), e) -> second(a, second(c, f(b, d, e)))``, where f is then computed less often."""
    op = node.op
    if type(op) is not Elemwise or op.scalar_op == scalar.second or op.inplace_pattern or len(node.outputs) != 1:
        return None
    fills = [operands(v, scalar.second) for v in node.inputs]
    if not any(fills):
        return None
    inputs = node.inputs
    new: Tensor = op.make_node(*(v if own is None else own[1] for v, own in zip(inputs, fills, strict=True))).outputs[0]
    if sum(new.type.broadcastable) <= sum(node.outputs[0].type.broadcastable):
        return None
    for filled in reversed(fills):
        if filled is not None:
            new = call(scalar.second, filled[0], new)
    return [new] if can_replace(node.outputs[0], new) else None


@equations(scalar.second, reach=0, key="local_fill_itself", names=("local_useless_fill",))
def fill_with_itself(a: Anything) -> Equations:
    """A tensor has its own shape."""
    return [fill(a, a) >> a]


def is_filled_with(variable: Tensor, value: float) -> bool:
    """Tell whether all elements of a tensor are known to be `value`."""
    inner = operands(variable, scalar.second)
    return bool(number(variable if inner is None else inner[1]) == value)


def filled_like(like: Tensor, value: float) -> Tensor:
    """Return a tensor of the shape and dtype of `like` that is filled with a number."""
    number_ = scalar_constant(value, like.type.dtype, like.type.ndim)
    return lift(scalar.second).make_node(like, number_).outputs[0]
