"""Exponentials shifted by their maximum wherever they are used, when the shift cancels in all that is made of them.

With e = exp(x), s = sum(e) and a number m for each row, ``e * exp(-m)`` in place of e makes s smaller by the same
factor. The result of products, quotients, sums of equal degree, and sums over axes of e and s is smaller by a power
of it, its degree. Where the degree is 0 nothing changes, and a logarithm changes by a multiple of m. So a softmax, its
logarithm and their gradients keep their values, and all of them see the same exponentials, none of which overflows.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

from theano_graph import Apply, FunctionGraph, Variable, record
from theano_linker_c import scalar
from theano_linker_c.scalar import Cast

from .._core._type import Tensor
from ..elemwise import DimShuffle, Elemwise, dimshuffle
from ..reduce import Sum
from ..shape import ShapeI, ShapeOf
from ._language import call, can_replace, is_float, number, operands, scalar_constant
from ._registry import stabilizing
from .exponentials import is_shifted, shifted

#: No more nodes than these are looked at for one sum.
MAX_STEPS = 256


@record
class Scaled:
    """A variable that is smaller by ``exp(-degree * m)``; m varies along the dimensions `places`, in order.

    A quotient by sums that have the largest exponential in them is safe; anything else may become 0 by the shift.
    """

    degree: float
    places: tuple[int, ...]
    is_safe: bool = False


@stabilizing(Sum, reach=2, key="local_shift_exponentials", names=("local_softmax_shift",))
def exponentials_shifted(fgraph: FunctionGraph, node: Apply[Sum, Tensor]) -> dict[Variable, Variable] | None:
    """``exp(x) -> exp(x - m)`` with m the maximum along summed axes, where it cancels in all that is made of it."""
    e = node.inputs[0]
    inner = operands(e, scalar.exp)
    if inner is None or not is_float(e) or inner[0].type.dtype != e.type.dtype:
        return None
    (x,) = inner
    if is_shifted(x) or node.outputs[0].type.dtype != x.type.dtype:
        return None
    gone = node.op.axes(x.type.ndim)
    kept_axes = [axis for axis in range(x.type.ndim) if axis not in gone]
    # Along a dimension of length 1 nothing varies, and views may drop it.
    varying = [number for number, axis in enumerate(kept_axes) if not x.type.broadcastable[axis]]
    logs = _logarithms(fgraph, node, Scaled(1.0, tuple(kept_axes[number] for number in varying)))
    if logs is None:
        return None
    largest, exponentials = shifted(fgraph, x, node.op)
    if not can_replace(e, exponentials):
        return None
    changes: dict[Variable, Variable] = {e: exponentials}
    for log, scaled in logs:
        new = x if log.inputs[0] is e else _corrected(log, scaled, largest, varying)
        if not can_replace(log.outputs[0], new):
            return None
        changes[log.outputs[0]] = new
    return changes


def _corrected(log: Apply[Any, Tensor], scaled: Scaled, largest: Tensor, varying: list[int]) -> Tensor:
    """Return the logarithm of something with a degree, made right; `varying` are the dimensions of `largest` to use."""
    argument = log.inputs[0]
    order: list[int | str] = ["x"] * argument.type.ndim
    for axis, position in zip(varying, scaled.places, strict=True):
        order[position] = axis
    shift = dimshuffle(largest, order)
    if scaled.degree != 1:
        shift = call(scalar.mul, shift, scalar_constant(scaled.degree, shift.type.dtype, shift.type.ndim))
    return call(scalar.add, call(scalar.log, argument), shift)


def _logarithms(fgraph: FunctionGraph, total: Apply, start: Scaled) -> list[tuple[Apply, Scaled]] | None:
    """Return the nodes that take a logarithm of something with a degree, or None if something else would change.

    `total` is the sum along whose axes the maximum is taken. A node may be met before all of its inputs have their
    degrees; it is looked at again when they have. Logarithms of unsafe values are refused, but for those of the
    exponentials themselves.
    """
    (e,) = total.inputs
    scaled_of: dict[Variable, Scaled] = {e: start}
    waiting = deque(_users(fgraph, e))
    refused: set[Apply] = set()
    logs: dict[Apply, None] = {}
    for _ in range(MAX_STEPS):
        if not waiting:
            break
        node = waiting.popleft()
        if node.op == _LOG:
            logs[node] = None
            continue
        result = _result(node, scaled_of)
        if result is not None and node.op == total.op and node.inputs[0] is e:
            result = replace(result, is_safe=True)
        (refused.add if result is None else refused.discard)(node)
        output = node.outputs[0]
        before = scaled_of.get(output)
        if result is None or result == before or (before is None and not result.degree):
            continue
        if result.degree:
            scaled_of[output] = result
        else:
            del scaled_of[output]
        waiting.extend(user for user in _users(fgraph, output) if user not in waiting)
    if waiting or any(v in scaled_of for node in refused for v in node.inputs):
        return None
    if any(not isinstance(client, Apply) for v in scaled_of for client, _ in fgraph.clients(v)):
        return None
    scaled_logs = [(log, scaled_of[log.inputs[0]]) for log in logs if log.inputs[0] in scaled_of]
    return scaled_logs if all(scaled.is_safe or log.inputs[0] is e for log, scaled in scaled_logs) else None


def _users(fgraph: FunctionGraph, variable: Tensor) -> list[Apply]:
    return list(dict.fromkeys(client for client, _ in fgraph.clients(variable) if isinstance(client, Apply)))


_LOG = Elemwise(scalar.log)


def _result(node: Apply[Any, Tensor], known: dict[Variable, Scaled]) -> Scaled | None:
    """Return the degree of the result of a node, or None if it has none."""
    op = node.op
    if not any(v in known for v in node.inputs) or isinstance(op, (ShapeI, ShapeOf)):
        return Scaled(0.0, ())
    if isinstance(op, DimShuffle):
        return _viewed(op, known[node.inputs[0]])
    if isinstance(op, Sum):
        return _summed(node, known[node.inputs[0]])
    if type(op) is not Elemwise or len(node.outputs) != 1 or not is_float(node.outputs[0]):
        return None
    places = {known[v].places for v in node.inputs if v in known}
    degree = _degree(node, known) if len(places) == 1 else None
    is_safe = all(known[v].is_safe for v in node.inputs if v in known)
    return None if degree is None else Scaled(degree, places.pop(), is_safe)


def _viewed(op: DimShuffle, given: Scaled) -> Scaled | None:
    where = {entry: i for i, entry in enumerate(op.order)}
    if any(position not in where for position in given.places):
        return None
    return Scaled(given.degree, tuple(where[place] for place in given.places), given.is_safe)


def _summed(node: Apply[Any, Tensor], given: Scaled) -> Scaled | None:
    ndim = node.inputs[0].type.ndim
    gone = node.op.axes(ndim)
    if any(position in gone for position in given.places) or not is_float(node.outputs[0]):
        return None
    kept_axes = [axis for axis in range(ndim) if axis not in gone]
    return Scaled(given.degree, tuple(kept_axes.index(place) for place in given.places), given.is_safe)


def _degree(node: Apply[Any, Tensor], known: dict[Variable, Scaled]) -> float | None:
    degrees = [known[v].degree if v in known else 0.0 for v in node.inputs]
    op = node.op.scalar_op
    if op == scalar.mul:
        return sum(degrees)
    if op == scalar.true_div:
        return degrees[0] - degrees[1]
    if op == scalar.reciprocal:
        return -degrees[0]
    if op in (scalar.neg, scalar.identity) or isinstance(op, Cast):
        return degrees[0]
    if op == scalar.sqr:
        return 2 * degrees[0]
    if op == scalar.second:
        return degrees[1]
    if op in (scalar.add, scalar.sub):
        terms = {d for d, v in zip(degrees, node.inputs, strict=True) if number(v) != 0}
        return terms.pop() if len(terms) == 1 else None
    return None
