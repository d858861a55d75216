"""Error functions: cancellation near 1, vanishing tails, and the quotients that gradients make of them.

With erfcx(x) = exp(x**2) erfc(x), which neither vanishes nor overflows for large x, the logarithm of erfc(x) is
``log(erfcx(x)) - x**2``, and the quotient ``exp(-x**2) / erfc(x)`` of its derivative is ``1 / erfcx(x)`` for all x.
"""

from __future__ import annotations

import math

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar

from .._core._type import Tensor
from ..elemwise import Elemwise
from ._conditions import gives_floats
from ._equations import Equations, Real, stabilizing_equations
from ._language import call, fitted, number, operands
from ._products import Product, flatten_product, outermost_product
from ._registry import stabilizing
from ._terms import erf, erfc, erfcx, gt, log, maximum, minimum, switch, wide

Found = list[Variable] | None
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
