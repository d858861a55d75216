"""Expressions that overflow, cancel or divide zero by zero, written so that they do not.

Sigmoids, their logarithms, and the products that gradients make of them. A gradient is built by the user before
anything is rewritten, so that ``log(p)`` in a cost leaves ``g / p * p * (1 - p)`` in its gradient, with p saturated
at 0 or 1: infinity times zero.
"""

from __future__ import annotations

from typing import cast

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar

from .._core._variable import Tensor
from ._language import call, cast_to, fitted, is_float, number, operands, sole_client
from ._logistic import LogisticProduct, joined, logistic_atom, logistic_product, may_be_logistic, one_minus, one_plus
from ._products import Product, flatten_product, is_inside_product
from ._registry import stabilizing

Found = list[Variable] | None

#: Sums with more terms are not multiplied out.
MAX_SUMMANDS = 16


def _softplus_of_negative(x: Tensor) -> Tensor:
    return call(scalar.softplus, call(scalar.neg, x))


@stabilizing(scalar.log, reach=3, key="local_log_sigmoid", names=("logsigm_to_softplus", "log1msigm_to_softplus"))
def log_of_sigmoid(fgraph: FunctionGraph, node: Apply) -> Found:
    """``log(sigmoid(x)) -> -softplus(-x)`` and ``log(1 - sigmoid(x)) -> -softplus(x)``."""
    (p,) = node.inputs
    atom = logistic_atom(p)
    if atom is None or not is_float(p):
        return None
    x, plus, minus, _ = atom
    if (plus, minus) == (1, 0):
        return fitted(node, call(scalar.neg, _softplus_of_negative(x)))
    if (plus, minus) == (0, 1):
        return fitted(node, call(scalar.neg, call(scalar.softplus, x)))
    if (plus, minus) == (0, -1):
        return fitted(node, call(scalar.softplus, x))
    return None


@stabilizing(scalar.log1p, reach=2, key="local_log1p_exp", names=("log1pexp_to_softplus", "log1p_neg_sigmoid"))
def log1p_of_exp(fgraph: FunctionGraph, node: Apply) -> Found:
    """``log1p(exp(x)) -> softplus(x)`` and ``log1p(-sigmoid(x)) -> -softplus(x)``."""
    (x,) = node.inputs
    if not is_float(x):
        return None
    inner = operands(x, scalar.exp)
    if inner is not None:
        return fitted(node, call(scalar.softplus, inner[0]))
    negated = operands(x, scalar.neg)
    inner = None if negated is None else operands(negated[0], scalar.sigmoid)
    return None if inner is None else fitted(node, call(scalar.neg, call(scalar.softplus, inner[0])))


@stabilizing(scalar.log, reach=3, key="local_log1p")
def log_of_one_plus(fgraph: FunctionGraph, node: Apply) -> Found:
    """``log(1 + x) -> log1p(x)``, also for integers, and ``log(1 - x) -> log1p(-x)``."""
    (argument,) = node.inputs
    if not is_float(argument):
        terms = operands(argument, scalar.add) or []
        rest = [v for v in terms if number(v) != 1]
        whole = len(terms) == 2 and len(rest) == 1 and "int" in argument.type.dtype
        return fitted(node, call(scalar.log1p, cast_to(rest[0], argument.type.dtype))) if whole else None
    if logistic_atom(argument) is not None:
        return None
    x = one_minus(argument)
    if x is not None and is_float(x):
        wide = cast_to(x, argument.type.dtype)
        return fitted(node, call(scalar.log1p, call(scalar.neg, wide)))
    x = one_plus(argument)
    if x is not None and is_float(x):
        return fitted(node, call(scalar.log1p, cast_to(x, argument.type.dtype)))
    return None


@stabilizing(scalar.log, scalar.log1p, reach=3, key="local_log1mexp")
def log_of_one_minus_exp(fgraph: FunctionGraph, node: Apply) -> Found:
    """``log(1 - exp(x)) -> log1mexp(x)``, also ``log(-expm1(x))`` and ``log1p(-exp(x))``, which others make of it."""
    (argument,) = cast("list[Tensor]", node.inputs)
    if not is_float(argument):
        return None
    negative = operands(argument, scalar.neg)
    if node.op.scalar_op == scalar.log1p:
        found = None if negative is None else operands(negative[0], scalar.exp)
    elif negative is not None:
        found = operands(negative[0], scalar.expm1)
    else:
        x = one_minus(argument)
        found = None if x is None else operands(x, scalar.exp)
    if found is None or found[0].type.dtype != argument.type.dtype:
        return None
    return fitted(node, call(scalar.log1mexp, found[0]))


@stabilizing(scalar.sub, scalar.add, key="local_expm1")
def exp_minus_one(fgraph: FunctionGraph, node: Apply) -> Found:
    """``exp(x) - 1 -> expm1(x)`` and ``1 - exp(x) -> -expm1(x)``."""
    if len(node.inputs) != 2 or not is_float(node.outputs[0]):
        return None
    a, b = cast("list[Tensor]", node.inputs)
    if node.op.scalar_op == scalar.add:
        pairs = ((a, b, -1, False), (b, a, -1, False))
    else:
        pairs = ((a, b, 1, False), (b, a, 1, True))
    for x, other, wanted, negate in pairs:
        inner = operands(x, scalar.exp)
        if inner is not None and number(other) == wanted:
            result = call(scalar.expm1, cast_to(inner[0], node.outputs[0].type.dtype))
            return fitted(node, call(scalar.neg, result) if negate else result)
    return None


@stabilizing(scalar.sub, scalar.add, reach=2, key="local_1msigmoid")
def one_minus_sigmoid(fgraph: FunctionGraph, node: Apply) -> Found:
    """``1 - sigmoid(x) -> sigmoid(-x)``, which keeps its digits where sigmoid(x) is near 1."""
    p = one_minus(node.outputs[0])
    inner = None if p is None else operands(p, scalar.sigmoid)
    if inner is None or not is_float(inner[0]):
        return None
    wide = cast_to(inner[0], node.outputs[0].type.dtype)
    return fitted(node, call(scalar.sigmoid, call(scalar.neg, wide)))


@stabilizing(
    scalar.mul,
    scalar.true_div,
    scalar.reciprocal,
    scalar.neg,
    reach=6,
    key="local_logistic_factors",
    names=("local_sigm_times_exp", "local_inv_1_plus_exp", "local_exp_over_1_plus_exp"),
)
def logistic_factors(fgraph: FunctionGraph, node: Apply) -> Found:
    """Products of sigmoids, ``exp`` and ``1 + exp`` in short form, and sums multiplied out where factors then cancel.

    ``1 / (1 + exp(-x)) -> sigmoid(x)``; ``exp(x) / (1 + exp(x)) -> sigmoid(x)``; and for the gradient of a
    cross-entropy ``(a / s - b / (1 - s)) * s * (1 - s) -> a * (1 - s) - b * s``, with ``1 - s`` as the sigmoid of the
    opposite argument.
    """
    root = node.outputs[0]
    dtype, ndim = root.type.dtype, root.type.ndim
    if not may_be_logistic(node.inputs) or not is_float(root) or is_inside_product(fgraph, node):
        return None
    product = flatten_product(root, squares=True)
    if not product.complete:
        return None
    whole = logistic_product(product)
    if not whole.powers:
        return None
    if whole.is_logistic():
        multiplied = _multiplied_out(whole, dtype, ndim)
        if multiplied is not None:
            return fitted(node, multiplied)
    if whole.weight() < whole.weight_before:
        return fitted(node, whole.build(dtype, ndim))
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
        rest = Product(whole.rest.coefficient, others)
        common = LogisticProduct(rest, whole.powers, 0.0)
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
def logistic_terms_joined(fgraph: FunctionGraph, node: Apply) -> Found:
    """``a * s - a * s * s -> a * s * (1 - s)`` for a sigmoid s, with ``1 - s`` as the sigmoid of the opposite argument.

    Likewise ``a * s + a * (1 - s) -> a``. The gradient of ``exp(x) / (1 + exp(x))`` has such terms, which would cancel.
    """
    root = node.outputs[0]
    if not may_be_logistic(node.inputs):
        return None
    client = sole_client(fgraph, root)
    if not is_float(root) or (client is not None and operands(client.outputs[0], scalar.add, scalar.sub) is not None):
        return None
    summands = _summands(root)
    if summands is None or logistic_atom(root) is not None:
        return None
    products = [flatten_product(v, squares=True) for v, _ in summands]
    rests = [{f: power for f, power in p.factors.items() if logistic_atom(f) is None} for p in products]
    if all(len(rest) == len(p.factors) for rest, p in zip(rests, products, strict=True)):
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
            whole = joined(terms[i], terms[j])
            if whole is not None:
                left = [t for k, t in enumerate(terms) if k not in (i, j)]
                dtype, ndim = root.type.dtype, root.type.ndim
                return fitted(node, _signed_chain([(t.build(dtype, ndim), 1) for t in [whole, *left]]))
    return None


def _summands(variable: Tensor) -> list[tuple[Tensor, int]] | None:
    """Return the terms of a sum with their signs, or None if there are too many."""
    found: list[tuple[Tensor, int]] = []
    stack: list[tuple[Tensor, int]] = [(variable, 1)]
    while stack:
        v, sign = stack.pop()
        added, subtracted = operands(v, scalar.add), operands(v, scalar.sub)
        if added is not None and logistic_atom(v) is None:
            stack.extend((x, sign) for x in reversed(added))
        elif subtracted is not None and logistic_atom(v) is None:
            stack.extend([(subtracted[1], -sign), (subtracted[0], sign)])
        else:
            found.append((v, sign))
        if len(found) + len(stack) > MAX_SUMMANDS:
            return None
    return found


def _signed_chain(terms: list[tuple[Tensor, int]]) -> Tensor:
    first, sign = terms[0]
    result = first if sign > 0 else call(scalar.neg, first)
    for term, sign in terms[1:]:
        result = call(scalar.add if sign > 0 else scalar.sub, result, term)
    return result
