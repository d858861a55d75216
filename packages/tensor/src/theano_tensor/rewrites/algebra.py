"""Sums, products and powers: redundant parts are dropped, constants are gathered, forms are made cheap."""

from __future__ import annotations

import math
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from theano_graph import Apply, FunctionGraph, Variable, origin_from
from theano_linker_c import scalar
from theano_linker_c.scalar import Composite, ScalarOp, ScalarType
from theano_optimize import Context, Exactness, Phase

from .._core._dtypes import COMPLEX_DTYPES, TensorLike
from .._core._type import Tensor
from ..elemwise import Elemwise
from ._language import (
    call,
    cast_to,
    fitted,
    gives_floats,
    has_sign,
    is_float,
    is_no_float,
    kind_of,
    number,
    operands,
    rule,
    scalar_constant,
    sole_client,
    stabilizing,
)
from ._products import (
    Product,
    flatten_powers,
    flatten_product,
    is_inside_product,
    is_product,
    outermost_product,
    whole_power,
)
from .equations import (
    Anything,
    Equations,
    Number,
    Real,
    add,
    built,
    constant,
    eq,
    equations,
    exp,
    log,
    mul,
    neg,
    or_,
    reciprocal,
    sqr,
    sqrt,
    switch,
    wide,
)

# ---- Sums, products and powers: redundant parts are dropped, signs move outwards, constants are gathered
#
# No two rules undo each other: each makes the expression smaller, or moves a sign towards the root without adding
# operations.

Found = list[Variable] | None
#: Levels of rewriting with little in them, FAST_COMPILE among them, go without these.
ONLY_RUN = ("fast_run",)
_ABS, _POW = scalar.Abs(), scalar.Pow()
BOTH = (Phase.CANONICALIZE, Phase.STABILIZE)


def _inputs(node: Apply[Any, Tensor]) -> list[Tensor]:
    return node.inputs


@equations(scalar.add, reach=0, key="local_add_specialize", tags=ONLY_RUN)
def zero_in_sum(a: Anything) -> Equations:
    """Zero is the neutral element of addition."""
    return [a + 0 >> a, add(0, ...) >> total(...)]


@equations(scalar.sub, reach=0, key="local_sub_zero", names=("local_add_specialize",), tags=ONLY_RUN)
def zero_in_difference(a: Anything) -> Equations:
    """Zero is the neutral element of subtraction; of truth values there is no negative."""
    return [a - 0 >> a, (0 - a >> -wide(a)).when(has_sign)]


@equations(scalar.mul, reach=0, key="local_mul_specialize", tags=ONLY_RUN)
def one_in_product(a: Anything) -> Equations:
    """One is the neutral element of multiplication."""
    return [a * 1 >> a, mul(1, ...) >> product(...)]


@equations(scalar.mul, reach=0, key="local_mul_zero", names=("local_mul_specialize",), tags=ONLY_RUN)
def zero_in_product() -> Equations:
    """A product with zero is zero, with any other factors."""
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


#: What others use of a product, and divides in it, above a fraction stroke and below.
_ABOVE = frozenset((type(scalar.true_div), type(scalar.reciprocal)))
_STEEP = frozenset(type(op) for op in (scalar.exp, scalar.sigmoid, scalar.erf, scalar.erfc, scalar.expm1))
_BELOW = _ABOVE | {type(scalar.mul), type(scalar.sqr)}


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
def factors_gathered(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
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
    if not product.complete:
        return None
    if any(kind_of(v) in (_ABOVE if power > 0 else _BELOW) for v, power in product.factors.items()):
        # What others use is taken apart where it cancels: a product that vanished would leave 0 / 0.
        # Exponentials have rules of their own, which look at the whole expression.
        deep, leaves = flatten_product(root, squares=True), _leaves(root, fgraph)
        plain = all(kind_of(v) not in _STEEP for v in leaves)
        if plain and deep.complete and deep.cancelled and deep.cost() <= product.cost():
            return fitted(node, deep.build(root.type.dtype, root.type.ndim), leaves)
    if product.cost() >= product.nodes:
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
def constants_in_sum(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> dict[Variable, Variable] | Found:
    """``(x + 1) + 2 -> x + 3``, also with differences, where nothing else uses the inner sum.

    Constants that are added further up go into the same sum, one after the other: a chain of them is one replacement.
    """
    constants = _joined_constants(fgraph, node)
    if constants is None:
        return None
    y, total, y_sign = constants
    top, dtype = node, node.outputs[0].type.dtype
    # Other rules move signs, step by step; constant expressions are left to constant folding.
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
    return fitted(node, _sum_of(*constants, dtype))


def _joined_constants(fgraph: FunctionGraph, node: Apply[Any, Tensor]) -> tuple[Tensor, Any, int] | None:
    """Return y, the constant and the sign of y where a node is ``(y + c) + d``, with any signs."""
    for x in _inputs(node):
        beside = _constant_beside(node, x)
        inner = operands(x, scalar.add, scalar.sub)
        if beside is None or inner is None or len(inner) != 2 or sole_client(fgraph, x) is None:
            continue
        sign, addend = beside
        inner_sign = 1 if operands(x, scalar.add) is not None else -1
        for y, other, y_sign, k_sign in ((inner[0], inner[1], 1, inner_sign), (inner[1], inner[0], inner_sign, 1)):
            k = number(other)
            if k is not None and y.type.dtype == node.outputs[0].type.dtype:
                return y, addend + sign * k_sign * k, sign * y_sign
    return None


def _constant_beside(node: Apply[Any, Tensor], x: Variable) -> tuple[int, Any] | None:
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


def _sum_of(y: Tensor, total: TensorLike, y_sign: int, dtype: str) -> Tensor:
    constant = scalar_constant(total, dtype, y.type.ndim)
    return call(scalar.add, y, constant) if y_sign > 0 else call(scalar.sub, constant, y)


@equations(_POW, reach=0, key="local_pow_specialize", names=("local_pow_canonicalize",), tags=ONLY_RUN)
def power_with_constant_exponent(a: Anything) -> Equations:
    """Powers that have an operation of their own; the root of -0.0 would give -inf, and that of -inf NaN."""
    x = wide(a)
    at_end = switch(eq(x, 0), np.inf, 0)
    floats = [
        a**0.5 >> sqrt(x),
        (a**-0.5 >> switch(or_(eq(x, 0), eq(x, -np.inf)), at_end, 1 / sqrt(x))).when(is_no_power),
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


def gives_no_complex_numbers(node: Apply[Any, Tensor]) -> bool:
    """The result holds no complex numbers."""
    return node.outputs[0].type.dtype not in COMPLEX_DTYPES


@built("product")
def product(context: Context, *factors: Tensor) -> Tensor:
    """Return the product of tensors in the dtype of the result."""
    return call(scalar.mul, *(cast_to(x, context.node.outputs[0].type.dtype) for x in factors))


@built("total")
def total(context: Context, *terms: Tensor) -> Tensor:
    """Return the sum of tensors in the dtype of the result."""
    return call(scalar.add, *(cast_to(x, context.node.outputs[0].type.dtype) for x in terms))


@equations(scalar.sqr, _ABS)
def sign_under_even_function(x: Real) -> Equations:
    """Even functions see no sign."""
    return [sqr(-x) >> sqr(x), sqr(abs(x)) >> sqr(x), abs(-x) >> abs(x), abs(abs(x)) >> abs(x)]


@equations(scalar.sqrt)
def square_root_of_square(x: Real) -> Equations:
    """The root of a square is the size."""
    return [sqrt(sqr(x)) >> abs(x), sqrt(x * x) >> abs(x)]


def is_no_power(a: Tensor) -> bool:
    """The base is not itself a power, of which the root is taken first."""
    return kind_of(a) not in _WHOLE_POWERS


@rule(
    scalar.sqrt,
    scalar.pow,
    phases=BOTH,
    exactness=Exactness.STABILIZING,
    tags=("fast_run", "fast_compile", "stabilize"),
    reach=8,
    key="local_root_of_power",
)
def root_of_power(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``(c * x**4)**0.25 -> c**0.25 * abs(x)``, with NaN below odd powers: what is inside may overflow or vanish."""
    inside, exponent = root_parts(node.outputs[0])
    if exponent is None or exponent == int(exponent) or kind_of(inside) not in _WHOLE_POWERS:
        return None
    product = flatten_powers(inside)
    (x, power), *others = product.factors.items() or [(inside, 1)]
    if (
        others
        or not product.complete
        or product.coefficient <= 0
        or abs(power) == 1
        or x.type.dtype != inside.type.dtype
    ):
        return None
    dtype, ndim = inside.type.dtype, inside.type.ndim
    result = power_of(x if power % 2 else call(scalar.abs, x), power * exponent)
    if product.coefficient != 1:
        result = call(scalar.mul, scalar_constant(product.coefficient**exponent, dtype, ndim), result)
    if power % 2:
        zero, nan = scalar_constant(0, dtype, ndim), scalar_constant(math.nan, dtype, ndim)
        result = call(scalar.switch, call(scalar.lt, x, zero), nan, result)
    return fitted(node, result)


#: What makes a power, or a product of some.
_WHOLE_POWERS = frozenset(type(op) for op in (scalar.pow, scalar.sqr, scalar.mul, scalar.true_div, scalar.reciprocal))


def root_parts(variable: Tensor) -> tuple[Tensor, float | None]:
    """Return x and the exponent if `variable` is a root of x, or x to the power of a number; else None for it."""
    node = variable.owner
    kind = kind_of(variable)
    if node is None or kind not in _ROOTS or variable.type.dtype != node.inputs[0].type.dtype or not is_float(variable):
        return variable, None
    exponent = 0.5 if kind is _SQRT else number(node.inputs[1])
    if not isinstance(exponent, (int, float)) or not exponent or not math.isfinite(exponent):
        return variable, None
    return node.inputs[0], exponent


_SQRT = type(scalar.sqrt)
_ROOTS = frozenset((_SQRT, type(scalar.pow)))


def power_of(x: Tensor, exponent: float) -> Tensor:
    """Return a power of x."""
    return x if exponent == 1 else call(scalar.pow, x, scalar_constant(exponent, x.type.dtype, x.type.ndim))


@stabilizing(scalar.mul, scalar.true_div, reach=8, key="local_powers_of_size")
def powers_of_size_gathered(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``x**3 * abs(x)**-3 -> sgn(x)``: one of the powers of a number and of its size overflows, another vanishes."""
    product = outermost_product(fgraph, node)
    if product is None or not product.has(_SQRT, type(scalar.pow)):
        return None
    exponents: dict[Tensor, list[tuple[float, bool]]] = {}
    for factor, power in product.factors.items():
        x, exponent, of_size = _base(factor)
        exponents.setdefault(x, []).append((exponent * power, of_size))
    for x, powers in exponents.items():
        sizes = [e for e, of_size in powers if of_size]
        signed = [e for e, of_size in powers if not of_size]
        if not sizes or not signed or any(e != int(e) for e in signed) or x.type.dtype != node.outputs[0].type.dtype:
            continue
        if min(sizes + signed) > 0 or max(sizes + signed) < 0 or max(map(abs, sizes + signed)) <= 1:
            continue
        others = {v: p for v, p in product.factors.items() if _base(v)[0] is not x}
        rest = Product(product.coefficient, others)
        total = sum(sizes) + sum(signed)
        if sum(signed) % 2:
            rest.multiply(call(scalar.sgn, x), 1)
        if total:
            rest.multiply(power_of(call(scalar.abs, x), total), 1)
        return fitted(node, rest.build(node.outputs[0].type.dtype, x.type.ndim), list(product.factors))
    return None


def _base(factor: Tensor) -> tuple[Tensor, float, bool]:
    """Return x, the exponent, and whether it is a power of the size of x."""
    x, exponent = root_parts(factor)
    square = operands(factor, scalar.sqr)
    if square is not None and is_float(factor):
        (x,), exponent = square, 2
    size = operands(x, scalar.abs)
    return (x, exponent or 1, False) if size is None or not is_float(x) else (size[0], exponent or 1, True)


@equations(scalar.log, phases=BOTH, key="local_log_exp", names=("local_func_inv",))
def log_of_exp(x: Real) -> Equations:
    """A logarithm undoes the exponential."""
    return [log(exp(x)) >> x]


# ---- Forms that are cheaper to compute, chosen once expressions are simple and stable

#: Larger powers are left to the library.
MAX_POWER = 16
#: Sums of more terms are not multiplied out.
MAX_TERMS = 8
_SUMS = (type(scalar.add), type(scalar.sub))


@equations(scalar.true_div, phases=(Phase.SPECIALIZE,), reach=0, key="local_div_to_inv", guard=gives_floats)
def quotient_of_one(a: Anything) -> Equations:
    """One divided by a number is its reciprocal."""
    return [1 / a >> reciprocal(wide(a))]


@equations(scalar.mul, scalar.true_div, phases=(Phase.SPECIALIZE,), key="local_abs_merge", guard=gives_floats)
def product_of_sizes(x: Real, y: Real, k: Number) -> Equations:
    """One size for a product. A factor that is not negative goes in: one node takes all factors.

    Not of integers, since the size of the least one is negative.
    """
    return [
        (k * abs(mul(...)) >> abs(mul(constant(k), ...))).when(is_not_negative, has_factors_of_result_dtype).alone(),
        (abs(x) * abs(y) >> abs(x * y)).alone(),
        (abs(x) / abs(y) >> abs(x / y)).alone(),
    ]


def is_not_negative(k: float) -> bool:
    """The number `k` is not negative."""
    return k >= 0


def has_factors_of_result_dtype(node: Apply[Any, Tensor]) -> bool:
    """The factors have the dtype of the result."""
    dtype = node.outputs[0].type.dtype
    factors = [
        v for x in node.inputs for size in operands(x, scalar.abs) or () for v in operands(size, scalar.mul) or ()
    ]
    return all(v.type.dtype == dtype for v in factors)


@equations(
    scalar.pow,
    phases=(Phase.SPECIALIZE,),
    reach=0,
    key="local_pow_to_products",
    names=("local_pow_specialize", "local_pow_specialize_device"),
    guard=gives_floats,
)
def power_as_products(a: Anything, k: Number) -> Equations:
    """Whole powers, and one and a half, by squares, products and a root in one node."""
    return [
        (a**k >> products(wide(a), k)).when(is_product_of_powers, is_positive),
        (a**k >> 1 / products(wide(a), k)).when(is_product_of_powers),
    ]


def is_product_of_powers(k: object) -> bool:
    """The number `k` is whole, and its size from 3 to 16; or its size is 1.5."""
    if not isinstance(k, (int, float)) or isinstance(k, bool):
        return False
    return abs(k) == 1.5 or (3 <= abs(k) <= MAX_POWER and k == int(k))


def is_positive(k: float) -> bool:
    """The number `k` is positive."""
    return k > 0


@built("products")
def products(context: Context, x: Tensor, k: Tensor) -> Tensor:
    """Return a power by squares, products and a root."""
    return call(_power(context.node.outputs[0].type.dtype, int(2 * abs(number(k)))), x)


@lru_cache
def _power(dtype: str, halves: int) -> ScalarOp:
    """Return the op that computes a power of a number, given twice the exponent, from the largest square down."""
    square = x = ScalarType(dtype)()
    exponent = halves // 2
    squares = [scalar.sqrt(x)] if halves % 2 else []
    while exponent:
        if exponent & 1:
            squares.append(square)
        exponent >>= 1
        if exponent:
            square = scalar.sqr(square)
    return Composite([x], [reduce(scalar.mul, reversed(squares))])


@rule(
    scalar.mul,
    scalar.true_div,
    scalar.reciprocal,
    exactness=Exactness.STABILIZING,
    tags=("fast_run",),
    reach=5,
    key="local_greedy_distributor",
)
def sum_multiplied_out(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``(a / x + b / y) * x * y -> a * y + b * x``: where divisions cancel and fewer operations are left."""
    root = node.outputs[0]
    if root.type.dtype not in ("float32", "float64") or is_inside_product(fgraph, node):
        return None
    if not any(kind_of(v) in _SUMS or is_product(v) for v in node.inputs):
        return None
    product = flatten_product(root, fgraph=fgraph)
    if not product.complete or len(product.factors) < 2 or not product.has(*_SUMS):
        return None
    for factor, power in product.factors.items():
        added = operands(factor, scalar.add, scalar.sub)
        if power != 1 or added is None or len(added) > MAX_TERMS or sole_client(fgraph, factor) is None:
            continue
        if any(v.type.dtype != root.type.dtype for v in added) or any(number(v) is not None for v in added):
            continue
        terms = [flatten_product(v, fgraph=fgraph) for v in added]
        remainder = Product(product.coefficient, {v: p for v, p in product.factors.items() if v is not factor})
        summands = _distributed(remainder, terms, added, fgraph)
        if summands is not None:
            op = scalar.add if operands(factor, scalar.add) is not None else scalar.sub
            parts = [t.build(root.type.dtype, root.type.ndim) for t in summands]
            result = parts[0]
            for part in parts[1:]:
                result = call(op, result, part)
            return fitted(node, result)
    return None


def _distributed(
    rest: Product, terms: list[Product], added: list[Tensor], fgraph: FunctionGraph
) -> list[Product] | None:
    """Return the terms, each multiplied by the rest of a product, if divisions cancel and nothing gets longer."""
    divisions = sum(1 for t in terms for p in t.factors.values() if p < 0)
    if not divisions or not all(t.complete for t in terms) or any(p < 0 for p in rest.factors.values()):
        return None
    if any(sole_client(fgraph, v) is None for v in added):
        return None
    multiplied = []
    for term in terms:
        product = Product(term.coefficient * rest.coefficient, dict(term.factors))
        for variable, power in rest.factors.items():
            product.multiply(variable, power)
        multiplied.append(product)
    left = sum(1 for t in multiplied for p in t.factors.values() if p < 0)
    before = rest.cost() + 1 + sum(t.cost() for t in terms)
    return multiplied if left < divisions and sum(t.cost() for t in multiplied) < before else None
