"""Sums, products and powers: what is redundant is dropped, signs move outwards, constants are gathered.

No two rules undo each other: each makes the expression smaller, or moves a sign towards the root without adding
operations.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_optimize import Context, Phase

from .._core._dtypes import COMPLEX_DTYPES
from .._core._variable import Tensor
from ..elemwise import Elemwise
from ._conditions import gives_floats, has_dtype_of_result, has_sign, is_no_float
from ._equations import Anything, Equations, Number, Real, equations
from ._language import call, cast_to, fitted, is_float, operands
from ._products import flatten_product, is_inside_product, is_product, whole_power
from ._registry import rule
from ._terms import add, built, eq, exp, log, mul, neg, or_, sqr, sqrt, switch, wide

Found = list[Variable] | None
#: Levels of rewriting with little in them, FAST_COMPILE among them, go without these.
ONLY_RUN = ("fast_run",)
_ABS, _POW = scalar.Abs(), scalar.Pow()
BOTH = (Phase.CANONICALIZE, Phase.STABILIZE)


def _inputs(node: Apply) -> list[Tensor]:
    return cast("list[Tensor]", node.inputs)


@equations(scalar.add, reach=0, key="local_add_specialize", tags=ONLY_RUN)
def zero_in_sum(a: Anything) -> Equations:
    """Zero is the neutral element of addition."""
    return [a + 0 >> a, add(a, 0, 0) >> a]


@equations(scalar.sub, reach=0, key="local_sub_zero", names=("local_add_specialize",), tags=ONLY_RUN)
def zero_in_difference(a: Anything) -> Equations:
    """Zero is the neutral element of subtraction; of truth values there is no negative."""
    return [a - 0 >> a, (0 - a >> -wide(a)).when(has_sign)]


@equations(scalar.mul, reach=0, key="local_mul_specialize", tags=ONLY_RUN)
def one_in_product(a: Anything) -> Equations:
    """One is the neutral element of multiplication."""
    return [a * 1 >> a, mul(a, 1, 1) >> a]


@equations(scalar.mul, reach=0, key="local_mul_zero", names=("local_mul_specialize",), tags=ONLY_RUN)
def zero_in_product() -> Equations:
    """A product with zero is zero, whatever the other factors are."""
    return [mul(0, ...) >> 0]


@equations(scalar.true_div, scalar.int_div, reach=0, key="local_div_by_one", names=("local_intdiv_by_one",))
def one_as_divisor(a: Anything) -> Equations:
    """Division by one; ``//`` rounds floats."""
    return [a / 1 >> a, (a // 1 >> a).when(is_no_float)]


@equations(scalar.true_div, scalar.int_div, reach=0, key="local_zero_div")
def zero_as_dividend(a: Anything) -> Equations:
    """Zero divided by anything is zero."""
    return [0 / a >> 0, 0 // a >> 0]


@equations(scalar.neg, phases=BOTH, key="local_neg_neg", names=("neg_neg", "local_neg_sub"), tags=ONLY_RUN)
def sign_of_sign(a: Anything, b: Anything) -> Equations:
    """Two signs are none."""
    return [neg(-a) >> a, (-(a - b) >> b - a).when(gives_floats).alone()]


@equations(scalar.add, phases=BOTH, key="local_add_neg", guard=gives_floats)
def signs_in_sum(a: Anything, x: Real, y: Real) -> Equations:
    """Signs of terms make differences."""
    return [-x + -y >> -(x + y), a + -y >> a - y]


@equations(scalar.sub, phases=BOTH, guard=gives_floats)
def signs_in_difference(a: Anything, x: Real, y: Real) -> Equations:
    """Signs of terms make sums, and go outwards."""
    return [a - -y >> a + y, -x - a >> -(x + a)]


@equations(
    scalar.mul,
    scalar.true_div,
    phases=BOTH,
    key="local_neg_div_neg",
    names=("neg_div_neg",),
    tags=ONLY_RUN,
    guard=gives_floats,
    ordered=True,
)
def sign_in_product(a: Anything, x: Real, y: Real) -> Equations:
    """A sign meets others further up. Not where a constant can take it."""
    return [
        -x * -y >> x * y,
        -x * a >> -(x * a),
        a * -y >> -(a * y),
        -x / -y >> x / y,
        -x / a >> -(x / a),
        a / -y >> -(a / y),
    ]


@rule(
    scalar.mul,
    scalar.true_div,
    scalar.neg,
    scalar.reciprocal,
    reach=4,
    key="local_mul_canonizer",
    names=("local_neg_to_mul", "local_inv_canon"),
    tags=ONLY_RUN,
)
def factors_gathered(fgraph: FunctionGraph, node: Apply) -> Found:
    """``x * y / x -> y``, ``2 * (3 * x) -> 6 * x``, ``x**3 / x**2 -> x``: the normal form, where it is shorter.

    As everywhere in the language, ``x * y / y`` is x also where y is zero, and ``x / x`` is 1.
    """
    root = node.outputs[0]
    if root.type.dtype not in ("float32", "float64") or is_inside_product(fgraph, node):
        return None
    of_itself = node.op.scalar_op == scalar.true_div and node.inputs[0] is node.inputs[1] and is_float(node.inputs[0])
    if not of_itself and not any(is_product(v) or operands(v, scalar.sqr) or whole_power(v) for v in node.inputs):
        return None
    product = flatten_product(root, squares=True, fgraph=fgraph)
    if not product.complete or product.cost() >= product.nodes:
        return None
    return fitted(node, product.build(root.type.dtype, root.type.ndim), _leaves(root, fgraph))


def _leaves(root: Variable, fgraph: FunctionGraph) -> list[Variable]:
    """Return variables that together have the shape of a product: the first levels of its inputs."""
    leaves: list[Variable] = []
    level = [root]
    for _ in range(3):
        level = [v for x in level if x.owner is not None and isinstance(x.owner.op, Elemwise) for v in x.owner.inputs]
        leaves.extend(level)
    return leaves


@equations(scalar.add, scalar.sub, reach=2, guard=gives_floats)
def constants_in_sum(a: Anything, k: Number, m: Number) -> Equations:
    """The constants of a sum become one, where nothing else uses the inner sum."""
    sums = [
        (a + k) + m >> a + (m + k),
        (a - k) + m >> a + (m - k),
        (k - a) + m >> (m + k) - a,
        (a + k) - m >> a + (k - m),
        (a - k) - m >> a + (-m - k),
        (k - a) - m >> (k - m) - a,
        m - (a + k) >> (m - k) - a,
        m - (a - k) >> (m + k) - a,
        m - (k - a) >> a + (m - k),
    ]
    return [equation.when(has_dtype_of_result).alone() for equation in sums]


@equations(_POW, reach=0, key="local_pow_specialize", names=("local_pow_canonicalize",), tags=ONLY_RUN)
def power_with_constant_exponent(a: Anything) -> Equations:
    """Powers that have an operation of their own; the root of -0.0 would give -inf, and that of -inf NaN."""
    x = wide(a)
    at_end = switch(eq(x, 0), np.inf, 0)
    floats = [
        a**0.5 >> sqrt(x),
        a**-0.5 >> switch(or_(eq(x, 0), eq(x, -np.inf)), at_end, 1 / sqrt(x)),
        a**-1 >> 1 / x,
        a**-2 >> 1 / sqr(x),
    ]
    return [a**2 >> sqr(x), a**1 >> a, a**0 >> 1, *(equation.when(gives_floats) for equation in floats)]


@equations(scalar.mul, phases=(Phase.SPECIALIZE,), reach=0, key="local_mul_to_sqr", tags=ONLY_RUN)
def square_of_equal_factors(a: Anything) -> Equations:
    """Equal factors make a square."""
    return [(a * a >> sqr(a)).when(has_sign)]


@equations(
    scalar.mul,
    scalar.true_div,
    phases=(Phase.SPECIALIZE,),
    reach=0,
    key="local_mul_to_neg",
    names=("local_mul_specialize",),
    tags=ONLY_RUN,
)
def minus_one_in_product(a: Anything) -> Equations:
    """Minus one is a sign."""
    return [
        (a * -1 >> -wide(a)).when(gives_no_complex_numbers),
        (mul(-1, ...) >> -product(...)).when(gives_no_complex_numbers),
        (a / -1 >> -wide(a)).when(gives_floats),
    ]


def gives_no_complex_numbers(node: Apply) -> bool:
    """The result holds no complex numbers."""
    return node.outputs[0].type.dtype not in COMPLEX_DTYPES


@built("product")
def product(context: Context, *factors: Tensor) -> Tensor:
    """Return the product of tensors in the dtype of the result."""
    return call(scalar.mul, *(cast_to(x, context.node.outputs[0].type.dtype) for x in factors))


@equations(scalar.sqr, _ABS)
def sign_under_even_function(x: Real) -> Equations:
    """Even functions see no sign."""
    return [sqr(-x) >> sqr(x), sqr(abs(x)) >> sqr(x), abs(-x) >> abs(x), abs(abs(x)) >> abs(x)]


@equations(scalar.sqrt)
def square_root_of_square(x: Real) -> Equations:
    """The root of a square is the size."""
    return [sqrt(sqr(x)) >> abs(x)]


@equations(scalar.log, key="local_log_exp", names=("local_func_inv",))
def log_of_exp(x: Real) -> Equations:
    """A logarithm undoes the exponential."""
    return [log(exp(x)) >> x]
