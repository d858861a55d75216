"""Products in normal form: a coefficient and factors with integer powers."""

from __future__ import annotations

import math
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from theano_graph import Apply, FunctionGraph, record
from theano_linker_c import scalar
from theano_linker_c.scalar import ScalarOp

from .._core._type import Tensor
from ..elemwise import Elemwise
from ._language import FLOATS, call, cast_to, is_float, kind_of, maker, number, operands, scalar_constant, sole_client

#: No product with more factors is taken apart: the work for one node stays bounded.
MAX_FACTORS = 48
#: Nor is one with more occurrences of factors: squares of squares have few factors, and very many occurrences.
MAX_STEPS = 256

#: Larger powers are left whole.
MAX_POWER = 16

#: The ops of products.
_POWER = type(scalar.pow)
_MUL, _DIVISION, _RECIPROCAL, _NEG, _SQUARE = (
    type(op) for op in (scalar.mul, scalar.true_div, scalar.reciprocal, scalar.neg, scalar.sqr)
)
_PRODUCTS = frozenset((_MUL, _DIVISION, _RECIPROCAL, _NEG))
_ENTERED = (_PRODUCTS, _PRODUCTS | {_SQUARE})
_LIMITS = MappingProxyType({dtype: (float(np.finfo(dtype).tiny), float(np.finfo(dtype).max)) for dtype in FLOATS})


def is_product(variable: Tensor) -> bool:
    """Tell whether a variable is made by a multiplication, a division, a reciprocal or a change of sign."""
    node = variable.owner
    return node is not None and isinstance(node.op, Elemwise) and type(node.op.scalar_op) in _PRODUCTS


def is_inside_product(fgraph: FunctionGraph, node: Apply[Any, Tensor]) -> bool:
    """Tell whether the only user of a product is a product of the same dtype: the better place to look at both."""
    output = node.outputs[0]
    client = sole_client(fgraph, output)
    return client is not None and is_product(client.outputs[0]) and client.outputs[0].type.dtype == output.type.dtype


@record(frozen=False)
class Product:
    """``coefficient * prod(factor ** power)``.

    Attributes
    ----------
    coefficient : float
    factors : dict
        Variable -> power, not zero, in order of appearance.
    nodes : int
        How many elementary operations it was made of.
    complete : bool
        False if there were too many factors; the normal form is then not to be used.
    cancelled : bool
        Whether a factor was there above and below.
    """

    coefficient: float = 1.0
    factors: dict[Tensor, int] = field(default_factory=dict)
    nodes: int = 0
    complete: bool = True
    cancelled: bool = False

    def multiply(self, variable: Tensor, power: int) -> None:
        """Multiply by a power of a variable."""
        known = self.factors.get(variable)
        if known is None:
            if power:
                self.factors[variable] = power
            return
        total = known + power
        if known * power < 0:
            self.cancelled = True
        if total:
            self.factors[variable] = total
        else:
            self.factors.pop(variable, None)

    def copy(self) -> Product:
        """Return a product that can be changed without changing this one."""
        return replace(self, factors=dict(self.factors))

    def has(self, *kinds: type[ScalarOp]) -> bool:
        """Tell whether a factor is made by a scalar op of one of these classes."""
        for factor in self.factors:  # noqa: SIM110  # asked of each product, and a generator costs twice as much
            if kind_of(factor) in kinds:
                return True
        return False

    def cost(self) -> int:
        """Return the number of elementary operations that :meth:`build` takes."""
        above = sum(p for p in self.factors.values() if p > 0)
        below = -sum(p for p in self.factors.values() if p < 0)
        cost = max(above - 1, 0) + below
        if above and self.coefficient != 1.0:
            cost += 1
        return cost

    def build(self, dtype: str, ndim: int) -> Tensor:
        """Return the expression of the product."""
        # Powers and products of narrower factors would overflow in their own dtype, and bool has no sign.
        factors = [(cast_to(v, dtype), p) for v, p in self.factors.items()]
        above = [_power(v, p) for v, p in factors if p > 0]
        below = [_power(v, -p) for v, p in factors if p < 0]
        negate = bool(above) and self.coefficient == -1.0
        if not above or self.coefficient not in (1.0, -1.0):
            above.insert(0, scalar_constant(self.coefficient, dtype, ndim))
        result = _chain(above)
        if below:
            result = call(scalar.true_div, result, _chain(below))
        return call(scalar.neg, result) if negate else result


def _chain(factors: list[Tensor]) -> Tensor:
    result = factors[0]
    for factor in factors[1:]:
        result = call(scalar.mul, result, factor)
    return result


def _power(variable: Tensor, power: int) -> Tensor:
    result = variable
    if power > 1:
        result = call(scalar.sqr, variable)
        for _ in range(power - 2):
            result = call(scalar.mul, result, variable)
    return result


def whole_power(variable: Tensor) -> int | None:
    """Return the exponent of a power of a float of the same dtype, if it is a small whole number other than 0."""
    node = variable.owner
    if node is None or not isinstance(node.op, Elemwise) or type(node.op.scalar_op) is not _POWER:
        return None
    base, by = node.inputs
    value = number(by)
    if not isinstance(value, (int, float)) or not 0 < abs(value) <= MAX_POWER or value != int(value):
        return None
    return int(value) if base.type.dtype in FLOATS and base.type.dtype == variable.type.dtype else None


def _multiplications(exponent: int) -> int:
    """Return how many operations a power takes that is made of squares."""
    size = abs(exponent)
    return size.bit_length() + size.bit_count() - 2 + (exponent < 0)


def flatten_product(root: Tensor, *, squares: bool = False, fgraph: FunctionGraph | None = None) -> Product:
    """Return the normal form of the product that makes `root`.

    Parameters
    ----------
    root : Tensor
        Taken apart itself in any case, if it holds real floating-point numbers.
    squares : bool
        Whether squares inside are taken apart as well; with a graph, also other small powers.
    fgraph : FunctionGraph, optional
        Only products without other users in this graph are taken apart.
    """
    product = Product()
    dtype = root.type.dtype
    entered = _ENTERED[squares] if dtype in FLOATS else frozenset[Any]()
    stack: list[tuple[Tensor, int]] = [(root, 1)]
    steps = 0
    while stack:
        variable, power = stack.pop()
        node = variable.owner
        kind = type(node.op.scalar_op) if node is not None and isinstance(node.op, Elemwise) else None
        exponent = whole_power(variable) if kind is _POWER and squares and fgraph is not None else None
        if (
            exponent
            and variable.type.dtype == dtype
            and fgraph is not None
            and fgraph.sole_client(variable) is not None
        ):
            product.nodes += _multiplications(exponent) * abs(power)
            stack.append((maker(variable).inputs[0], exponent * power))
        elif kind in entered or (variable is root and kind is _SQUARE and dtype in FLOATS):
            shown = variable is root or fgraph is None or fgraph.sole_client(variable) is not None
            if shown and variable.type.dtype == dtype:
                stack.extend(_parts(product, maker(variable), kind, power))
            else:
                product.multiply(variable, power)
        else:
            value = number(variable) if kind is None else None
            if value is not None and _absorb(product, value, power, dtype):
                continue
            product.multiply(variable, power)
        steps += 1
        if steps + len(stack) > MAX_FACTORS and (len(product.factors) + len(stack) > MAX_FACTORS or steps > MAX_STEPS):
            product.complete = False
            break
    return product


def is_even_power(variable: Tensor) -> bool:
    """Tell whether a variable is a square, or another even power."""
    power = whole_power(variable)
    return operands(variable, scalar.sqr) is not None if power is None else power % 2 == 0


def flatten_powers(root: Tensor) -> Product:
    """Return the normal form of a product with all powers inside taken apart, and absolute values below even ones."""
    product = flatten_product(root, squares=True)
    result = Product(product.coefficient, {}, complete=product.complete)
    stack = list(product.factors.items())
    while stack:
        variable, power = stack.pop(0)
        exponent, inner = whole_power(variable), operands(variable, scalar.abs)
        if exponent is not None or kind_of(variable) is _SQUARE:
            base, exponent = maker(variable).inputs[0], exponent or 2
            deeper = flatten_product(base, squares=True)
            # Numbers of which a power would be out of range are left alone.
            result.complete &= deeper.complete and _absorb(
                result, deeper.coefficient, exponent * power, root.type.dtype
            )
            stack = [(v, p * exponent * power) for v, p in deeper.factors.items()] + stack
        elif inner is not None and (power % 2 == 0 or is_even_power(inner[0])) and is_float(inner[0]):
            stack.insert(0, (inner[0], power))
        else:
            result.multiply(variable, power)
    return result


def shared_product(fgraph: FunctionGraph, root: Tensor) -> Product:
    """Return the normal form of a product, which rules that ask before the graph changes have in common.

    It is not to be changed: :meth:`Product.copy` is.
    """
    key = ("product", root)
    product: Product | None = fgraph.derived.get(key)
    if product is None:
        product = fgraph.derived[key] = flatten_product(root)
    return product


def outermost_product(fgraph: FunctionGraph, node: Apply[Any, Tensor]) -> Product | None:
    """Return the normal form of the product of floats that a node ends.

    None where it goes on in another product, or has too many factors. Rules that ask before the graph changes have the
    answer in common, as that of :func:`shared_product`.
    """
    root = node.outputs[0]
    key = ("outermost product", root)
    derived = fgraph.derived
    if key in derived:
        outermost: Product | None = derived[key]
        return outermost
    found = None
    if is_float(root) and not is_inside_product(fgraph, node):
        product = shared_product(fgraph, root)
        found = product if product.complete else None
    derived[key] = found
    return found


def _absorb(product: Product, value: Any, power: int, dtype: str) -> bool:
    """Multiply the coefficient by a constant; False where the result is out of the range of normal numbers."""
    if isinstance(value, complex) or value == 0 or not math.isfinite(value):
        return False
    try:
        coefficient = product.coefficient * float(value) ** power
    except OverflowError:
        return False
    least, greatest = _LIMITS.get(dtype) or _LIMITS["float64"]
    if not least <= abs(coefficient) <= greatest:
        return False
    product.coefficient = coefficient
    return True


def _parts(
    product: Product, node: Apply[Any, Tensor], kind: type[ScalarOp] | None, power: int
) -> list[tuple[Tensor, int]]:
    """Return the factors of the product that a node makes, the last factor first, with powers."""
    inputs = node.inputs
    if kind is _MUL:
        product.nodes += (len(inputs) - 1) * abs(power)
        return [(v, power) for v in reversed(inputs)]
    product.nodes += abs(power)
    if kind is _DIVISION:
        return [(inputs[1], -power), (inputs[0], power)]
    if kind is _RECIPROCAL:
        return [(inputs[0], -power)]
    if kind is _NEG:
        product.coefficient *= (-1.0) ** power
        return [(inputs[0], power)]
    return [(inputs[0], 2 * power)]
