"""Sums of exponentials that would overflow, and exponentials shifted by their maximum."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

from theano_graph import Apply, FunctionGraph, Variable, record
from theano_linker_c import scalar
from theano_linker_c.scalar import Cast
from theano_optimize import Phase

from .._core._type import Tensor
from ..elemwise import DimShuffle, Elemwise, dimshuffle
from ..indexing import Subtensor
from ..nnet import Softmax
from ..reduce import Max, Prod, Sum, Supremum
from ..shape import Reshape, ShapeI, ShapeOf
from ._language import (
    call,
    can_replace,
    fitted,
    is_float,
    kind_of,
    lift,
    number,
    operands,
    remade,
    rule,
    scalar_constant,
    stabilizing,
)
from ._products import Product, flatten_product, outermost_product

# ---- Sums of exponentials that would overflow: their logarithms, and the weights that gradients make of them
#
# With m the maximum of x along the summed axes, ``sum(exp(x)) = exp(m) * sum(exp(x - m))``, and no term of the second
# sum is above 1. Over an empty axis the maximum counts as minus infinity, and the sum stays 0.

Found = list[Variable] | None
_EXP = type(scalar.exp)
#: How far sums are taken apart to see whether a maximum has been subtracted.
MAX_TERMS = 8


def sum_of_exp(variable: Tensor) -> tuple[Tensor, Sum] | None:
    """Return x and the op if `variable` is a sum of ``exp(x)``."""
    node = variable.owner
    if node is None or not isinstance(node.op, Sum):
        return None
    inner = operands(node.inputs[0], scalar.exp)
    if inner is None or not is_float(inner[0]) or variable.type != node.op(node.inputs[0]).type:
        return None
    return inner[0], node.op


def behind_view(variable: Tensor) -> tuple[Tensor, DimShuffle | None]:
    """Return the operand of a dimshuffle that drops nothing, and its op."""
    node = variable.owner
    if node is None or not isinstance(node.op, DimShuffle) or node.op.drop:
        return variable, None
    return node.inputs[0], node.op


def shifted(fgraph: FunctionGraph, x: Tensor, op: Sum) -> tuple[Tensor, Tensor]:
    """Return the maximum of x along the summed axes (0 where it is infinite), and ``exp(x - maximum)``."""
    ndim = x.type.ndim
    gone = op.axes(ndim)
    largest = remade(fgraph, Supremum(None if len(gone) == ndim else list(gone)), x)
    zero = scalar_constant(0, x.type.dtype, largest.type.ndim)
    infinite = remade(fgraph, lift(scalar.isinf), largest)
    largest = remade(fgraph, lift(scalar.switch), infinite, zero, largest)
    remaining = iter(range(ndim - len(gone)))
    view = DimShuffle(ndim - len(gone), ["x" if axis in gone else next(remaining) for axis in range(ndim)])
    restored = remade(fgraph, view, largest)
    return largest, remade(fgraph, lift(scalar.exp), remade(fgraph, lift(scalar.sub), x, restored))


@stabilizing(
    scalar.log,
    reach=3,
    key="local_log_sum_exp",
)
def log_of_sum_of_exp(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``log(sum(exp(x))) -> m + log(sum(exp(x - m)))`` with m the maximum of x, also with the summed axes kept."""
    argument, view = behind_view(node.inputs[0])
    sum_found = sum_of_exp(argument)
    if sum_found is None or is_shifted(sum_found[0]):
        return None
    x, op = sum_found
    largest, exponentials = shifted(fgraph, x, op)
    result = call(scalar.add, largest, call(scalar.log, remade(fgraph, op, exponentials)))
    return fitted(node, result if view is None else view(result))


def is_shifted(x: Tensor) -> bool:
    """Tell whether x is a difference from its own maximum already, also where signs have moved since."""
    terms = _terms(x)
    for position, (variable, sign) in enumerate(terms):
        origin = _behind_all_views(variable)
        choice = operands(origin, scalar.switch)
        owner = (_behind_all_views(choice[2]) if choice is not None else origin).owner
        if sign < 0 and owner is not None and isinstance(owner.op, Max):
            others = {term for k, term in enumerate(terms) if k != position}
            if owner.inputs[0] is x or not others.isdisjoint(_terms(owner.inputs[0])):
                return True
    return False


def _behind_all_views(variable: Tensor) -> Tensor:
    while variable.owner is not None and isinstance(variable.owner.op, DimShuffle):
        variable = variable.owner.inputs[0]
    return variable


def _terms(x: Tensor) -> list[tuple[Tensor, int]]:
    """Return the terms that x is the sum of, with their signs: sums, differences and signs are taken apart a little."""
    terms: list[tuple[Tensor, int]] = []
    pending = [(x, 1)]
    while pending and len(terms) + len(pending) < MAX_TERMS:
        variable, sign = pending.pop()
        inner = operands(variable, scalar.add, scalar.sub, scalar.neg)
        if inner is None:
            terms.append((variable, sign))
            continue
        first = -sign if operands(variable, scalar.neg) is not None else sign
        others = -sign if operands(variable, scalar.sub) is not None else sign
        pending += [(inner[0], first), *((v, others) for v in inner[1:])]
    return terms + pending


@stabilizing(
    scalar.mul,
    scalar.true_div,
    scalar.reciprocal,
    reach=5,
)
def exp_over_sum_of_exp(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``exp(x) / sum(exp(x)) -> exp(x - m) / sum(exp(x - m))``: a softmax, or the gradient of ``log(sum(exp(x)))``."""
    root = node.outputs[0]
    product = outermost_product(fgraph, node)
    if product is None or not product.has(_EXP):
        return None
    for factor, power in product.factors.items():
        inner = operands(factor, scalar.exp)
        if inner is None or power != 1 or is_shifted(inner[0]):
            continue
        for other in product.factors:
            remainder = _without_sum(fgraph, other, product.factors[other], inner[0])
            if remainder is not None:
                product = product.copy()
                product.multiply(factor, -1)
                product.multiply(other, -product.factors[other])
                for variable, p in remainder.factors.items():
                    product.multiply(variable, p)
                return fitted(node, product.build(root.type.dtype, root.type.ndim))
    return None


def _keeps_places(op: Sum, ndim: int, view: DimShuffle | None) -> bool:
    """Tell whether a view of a sum broadcasts it along the axes that were summed, so that a term meets its own sum."""
    gone = op.axes(ndim)
    remaining = iter(range(ndim - len(gone)))
    order = ["x" if axis in gone else next(remaining) for axis in range(ndim)]
    return order == list(range(ndim - len(gone)) if view is None else view.order)


def _without_sum(fgraph: FunctionGraph, factor: Tensor, power: int, x: Tensor) -> Product | None:
    """Return ``factor ** power * exp(x)`` in shifted exponentials, if the sum of ``exp(x)`` is a divisor in it once."""
    below, view = behind_view(factor)
    inside = flatten_product(below)
    for candidate, p in inside.factors.items():
        inner_sum = sum_of_exp(candidate)
        if inner_sum is None or inner_sum[0] is not x or p * power != -1:
            continue
        if not _keeps_places(inner_sum[1], x.type.ndim, view):
            return None
        _, exponentials = shifted(fgraph, x, inner_sum[1])
        total = remade(fgraph, inner_sum[1], exponentials)
        inside.multiply(candidate, -p)
        product = Product()
        product.multiply(exponentials, 1)
        product.multiply(total if view is None else remade(fgraph, view, total), -1)
        if inside.factors or inside.coefficient != 1.0:
            remainder = inside.build(factor.type.dtype, candidate.type.ndim)
            product.multiply(remainder if view is None else view(remainder), power)
        return product
    return None


# ---- Exponentials shifted by their maximum wherever they are used, when the shift cancels in all that is made of them
#
# With e = exp(x), s = sum(e) and a number m for each row, ``e * exp(-m)`` in place of e makes s smaller by the same
# factor. The result of products, quotients, sums of equal degree, and sums over axes of e and s is smaller by a power
# of it, its degree. Where the degree is 0 nothing changes, and a logarithm changes by a multiple of m. So a softmax,
# its
# logarithm and their gradients keep their values, and all of them see the same exponentials, none of which overflows.

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


# ---- Expressions that are positive by their form

_POSITIVE = frozenset(type(op) for op in (scalar.exp, scalar.sigmoid, scalar.erfc, scalar.erfcx, scalar.softplus))
#: Functions that are positive where all operands are.
_KEPT = frozenset(type(op) for op in (scalar.add, scalar.mul, scalar.true_div, scalar.reciprocal, scalar.sqr))


@rule(scalar.abs, phases=(Phase.CANONICALIZE, Phase.STABILIZE), reach=8, tags=("fast_run", "fast_compile", "stabilize"))
def size_of_positive(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``abs(exp(x)) -> exp(x)``: a positive expression is its size, and stays part of stable forms."""
    return fitted(node, node.inputs[0]) if is_positive(node.inputs[0]) else None


def is_positive(variable: Tensor, depth: int = 8) -> bool:
    """Tell whether a variable is positive by its form: stable forms of its logarithm see no absolute value."""
    node = variable.owner
    if node is None or not depth:
        return False
    if isinstance(node.op, Softmax) or kind_of(variable) in _POSITIVE:
        return True
    if isinstance(node.op, (DimShuffle, Reshape, Subtensor, Sum, Prod)):
        return is_positive(node.inputs[0], depth - 1)
    if kind_of(variable) in _KEPT:
        return all(is_positive(v, depth - 1) for v in node.inputs)
    return False
