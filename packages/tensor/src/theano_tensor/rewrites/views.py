"""Views moved towards the inputs, joined, and dropped; tensors put together and taken apart for nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, cast

from theano_graph import Apply, Constant, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_optimize import Fit

from .._core._convert import as_tensor_variable, constant
from .._core._dtypes import TensorLike
from .._core._ops import Assert
from .._core._type import Tensor
from ..elemwise import DimShuffle, Elemwise, dimshuffle, eq, int_div, lt, maximum, minimum, switch
from ..indexing.entries import known_number
from ..joining import Join, Split
from ..reduce import Max, Min, Prod, Reduce, Sum
from ..shape import MakeVector, Rebroadcast, Reshape, ShapeI, shape_i, static_int
from ._language import call, can_replace, cast_to, is_broadcast, rule, scalar_constant, shuffled, sole_client
from .equations import Anything, Equations, applied, equations
from .shape import is_traced_length

# ---- Two slices, one after the other, as one


def _bounds(part: slice, length: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Return the first index, the step and the number of elements of a slice of something of a given length."""
    step = as_tensor_variable(1 if part.step is None else part.step)
    backwards = lt(step, 0)
    n = as_tensor_variable(length)
    lower, upper = switch(backwards, -1, 0), switch(backwards, n - 1, n)

    def clamped(bound: TensorLike) -> Tensor:
        value = as_tensor_variable(bound)
        return switch(lt(value, 0), maximum(value + n, lower), minimum(value, upper))

    start = switch(backwards, upper, lower) if part.start is None else clamped(part.start)
    stop = switch(backwards, lower, upper) if part.stop is None else clamped(part.stop)
    span = switch(backwards, start - stop, stop - start)
    size = abs(step)
    return start, step, maximum(int_div(span + size - 1, size), 0)


def merge_two_slices(slice1: slice, len1: Any, slice2: Any, len2: Any) -> Any:
    """Return one slice, or index, that selects the same as two, one after the other.

    Parameters
    ----------
    slice1 : slice
        Applied first, to something of length `len1`.
    len1 : int or scalar variable
    slice2 : slice, int or scalar variable
        Applied to the result, which has length `len2`.
    len2 : int or scalar variable

    Returns
    -------
    slice, or Tensor if `slice2` is an index
        Its parts are scalar variables. An index that does not fit gives one that fits neither.

    Raises
    ------
    TypeError
        If `slice1` is no slice.

    Examples
    --------
    >>> import theano.tensor as T
    >>> merged = T.opt.merge_two_slices(slice(2, None), 10, slice(0, 3), 8)
    >>> [int(part.eval()) for part in (merged.start, merged.stop, merged.step)]
    [2, 5, 1]
    """
    if not isinstance(slice1, slice):
        raise TypeError(f"{slice1!r} is no slice; an index leaves nothing to take a slice of")
    start1, step1, _ = _bounds(slice1, len1)
    if not isinstance(slice2, slice):
        index = as_tensor_variable(slice2)
        at = switch(lt(index, 0), index + len2, index)
        fits = (at >= 0) & (at < len2)
        return switch(fits, start1 + at * step1, len1)
    start2, step2, count = _bounds(slice2, len2)
    first, step = start1 + start2 * step1, step1 * step2
    end = first + count * step
    # Going backwards, an end before the first element must not count from the end.
    end = switch(lt(end, 0), -as_tensor_variable(len1) - 1, end)
    nothing = eq(count, 0)
    return slice(switch(nothing, 0, first), switch(nothing, 0, end), switch(nothing, 1, step))


def part_of_reversed(outer: Any) -> Any:
    """Return the part of a reversed dimension of any length that takes the part `outer` of it, or None.

    A number from one end counts from the other then: number p is number -1 - p, for all numbers, also those that
    are known only when the graph runs.
    """
    if not isinstance(outer, slice):
        return _mirrored(outer)
    step = known_number(outer.step) if outer.step is not None else 1
    if step == -1 and outer.start is None and outer.stop is None:
        return slice(None)
    if not isinstance(step, int) or step < 0:
        return None
    return slice(_mirrored(0 if outer.start is None else outer.start), _mirrored(outer.stop), -step)


def _mirrored(bound: Any) -> Any:
    if bound is None:
        return None
    bound_number = known_number(bound)
    if isinstance(bound_number, int):
        return -1 - bound_number
    count = cast_to(bound, "int64")
    return call(scalar.sub, scalar_constant(-1, "int64", 0), count)


# ---- Views moved towards the inputs, joined, and dropped where they change nothing

Found = list[Variable] | None
#: Two, since the shapes before and after may be of other lengths.
reshape, reshape_before = applied("reshape", Reshape), applied("reshape", Reshape)
#: Not in FAST_COMPILE: a wrong shape in between would no longer be noticed.
ONLY_RUN = ("fast_run",)


def _elementwise_below(fgraph: FunctionGraph, node: Apply[Any, Tensor]) -> Apply[Any, Tensor] | None:
    """Return the elementwise node that makes the input, if it has one result that only `node` uses."""
    x = node.inputs[0]
    inner = x.owner
    if inner is None or type(inner.op) is not Elemwise or inner.op.inplace_pattern or len(inner.outputs) != 1:
        return None
    return inner if inner.inputs and sole_client(fgraph, x) is not None else None


def _lifted(node: Apply[Any, Tensor], inner: Apply[Any, Tensor], view: Callable[[Tensor], Tensor]) -> Found:
    """Return the elementwise op of `inner` applied to views of its inputs; numbers need none."""
    ndim = node.outputs[0].type.ndim
    inputs = [number_of_dimensions(v, ndim) if is_broadcast(v) else view(v) for v in inner.inputs]
    new: Variable = inner.op.make_node(*inputs).outputs[0]
    return [new] if can_replace(node.outputs[0], new) else None


def number_of_dimensions(variable: Tensor, ndim: int) -> Tensor:
    """Return a tensor of one element with `ndim` dimensions."""
    if isinstance(variable, Constant):
        return constant(variable.data.reshape((1,) * ndim))
    return dimshuffle(dimshuffle(variable, []), ["x"] * ndim)


@rule(DimShuffle, key="local_dimshuffle_lift")
def view_before_elementwise(fgraph: FunctionGraph, node: Apply[DimShuffle, Tensor]) -> Found:
    """``dimshuffle(f(x, y)) -> f(dimshuffle(x), dimshuffle(y))`` where nothing else uses ``f(x, y)``.

    A permutation moves only where it meets another one: products of matrices take transposed factors as they are,
    while elementwise loops prefer operands in order.
    """
    inner = _elementwise_below(fgraph, node)
    if inner is None:
        return None
    shuffle = node.op.shuffle
    if list(shuffle) != sorted(shuffle):
        others = [v for v in inner.inputs if not is_broadcast(v)]
        if not all(v.owner is not None and isinstance(v.owner.op, DimShuffle) for v in others):
            return None
    return _lifted(node, inner, lambda v: shuffled(fgraph, v, node.op.order))


@equations(Reshape, tags=ONLY_RUN, key="local_reshape_chain", names=("reshape_chain",), fit=Fit.EXACT)
def reshapes_joined(a: Anything, shape: Anything, other: Anything) -> Equations:
    """The last of two reshapes counts."""
    return [reshape(reshape_before(a, other), shape) >> reshape(a, shape)]


@rule(Reshape, tags=ONLY_RUN, key="local_reshape_lift", names=("local_flatten_lift",))
def reshape_before_elementwise(fgraph: FunctionGraph, node: Apply[Reshape, Tensor]) -> Found:
    """``reshape(f(x), shape) -> f(reshape(x, shape))``; other arguments of f must be single numbers."""
    inner = _elementwise_below(fgraph, node)
    if inner is None:
        return None
    large = [v for v in inner.inputs if not is_broadcast(v)]
    if len(large) != 1 or large[0].type.broadcastable != inner.outputs[0].type.broadcastable:
        return None
    return _lifted(node, inner, lambda v: node.op(v, node.inputs[1]))


@equations(Reshape, key="local_useless_reshape", fit=Fit.EXACT)
def reshape_to_own_shape(a: Anything, shape: Anything) -> Equations:
    """A reshape that changes nothing; one length may be -1."""
    return [(reshape(a, shape) >> a).when(is_own_shape)]


def is_own_shape(a: Tensor, shape: Tensor, node: Apply[Any, Tensor], fgraph: FunctionGraph) -> bool:
    """The lengths in `shape` are those of `a`."""
    if a.type.ndim != node.op.ndim or not can_replace(node.outputs[0], a):
        return False
    unknown = [axis for axis in range(a.type.ndim) if not _is_length_of(fgraph, _entry(shape, axis), a, axis)]
    free = [axis for axis in unknown if known_number(_entry(shape, axis)) == -1]
    return unknown == free and len(free) < 2


def _entry(vector: Tensor, axis: int) -> Any:
    data = getattr(vector, "data", None)
    if data is not None:
        return int(data[axis])
    owner = vector.owner
    return owner.inputs[axis] if owner is not None and isinstance(owner.op, MakeVector) else None


def _is_length_of(fgraph: FunctionGraph, length: Any, x: Tensor, axis: int) -> bool:
    """Tell whether a number or variable is known to be the length of a dimension of x."""
    owner = getattr(length, "owner", None)
    if owner is not None and isinstance(owner.op, ShapeI):
        return is_traced_length(fgraph, owner, x, axis)
    known = x.type.shape[axis]
    return known is not None and length is not None and known_number(length) == known


@rule(Rebroadcast, key="local_useless_rebroadcast")
def useless_rebroadcast(fgraph: FunctionGraph, node: Apply[Rebroadcast]) -> Found:
    """A claim about dimensions that the type makes already is dropped; others are kept."""
    return _without_effect(node)


def _without_effect(node: Apply[Any, Tensor]) -> Found:
    x = node.inputs[0]
    pattern = getattr(x.type, "broadcastable", None)
    if pattern is None:
        return None
    left = [(axis, flag) for axis, flag in node.op.pattern if pattern[axis] != flag]
    if not left:
        return [x]
    return None if len(left) == len(node.op.pattern) else [Rebroadcast(*left)(x)]


@rule(Rebroadcast, tags=ONLY_RUN, key="local_rebroadcast_lift")
def rebroadcast_before_elementwise(fgraph: FunctionGraph, node: Apply[Rebroadcast]) -> Found:
    """``rebroadcast(f(x)) -> f(rebroadcast(x))`` for f of one argument, and two rebroadcasts are one."""
    joined = _joined_with_below(node)
    inner = _elementwise_below(fgraph, node)
    if joined is not None or inner is None or len(inner.inputs) != 1:
        return joined
    return _through(node, inner)


def _joined_with_below(node: Apply[Any, Tensor]) -> Found:
    x = node.inputs[0]
    if x.owner is None or not isinstance(x.owner.op, Rebroadcast):
        return None
    below, above = dict(x.owner.op.pattern), dict(node.op.pattern)
    if any(flag and not above.get(axis, True) for axis, flag in below.items()):
        return None
    return [Rebroadcast(*{**below, **above}.items())(x.owner.inputs[0])]


def _through(node: Apply[Any, Tensor], inner: Apply[Any, Tensor]) -> Found:
    new: Variable = inner.op.make_node(node.op(inner.inputs[0])).outputs[0]
    return [new] if can_replace(node.outputs[0], new) else None


def rebroadcast_simplified(variable: Variable) -> Variable:
    """Return `variable` without rebroadcasts that change nothing, and with others moved to its inputs.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dcol("x")
    >>> T.opt.rebroadcast_simplified(T.Rebroadcast((1, True))(x)) is x
    True
    """
    while (node := variable.owner) is not None and isinstance(node.op, Rebroadcast):
        simplified = _without_effect(node) or _joined_with_below(node)
        inner = node.inputs[0].owner
        if simplified is None and inner is not None and type(inner.op) is Elemwise and len(inner.inputs) == 1:
            simplified = _through(node, inner)
        if simplified is None:
            break
        variable = simplified[0]
    return variable


# ---- Tensors put together and taken apart for nothing

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
