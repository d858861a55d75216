"""Error functions: what cancels near 1, what vanishes in the tails, and the quotients that gradients make of them.

With erfcx(x) = exp(x**2) erfc(x), which neither vanishes nor overflows for large x, the logarithm of erfc(x) is
``log(erfcx(x)) - x**2``, and the quotient ``exp(-x**2) / erfc(x)`` of its derivative is ``1 / erfcx(x)`` for all x.
"""

from __future__ import annotations

import math
from typing import cast

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar

from .._core._variable import Tensor
from ._language import call, cast_to, fitted, is_float, number, operands, scalar_constant
from ._products import Product, flatten_product, is_inside_product, shared_product
from ._registry import stabilizing

Found = list[Variable] | None
#: From here on the logarithm is taken of erfcx.
_TAIL = 1.0
_ERFC = type(scalar.erfc)


@stabilizing(
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
)
def complement_of_error_function(fgraph: FunctionGraph, node: Apply) -> Found:
    """``1 - erf(x) -> erfc(x)``, ``1 + erf(x) -> erfc(-x)``, ``1 - erfc(x) -> erf(x)`` and the negatives of these."""
    if len(node.inputs) != 2 or not is_float(node.outputs[0]):
        return None
    dtype = node.outputs[0].type.dtype
    a, b = cast("list[Tensor]", node.inputs)
    sign = 1 if node.op.scalar_op == scalar.add else -1
    for one, other, one_sign, other_sign in ((a, b, 1, sign), (b, a, sign, 1)):
        value = number(one)
        minus = operands(other, scalar.neg)
        if minus is not None:
            other, other_sign = minus[0], -other_sign
        found = None if value is None else _complement(other, one_sign * value, other_sign, dtype)
        if found is not None:
            return fitted(node, found)
    return None


def _complement(f: Tensor, one: float, sign: int, dtype: str) -> Tensor | None:
    """Return ``one + sign * f`` for an error function f, if there is a function for that."""
    if one not in (1, -1):
        return None
    negate = one == -1
    same = sign == one
    inner = operands(f, scalar.erf)
    if inner is not None and is_float(inner[0]):
        x = cast_to(inner[0], dtype)
        result = call(scalar.erfc, call(scalar.neg, x) if same else x)
    else:
        inner = operands(f, scalar.erfc)
        if inner is None or same or not is_float(inner[0]):
            return None
        result = call(scalar.erf, cast_to(inner[0], dtype))
    return call(scalar.neg, result) if negate else result


@stabilizing(scalar.log, key="local_log_erfc")
def log_of_complement(fgraph: FunctionGraph, node: Apply) -> Found:
    """``log(erfc(x)) -> log(erfcx(x)) - x**2`` where x is large."""
    inner = operands(node.inputs[0], scalar.erfc)
    if inner is None or not is_float(inner[0]):
        return None
    (x,) = inner
    limited = operands(x, scalar.minimum)
    if limited is not None and number(limited[1]) == _TAIL:
        return None
    limit = scalar_constant(_TAIL, x.type.dtype, x.type.ndim)
    above, below = call(scalar.maximum, x, limit), call(scalar.minimum, x, limit)
    tail = call(scalar.sub, call(scalar.log, call(scalar.erfcx, above)), call(scalar.mul, x, x))
    return fitted(
        node, call(scalar.switch, call(scalar.gt, x, limit), tail, call(scalar.log, call(scalar.erfc, below)))
    )


@stabilizing(scalar.mul, scalar.true_div, scalar.reciprocal, scalar.neg, reach=6, key="local_grad_log_erfc_neg")
def bell_over_complement(fgraph: FunctionGraph, node: Apply) -> Found:
    """``exp(-x**2) / erfc(x) -> 1 / erfcx(x)``, in products; the gradient of ``log(erfc(x))`` has it."""
    root = node.outputs[0]
    if not is_float(root) or is_inside_product(fgraph, node):
        return None
    product = shared_product(fgraph, root)
    if not product.complete or not product.has(_ERFC):
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
