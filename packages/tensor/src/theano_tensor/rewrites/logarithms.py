"""Logarithms of sums and products of exponentials, and the quotients and products that gradients make of them."""

from __future__ import annotations

import math
from functools import reduce

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_optimize import Exactness, Phase

from .._core._type import Tensor
from ..elemwise import DimShuffle, Elemwise, dimshuffle
from ..indexing import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor, Subtensor
from ..reduce import Prod, Sum
from ._language import (
    call,
    can_replace,
    cast_to,
    fitted,
    is_float,
    kind_of,
    number,
    operands,
    rule,
    scalar_constant,
    stabilizing,
)
from ._products import (
    Product,
    flatten_powers,
    flatten_product,
    is_product,
    logistic_atom,
    outermost_product,
    shared_product,
)
from .algebra import root_parts
from .exponentials import behind_view, is_positive, sum_of_exp
from .indexing import is_zeros

# ---- Logarithms of sums of a few exponentials that are written out, and the quotients that gradients make of them

Found = list[Variable] | None
#: Sums of more exponentials are left to reductions.
MAX_SUMMANDS = 16
_EXP = type(scalar.exp)
LOGARITHMS = (scalar.log, scalar.log2, scalar.log10)
#: What makes a power, or a product of some.
_POWERS = frozenset(
    type(op) for op in (scalar.pow, scalar.sqrt, scalar.sqr, scalar.mul, scalar.true_div, scalar.reciprocal, scalar.abs)
)


def exponents(variable: Tensor) -> list[Tensor] | None:
    """Return a, b, ... if `variable` is ``exp(a) + exp(b) + ...``; a positive number counts as an exponential."""
    if not is_float(variable) or operands(variable, scalar.add) is None or logistic_atom(variable) is not None:
        return None
    exponents_seen: list[Tensor] = []
    stack = [variable]
    dtype = stack[0].type.dtype
    numbers = 0
    while stack:
        term = stack.pop()
        if len(exponents_seen) + len(stack) > MAX_SUMMANDS:
            return None
        added = operands(term, scalar.add) if term.type.dtype == dtype else None
        inner = operands(term, scalar.exp)
        value = number(term)
        if added is not None:
            stack.extend(reversed(added))
        elif inner is not None and inner[0].type.dtype == dtype:
            exponents_seen.append(inner[0])
        elif isinstance(value, (int, float)) and 0 < value < math.inf:
            numbers += 1
            exponents_seen.append(scalar_constant(math.log(value), dtype, term.type.ndim))
        else:
            return None
    return exponents_seen if len(exponents_seen) - numbers >= 1 and len(exponents_seen) >= 2 else None


def log_of_sum(terms: list[Tensor]) -> Tensor:
    """Return ``log(exp(a) + exp(b) + ...)``."""
    return reduce(lambda a, b: call(scalar.logaddexp, a, b), terms)


@stabilizing(
    scalar.log,
    reach=4,
    key="local_log_add",
    names=("local_log_add_exp",),
)
def log_of_added_exps(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``log(exp(x) + exp(y)) -> logaddexp(x, y)``, for any number of terms."""
    terms = exponents(node.inputs[0])
    return None if terms is None else fitted(node, log_of_sum(terms))


@stabilizing(
    scalar.mul,
    scalar.true_div,
    scalar.reciprocal,
    scalar.neg,
    reach=6,
    key="local_exp_over_added_exps",
    names=("local_exp_over_1_plus_exp",),
)
def exp_over_added_exps(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``exp(x) / (exp(x) + exp(y)) -> sigmoid(x - y)``; of more terms, ``exp(x - log(exp(x) + exp(y) + ...))``."""
    root = node.outputs[0]
    product = outermost_product(fgraph, node)
    if product is None or not (product.has(_EXP) or any(exponents(v) for v, p in product.factors.items() if p < 0)):
        return None
    product = _with_squares_below_opened(product)
    for factor, power in product.factors.items():
        if power < 0 and (pair := difference(factor) or _less_one(factor)) is not None:
            whole = _share_of_difference(product, factor, pair)
            if whole is not None:
                return fitted(node, whole.build(root.type.dtype, root.type.ndim))
        terms = exponents(factor) if power < 0 else None
        if terms is None:
            continue
        for other, above in product.factors.items():
            inner = operands(other, scalar.exp)
            share: Tensor | None = None
            if above > 0 and inner is not None and any(t is inner[0] for t in terms):
                share = _share(inner[0], terms)
            elif above > 0 and len(terms) == 2 and (pair := difference(other)) and set(pair) == set(terms):
                half = scalar_constant(0.5, other.type.dtype, other.type.ndim)
                share = call(scalar.tanh, call(scalar.mul, half, call(scalar.sub, *pair)))
            if share is None:
                continue
            product = product.copy()
            product.multiply(factor, 1)
            product.multiply(other, -1)
            product.multiply(share, 1)
            return fitted(node, product.build(root.type.dtype, root.type.ndim))
    return None


def difference(variable: Tensor) -> tuple[Tensor, Tensor] | None:
    """Return a and b if `variable` is ``exp(a) - exp(b)``; a positive number counts as an exponential."""
    terms = operands(variable, scalar.sub)
    if terms is None or not is_float(variable):
        return None
    found = [_exponent(term, variable.type.dtype) for term in terms]
    first, second = found
    if first is None or second is None or all(operands(v, scalar.exp) is None for v in terms):
        return None
    return first, second


def _exponent(term: Tensor, dtype: str) -> Tensor | None:
    inner, value = operands(term, scalar.exp), number(term)
    if inner is not None:
        return inner[0] if inner[0].type.dtype == dtype else None
    if isinstance(value, (int, float)) and 0 < value < math.inf:
        return scalar_constant(math.log(value), dtype, term.type.ndim)
    return None


def _share_of_difference(product: Product, factor: Tensor, pair: tuple[Tensor, Tensor]) -> Product | None:
    """``exp(a) / (exp(a) - exp(b)) -> -1 / expm1(b - a)``, and ``exp(b)`` over the same."""
    for other, power in product.factors.items():
        inner = operands(other, scalar.exp)
        for x, y, sign in ((pair[0], pair[1], -1), (pair[1], pair[0], 1)):
            if power > 0 and inner is not None and inner[0] is x:
                result = product.copy()
                result.coefficient *= sign
                result.multiply(factor, 1)
                result.multiply(other, -1)
                result.multiply(call(scalar.expm1, call(scalar.sub, y, x)), -1)
                return result
    return None


def _less_one(variable: Tensor) -> tuple[Tensor, Tensor] | None:
    """Return x and 0 if `variable` is ``exp(x) - 1``, in its stable form."""
    inner = operands(variable, scalar.expm1)
    return None if inner is None else (inner[0], scalar_constant(0, variable.type.dtype, variable.type.ndim))


def _with_squares_below_opened(product: Product) -> Product:
    """Return a product that divides by ``x`` twice where it divides by ``x**2``; the same one if there is no such x."""
    result = product
    for factor, power in product.factors.items():
        inner = operands(factor, scalar.sqr) if power < 0 else None
        if inner is not None and inner[0].type.dtype == factor.type.dtype:
            result = result.copy()
            result.multiply(factor, -power)
            result.multiply(inner[0], 2 * power)
    return result


@rule(
    scalar.mul,
    scalar.true_div,
    scalar.reciprocal,
    scalar.neg,
    phases=(Phase.SPECIALIZE,),
    exactness=Exactness.STABILIZING,
    reach=4,
    tags=("fast_run", "fast_compile", "stabilize"),
)
def quotient_by_difference_of_exps(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``1 / (exp(a) - exp(b))``, which may both be infinite: ``exp(-a) / (1 - exp(b - a))``, where a is larger."""
    root = node.outputs[0]
    product = outermost_product(fgraph, node)
    if product is None:
        return None
    product = _with_squares_below_opened(product)
    for factor, power in product.factors.items():
        pair = difference(factor) if power < 0 else None
        if pair is None or any(number(v) is not None for v in pair):
            continue
        a, b = pair
        rest = call(scalar.expm1, call(scalar.neg, call(scalar.abs, call(scalar.sub, a, b))))
        signed = call(scalar.switch, call(scalar.lt, a, b), rest, call(scalar.neg, rest))
        size = call(scalar.exp, call(scalar.neg, call(scalar.maximum, a, b)))
        product = product.copy()
        product.multiply(factor, -power)
        product.multiply(call(scalar.true_div, size, signed), -power)
        return fitted(node, product.build(root.type.dtype, root.type.ndim))
    return None


@stabilizing(scalar.log, reach=3, key="local_log_sub_exp")
def log_of_difference_of_exps(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``log(exp(a) - exp(b)) -> a + log(1 - exp(b - a))``."""
    pair = difference(node.inputs[0])
    if pair is None:
        return None
    a, b = pair
    return fitted(node, call(scalar.add, a, call(scalar.log1mexp, call(scalar.sub, b, a))))


@rule(
    *LOGARITHMS,
    phases=(Phase.CANONICALIZE, Phase.STABILIZE),
    exactness=Exactness.STABILIZING,
    tags=("fast_run", "fast_compile", "stabilize"),
    reach=2,
    key="local_log_sqr",
)
def log_of_power(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``log(x**4) -> 4 * log(abs(x))``, ``log(c * x**3) -> log(c) + 3 * log(x)``: the power overflows or vanishes."""
    (argument,) = node.inputs
    if not is_float(argument) or kind_of(argument) not in _POWERS:
        return None
    base, exponent = root_parts(argument)
    if exponent is not None and exponent != int(exponent):
        logarithm = call(node.op.scalar_op, base)
        return fitted(node, call(scalar.mul, scalar_constant(exponent, base.type.dtype, base.type.ndim), logarithm))
    product = flatten_powers(argument)
    powers = product.factors.values()
    even = all(p % 2 == 0 for p in powers)
    if not product.complete or product.coefficient <= 0 or not (even or (len(powers) == 1 and min(powers) > 1)):
        return None
    if any(v.type.dtype != argument.type.dtype for v in product.factors):
        return None
    dtype, ndim = argument.type.dtype, argument.type.ndim
    terms = [] if product.coefficient == 1 else [scalar_constant(product.coefficient, dtype, ndim)]
    terms = [call(node.op.scalar_op, v) for v in terms]
    for x, power in product.factors.items():
        size = call(scalar.abs, x) if even else x
        terms.append(call(scalar.mul, scalar_constant(power, dtype, ndim), call(node.op.scalar_op, size)))
    return fitted(node, reduce(lambda a, b: call(scalar.add, a, b), terms)) if terms else None


def _share(x: Tensor, terms: list[Tensor]) -> Tensor:
    if len(terms) == 2 and terms[0] is not terms[1]:
        (y,) = [t for t in terms if t is not x]
        return call(scalar.sigmoid, call(scalar.sub, x, y))
    return call(scalar.exp, call(scalar.sub, x, log_of_sum(terms)))


# ---- Logarithms of products with exponentials in them, and the products that their gradients make: softmax, and the
# like
#
# ``log(exp(x) / sum(exp(x)))`` is a difference of logarithms, each of which has a stable form. Its gradient, which the
# user has built before, divides by the quotient and multiplies with the exponential: where that vanished, 0 / 0.

#: Sums with more terms are not multiplied out.
MAX_TERMS = 8


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
        elif term.type.dtype != variable.type.dtype or len(terms) + len(stack) >= MAX_TERMS:
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
