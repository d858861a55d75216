"""Tensors put together and taken apart for nothing."""

from __future__ import annotations

from functools import reduce
from typing import Any, cast

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_optimize import Fit

from .._core._ops import Assert
from .._core._type import Tensor
from ..elemwise import dimshuffle
from ..joining import Join, Split
from ..reduce import Max, Min, Prod, Reduce, Sum
from ..shape import MakeVector, shape_i, static_int
from ._equations import Anything, Equations, equations
from ._language import call, can_replace, cast_to, scalar_constant, sole_client
from ._registry import rule
from ._terms import applied

Found = list[Variable] | None
join = applied("join", Join)
#: Longer joins are reduced by loops.
MAX_PARTS = 8
_CHECKED = Assert("split: the lengths of the parts do not add up to that of the tensor")


def _one(node: Apply[Any, Tensor], new: Variable) -> Found:
    return [new] if can_replace(node.outputs[0], new) else None


@equations(Join, reach=0, key="local_join_1", fit=Fit.EXACT)
def join_of_one(axis: Anything, a: Anything) -> Equations:
    """A tensor joined with nothing."""
    return [join(axis, a) >> a]


@rule(Join, reach=0, key="local_join_empty")
def empty_parts_left_out(fgraph: FunctionGraph, node: Apply[Join, Tensor]) -> Found:
    """Parts that have no element along the axis are left out, as long as one is left."""
    axis = static_int(node.inputs[0])
    if axis is None:
        return None
    parts = node.inputs[1:]
    nonempty = [p for p in parts if p.type.shape[axis] != 0]
    # The other lengths of an empty part are checked when it runs, unless they are known.
    gone = [p for p in parts if p.type.shape[axis] == 0]
    if not nonempty or not gone or any(n is None for p in gone for n in p.type.shape):
        return None
    if any(p.type.shape[i] != n for p in gone for i, n in enumerate(nonempty[0].type.shape) if i != axis):
        return None
    return _one(node, node.op(node.inputs[0], *nonempty))


@rule(Join, reach=1, key="local_join_make_vector")
def vectors_of_scalars_joined(fgraph: FunctionGraph, node: Apply[Join, Tensor]) -> Found:
    """``join(0, make_vector(a, b), make_vector(c)) -> make_vector(a, b, c)`` for neighbours among the parts."""
    if node.outputs[0].type.ndim != 1:
        return None
    parts: list[Variable] = []
    for part in node.inputs[1:]:
        last = parts[-1].owner if parts else None
        maker = part.owner
        if last is not None and maker is not None and isinstance(last.op, MakeVector) and last.op == maker.op:
            parts[-1] = maker.op(*last.inputs, *maker.inputs)
        else:
            parts.append(part)
    if len(parts) == len(node.inputs) - 1:
        return None
    return _one(node, parts[0] if len(parts) == 1 else node.op(node.inputs[0], *parts))


@rule(Split, tags=("fast_run",), reach=0, key="local_useless_split")
def split_in_one(fgraph: FunctionGraph, node: Apply[Split, Tensor]) -> Found:
    """A tensor taken apart into one part is that part, if that has the length that is given."""
    x, axis, lengths = node.inputs
    axis_number = static_int(axis)
    if node.op.len_splits != 1 or axis_number is None:
        return None
    if lengths.type.shape[0] != 1:
        x = _CHECKED(x, call(scalar.eq, shape_i(lengths, 0), scalar_constant(1, "int64", 0)))
    length = lengths[0]
    return _one(node, _CHECKED(x, call(scalar.eq, shape_i(x, axis_number), length)))


@rule(Sum, Prod, Max, Min, key="local_reduce_join")
def reduction_of_join(fgraph: FunctionGraph, node: Apply[Sum | Prod | Max | Min, Tensor]) -> Found:
    """``max(stack([x, y]), axis=0) -> maximum(x, y)``, where all parts have length 1 along the axis."""
    x = node.inputs[0]
    inner = x.owner
    op = cast(Reduce, node.op)
    if inner is None or sole_client(fgraph, x) is None:
        return None
    if isinstance(inner.op, MakeVector):
        axis: int | None = 0
        parts = inner.inputs
    elif isinstance(inner.op, Join):
        axis = static_int(inner.inputs[0])
        parts = inner.inputs[1:]
    else:
        return None
    if axis is None or not 1 <= len(parts) <= MAX_PARTS or op.axes(x.type.ndim) != (axis,):
        return None
    if isinstance(inner.op, Join):
        if any(p.type.shape[axis] != 1 or p.type.broadcastable != parts[0].type.broadcastable for p in parts):
            return None
        parts = [dimshuffle(p, [i for i in range(p.type.ndim) if i != axis]) for p in parts]
    working = op.accumulator(x.type.dtype)
    result = reduce(lambda a, b: call(op.combine, a, b), (cast_to(p, working) for p in parts))
    return _one(node, cast_to(result, node.outputs[0].type.dtype))
