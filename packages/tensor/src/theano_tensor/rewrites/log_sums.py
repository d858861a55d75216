"""Logarithms of sums of a few exponentials that are written out, and the quotients that gradients make of them."""

from __future__ import annotations

import math
from functools import reduce

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_optimize import Exactness, Phase

from .._core._variable import Tensor
from ..elemwise import Elemwise
from ._language import call, fitted, is_float, number, operands, scalar_constant
from ._logistic import logistic_atom
from ._products import Product, outermost_product
from ._registry import rule, stabilizing

Found = list[Variable] | None
#: Sums of more exponentials are left to reductions.
MAX_SUMMANDS = 16
_EXP = type(scalar.exp)


def exponents(variable: Tensor) -> list[Tensor] | None:
    """Return a, b, ... if `variable` is ``exp(a) + exp(b) + ...``; a positive number counts as an exponential."""
    if not is_float(variable) or operands(variable, scalar.add) is None or logistic_atom(variable) is not None:
        return None
    found: list[Tensor] = []
    stack = [variable]
    dtype = stack[0].type.dtype
    numbers = 0
    while stack:
        term = stack.pop()
        if len(found) + len(stack) > MAX_SUMMANDS:
            return None
        added = operands(term, scalar.add) if term.type.dtype == dtype else None
        inner = operands(term, scalar.exp)
        value = number(term)
        if added is not None:
            stack.extend(reversed(added))
        elif inner is not None and inner[0].type.dtype == dtype:
            found.append(inner[0])
        elif isinstance(value, (int, float)) and 0 < value < math.inf:
            numbers += 1
            found.append(scalar_constant(math.log(value), dtype, term.type.ndim))
        else:
            return None
    return found if len(found) - numbers >= 1 and len(found) >= 2 else None


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
    if product is None or not product.has(_EXP):
        return None
    for factor, power in product.factors.items():
        if power < 0 and (pair := difference(factor)) is not None:
            share = _share_of_difference(product, factor, pair)
            if share is not None:
                return fitted(node, share.build(root.type.dtype, root.type.ndim))
        terms = exponents(factor) if power < 0 else None
        if terms is None:
            continue
        for other, above in product.factors.items():
            inner = operands(other, scalar.exp)
            if inner is None or above < 1 or all(t is not inner[0] for t in terms):
                continue
            product = product.copy()
            product.multiply(factor, 1)
            product.multiply(other, -1)
            product.multiply(_share(inner[0], terms), 1)
            return fitted(node, product.build(root.type.dtype, root.type.ndim))
    return None


def difference(variable: Tensor) -> tuple[Tensor, Tensor] | None:
    """Return a and b if `variable` is ``exp(a) - exp(b)``."""
    terms = operands(variable, scalar.sub)
    inner = [] if terms is None or not is_float(variable) else [operands(v, scalar.exp) for v in terms]
    first, second = inner or (None, None)
    if first is None or second is None or any(v.type.dtype != variable.type.dtype for v in (*first, *second)):
        return None
    return first[0], second[0]


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


@stabilizing(scalar.log, reach=3, key="local_log_sub_exp")
def log_of_difference_of_exps(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``log(exp(a) - exp(b)) -> a + log(1 - exp(b - a))``."""
    pair = difference(node.inputs[0])
    if pair is None:
        return None
    a, b = pair
    return fitted(node, call(scalar.add, a, call(scalar.log1mexp, call(scalar.sub, b, a))))


@rule(
    scalar.log,
    phases=(Phase.CANONICALIZE, Phase.STABILIZE),
    exactness=Exactness.STABILIZING,
    tags=("fast_run", "fast_compile", "stabilize"),
    reach=2,
    key="local_log_sqr",
)
def log_of_square(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``log(x ** 2) -> 2 * log(abs(x))``, where the square overflows or vanishes."""
    (square,) = node.inputs
    inner, power = operands(square, scalar.sqr), operands(square, scalar.pow)
    if inner is None and power is not None and number(power[1]) == 2:
        inner = power
    if inner is None or not is_float(inner[0]) or inner[0].type.dtype != square.type.dtype:
        return None
    two = scalar_constant(2, square.type.dtype, square.type.ndim)
    return fitted(node, call(scalar.mul, two, call(scalar.log, call(scalar.abs, inner[0]))))


def _share(x: Tensor, terms: list[Tensor]) -> Tensor:
    if len(terms) == 2 and terms[0] is not terms[1]:
        (y,) = [t for t in terms if t is not x]
        return call(scalar.sigmoid, call(scalar.sub, x, y))
    return call(scalar.exp, call(scalar.sub, x, log_of_sum(terms)))
