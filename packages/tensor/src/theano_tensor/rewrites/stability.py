"""Expressions that overflow, cancel or divide zero by zero, written so that they do not."""

from __future__ import annotations

import math
from typing import Any

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_optimize import Context

from .._core._type import Tensor
from ..elemwise import Elemwise
from ._language import (
    call,
    cast_to,
    fitted,
    gives_floats,
    is_as_precise,
    is_float,
    kind_of,
    number,
    operands,
    sole_client,
    stabilizing,
)
from ._products import (
    LogisticProduct,
    Product,
    flatten_product,
    is_above_exponential,
    is_inside_product,
    joined,
    logistic_atom,
    logistic_product,
    may_be_logistic,
    outermost_product,
    shared_product,
)
from .equations import (
    Anything,
    Equations,
    Real,
    Whole,
    built,
    erf,
    erfc,
    erfcx,
    exp,
    expm1,
    gt,
    log,
    log1mexp,
    log1p,
    maximum,
    minimum,
    sigmoid,
    softplus,
    stabilizing_equations,
    switch,
    wide,
)

# ---- Expressions that overflow, cancel or divide zero by zero, written so that they do not
#
# Sigmoids, their logarithms, and the products that gradients make of them. A gradient is built by the user before
# anything is rewritten, so that ``log(p)`` in a cost leaves ``g / p * p * (1 - p)`` in its gradient, with p saturated
# at 0 or 1: infinity times zero.

Found = list[Variable] | None

#: Sums with more terms are not multiplied out.
MAX_SUMMANDS = 16
_SQUARE = type(scalar.sqr)
_SUMS = (type(scalar.add), type(scalar.sub))


@stabilizing_equations(
    scalar.log, reach=3, key="local_log_sigmoid", names=("logsigm_to_softplus", "log1msigm_to_softplus")
)
def log_of_sigmoid(x: Real) -> Equations:
    """Logarithms of sigmoids, which are 0 and 1 far from 0."""
    logarithms = [
        log(sigmoid(x)) >> -softplus(-x),
        log(1 + exp(x)) >> softplus(x),
        log(1 - sigmoid(x)) >> -softplus(x),
        log(1 + -sigmoid(x)) >> -softplus(x),
    ]
    return [equation.when(is_as_precise) for equation in logarithms]


@stabilizing_equations(
    scalar.log1p,
    reach=2,
    key="local_log1p_exp",
    names=("log1pexp_to_softplus", "log1p_neg_sigmoid"),
    guard=gives_floats,
)
def log1p_of_exp(a: Anything) -> Equations:
    """Logarithms of one plus an exponential, and of the complement of a sigmoid."""
    return [log1p(exp(a)) >> softplus(a), log1p(-sigmoid(a)) >> -softplus(a)]


@stabilizing_equations(scalar.log, reach=3, key="local_log1p")
def log_of_one_plus(x: Real, n: Whole) -> Equations:
    """Logarithms near 1, where a sum with 1 would lose digits."""
    return [
        (log(1 + n) >> log1p(in_dtype_of_argument(n))).when(is_of_integers),
        (log(1 - x) >> log1p(-wide(x))).when(is_not_logistic),
        (log(1 + x) >> log1p(wide(x))).when(is_not_logistic),
    ]


def is_of_integers(node: Apply[Any, Tensor]) -> bool:
    """The argument holds integers."""
    return "int" in node.inputs[0].type.dtype


def is_not_logistic(node: Apply[Any, Tensor]) -> bool:
    """The argument is no product of sigmoids."""
    return logistic_atom(node.inputs[0]) is None


@built("in_dtype_of_argument")
def in_dtype_of_argument(context: Context, x: Tensor) -> Tensor:
    """Return a tensor in the dtype of the logarithm's operand."""
    return cast_to(x, context.node.inputs[0].type.dtype)


@stabilizing_equations(scalar.log, scalar.log1p, reach=3, key="local_log1mexp")
def log_of_one_minus_exp(x: Real) -> Equations:
    """Logarithms of the complement of an exponential, in the forms that other rules make of it too."""
    logarithms = [
        log(1 - exp(x)) >> log1mexp(x),
        log(1 + -exp(x)) >> log1mexp(x),
        log(-expm1(x)) >> log1mexp(x),
        log1p(-exp(x)) >> log1mexp(x),
    ]
    return [equation.when(is_as_precise) for equation in logarithms]


@stabilizing_equations(scalar.sub, scalar.add, key="local_expm1", guard=gives_floats)
def exp_minus_one(a: Anything) -> Equations:
    """Exponentials near 1 lose their digits in a difference from 1."""
    return [
        exp(a) - 1 >> expm1(wide(a)),
        1 - exp(a) >> -expm1(wide(a)),
        exp(a) + -1 >> expm1(wide(a)),
    ]


@stabilizing_equations(scalar.sub, scalar.add, reach=2, key="local_1msigmoid")
def one_minus_sigmoid(x: Real) -> Equations:
    """The complement of a sigmoid, which keeps its digits where the sigmoid is near 1."""
    return [1 - sigmoid(x) >> sigmoid(-wide(x)), 1 + -sigmoid(x) >> sigmoid(-wide(x))]


@stabilizing(
    scalar.mul,
    scalar.true_div,
    scalar.reciprocal,
    scalar.neg,
    reach=6,
    key="local_logistic_factors",
    names=("local_sigm_times_exp", "local_inv_1_plus_exp", "local_exp_over_1_plus_exp"),
)
def logistic_factors(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """Products of sigmoids, ``exp`` and ``1 + exp`` in short form, and sums multiplied out where factors then cancel.

    ``1 / (1 + exp(-x)) -> sigmoid(x)``; ``exp(x) / (1 + exp(x)) -> sigmoid(x)``; and for the gradient of a
    cross-entropy ``(a / s - b / (1 - s)) * s * (1 - s) -> a * (1 - s) - b * s``, with ``1 - s`` as the sigmoid of the
    opposite argument.
    """
    root = node.outputs[0]
    dtype, ndim = root.type.dtype, root.type.ndim
    if not may_be_logistic(node.inputs) or not is_float(root) or is_inside_product(fgraph, node):
        return None
    product = shared_product(fgraph, root)
    if not product.complete or product.cancelled or product.has(_SQUARE):  # elsewhere, squares make no difference
        product = flatten_product(root, squares=True)
    if not product.complete:
        return None
    product_form = logistic_product(product)
    if not product_form.powers:
        return None
    if product_form.is_logistic():
        multiplied = _multiplied_out(product_form, dtype, ndim)
        if multiplied is not None:
            return fitted(node, multiplied)
    if product_form.weight() < product_form.weight_before:
        return fitted(node, product_form.build(dtype, ndim))
    return None


def _multiplied_out(whole: LogisticProduct, dtype: str, ndim: int) -> Tensor | None:
    """Multiply a factor that is a sum out, if divisions by sigmoids in its terms then cancel."""
    for factor, power in whole.rest.factors.items():
        if power != 1 or operands(factor, scalar.add, scalar.sub) is None:
            continue
        terms = _summands(factor)
        if terms is None:
            continue
        others = {v: p for v, p in whole.rest.factors.items() if v is not factor}
        remainder = Product(whole.rest.coefficient, others)
        common = LogisticProduct(remainder, whole.powers, 0.0)
        parts = [logistic_product(flatten_product(v, squares=True)) for v, _ in terms]
        done = [part.times(common) for part in parts]
        if sum(p.weight() for p in done) < whole.weight() + sum(p.weight() for p in parts):
            return _signed_chain([(p.build(dtype, ndim), sign) for p, (_, sign) in zip(done, terms, strict=True)])
    return None


@stabilizing(
    scalar.add,
    scalar.sub,
    reach=5,
)
def logistic_terms_joined(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``a * s - a * s * s -> a * s * (1 - s)`` for a sigmoid s, with ``1 - s`` as the sigmoid of the opposite argument.

    Likewise ``a * s + a * (1 - s) -> a``. The gradient of ``exp(x) / (1 + exp(x))`` has such terms, which would cancel.
    """
    root = node.outputs[0]
    if not is_float(root) or _is_inside_sum(fgraph, root) or not is_above_exponential(node):
        return None
    summands = _summands(root)
    if summands is None or logistic_atom(root) is not None:
        return None
    products = [flatten_product(v, squares=True) for v, _ in summands]
    rests = [{f: power for f, power in p.factors.items() if logistic_atom(f) is None} for p in products]
    if all(len(remainder) == len(p.factors) for remainder, p in zip(rests, products, strict=True)):
        return None
    # Two terms can become one only where they are equal but for logistic factors; that is seen soonest.
    sizes = [abs(p.coefficient) for p in products]
    if not any(rests[i] == rests[j] and sizes[i] == sizes[j] for j in range(1, len(rests)) for i in range(j)):
        return None
    terms = [logistic_product(product) for product in products]
    for term, (_, sign) in zip(terms, summands, strict=True):
        term.rest.coefficient *= sign
    for j in range(1, len(terms)):
        for i in range(j):
            joint = joined(terms[i], terms[j])
            if joint is not None:
                left = [t for k, t in enumerate(terms) if k not in (i, j)]
                dtype, ndim = root.type.dtype, root.type.ndim
                return fitted(node, _signed_chain([(t.build(dtype, ndim), 1) for t in [joint, *left]]))
    return None


def _is_inside_sum(fgraph: FunctionGraph, variable: Tensor) -> bool:
    """Tell whether the only user of a variable is a sum or a difference."""
    client = sole_client(fgraph, variable)
    return client is not None and kind_of(client.outputs[0]) in _SUMS


def _summands(variable: Tensor) -> list[tuple[Tensor, int]] | None:
    """Return the terms of a sum with their signs, or None if there are too many.

    A sum of another dtype is one term: truth values are added without a carry, and integers go round.
    """
    summands: list[tuple[Tensor, int]] = []
    stack: list[tuple[Tensor, int]] = [(variable, 1)]
    dtype = variable.type.dtype
    while stack:
        v, sign = stack.pop()
        same = v.type.dtype == dtype
        added, subtracted = (operands(v, op) if same else None for op in (scalar.add, scalar.sub))
        if added is not None and logistic_atom(v) is None:
            stack.extend((x, sign) for x in reversed(added))
        elif subtracted is not None and logistic_atom(v) is None:
            stack.extend([(subtracted[1], -sign), (subtracted[0], sign)])
        else:
            summands.append((v, sign))
        if len(summands) + len(stack) > MAX_SUMMANDS:
            return None
    return summands


def _signed_chain(terms: list[tuple[Tensor, int]]) -> Tensor:
    first, sign = terms[0]
    result = first if sign > 0 else call(scalar.neg, first)
    for term, sign in terms[1:]:
        result = call(scalar.add if sign > 0 else scalar.sub, result, term)
    return result


# ---- Error functions: cancellation near 1, vanishing tails, and the quotients that gradients make of them
#
# With erfcx(x) = exp(x**2) erfc(x), which neither vanishes nor overflows for large x, the logarithm of erfc(x) is
# ``log(erfcx(x)) - x**2``, and the quotient ``exp(-x**2) / erfc(x)`` of its derivative is ``1 / erfcx(x)`` for all x.

#: From here on the logarithm is taken of erfcx.
_TAIL = 1.0
_ERFC = type(scalar.erfc)


@stabilizing_equations(
    scalar.sub,
    scalar.add,
    key="local_one_minus_erf",
    names=(
        "local_one_minus_erf2",
        "local_one_plus_erf",
        "local_one_plus_neg_erf",
        "local_erf_minus_one",
        "local_erf_neg_minus_one",
        "local_erf_neg_minus_one2",
        "local_one_minus_erfc",
        "local_one_minus_erfc2",
        "local_one_minus_erfc3",
        "local_one_add_neg_erfc",
    ),
    guard=gives_floats,
)
def complement_of_error_function(x: Real) -> Equations:
    """Differences of error functions from 1 and -1, in all forms in which they are written."""
    f, g, z = erf(x), erfc(x), wide(x)
    return [
        1 + f >> erfc(-z),
        1 - -f >> erfc(-z),
        f - -1 >> erfc(-z),
        1 - f >> erfc(z),
        1 + -f >> erfc(z),
        -f - -1 >> erfc(z),
        f - 1 >> -erfc(z),
        f + -1 >> -erfc(z),
        -1 - -f >> -erfc(z),
        -f - 1 >> -erfc(-z),
        -1 - f >> -erfc(-z),
        -1 + -f >> -erfc(-z),
        1 - g >> erf(z),
        1 + -g >> erf(z),
        -g - -1 >> erf(z),
        g - 1 >> -erf(z),
        g + -1 >> -erf(z),
        -1 - -g >> -erf(z),
    ]


@stabilizing_equations(scalar.log, key="local_log_erfc")
def log_of_complement(x: Real) -> Equations:
    """Where x is large, the complement vanishes, and its logarithm does not."""
    tail = log(erfcx(maximum(x, _TAIL))) - x * x
    return [(log(erfc(x)) >> switch(gt(x, _TAIL), tail, log(erfc(minimum(x, _TAIL))))).when(is_not_limited)]


def is_not_limited(x: Tensor) -> bool:
    """The tensor `x` has not been limited for this."""
    limited = operands(x, scalar.minimum)
    return limited is None or number(limited[1]) != _TAIL


@stabilizing(scalar.mul, scalar.true_div, scalar.reciprocal, scalar.neg, reach=6, key="local_grad_log_erfc_neg")
def bell_over_complement(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``exp(-x**2) / erfc(x) -> 1 / erfcx(x)``, in products; the gradient of ``log(erfc(x))`` has it."""
    root = node.outputs[0]
    product = outermost_product(fgraph, node)
    if product is None or not product.has(_ERFC):
        return None
    for factor, power in product.factors.items():
        inner = operands(factor, scalar.erfc)
        if inner is None or power >= 0:
            continue
        for other, above in product.factors.items():
            exponent = operands(other, scalar.exp)
            if exponent is not None and above > 0 and _is_minus_square(exponent[0], inner[0]):
                product = product.copy()
                product.multiply(factor, 1)
                product.multiply(other, -1)
                product.multiply(call(scalar.erfcx, inner[0]), -1)
                return fitted(node, product.build(root.type.dtype, root.type.ndim))
    return None


def _factors(variable: Tensor) -> Product:
    return flatten_product(variable, squares=True)


def _is_minus_square(u: Tensor, x: Tensor) -> bool:
    """Tell whether u is ``-x**2``, however it is written."""
    square, base = _factors(u), _factors(x)
    if not square.complete or not base.complete or u.type.dtype != x.type.dtype:
        return False
    wanted = -(base.coefficient**2)
    tolerance = 1e-6 if x.type.dtype == "float32" else 1e-14
    doubled = {v: 2 * p for v, p in base.factors.items()}
    return square.factors == doubled and math.isclose(square.coefficient, wanted, rel_tol=tolerance)
