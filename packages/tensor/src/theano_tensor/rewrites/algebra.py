"""Sums, products and powers: what is redundant is dropped, signs move outwards, constants are gathered.

No two rules undo each other: each makes the expression smaller, or moves a sign towards the root without adding
operations.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from theano_graph import Apply, FunctionGraph, Variable, origin_from
from theano_linker_c import scalar
from theano_optimize import Phase

from .._core._dtypes import COMPLEX_DTYPES
from .._core._variable import Tensor
from ..elemwise import Elemwise
from ._language import call, cast_to, fitted, is_float, negated, number, operands, scalar_constant, sole_client
from ._products import flatten_product, is_inside_product, is_product, whole_power
from ._registry import rule

Found = list[Variable] | None
#: Levels of rewriting with little in them, FAST_COMPILE among them, go without these.
ONLY_RUN = ("fast_run",)
_ABS, _POW = scalar.Abs(), scalar.Pow()
BOTH = (Phase.CANONICALIZE, Phase.STABILIZE)


def _inputs(node: Apply) -> list[Tensor]:
    return cast("list[Tensor]", node.inputs)


@rule(scalar.add, reach=0, key="local_add_specialize", tags=ONLY_RUN)
def zero_in_sum(fgraph: FunctionGraph, node: Apply) -> Found:
    """``x + 0 -> x``."""
    kept = [x for x in _inputs(node) if number(x) != 0]
    if len(kept) == len(node.inputs) or len(kept) > 1:
        return None
    return fitted(node, kept[0] if kept else _inputs(node)[0])


@rule(scalar.sub, reach=0, key="local_sub_zero", names=("local_add_specialize",), tags=ONLY_RUN)
def zero_in_difference(fgraph: FunctionGraph, node: Apply) -> Found:
    """``x - 0 -> x`` and ``0 - x -> -x``."""
    a, b = _inputs(node)
    if number(b) == 0:
        return fitted(node, a)
    if number(a) == 0 and b.type.dtype != "bool":
        return fitted(node, call(scalar.neg, cast_to(b, node.outputs[0].type.dtype)))
    return None


@rule(scalar.mul, reach=0, key="local_mul_specialize", tags=ONLY_RUN)
def one_in_product(fgraph: FunctionGraph, node: Apply) -> Found:
    """``x * 1 -> x``."""
    kept = [x for x in _inputs(node) if number(x) != 1]
    if len(kept) == len(node.inputs) or len(kept) > 1:
        return None
    return fitted(node, kept[0] if kept else _inputs(node)[0])


@rule(scalar.mul, reach=0, key="local_mul_zero", names=("local_mul_specialize",), tags=ONLY_RUN)
def zero_in_product(fgraph: FunctionGraph, node: Apply) -> Found:
    """``x * 0 -> 0``, whatever x is."""
    if any(number(x) == 0 for x in node.inputs):
        return fitted(node, scalar_constant(0, node.outputs[0].type.dtype, node.outputs[0].type.ndim))
    return None


@rule(scalar.true_div, scalar.int_div, reach=0, key="local_div_by_one", names=("local_intdiv_by_one",))
def one_as_divisor(fgraph: FunctionGraph, node: Apply) -> Found:
    """``x / 1 -> x``; for ``//`` only where x is an integer."""
    a, b = _inputs(node)
    if number(b) != 1 or (node.op.scalar_op == scalar.int_div and is_float(a)):
        return None
    return fitted(node, a)


@rule(scalar.true_div, scalar.int_div, reach=0, key="local_zero_div")
def zero_as_dividend(fgraph: FunctionGraph, node: Apply) -> Found:
    """``0 / x -> 0``, whatever x is."""
    if number(node.inputs[0]) != 0:
        return None
    return fitted(node, scalar_constant(0, node.outputs[0].type.dtype, node.outputs[0].type.ndim))


@rule(scalar.neg, phases=BOTH, key="local_neg_neg", names=("neg_neg", "local_neg_sub"), tags=ONLY_RUN)
def sign_of_sign(fgraph: FunctionGraph, node: Apply) -> Found:
    """``-(-x) -> x`` and ``-(a - b) -> b - a`` (the latter where nothing else uses the difference)."""
    (x,) = _inputs(node)
    inner = operands(x, scalar.neg)
    if inner is not None:
        return fitted(node, inner[0])
    inner = operands(x, scalar.sub)
    if inner is not None and sole_client(fgraph, x) is not None and is_float(x):
        return fitted(node, call(scalar.sub, inner[1], inner[0]))
    return None


@rule(scalar.add, phases=BOTH, key="local_add_neg")
def signs_in_sum(fgraph: FunctionGraph, node: Apply) -> Found:
    """``a + -b -> a - b``, ``-a + b -> b - a`` and ``-a + -b -> -(a + b)``."""
    if len(node.inputs) != 2 or not is_float(node.outputs[0]):
        return None
    a, b = _inputs(node)
    minus_a, minus_b = negated(a), negated(b)
    if minus_a is not None and minus_b is not None:
        return fitted(node, call(scalar.neg, call(scalar.add, minus_a, minus_b)))
    if minus_b is not None:
        return fitted(node, call(scalar.sub, a, minus_b))
    if minus_a is not None:
        return fitted(node, call(scalar.sub, b, minus_a))
    return None


@rule(scalar.sub, phases=BOTH)
def signs_in_difference(fgraph: FunctionGraph, node: Apply) -> Found:
    """``a - -b -> a + b`` and ``-a - b -> -(a + b)``."""
    if not is_float(node.outputs[0]):
        return None
    a, b = _inputs(node)
    minus_b = negated(b)
    if minus_b is not None:
        return fitted(node, call(scalar.add, a, minus_b))
    minus_a = negated(a)
    if minus_a is not None:
        return fitted(node, call(scalar.neg, call(scalar.add, minus_a, b)))
    return None


@rule(scalar.mul, scalar.true_div, phases=BOTH, key="local_neg_div_neg", names=("neg_div_neg",), tags=ONLY_RUN)
def sign_in_product(fgraph: FunctionGraph, node: Apply) -> Found:
    """``-a * b -> -(a * b)``: the sign meets others further up. Not where a constant can take it."""
    if len(node.inputs) != 2 or not is_float(node.outputs[0]):
        return None
    a, b = _inputs(node)
    minus_a, minus_b = negated(a), negated(b)
    if minus_a is None and minus_b is None:
        return None
    bare = call(node.op.scalar_op, a if minus_a is None else minus_a, b if minus_b is None else minus_b)
    if minus_a is not None and minus_b is not None:
        return fitted(node, bare)
    return fitted(node, call(scalar.neg, bare))


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


@rule(scalar.add, scalar.sub, reach=2)
def constants_in_sum(fgraph: FunctionGraph, node: Apply) -> dict[Variable, Variable] | Found:
    """``(x + 1) + 2 -> x + 3``, also with differences, where nothing else uses the inner sum.

    Constants that are added further up go into the same sum, one after the other: a chain of them is one replacement.
    """
    found = _joined_constants(fgraph, node)
    if found is None:
        return None
    y, total, y_sign = found
    top, dtype = node, node.outputs[0].type.dtype
    # Other rules move signs, step by step; what is constant altogether is left to folding.
    while y_sign > 0 and number(y) is None:
        client = sole_client(fgraph, top.outputs[0])
        if client is None or client.outputs[0].type.dtype != dtype or not operands(client.outputs[0], scalar.add):
            break
        beside = _constant_beside(client, top.outputs[0])
        if beside is None:
            break
        # As exact as it would be if each sum stood in the graph before the next one is looked at.
        total, top = beside[1] + np.full((), total, dtype).item(), client
    if top is not node:
        with origin_from(top):
            new = fitted(top, _sum_of(y, total, y_sign, dtype))
        if new is not None:
            return {top.outputs[0]: new[0]}
    return fitted(node, _sum_of(*found, dtype))


def _joined_constants(fgraph: FunctionGraph, node: Apply) -> tuple[Tensor, Any, int] | None:
    """Return y, the constant and the sign of y where a node is ``(y + c) + d``, with any signs."""
    for x in _inputs(node):
        beside = _constant_beside(node, x)
        inner = operands(x, scalar.add, scalar.sub)
        if beside is None or inner is None or len(inner) != 2 or sole_client(fgraph, x) is None:
            continue
        sign, addend = beside
        inner_sign = 1 if operands(x, scalar.add) is not None else -1
        for y, constant, y_sign, k_sign in ((inner[0], inner[1], 1, inner_sign), (inner[1], inner[0], inner_sign, 1)):
            k = number(constant)
            if k is not None and y.type.dtype == node.outputs[0].type.dtype:
                return y, addend + sign * k_sign * k, sign * y_sign
    return None


def _constant_beside(node: Apply, x: Variable) -> tuple[int, Any] | None:
    """Return the sign of `x`, and the other term, where a node adds a number to it, or takes one from the other."""
    output = node.outputs[0]
    if not is_float(output) or len(node.inputs) != 2 or operands(output, scalar.add, scalar.sub) is None:
        return None
    a, b = _inputs(node)
    sign = 1 if node.op.scalar_op == scalar.add else -1
    value = number(b if x is a else a)
    if value is None:
        return None
    return (1, sign * value) if x is a else (sign, value)


def _sum_of(y: Tensor, total: Any, y_sign: int, dtype: str) -> Tensor:
    constant = scalar_constant(total, dtype, y.type.ndim)
    return call(scalar.add, y, constant) if y_sign > 0 else call(scalar.sub, constant, y)


@rule(_POW, reach=0, key="local_pow_specialize", names=("local_pow_canonicalize",), tags=ONLY_RUN)
def power_with_constant_exponent(fgraph: FunctionGraph, node: Apply) -> Found:
    """``x ** 2 -> sqr(x)``, and likewise for 0, 1, 1/2, -1/2, -1 and -2."""
    x, exponent = _inputs(node)
    value = number(exponent)
    dtype, ndim = node.outputs[0].type.dtype, node.outputs[0].type.ndim
    if value is None or isinstance(value, complex):
        return None
    if value == 1:
        return fitted(node, x)
    if value == 0:
        return fitted(node, scalar_constant(1, dtype, ndim))
    if value == 2:
        return fitted(node, call(scalar.sqr, cast_to(x, dtype)))
    if not is_float(node.outputs[0]):
        return None
    base = cast_to(x, dtype)
    if value == 0.5:
        return fitted(node, call(scalar.sqrt, base))
    if value == -0.5:
        return fitted(node, _reciprocal_root(base, dtype, ndim))
    if value not in (-1, -2):
        return None
    below = call(scalar.sqr, base) if value == -2 else base
    return fitted(node, call(scalar.true_div, scalar_constant(1, dtype, ndim), below))


def _reciprocal_root(x: Tensor, dtype: str, ndim: int) -> Tensor:
    """Return ``x ** -0.5`` by a root, which alone would be -inf for -0.0 and NaN for -inf instead of inf and 0."""
    zero, infinity = (scalar_constant(value, dtype, ndim) for value in (0, np.inf))
    usual = call(scalar.true_div, scalar_constant(1, dtype, ndim), call(scalar.sqrt, x))
    ends = call(scalar.switch, call(scalar.eq, x, zero), infinity, zero)
    is_end = call(scalar.or_, call(scalar.eq, x, zero), call(scalar.eq, x, call(scalar.neg, infinity)))
    return call(scalar.switch, is_end, ends, usual)


@rule(scalar.mul, phases=(Phase.SPECIALIZE,), reach=0, key="local_mul_to_sqr", tags=ONLY_RUN)
def square_of_equal_factors(fgraph: FunctionGraph, node: Apply) -> Found:
    """``x * x -> sqr(x)``."""
    if len(node.inputs) == 2 and node.inputs[0] is node.inputs[1] and node.outputs[0].type.dtype != "bool":
        return fitted(node, call(scalar.sqr, _inputs(node)[0]))
    return None


@rule(
    scalar.mul,
    scalar.true_div,
    phases=(Phase.SPECIALIZE,),
    reach=0,
    key="local_mul_to_neg",
    names=("local_mul_specialize",),
    tags=ONLY_RUN,
)
def minus_one_in_product(fgraph: FunctionGraph, node: Apply) -> Found:
    """``x * -1 -> -x``, ``x / -1 -> -x``."""
    factors = _inputs(node)
    signs = [i for i, x in enumerate(factors) if number(x) == -1]
    if not signs or node.outputs[0].type.dtype in COMPLEX_DTYPES:
        return None
    if node.op.scalar_op == scalar.true_div and (signs[0] == 0 or not is_float(node.outputs[0])):
        return None
    kept = [cast_to(x, node.outputs[0].type.dtype) for i, x in enumerate(factors) if i != signs[0]]
    return fitted(node, call(scalar.neg, kept[0] if len(kept) == 1 else call(scalar.mul, *kept)))


@rule(scalar.sqr, _ABS)
def sign_under_even_function(fgraph: FunctionGraph, node: Apply) -> Found:
    """``sqr(-x) -> sqr(x)``, ``abs(-x) -> abs(x)``, also for ``abs`` inside."""
    inner = operands(node.inputs[0], scalar.neg, _ABS)
    if inner is None or not is_float(inner[0]):
        return None
    return fitted(node, call(node.op.scalar_op, inner[0]))


@rule(scalar.sqrt)
def square_root_of_square(fgraph: FunctionGraph, node: Apply) -> Found:
    """``sqrt(sqr(x)) -> abs(x)``."""
    inner = operands(node.inputs[0], scalar.sqr)
    return None if inner is None or not is_float(inner[0]) else fitted(node, call(_ABS, inner[0]))


@rule(scalar.log, key="local_log_exp", names=("local_func_inv",))
def log_of_exp(fgraph: FunctionGraph, node: Apply) -> Found:
    """``log(exp(x)) -> x``."""
    inner = operands(node.inputs[0], scalar.exp)
    return None if inner is None or not is_float(inner[0]) else fitted(node, inner[0])
