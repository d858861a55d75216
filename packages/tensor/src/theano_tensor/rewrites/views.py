"""Views moved towards the inputs, joined, and dropped where they change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theano_graph import Apply, Constant, FunctionGraph, Variable
from theano_optimize import Fit

from .._core._convert import constant
from .._core._variable import Tensor
from ..elemwise import DimShuffle, Elemwise, dimshuffle
from ..indexing.entries import known_number
from ..shape import MakeVector, Rebroadcast, Reshape, ShapeI
from ._equations import Anything, Equations, equations
from ._known_lengths import is_traced_length
from ._language import can_replace, is_broadcast, shuffled, sole_client
from ._registry import rule
from ._terms import applied

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
