"""Logarithms of products with exponentials in them, and the products that their gradients make: softmax, and the like.

``log(exp(x) / sum(exp(x)))`` is a difference of logarithms, each of which has a stable form. Its gradient, which the
user has built before, divides by the quotient and multiplies with the exponential: where that vanished, 0 / 0.
"""

from __future__ import annotations

import math

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_optimize import Phase

from .._core._variable import Tensor
from ..elemwise import DimShuffle, Elemwise, dimshuffle
from ..indexing import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor, Subtensor
from ..reduce import Prod, Sum
from ._language import call, can_replace, cast_to, fitted, is_float, kind_of, operands, scalar_constant
from ._logistic import logistic_atom
from ._products import Product, flatten_product, is_product, outermost_product, shared_product
from ._registry import rule, stabilizing
from .exponentials import behind_view, sum_of_exp
from .indexing import is_zeros
from .log_sums import LOGARITHMS, exponents, is_positive

Found = list[Variable] | None
#: Sums with more terms are not multiplied out.
MAX_SUMMANDS = 8
_EXP = type(scalar.exp)


def is_positive_and_steep(variable: Tensor) -> bool:
    """Tell whether a variable is positive by its form, and may vanish or overflow where its logarithm does not."""
    if not is_float(variable):
        return False
    if operands(variable, scalar.exp, scalar.erfc, scalar.sigmoid) is not None:
        return True
    inside = behind_view(variable)[0]
    if inside.owner is not None and isinstance(inside.owner.op, Prod) and is_positive(inside):
        return True
    return sum_of_exp(inside) is not None or exponents(variable) is not None


def _has_steep_factor(product: Product) -> bool:
    return product.complete and any(is_positive_and_steep(v) for v in product.factors)


@stabilizing(*LOGARITHMS, reach=5, key="local_log_product", names=("local_log_softmax",))
def log_of_product(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``log(a * exp(x) / sum(exp(x))) -> log(a) + x - log(sum(exp(x)))``, where factors are positive by form."""
    (argument,) = node.inputs
    if not is_float(argument) or not is_product(argument) or logistic_atom(argument) is not None:
        return None
    product = flatten_product(argument)
    if not _has_steep_factor(product):
        return None
    total = _log_of_half_complement(product)
    if total is None:
        total = _sum_of_logs(product, argument)
    if total is None or node.op.scalar_op == scalar.log:
        return None if total is None else fitted(node, total)
    base = 2 if node.op.scalar_op == scalar.log2 else 10
    factor = scalar_constant(1 / math.log(base), total.type.dtype, total.type.ndim)
    return fitted(node, call(scalar.mul, total, factor))


def _sum_of_logs(product: Product, argument: Tensor) -> Tensor | None:
    """Return the logarithm of a product with steep factors, None where the others are a negative number."""
    dtype, ndim = argument.type.dtype, argument.type.ndim
    remainder = Product(product.coefficient)
    terms: list[tuple[Tensor, int]] = []
    for factor, power in product.factors.items():
        if not is_positive_and_steep(factor):
            remainder.multiply(factor, power)
            continue
        term = _log_of_factor(factor)
        if abs(power) != 1:
            term = call(scalar.mul, scalar_constant(abs(power), dtype, ndim), term)
        terms.append((term, power))
    if remainder.factors:
        terms.append((call(scalar.log, remainder.build(dtype, ndim)), 1))
    elif remainder.coefficient <= 0:
        return None
    elif remainder.coefficient != 1:
        terms.append((scalar_constant(math.log(remainder.coefficient), dtype, ndim), 1))
    return _signed_sum(terms)


def _signed_sum(terms: list[tuple[Tensor, int]]) -> Tensor:
    first, sign = terms[0]
    result = first if sign > 0 else call(scalar.neg, first)
    for term, sign in terms[1:]:
        result = call(scalar.add if sign > 0 else scalar.sub, result, term)
    return result


def _log_of_factor(factor: Tensor) -> Tensor:
    inner = operands(factor, scalar.exp)
    return cast_to(inner[0], factor.type.dtype) if inner is not None else call(scalar.log, factor)


def _log_of_half_complement(product: Product) -> Tensor | None:
    """``log(erfc(x) / 2)``, of the normal distribution: ``log1p(-erfc(-x) / 2)`` where it is near 0."""
    (factor, power), *others = product.factors.items()
    inner = operands(factor, scalar.erfc)
    if others or power != 1 or product.coefficient != 0.5 or inner is None:
        return None
    (x,) = inner
    dtype, ndim = x.type.dtype, x.type.ndim
    half, zero = scalar_constant(0.5, dtype, ndim), scalar_constant(0, dtype, ndim)
    above, below = call(scalar.maximum, x, zero), call(scalar.minimum, x, zero)
    scaled = call(scalar.log, call(scalar.mul, half, call(scalar.erfcx, above)))
    other = call(scalar.neg, call(scalar.mul, half, call(scalar.erfc, call(scalar.neg, below))))
    tail = call(scalar.sub, scaled, call(scalar.mul, x, x))
    return call(scalar.switch, call(scalar.gt, x, zero), tail, call(scalar.log1p, other))


@stabilizing(*LOGARITHMS, reach=10, key="local_log_prod")
def log_of_reduction(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``log(prod(x)) -> sum(log(abs(x)))``, and NaN where an odd number of factors is negative; ``log(abs(prod(x)))``.

    The product of many numbers overflows or vanishes. Factors that are positive by their form keep their own stable
    logarithms.
    """
    size_of = operands(node.inputs[0], scalar.abs)
    argument, view = behind_view(node.inputs[0] if size_of is None else size_of[0])
    inner = argument.owner
    if inner is None or type(inner.op) is not Prod or not is_float(argument):
        return None
    op, x = inner.op, cast_to(inner.inputs[0], argument.type.dtype)
    axes = op.axes(x.type.ndim)
    size = x if (positive := is_positive(x)) else call(scalar.abs, x)
    result = Sum(axes, op.dtype, op.acc_dtype)(call(node.op.scalar_op, size))
    if not positive and size_of is None:
        sign = Prod(axes, op.dtype, op.acc_dtype)(call(scalar.sgn, x))
        zero, nan = (scalar_constant(v, argument.type.dtype, sign.type.ndim) for v in (0, math.nan))
        result = call(scalar.switch, call(scalar.lt, sign, zero), nan, result)
    return fitted(node, result if view is None else view(result))


@stabilizing(scalar.log, reach=5, key="local_log_of_part")
def log_of_part(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``log(p[i]) -> log(p)[i]`` where p is a product that has a stable logarithm: the entry of a softmax, say."""
    (part,) = node.inputs
    inner = part.owner
    if inner is None or not isinstance(inner.op, (Subtensor, AdvancedSubtensor)):
        return None
    p = inner.inputs[0]
    if not is_float(p) or not is_product(p) or not _has_steep_factor(flatten_product(p)):
        return None
    new: Variable = inner.op.make_node(call(scalar.log, p), *inner.inputs[1:]).outputs[0]
    return [new] if can_replace(node.outputs[0], new) else None


@stabilizing(scalar.mul, scalar.true_div, scalar.neg, scalar.reciprocal, reach=6, key="local_steep_quotients")
def steep_factors_cancelled(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``g / (e / s) * e -> g * s`` for exponentials and their sum, also where something else uses ``e / s``."""
    root = node.outputs[0]
    deep = outermost_product(fgraph, node)
    if deep is None:
        return None
    shown = exposed(deep)
    if shown is not None and _is_regular(shown):
        return fitted(node, shown.build(root.type.dtype, root.type.ndim), list(shown.factors))
    leaves = _leaves(root) if deep.cancelled else []
    above = {v for v, power in leaves if power > 0}
    below = {v for v, power in leaves if power < 0}
    if not any(is_positive_and_steep(v) for v in above & below):
        return None
    return fitted(node, deep.build(root.type.dtype, root.type.ndim), [v for v, _ in leaves])


def _is_regular(product: Product) -> bool:
    """Tell whether a product divides by no exponential."""
    return all(power > 0 or operands(v, scalar.exp) is None for v, power in product.factors.items())


def exposed(product: Product) -> Product | None:
    """Return a product that divides outside by the divisor of the increments of zeros, or None if there is none.

    ``inc(zeros, y / p[i], i) -> inc(zeros, y, i) / p`` is right where p is not 0: the gradient of ``log(p[i])`` has
    that, and factors of p may cancel outside.
    """
    for factor, power in product.factors.items():
        divided = _without_divisor(factor) if power == 1 else None
        if divided is None:
            continue
        increment, divisor = divided
        factors = {v: p for v, p in product.factors.items() if v is not factor}
        result = Product(product.coefficient / divisor.coefficient, factors)
        result.multiply(increment, 1)
        for variable, p in divisor.factors.items():
            result.multiply(variable, -p)
        return result
    return None


def _without_divisor(variable: Tensor) -> tuple[Tensor, Product] | None:
    node = variable.owner
    if node is None or not isinstance(node.op, (IncSubtensor, AdvancedIncSubtensor)) or node.op.set_instead_of_inc:
        return None
    zeros, y, *index = node.inputs
    if not is_zeros(zeros) or not is_float(y) or not is_product(y):
        return None
    product = flatten_product(y)
    for factor, power in product.factors.items() if product.complete else ():
        part = factor.owner
        if power != -1 or part is None or not isinstance(part.op, (Subtensor, AdvancedSubtensor)):
            continue
        p, *same = part.inputs
        if part.op.entries != node.op.entries or any(a is not b for a, b in zip(same, index, strict=True)):
            continue
        divisor = flatten_product(p)
        if p.type.broadcastable != zeros.type.broadcastable or not _has_steep_factor(divisor):
            continue
        product.multiply(factor, 1)
        built = product.build(y.type.dtype, y.type.ndim)
        return node.op(zeros, built, *index), divisor
    return None


def _leaves(root: Tensor) -> list[tuple[Tensor, int]]:
    """Return the factors of a product in the end, with the sign of its power, before anything cancels."""
    leaves: list[tuple[Tensor, int]] = []
    stack = [(root, 1)]
    dtype = stack[0][0].type.dtype
    while stack:
        variable, sign = stack.pop()
        inputs = [] if variable.owner is None else variable.owner.inputs
        if variable.type.dtype != dtype or not is_product(variable):
            leaves.append((variable, sign))
        elif operands(variable, scalar.true_div) is not None:
            stack.extend([(inputs[1], -sign), (inputs[0], sign)])
        elif operands(variable, scalar.reciprocal) is not None:
            stack.append((inputs[0], -sign))
        else:
            stack.extend((v, sign) for v in reversed(inputs))
    return leaves


@stabilizing(scalar.mul, scalar.true_div, scalar.neg, reach=6, key="local_exp_multiplied_out")
def exponential_multiplied_out(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``(a / exp(x) + b) * exp(x) -> a + b * exp(x)``, however the quotient is written."""
    root = node.outputs[0]
    product = outermost_product(fgraph, node)
    above = [] if product is None else [v for v, p in product.factors.items() if p > 0 and _is_steep_view(v)]
    if product is None or not above:
        return None
    for factor, power in product.factors.items():
        terms = _signed_terms(factor) if power == 1 else None
        if terms is None:
            continue
        parts = [shared_product(fgraph, v) for v, _ in terms]
        parts = [part if (shown := exposed(part)) is None else shown for part in parts if part.complete]
        if len(parts) < len(terms):
            continue
        if not any(part.factors.get(v, 0) < 0 for part in parts for v in above):
            continue
        others = {v: p for v, p in product.factors.items() if v is not factor}
        distributed = _distributed(Product(product.coefficient, others), parts, terms, root)
        if distributed is not None:
            return fitted(node, distributed)
    return None


def _is_steep_view(variable: Tensor) -> bool:
    """Tell whether a variable is an exponential, or a view of a product with one: a share, which may vanish as well."""
    if kind_of(variable) is _EXP:
        return True
    node = variable.owner
    if node is None or not isinstance(node.op, DimShuffle) or not is_product(node.inputs[0]):
        return False
    return _has_steep_factor(flatten_product(node.inputs[0]))


def _signed_terms(variable: Tensor) -> list[tuple[Tensor, int]] | None:
    terms: list[tuple[Tensor, int]] = []
    stack = [(variable, 1)]
    while stack:
        term, sign = stack.pop()
        added, subtracted = operands(term, scalar.add), operands(term, scalar.sub)
        if added is not None:
            stack.extend((v, sign) for v in reversed(added))
        elif subtracted is not None:
            stack.extend([(subtracted[1], -sign), (subtracted[0], sign)])
        elif term.type.dtype != variable.type.dtype or len(terms) + len(stack) >= MAX_SUMMANDS:
            return None
        else:
            terms.append((term, sign))
    return terms if len(terms) > 1 else None


def _distributed(rest: Product, parts: list[Product], terms: list[tuple[Tensor, int]], root: Tensor) -> Tensor | None:
    tensor = root
    terms_made = []
    for part, (_, sign) in zip(parts, terms, strict=True):
        product = Product(part.coefficient * rest.coefficient, dict(part.factors))
        for variable, power in rest.factors.items():
            product.multiply(variable, power)
        if not _is_regular(product):
            return None
        terms_made.append((product.build(tensor.type.dtype, tensor.type.ndim), sign))
    return _signed_sum(terms_made)


def _may_cancel(divisor: Tensor) -> bool:
    """Tell whether a divisor may meet its counterpart outside of a sum."""
    return is_positive_and_steep(divisor) or logistic_atom(divisor) is not None


@rule(
    Sum,
    phases=(Phase.STABILIZE,),
    tags=("fast_run", "fast_compile", "stabilize"),
    reach=4,
    key="local_sum_div_sum_of_exp",
    names=("local_sum_div_dimshuffle",),
)
def divisor_out_of_sum(fgraph: FunctionGraph, node: Apply[Sum, Tensor]) -> Found:
    """``sum(a / sum(exp(x)), axis) -> sum(a, axis) / sum(exp(x))``: the divisor meets the exponential outside.

    Likewise other exponentials and sigmoids that broadcast along the axes. Not where an exponential is in a
    itself: it belongs to the divisor.
    """
    (x,) = node.inputs
    axes = node.op.axes(x.type.ndim)
    if not axes or not is_float(x) or not is_float(node.outputs[0]) or not is_product(x):
        return None
    product = flatten_product(x)
    if not product.complete or any(operands(v, scalar.exp) is not None for v in product.factors):
        return None
    for factor, power in product.factors.items():
        if power != -1 or not _may_cancel(behind_view(factor)[0]) or len(product.factors) < 2:
            continue
        if factor.type.dtype != x.type.dtype or not all(factor.type.broadcastable[axis] for axis in axes):
            continue
        product.multiply(factor, 1)
        inner = product.build(x.type.dtype, x.type.ndim)
        if inner.type.broadcastable != x.type.broadcastable:
            return None
        kept_axes = [axis for axis in range(x.type.ndim) if axis not in axes]
        new = call(scalar.true_div, node.op(inner), dimshuffle(factor, kept_axes))
        return [new] if can_replace(node.outputs[0], new) else None
    return None
