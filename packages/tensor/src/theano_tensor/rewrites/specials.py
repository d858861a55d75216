"""Forms that are cheaper to compute, chosen once expressions are simple and stable."""

from __future__ import annotations

from functools import lru_cache, reduce
from typing import cast

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_linker_c.scalar import Composite, ScalarOp, ScalarType
from theano_optimize import Exactness, Phase

from .._core._variable import Tensor
from ._language import call, cast_to, fitted, is_float, kind_of, number, operands, scalar_constant, sole_client
from ._products import Product, flatten_product, is_inside_product, is_product
from ._registry import rule

Found = list[Variable] | None
#: Larger powers are left to the library.
MAX_POWER = 16
#: Sums of more terms are not multiplied out.
MAX_TERMS = 8
_SUMS = (type(scalar.add), type(scalar.sub))


@rule(scalar.true_div, phases=(Phase.SPECIALIZE,), reach=0, key="local_div_to_inv")
def quotient_of_one(fgraph: FunctionGraph, node: Apply) -> Found:
    """``1 / x -> inv(x)``."""
    above, below = cast("list[Tensor]", node.inputs)
    if number(above) != 1 or not is_float(node.outputs[0]):
        return None
    return fitted(node, call(scalar.reciprocal, cast_to(below, node.outputs[0].type.dtype)))


@rule(scalar.mul, scalar.true_div, phases=(Phase.SPECIALIZE,), key="local_abs_merge")
def product_of_sizes(fgraph: FunctionGraph, node: Apply) -> Found:
    """``abs(x) * abs(y) -> abs(x * y)`` and ``abs(x) / abs(y) -> abs(x / y)``; ``2 * abs(x * y) -> abs(2 * x * y)``."""
    if len(node.inputs) != 2 or not is_float(node.outputs[0]):
        return None
    if number(node.inputs[0]) is not None or number(node.inputs[1]) is not None:
        return _scaled_size(fgraph, node)
    first, second = (operands(v, scalar.abs) for v in node.inputs)
    if first is None or second is None or any(sole_client(fgraph, v) is None for v in node.inputs):
        return None
    if not is_float(first[0]) or not is_float(second[0]):
        return None  # The size of the least integer is negative.
    return fitted(node, call(scalar.abs, call(node.op.scalar_op, first[0], second[0])))


def _scaled_size(fgraph: FunctionGraph, node: Apply) -> Found:
    """Put a factor that is not negative into the product under a size: one node takes all factors."""
    if node.op.scalar_op != scalar.mul:
        return None
    inputs = cast("list[Tensor]", node.inputs)
    scale, size = inputs if number(inputs[0]) is not None else inputs[::-1]
    inner = operands(size, scalar.abs)
    product = None if inner is None else operands(inner[0], scalar.mul)
    if inner is None or product is None or not number(scale) >= 0:
        return None
    if sole_client(fgraph, size) is None or sole_client(fgraph, inner[0]) is None:
        return None
    dtype = node.outputs[0].type.dtype
    if any(v.type.dtype != dtype for v in product):
        return None
    factor = scalar_constant(number(scale), dtype, node.outputs[0].type.ndim)
    return fitted(node, call(scalar.abs, call(scalar.mul, factor, *product)))


@rule(
    scalar.pow,
    phases=(Phase.SPECIALIZE,),
    reach=0,
    key="local_pow_to_products",
    names=("local_pow_specialize", "local_pow_specialize_device"),
)
def power_as_products(fgraph: FunctionGraph, node: Apply) -> Found:
    """``x ** n`` for whole n from 3 to 16 by squares and products in one node, and ``x ** -n`` as its reciprocal."""
    x, exponent = cast("list[Tensor]", node.inputs)
    value = number(exponent)
    dtype, ndim = node.outputs[0].type.dtype, node.outputs[0].type.ndim
    if not is_float(node.outputs[0]) or not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    if not 3 <= abs(value) <= MAX_POWER or value != int(value):
        return None
    power = call(_power(dtype, abs(int(value))), cast_to(x, dtype))
    if value < 0:
        power = call(scalar.true_div, scalar_constant(1, dtype, ndim), power)
    return fitted(node, power)


@lru_cache
def _power(dtype: str, exponent: int) -> ScalarOp:
    """Return the op that computes a power of a number, from the largest square down."""
    square = x = ScalarType(dtype)()
    squares = []
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
def sum_multiplied_out(fgraph: FunctionGraph, node: Apply) -> Found:
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
        rest = Product(product.coefficient, {v: p for v, p in product.factors.items() if v is not factor})
        found = _distributed(rest, terms, added, fgraph)
        if found is not None:
            op = scalar.add if operands(factor, scalar.add) is not None else scalar.sub
            parts = [t.build(root.type.dtype, root.type.ndim) for t in found]
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
        whole = Product(term.coefficient * rest.coefficient, dict(term.factors))
        for variable, power in rest.factors.items():
            whole.multiply(variable, power)
        multiplied.append(whole)
    left = sum(1 for t in multiplied for p in t.factors.values() if p < 0)
    before = rest.cost() + 1 + sum(t.cost() for t in terms)
    return multiplied if left < divisions and sum(t.cost() for t in multiplied) < before else None
