"""Logarithms of sums of a few exponentials that are written out, and the quotients that gradients make of them."""

from __future__ import annotations

import math
from functools import reduce

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_optimize import Exactness, Phase

from .._core._variable import Tensor
from ..elemwise import DimShuffle, Elemwise
from ..indexing import Subtensor
from ..nnet import Softmax
from ..reduce import Prod, Sum
from ..shape import Reshape
from ._language import call, fitted, is_float, kind_of, number, operands, scalar_constant
from ._logistic import logistic_atom
from ._products import Product, flatten_powers, outermost_product
from ._registry import rule, stabilizing
from .algebra import root_parts

Found = list[Variable] | None
#: Sums of more exponentials are left to reductions.
MAX_SUMMANDS = 16
_EXP = type(scalar.exp)
_POSITIVE = frozenset(type(op) for op in (scalar.exp, scalar.sigmoid, scalar.erfc, scalar.erfcx, scalar.softplus))
#: What is positive where all operands are.
_KEPT = frozenset(type(op) for op in (scalar.add, scalar.mul, scalar.true_div, scalar.reciprocal, scalar.sqr))
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


@rule(scalar.abs, phases=(Phase.CANONICALIZE, Phase.STABILIZE), reach=8, tags=("fast_run", "fast_compile", "stabilize"))
def size_of_positive(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``abs(exp(x)) -> exp(x)``: what is positive by its form is its size, and stays part of stable forms."""
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


def _share(x: Tensor, terms: list[Tensor]) -> Tensor:
    if len(terms) == 2 and terms[0] is not terms[1]:
        (y,) = [t for t in terms if t is not x]
        return call(scalar.sigmoid, call(scalar.sub, x, y))
    return call(scalar.exp, call(scalar.sub, x, log_of_sum(terms)))
