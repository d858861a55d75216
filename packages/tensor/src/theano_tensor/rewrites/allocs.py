"""Tensors filled with one value: not made where the value itself does, and operations on them done once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Constant, FunctionGraph, Variable, config
from theano_linker_c import scalar
from theano_optimize import Context, Fit, Phase

from .._core._type import Tensor
from ..creation import Alloc, AllocEmpty, alloc
from ..elemwise import DimShuffle, Elemwise, dimshuffle
from ..indexing import AdvancedIncSubtensor1
from ..indexing.entries import known_number
from ..reduce import Prod, Reduce, Sum
from ..shape import ShapeI, shape_i
from ._language import (
    call,
    can_replace,
    is_broadcast,
    is_float,
    lift,
    number,
    operands,
    rule,
    scalar_constant,
    sole_client,
)
from .equations import Anything, Equations, applied, built, equations, fill
from .indexing import same_shape
from .reductions import filled_reduced, is_regular
from .shape import is_traced_length

# ---- Fills (``second(like, value)``): gradients start with them, and nearly all can go

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


# ---- Tensors filled with one value: not made where the value itself does, and operations on them done once

# Declares the flag that is read here.

allocated, empty = applied("alloc", Alloc), applied("empty", AllocEmpty)


def _alloc(variable: Tensor) -> Apply[Any, Tensor] | None:
    node = variable.owner
    return node if node is not None and isinstance(node.op, Alloc) else None


def _is_length(length: Tensor, x: Tensor, axis: int) -> bool:
    owner = length.owner
    if owner is not None and owner.op == ShapeI(axis) and owner.inputs[0] is x:
        return True
    known = x.type.shape[axis]
    if known is not None:
        return bool(known_number(length) == known)
    view = x.owner
    if view is None or not isinstance(view.op, DimShuffle):
        return False
    source = view.op.order[axis]
    return isinstance(source, int) and _is_length(length, view.inputs[0], source)


def _padded(value: Tensor, ndim: int) -> Tensor:
    x = value
    return dimshuffle(x, ["x"] * (ndim - x.type.ndim) + list(range(x.type.ndim)))


def _is_traced(fgraph: FunctionGraph, owner: Apply, x: Tensor, axis: int) -> bool:
    return isinstance(owner.op, ShapeI) and is_traced_length(fgraph, owner, x, axis)


def are_own_lengths(fgraph: FunctionGraph, node: Apply[Any, Tensor]) -> bool:
    """The lengths are those of the value."""
    value, lengths = node.inputs[0], node.inputs[1:]
    return value.type.ndim == len(lengths) and all(
        _is_length(n, value, axis) or (n.owner is not None and _is_traced(fgraph, n.owner, value, axis))
        for axis, n in enumerate(lengths)
    )


@equations(Alloc, key="local_useless_alloc", names=("local_canonicalize_alloc",), fit=Fit.EXACT, guard=are_own_lengths)
def alloc_of_own_shape(a: Anything) -> Equations:
    """A tensor that has the shape already is not copied into a new one."""
    return [allocated(a, ...) >> a]


@rule(
    Elemwise, tags=ONLY_RUN, phases=(Phase.SPECIALIZE,), key="local_elemwise_alloc", names=("local_alloc_optimization",)
)
def alloc_inside_elementwise(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``f(alloc(value, shape), y) -> f(value, y)`` where y is known to have that shape."""
    if type(node.op) is not Elemwise or node.op.inplace_pattern or len(node.inputs) < 2:
        return None
    inputs = list(node.inputs)
    changed = False
    for i, x in enumerate(inputs):
        filled = _alloc(x)
        if filled is None or not any(_has_shape(filled, x, y) for j, y in enumerate(inputs) if j != i):
            continue
        trial = [*inputs[:i], _padded(filled.inputs[0], x.type.ndim), *inputs[i + 1 :]]
        if all(map(can_replace, node.outputs, node.op.make_node(*trial).outputs)):
            inputs, changed = trial, True
    return list(node.op.make_node(*inputs).outputs) if changed else None


def _has_shape(made: Apply[Any, Tensor], x: Tensor, y: Tensor) -> bool:
    """Tell whether y is known, or by the user's leave assumed, to have the shape of the alloc `made`, giving x."""
    if y.type.broadcastable != x.type.broadcastable:
        return False
    if not config.experimental.local_alloc_elemwise_assert:
        return True
    return all(_is_length(n, y, axis) for axis, n in enumerate(made.inputs[1:])) or same_shape(x, y)


@rule(AdvancedIncSubtensor1, tags=ONLY_RUN, phases=(Phase.SPECIALIZE,), names=("local_useless_inc_subtensor_alloc",))
def filled_rows(fgraph: FunctionGraph, node: Apply[AdvancedIncSubtensor1, Tensor]) -> Found:
    """``inc_subtensor(x[rows], alloc(value, shape)) -> inc_subtensor(x[rows], value)`` where the shape fits."""
    x, y, rows = node.inputs
    filled = _alloc(y)
    if filled is None or y.type.ndim != x.type.ndim:
        return None
    count, *lengths = filled.inputs[1:]
    if not _is_length(count, rows, 0) or not all(_is_length_of(n, x, i) for i, n in enumerate(lengths, 1)):
        return None
    new = node.op(x, _padded(filled.inputs[0], x.type.ndim), rows)
    return [new] if can_replace(node.outputs[0], new) else None


def _is_length_of(length: Tensor, x: Tensor, axis: int) -> bool:
    """Tell whether a variable is known to be the length of a dimension of a tensor, or of one that an `Alloc` made."""
    filled = _alloc(x)
    return _is_length(length, x, axis) or (filled is not None and _is_same_length(filled.inputs[1 + axis], length))


def _is_same_length(a: Tensor, b: Tensor) -> bool:
    one, other = a.owner, b.owner
    return a is b or (
        one is not None
        and other is not None
        and isinstance(one.op, ShapeI)
        and one.op == other.op
        and one.inputs[0] is other.inputs[0]
    )


@rule(Elemwise, tags=ONLY_RUN, phases=(Phase.SPECIALIZE,), key="local_alloc_unary")
def elementwise_of_alloc(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``f(alloc(value, shape)) -> alloc(f(value), shape)``: f is computed once for each element of the value."""
    if type(node.op) is not Elemwise or node.op.inplace_pattern or len(node.outputs) != 1:
        return None
    large = [v for v in node.inputs if not is_broadcast(v)]
    filled = _alloc(large[0]) if len(large) == 1 else None
    if filled is None or sole_client(fgraph, large[0]) is None:
        return None
    ndim = node.outputs[0].type.ndim
    inputs = [_padded(filled.inputs[0], ndim) if v is large[0] else v for v in node.inputs]
    new = alloc(node.op.make_node(*inputs).outputs[0], *filled.inputs[1:])
    return [new] if can_replace(node.outputs[0], new) else None


@rule(Sum, Prod, tags=ONLY_RUN, key="local_sum_alloc", names=("local_sum_prod_alloc", "local_opt_alloc"))
def reduction_of_alloc(fgraph: FunctionGraph, node: Apply[Sum | Prod, Tensor]) -> Found:
    """The sum of equal numbers is one of them times their count, their product is its power."""
    filled = _alloc(node.inputs[0])
    if filled is None:
        return None
    value = filled.inputs[0]
    output = node.outputs[0]
    if not is_broadcast(value) or not is_regular(value) or is_float(value) != is_float(output):
        return None
    new = filled_reduced(node, value, filled.inputs[1:])
    return [new] if can_replace(output, new) else None


@equations(scalar.second, tags=ONLY_RUN, phases=(Phase.SPECIALIZE,), key="local_fill_to_alloc", fit=Fit.EXACT)
def fill_as_alloc(like: Anything, a: Anything) -> Equations:
    """A fill is made by its lengths, where its model goes then, or no loop has the result for an operand."""
    return [(fill(like, a) >> allocated_like(like, a)).when(is_needed_no_more)]


def is_needed_no_more(fgraph: FunctionGraph, node: Apply[Any, Tensor], like: Tensor) -> bool:
    """The tensor `like` then goes, or no loop has the result for an operand."""
    if like.type.ndim == 0 or like.type.broadcastable != node.outputs[0].type.broadcastable:
        return False
    stays = like.owner is None or sole_client(fgraph, like) is None
    return not (stays and _is_operand(fgraph, node.outputs[0]))


@built("alloc_like")
def allocated_like(context: Context, like: Tensor, a: Tensor) -> Tensor:
    """Return a tensor filled with a value, with the lengths of another."""
    return alloc(a, *(shape_i(like, axis) for axis in range(like.type.ndim)))


def _is_operand(fgraph: FunctionGraph, variable: Tensor) -> bool:
    """Tell whether something that may become part of a loop, which needs no filled tensor, uses a variable."""
    users = [client.op for client, _ in fgraph.clients(variable) if isinstance(client, Apply)]
    return any(isinstance(op, (Elemwise, Reduce, DimShuffle)) for op in users)


@rule(DimShuffle, tags=ONLY_RUN, key="local_alloc_dimshuffle", names=("local_dimshuffle_alloc",))
def view_of_alloc(fgraph: FunctionGraph, node: Apply[DimShuffle, Tensor]) -> Found:
    """``dimshuffle(alloc(number, n, m)) -> alloc(number, ...)`` with the lengths in their new order."""
    filled = _alloc(node.inputs[0])
    if filled is None or not is_broadcast(filled.inputs[0]):
        return None
    lengths = filled.inputs[1:]
    one = scalar_constant(1, "int64", 0)
    order: Sequence[int | str] = node.op.order
    value = dimshuffle(filled.inputs[0], [])
    new = alloc(value, *(one if isinstance(e, str) else lengths[e] for e in order)) if order else value
    return [new] if can_replace(node.outputs[0], new) else None


@equations(
    AllocEmpty,
    tags=("alloc_empty_to_zeros",),
    key="alloc_empty_to_zeros",
    names=("local_alloc_empty_to_zeros",),
    fit=Fit.EXACT,
)
def zeros_for_empty() -> Equations:
    """Undefined memory is filled with zeros: for the search for the origin of NaN. On request only."""
    return [empty(...) >> zeros(...)]


@built("zeros")
def zeros(context: Context, *lengths: Tensor) -> Tensor:
    """Return a tensor of zeros."""
    return alloc(scalar_constant(0, context.node.outputs[0].type.dtype, 0), *lengths)


@equations(scalar.sub, phases=(Phase.SPECIALIZE,), reach=0, key="local_elemwise_sub_zeros")
def difference_with_itself(a: Anything) -> Equations:
    """A difference with itself is zero, as everywhere in the language also where it is infinite."""
    return [(a - a >> fill(a, 0)).when(is_of_no_dimensions), a - a >> 0]


def is_of_no_dimensions(a: Tensor) -> bool:
    """The tensor `a` has no dimensions."""
    return not a.type.ndim


def is_filled_with_zeros(variable: Tensor) -> bool:
    """Tell whether a tensor is made by filling with zeros."""
    filled = _alloc(variable)
    fill = operands(variable, scalar.second)
    value = filled.inputs[0] if filled is not None else fill[1] if fill is not None else variable
    if isinstance(value, Constant) and isinstance(value.data, np.ndarray):
        return not value.data.any()
    return bool(number(value) == 0)
