"""Reductions of factors and fills that can be taken out of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Constant, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_optimize import Context, Phase

from .._core._dtypes import DISCRETE_DTYPES
from .._core._type import Tensor
from ..creation import alloc
from ..elemwise import dimshuffle
from ..reduce import AccumulatingReduce, All, Any_, Max, Min, Prod, Reduce, Sum
from ..shape import shape_i, size
from ._language import (
    call,
    can_replace,
    cast_to,
    gives_floats,
    is_broadcast,
    is_false,
    is_float,
    is_true,
    maker,
    number,
    operands,
    rule,
    scalar_constant,
    sole_client,
)
from .equations import Anything, Equations, Number, Real, applied, built, equations, fill, view

#: How many nodes are looked at to see whether an expression is made of constants.
MAX_STEPS = 16

Found = list[Variable] | None
reduction, total, product, largest, smallest, all_true, any_true = map(
    applied,
    ("reduce", "sum", "prod", "max", "min", "all", "any"),
    (Reduce, Sum, Prod, Max, Min, All, Any_),
)
#: Levels of rewriting with little in them, FAST_COMPILE among them, go without these.
ONLY_RUN = ("fast_run",)


def _as_type(node: Apply[Any, Tensor], new: Tensor) -> Found:
    new = cast_to(new, node.outputs[0].type.dtype)
    return [new] if can_replace(node.outputs[0], new) else None


@equations(Sum, key="local_sum_neg", names=("local_sum_mul_by_scalar",), tags=ONLY_RUN)
def sum_of_negative(x: Real) -> Equations:
    """The sign of a sum."""
    return [(total(-x) >> -total(x)).alone()]


@equations(
    Sum,
    key="local_sum_mul_by_scalar",
    names=("sum_scalar_mul", "local_sum_prod_mul_by_scalar"),
    tags=ONLY_RUN,
    guard=gives_floats,
)
def sum_of_multiple(c: Anything, x: Real) -> Equations:
    """A single number is multiplied by, or divided by, once."""
    return [
        (total(c * x) >> single(c) * total(x)).when(is_one_of_many, is_finite, has_dtype_of_argument).alone(),
        (total(x / c) >> total(x) / single(c))
        .when(is_one_of_many, is_no_zero, is_finite, has_dtype_of_argument)
        .alone(),
    ]


def is_one_of_many(c: Tensor, x: Tensor) -> bool:
    """The tensor `c` is a single number, and `x` is not."""
    return is_broadcast(c) and not is_broadcast(x)


def is_finite(c: Tensor) -> bool:
    """The tensor `c` is not known to be infinite or no number: the sum of no elements is 0."""
    return is_regular(c)


def is_no_zero(c: Tensor) -> bool:
    """The tensor `c` is not known to be 0."""
    return bool(number(c) != 0)


def has_dtype_of_argument(node: Apply[Any, Tensor], x: Tensor) -> bool:
    """The tensor `x` has the dtype of the reduced one."""
    return x.type.dtype == node.inputs[0].type.dtype


def is_regular(c: Tensor) -> bool:
    """Tell whether a tensor is no constant that is infinite or no number: the sum of no elements is 0.

    An expression that will be folded to a constant is not regular yet.
    """
    value = number(c)
    return not _will_be_folded(c) if value is None else bool(np.isfinite(value))


def _will_be_folded(c: Tensor) -> bool:
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


@built("single")
def single(context: Context, c: Tensor) -> Tensor:
    """Return a tensor with one element as one with the dimensions of the result."""
    return dimshuffle(dimshuffle(c, []), ["x"] * context.node.outputs[0].type.ndim)


_MERGED = (Sum, Prod, Max, Min, All, Any_)


@equations(Sum, Prod, Max, Min, All, Any_, key="local_sum_sum", names=("local_sum_prod_prod", "local_op_of_op"))
def sum_of_sum(a: Anything) -> Equations:
    """Reductions of reductions are one over all axes, where nothing else uses the inner one.

    Products of floats stay: in another order they may overflow.
    """
    return [
        (reduced(reduced(a)) >> reduced_at_once(a)).when(is_same_reduction, is_same_in_any_order).alone()
        for reduced in (total, product, largest, smallest, all_true, any_true)
    ]


def is_same_reduction(node: Apply[Any, Tensor]) -> bool:
    """The reductions are of one kind."""
    inner = node.inputs[0].owner
    return inner is not None and type(inner.op) is type(node.op) and type(node.op) in _MERGED


def is_same_in_any_order(node: Apply[Any, Tensor], a: Tensor) -> bool:
    """The order of the elements does not matter."""
    return not isinstance(node.op, AccumulatingReduce) or _same_whatever_the_order(node, a)


@built("reduced_at_once")
def reduced_at_once(context: Context, a: Tensor) -> Tensor:
    """Return a reduction over the axes of both."""
    node, inner = context.node, maker(context.node.inputs[0])
    gone = set(inner.op.axes(a.type.ndim))
    kept_axes = [axis for axis in range(a.type.ndim) if axis not in gone]
    gone |= {kept_axes[axis] for axis in node.op.axes(len(kept_axes))}
    return _with_axes(node.op, sorted(gone))(a)


def _same_whatever_the_order(node: Apply[Any, Tensor], source: Tensor) -> bool:
    """Tell whether sums or products may be put together: of one float dtype, or of integers that wrap around."""
    result = node.outputs[0].type.dtype
    if is_float(source):
        return isinstance(node.op, Sum) and source.type.dtype == result
    inner = maker(node.inputs[0])
    names = {node.inputs[0].type.dtype, result, node.op.acc_dtype or result, inner.op.acc_dtype or result}
    return source.type.dtype in DISCRETE_DTYPES and names == {result} and result in DISCRETE_DTYPES


@rule(Sum, Prod, Max, Min, All, Any_, reach=0, key="local_reduce_broadcastable")
def reduction_over_single_elements(
    fgraph: FunctionGraph, node: Apply[Sum | Prod | Max | Min | All | Any_, Tensor]
) -> Found:
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


def _with_axes(op: Reduce, axes: list[int]) -> Reduce:
    if isinstance(op, AccumulatingReduce):
        return type(op)(axes, op.dtype, op.acc_dtype)
    return type(op)(axes)


@rule(Sum, Prod, key="local_sum_fill", names=("local_sum_alloc", "local_sum_prod_alloc"))
def sum_of_fill(fgraph: FunctionGraph, node: Apply[Sum | Prod, Tensor]) -> Found:
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


def filled_reduced(node: Apply[Any, Tensor], value: Tensor, lengths: Sequence[Tensor]) -> Tensor:
    """Return the sum or product of a tensor of some lengths that is filled with a number, over the axes of `node`."""
    dtype = node.outputs[0].type.dtype
    gone = set(node.op.axes(len(lengths)))
    counted = [lengths[axis] for axis in sorted(gone) if number(lengths[axis]) != 1]
    count = (
        call(scalar.mul, *counted) if len(counted) > 1 else counted[0] if counted else scalar_constant(1, "int64", 0)
    )
    op = scalar.mul if isinstance(node.op, Sum) else scalar.pow
    total = cast_to(call(op, cast_to(dimshuffle(value, []), dtype), cast_to(count, dtype)), dtype)
    lengths_left = [n for axis, n in enumerate(lengths) if axis not in gone]
    return alloc(total, *lengths_left) if lengths_left else total


@equations(All, Any_, key="local_all_of_fill")
def truth_of_fill(like: Anything, k: Number) -> Equations:
    """Filled with one truth value, a tensor has it if it has elements."""
    rules = [
        (all_true(fill(like, k)) >> True).when(is_true),
        (any_true(fill(like, k)) >> False).when(is_false),
        (all_true(fill(like, k)) >> has_no_elements(like)).when(is_false),
        (any_true(fill(like, k)) >> has_elements(like)).when(is_true),
    ]
    return [equation.when(gives_one_number) for equation in rules]


def gives_one_number(node: Apply[Any, Tensor]) -> bool:
    """The result has no dimensions."""
    return not node.outputs[0].type.ndim


@built("has_no_elements")
def has_no_elements(context: Context, a: Tensor) -> Tensor:
    """Tell whether a tensor has no elements."""
    return call(scalar.eq, size(a), scalar_constant(0, "int64", 0))


@built("has_elements")
def has_elements(context: Context, a: Tensor) -> Tensor:
    """Tell whether a tensor has elements."""
    return call(scalar.gt, size(a), scalar_constant(0, "int64", 0))


@equations(Sum, Max, Min, key="local_sum_all_to_none", names=("local_sum_prod_all_to_none",))
def reduction_of_permuted(a: Anything) -> Equations:
    """Reducing all dimensions needs no transposition or inserted dimensions before."""
    return [
        (reduced(view(a)) >> reduced_to_one(a)).when(gives_one_number, drops_nothing)
        for reduced in (total, largest, smallest)
    ]


def drops_nothing(node: Apply[Any, Tensor]) -> bool:
    """The view drops no dimensions."""
    inner = node.inputs[0].owner
    return inner is not None and not inner.op.drop


@built("reduced_to_one")
def reduced_to_one(context: Context, a: Tensor) -> Tensor:
    """Return a reduction over all axes."""
    if a.type.ndim == 0:
        return a
    return _with_axes(context.node.op, list(range(a.type.ndim)))(a)


def has_no_axes(fgraph: FunctionGraph, node: Apply[Any, Tensor]) -> bool:
    """There are no axes."""
    return not node.op.axes(node.inputs[0].type.ndim)


@equations(Reduce, reach=0, key="local_cut_useless_reduce", names=("local_useless_reduce",), guard=has_no_axes)
def reduction_over_nothing(a: Anything) -> Equations:
    """A reduction without axes returns its operand."""
    return [reduction(a) >> a]


@equations(Max, Min, key="local_max_to_min")
def extremum_of_negative(x: Real) -> Equations:
    """The sign of an extremum meets others further up."""
    return [
        (largest(-x) >> -opposite_extremum(x)).when(is_plain_extremum).alone(),
        (smallest(-x) >> -opposite_extremum(x)).when(is_plain_extremum).alone(),
    ]


def is_plain_extremum(node: Apply[Any, Tensor]) -> bool:
    """The reduction is `Max` or `Min` itself."""
    return type(node.op) in (Max, Min)


@built("opposite_extremum")
def opposite_extremum(context: Context, x: Tensor) -> Tensor:
    """Return the minimum for the maximum, and the other way round."""
    op = context.node.op
    return (Min if type(op) is Max else Max)(op.axis)(x)


@equations(
    Sum,
    phases=(Phase.SPECIALIZE,),
    key="local_sum_div_dimshuffle",
    names=("local_sum_prod_div_dimshuffle",),
    guard=gives_floats,
)
def sum_of_quotients(x: Real, b: Anything) -> Equations:
    """A divisor that does not change along the axes divides the sum.

    After stabilisation, which looks at quotients inside sums.
    """
    return [(total(x / b) >> total(x) / without_axes(b)).when(has_dtype_of_argument, is_constant_along_axes).alone()]


def is_constant_along_axes(node: Apply[Any, Tensor], x: Tensor, b: Tensor) -> bool:
    """The divisor is regular, and does not change along the axes that are summed."""
    source_type = node.inputs[0].type
    axes = node.op.axes(source_type.ndim)
    if not axes or x.type.broadcastable != source_type.broadcastable or not _is_regular_divisor(b):
        return False
    return all(b.type.broadcastable[axis] for axis in axes)


@built("without_axes")
def without_axes(context: Context, b: Tensor) -> Tensor:
    """Return a tensor without the axes that are summed."""
    axes = context.node.op.axes(b.type.ndim)
    return dimshuffle(b, [axis for axis in range(b.type.ndim) if axis not in axes])


def _is_regular_divisor(b: Tensor) -> bool:
    value = number(b)
    return value is None or bool(np.isfinite(value) and value != 0)
