"""Reductions of what can be taken out of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from theano_graph import Apply, Constant, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_optimize import Phase

from .._core._dtypes import DISCRETE_DTYPES
from .._core._variable import Tensor
from ..creation import alloc
from ..elemwise import DimShuffle, dimshuffle
from ..reduce import AccumulatingReduce, All, Any_, Max, Min, Prod, Reduce, Sum
from ..shape import shape_i, size
from ._language import (
    call,
    can_replace,
    cast_to,
    is_broadcast,
    is_float,
    number,
    operands,
    scalar_constant,
    sole_client,
)
from ._registry import rule

#: How many nodes are looked at to see whether an expression is made of constants.
MAX_STEPS = 16

Found = list[Variable] | None
#: Levels of rewriting with little in them, FAST_COMPILE among them, go without these.
ONLY_RUN = ("fast_run",)


def _reduced(node: Apply, x: Tensor) -> Tensor:
    """Apply the op of a reduction to another tensor."""
    return cast(Tensor, node.op(x))


def _as_type(node: Apply, new: Tensor) -> Found:
    new = cast_to(new, node.outputs[0].type.dtype)
    return [new] if can_replace(node.outputs[0], new) else None


@rule(Sum, key="local_sum_neg", names=("local_sum_mul_by_scalar",), tags=ONLY_RUN)
def sum_of_negative(fgraph: FunctionGraph, node: Apply) -> Found:
    """``sum(-x) -> -sum(x)``."""
    (x,) = node.inputs
    inner = operands(x, scalar.neg)
    if inner is None or not is_float(x) or sole_client(fgraph, x) is None:
        return None
    return _as_type(node, call(scalar.neg, _reduced(node, inner[0])))


@rule(Sum, key="local_sum_mul_by_scalar", names=("sum_scalar_mul", "local_sum_prod_mul_by_scalar"), tags=ONLY_RUN)
def sum_of_multiple(fgraph: FunctionGraph, node: Apply) -> Found:
    """``sum(c * x) -> c * sum(x)`` and ``sum(x / c) -> sum(x) / c`` where c is a single number."""
    (x,) = node.inputs
    if not is_float(x) or not is_float(node.outputs[0]) or sole_client(fgraph, x) is None:
        return None
    ndim = node.outputs[0].type.ndim
    inner = operands(x, scalar.mul)
    if inner is not None and len(inner) == 2:
        for c, other in (inner, reversed(inner)):
            if is_broadcast(c) and not is_broadcast(other) and is_regular(c) and other.type.dtype == x.type.dtype:
                return _as_type(node, call(scalar.mul, _number(c, ndim), _reduced(node, other)))
    inner = operands(x, scalar.true_div)
    if inner is not None and is_broadcast(inner[1]) and not is_broadcast(inner[0]):
        if number(inner[1]) != 0 and is_regular(inner[1]) and inner[0].type.dtype == x.type.dtype:
            return _as_type(node, call(scalar.true_div, _reduced(node, inner[0]), _number(inner[1], ndim)))
    return None


def is_regular(c: Tensor) -> bool:
    """Tell whether a tensor is no constant that is infinite or no number: the sum of no elements is 0.

    What will be folded to a constant is not regular yet.
    """
    value = number(c)
    return not _will_be_folded(c) if value is None else bool(np.isfinite(value))


def _will_be_folded(c: Variable) -> bool:
    """Tell whether an expression is made of constants alone, as far as a few nodes show."""
    pending, steps = [c], 0
    while pending and steps < MAX_STEPS:
        variable = pending.pop()
        steps += 1
        if variable.owner is not None and variable.owner.inputs:
            pending.extend(variable.owner.inputs)
        elif not isinstance(variable, Constant):
            return False
    return not pending


def _number(c: Tensor, ndim: int) -> Tensor:
    """Return a tensor with one element as one with `ndim` dimensions."""
    bare = dimshuffle(c, [])
    return dimshuffle(bare, ["x"] * ndim)


_MERGED = (Sum, Prod, Max, Min, All, Any_)


@rule(*_MERGED, key="local_sum_sum", names=("local_sum_prod_prod", "local_op_of_op"))
def sum_of_sum(fgraph: FunctionGraph, node: Apply) -> Found:
    """``sum(sum(x, a), b)`` as one sum over both, where nothing else uses the inner one; so also maxima, and so on.

    Products of floats stay: in another order they may overflow.
    """
    (x,) = node.inputs
    inner = x.owner
    if inner is None or type(inner.op) is not type(node.op) or type(node.op) not in _MERGED:
        return None
    if sole_client(fgraph, x) is None:
        return None
    source = cast(Tensor, inner.inputs[0])
    if isinstance(node.op, AccumulatingReduce) and not _same_whatever_the_order(node, source):
        return None
    gone = set(inner.op.axes(source.type.ndim))
    kept = [axis for axis in range(source.type.ndim) if axis not in gone]
    gone |= {kept[axis] for axis in node.op.axes(x.type.ndim)}
    return _as_type(node, _with_axes(node.op, sorted(gone))(source))


def _same_whatever_the_order(node: Apply, source: Tensor) -> bool:
    """Tell whether sums or products may be put together: of one float dtype, or of integers that wrap around."""
    result = node.outputs[0].type.dtype
    if is_float(source):
        return isinstance(node.op, Sum) and source.type.dtype == result
    inner = cast(Apply, node.inputs[0].owner)
    names = {node.inputs[0].type.dtype, result, node.op.acc_dtype or result, inner.op.acc_dtype or result}
    return source.type.dtype in DISCRETE_DTYPES and names == {result} and result in DISCRETE_DTYPES


@rule(Sum, Prod, Max, Min, All, Any_, reach=0, key="local_reduce_broadcastable")
def reduction_over_single_elements(fgraph: FunctionGraph, node: Apply) -> Found:
    """Dimensions of length 1 need no reduction, they are dropped."""
    (x,) = node.inputs
    op = node.op
    axes = op.axes(x.type.ndim)
    single = {axis for axis in axes if x.type.shape[axis] == 1}
    if not single:
        return None
    dropped = dimshuffle(x, [axis for axis in range(x.type.ndim) if axis not in single])
    left = [axis - sum(s < axis for s in single) for axis in axes if axis not in single]
    if left:
        return _as_type(node, _with_axes(op, left)(dropped))
    if isinstance(op, (All, Any_)) and dropped.type.dtype != "bool":
        dropped = call(scalar.neq, dropped, scalar_constant(0, dropped.type.dtype, dropped.type.ndim))
    return _as_type(node, dropped)


def _with_axes(op: Reduce, axes: list[int]) -> Any:
    if isinstance(op, AccumulatingReduce):
        return type(op)(axes, op.dtype, op.acc_dtype)
    return type(op)(axes)


@rule(Sum, Prod, key="local_sum_fill", names=("local_sum_alloc", "local_sum_prod_alloc"))
def sum_of_fill(fgraph: FunctionGraph, node: Apply) -> Found:
    """The sum of equal numbers is one of them times their count, their product is its power."""
    (x,) = node.inputs
    inner = operands(x, scalar.second)
    if inner is None or not is_broadcast(inner[1]) or not is_regular(inner[1]):
        return None
    like, value = inner
    output = node.outputs[0]
    above = sole_client(fgraph, output)
    if above is not None and type(above.op) is Sum and type(node.op) is Sum and output.type.ndim:
        # Both sums become one first: then lengths are multiplied as integers.
        if output.type.dtype == x.type.dtype == above.outputs[0].type.dtype:
            return None
    if is_float(value) != is_float(output) or like.type.broadcastable != x.type.broadcastable:
        return None
    new = filled_reduced(node, value, [shape_i(like, axis) for axis in range(like.type.ndim)])
    return [new] if can_replace(output, new) else None


def filled_reduced(node: Apply, value: Tensor, lengths: Sequence[Any]) -> Tensor:
    """Return the sum or product of a tensor of some lengths that is filled with a number, over the axes of `node`."""
    dtype = node.outputs[0].type.dtype
    gone = set(node.op.axes(len(lengths)))
    counted = [cast(Tensor, lengths[axis]) for axis in sorted(gone) if number(lengths[axis]) != 1]
    count = (
        call(scalar.mul, *counted) if len(counted) > 1 else counted[0] if counted else scalar_constant(1, "int64", 0)
    )
    op = scalar.mul if isinstance(node.op, Sum) else scalar.pow
    total = cast_to(call(op, cast_to(dimshuffle(value, []), dtype), cast_to(count, dtype)), dtype)
    kept = [n for axis, n in enumerate(lengths) if axis not in gone]
    return alloc(total, *kept) if kept else total


@rule(All, Any_, key="local_all_of_fill")
def truth_of_fill(fgraph: FunctionGraph, node: Apply) -> Found:
    """``all(fill(x, True)) -> True``, ``any(fill(x, False)) -> False``; the opposite, if x has elements."""
    inner = operands(node.inputs[0], scalar.second)
    value = None if inner is None else number(inner[1])
    if inner is None or value is None or node.outputs[0].type.ndim:
        return None
    dtype = node.outputs[0].type.dtype
    if bool(value) == isinstance(node.op, All):
        return _as_type(node, scalar_constant(bool(value), dtype, 0))
    return _as_type(
        node, call(scalar.eq if isinstance(node.op, All) else scalar.gt, size(inner[0]), scalar_constant(0, "int64", 0))
    )


@rule(Sum, Max, Min, key="local_sum_all_to_none", names=("local_sum_prod_all_to_none",))
def reduction_of_permuted(fgraph: FunctionGraph, node: Apply) -> Found:
    """Reducing all dimensions needs no transposition or inserted dimensions before."""
    (x,) = node.inputs
    inner = x.owner
    if inner is None or not isinstance(inner.op, DimShuffle) or node.outputs[0].type.ndim or inner.op.drop:
        return None
    source = inner.inputs[0]
    if source.type.ndim == 0:
        return _as_type(node, source)
    return _as_type(node, _with_axes(node.op, list(range(source.type.ndim)))(source))


@rule(Reduce, reach=0, key="local_cut_useless_reduce", names=("local_useless_reduce",))
def reduction_over_nothing(fgraph: FunctionGraph, node: Apply) -> Found:
    """A reduction without axes gives what it is given."""
    (x,) = node.inputs
    return _as_type(node, x) if not node.op.axes(x.type.ndim) else None


@rule(Max, Min, key="local_max_to_min")
def extremum_of_negative(fgraph: FunctionGraph, node: Apply) -> Found:
    """``max(-x) -> -min(x)`` and ``min(-x) -> -max(x)``: the sign meets others further up."""
    (x,) = node.inputs
    inner = operands(x, scalar.neg)
    if type(node.op) not in (Max, Min) or inner is None or not is_float(x) or sole_client(fgraph, x) is None:
        return None
    opposite = Min if type(node.op) is Max else Max
    return _as_type(node, call(scalar.neg, cast(Tensor, opposite(node.op.axis)(inner[0]))))


@rule(
    Sum,
    phases=(Phase.SPECIALIZE,),
    key="local_sum_div_dimshuffle",
    names=("local_sum_prod_div_dimshuffle",),
)
def sum_of_quotients(fgraph: FunctionGraph, node: Apply) -> Found:
    """``sum(a / b, axis) -> sum(a, axis) / b`` where b does not change along the axes.

    After stabilisation, which looks at quotients inside sums.
    """
    (x,) = node.inputs
    inner = operands(x, scalar.true_div)
    axes = node.op.axes(x.type.ndim)
    if inner is None or not axes or not is_float(x) or not is_float(node.outputs[0]) or sole_client(fgraph, x) is None:
        return None
    a, b = inner
    if a.type.dtype != x.type.dtype or a.type.broadcastable != x.type.broadcastable or not _is_regular_divisor(b):
        return None
    if not all(b.type.broadcastable[axis] for axis in axes):
        return None
    below = dimshuffle(b, [axis for axis in range(x.type.ndim) if axis not in axes])
    return _as_type(node, call(scalar.true_div, _reduced(node, a), below))


def _is_regular_divisor(b: Tensor) -> bool:
    value = number(b)
    return value is None or bool(np.isfinite(value) and value != 0)
