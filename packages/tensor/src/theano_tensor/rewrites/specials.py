"""Forms that are cheaper to compute, chosen once expressions are simple and stable."""

from __future__ import annotations

from functools import lru_cache, reduce
from typing import Any

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_linker_c.scalar import Composite, ScalarOp, ScalarType
from theano_optimize import Context, Exactness, Phase

from .._core._type import Tensor
from ..elemwise import Elemwise
from ._conditions import gives_floats
from ._equations import Anything, Equations, Number, Real, equations
from ._language import call, fitted, kind_of, number, operands, sole_client
from ._products import Product, flatten_product, is_inside_product, is_product
from ._registry import rule
from ._terms import built, constant, mul, reciprocal, wide

Found = list[Variable] | None
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
