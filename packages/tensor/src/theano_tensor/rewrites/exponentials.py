"""Sums of exponentials that would overflow: their logarithms, and the weights that gradients make of them.

With m the maximum of x along the summed axes, ``sum(exp(x)) = exp(m) * sum(exp(x - m))``, and no term of the second sum
is above 1. Over an empty axis the maximum counts as minus infinity, and the sum stays 0.
"""

from __future__ import annotations

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar

from .._core._type import Tensor
from ..elemwise import DimShuffle, Elemwise
from ..reduce import Max, Sum, Supremum
from ._language import call, fitted, is_float, lift, operands, remade, scalar_constant
from ._products import Product, flatten_product, outermost_product
from ._registry import stabilizing

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
    for number, (variable, sign) in enumerate(terms):
        origin = _behind_all_views(variable)
        choice = operands(origin, scalar.switch)
        owner = (_behind_all_views(choice[2]) if choice is not None else origin).owner
        if sign < 0 and owner is not None and isinstance(owner.op, Max):
            others = {term for k, term in enumerate(terms) if k != number}
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
