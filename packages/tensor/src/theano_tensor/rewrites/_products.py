"""Products in normal form: a coefficient and factors with integer powers; logistic factors."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
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

# ---- Products in normal form: a coefficient and factors with integer powers

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


# ---- Products of logistic factors: ``exp(x)``, ``1 + exp(x)``, ``1 - sigmoid(x)`` in terms of sigmoids, and back
#
# With s = sigmoid(z) and t = sigmoid(-z) = 1 - s: ``exp(z) = s / t``, ``1 + exp(z) = 1 / t``. So each product of such
# terms is ``s**a * t**b``. Written that way, factors cancel where they can, and no factor is infinite where the product
# is finite.

#: Terms of a sum that are looked at to see whether two arguments are opposite.
MAX_TERMS = 16


@record
class Signed:
    """An argument as a sum of terms, up to its sign."""

    key: Hashable
    sign: int


def signed_sum(variable: Tensor) -> Signed:
    """Return a key that is the same for `variable` and its negative, and the sign that tells them apart."""
    terms: dict[Hashable, float] = {}
    order: dict[Hashable, int] = {}
    stack: list[tuple[Tensor, float]] = [(variable, 1.0)]
    steps = 0
    while stack:
        term, weight = stack.pop()
        steps += 1
        parts = _terms(term, weight) if steps <= MAX_TERMS else None
        if parts is not None:
            stack.extend(parts)
            continue
        value = number(term)
        leaf: Hashable = term if value is None else ("constant", term.type.dtype)
        terms[leaf] = terms.get(leaf, 0.0) + weight * (1.0 if value is None else float(value))
        order.setdefault(leaf, id(leaf) if value is None else -1)
    weights = {leaf: weight for leaf, weight in terms.items() if weight != 0}
    if not weights:
        return Signed(("zero", variable), 1)
    first = min(weights, key=lambda leaf: order[leaf])
    sign = 1 if weights[first] > 0 else -1
    return Signed(frozenset((leaf, weight * sign) for leaf, weight in weights.items()), sign)


def _terms(variable: Tensor, weight: float) -> list[tuple[Tensor, float]] | None:
    if not is_float(variable):
        return None
    inputs = operands(variable, scalar.add)
    if inputs is not None:
        return [(v, weight) for v in inputs]
    inputs = operands(variable, scalar.sub)
    if inputs is not None:
        return [(inputs[0], weight), (inputs[1], -weight)]
    inputs = operands(variable, scalar.neg)
    if inputs is not None:
        return [(inputs[0], -weight)]
    inputs = operands(variable, scalar.mul)
    if inputs is not None and len(inputs) == 2:
        for factor, other in (inputs, reversed(inputs)):
            value = number(factor)
            if value is not None and not isinstance(value, complex) and other.type.dtype == variable.type.dtype:
                return [(other, weight * float(value))]
    return None


def one_plus(variable: Tensor) -> Tensor | None:
    """Return x if `variable` is ``1 + x``."""
    inputs = operands(variable, scalar.add)
    if inputs is None or len(inputs) != 2:
        return None
    for value, other in (inputs, reversed(inputs)):
        if number(value) == 1:
            return other
    return None


def one_minus(variable: Tensor) -> Tensor | None:
    """Return x if `variable` is ``1 - x``, also written ``1 + -x``."""
    inputs = operands(variable, scalar.sub)
    if inputs is not None and number(inputs[0]) == 1:
        return inputs[1]
    remainder = one_plus(variable)
    negated = None if remainder is None else operands(remainder, scalar.neg)
    return None if negated is None else negated[0]


#: Powers of sigmoid(u) and sigmoid(-u), u, and how badly we want to be rid of the form.
Atom = tuple[Tensor, int, int, float]
_ATOMS = frozenset(type(op) for op in (scalar.sigmoid, scalar.exp, scalar.add, scalar.sub))


#: The factors of products with logistic factors, beside the logistic ones.
_BETWEEN = frozenset(type(op) for op in (scalar.mul, scalar.true_div, scalar.reciprocal, scalar.neg, scalar.sqr))


def may_be_logistic(variables: Iterable[Tensor], depth: int = 1) -> bool:
    """Tell whether one of some variables may have logistic factors: False for most, at little cost."""
    for variable in variables:
        kind = kind_of(variable)
        if kind in _ATOMS or (kind in _BETWEEN and (not depth or may_be_logistic(maker(variable).inputs, depth - 1))):
            return True
    return False


#: So many terms and factors are looked at to see whether an exponential function is among them.
_FEW = 32
_THROUGH = _BETWEEN | {type(scalar.add), type(scalar.sub)}
_EXPONENTIALS = frozenset({type(scalar.exp), type(scalar.sigmoid)})


def is_above_exponential(node: Apply[Any, Tensor]) -> bool:
    """Tell whether ``exp`` or a sigmoid may be in a sum of products: False for most, at little cost."""
    stack = list(node.inputs)
    steps = 0
    while stack:
        above = stack.pop().owner
        if above is None or not isinstance(above.op, Elemwise):
            continue
        kind = type(above.op.scalar_op)
        if kind in _EXPONENTIALS:
            return True
        if kind in _THROUGH:
            steps += 1
            if steps > _FEW:
                return True
            stack.extend(above.inputs)
    return False


def logistic_atom(variable: Tensor) -> Atom | None:
    """Return `variable` as a product of sigmoids of a floating-point argument, or None."""
    atom = _atom(variable)
    return atom if atom is not None and atom[0].type.dtype == getattr(variable.type, "dtype", None) else None


def _atom(variable: Tensor) -> Atom | None:
    if kind_of(variable) not in _ATOMS:
        return None
    inner = operands(variable, scalar.sigmoid)
    if inner is not None:
        return inner[0], 1, 0, 1.0
    inner = operands(variable, scalar.exp)
    if inner is not None:
        return inner[0], 1, -1, 1.0
    remainder = one_plus(variable)
    inner = None if remainder is None else operands(remainder, scalar.exp)
    if inner is not None:
        return inner[0], 0, -1, 2.0
    remainder = one_minus(variable)
    inner = None if remainder is None else operands(remainder, scalar.sigmoid)
    if inner is not None:
        return inner[0], 0, 1, 1.25
    return None


@record(frozen=False)
class Powers:
    """``sigmoid(z)**plus * sigmoid(-z)**minus`` for one z up to sign, with the variables known for z and -z."""

    plus: int = 0
    minus: int = 0
    arguments: dict[int, Tensor] = field(default_factory=dict)

    def weight(self) -> float:
        """Return how costly and how dangerous the shortest form is: divisions by sigmoids are to be avoided."""
        if self.plus == -self.minus:
            return float(abs(self.plus))
        return sum(p if p > 0 else -3.0 * p for p in (self.plus, self.minus))

    def argument(self, sign: int) -> Tensor:
        """Return z (sign 1) or -z (sign -1)."""
        argument_of_sign = self.arguments.get(sign)
        return call(scalar.neg, self.arguments[-sign]) if argument_of_sign is None else argument_of_sign


@record(frozen=False)
class LogisticProduct:
    """A product whose logistic factors are kept apart from the others."""

    rest: Product
    powers: dict[Hashable, Powers]
    weight_before: float

    def weight(self) -> float:
        """Return the weight of the logistic factors in their best form."""
        return sum(p.weight() for p in self.powers.values())

    def is_logistic(self) -> bool:
        """Tell whether a sigmoid, or a factor that can become one, is a factor; ``exp`` alone does not count."""
        return any(p.plus != -p.minus for p in self.powers.values()) or self.weight() < self.weight_before

    def times(self, other: LogisticProduct) -> LogisticProduct:
        """Return the product of two."""
        remainder = Product(self.rest.coefficient * other.rest.coefficient, dict(self.rest.factors))
        for variable, power in other.rest.factors.items():
            remainder.multiply(variable, power)
        powers = {k: Powers(p.plus, p.minus, dict(p.arguments)) for k, p in self.powers.items()}
        for key, p in other.powers.items():
            mine = powers.setdefault(key, Powers())
            mine.plus += p.plus
            mine.minus += p.minus
            mine.arguments = {**p.arguments, **mine.arguments}
        return LogisticProduct(remainder, powers, self.weight_before + other.weight_before)

    def build(self, dtype: str, ndim: int) -> Tensor:
        """Return the expression."""
        product = Product(self.rest.coefficient, dict(self.rest.factors))
        for p in self.powers.values():
            if p.plus == -p.minus and p.plus:
                product.multiply(call(scalar.exp, p.argument(1 if p.plus > 0 else -1)), abs(p.plus))
                continue
            for sign, power in ((1, p.plus), (-1, p.minus)):
                if power:
                    product.multiply(call(scalar.sigmoid, p.argument(sign)), power)
        return product.build(dtype, ndim)


def logistic_product(product: Product) -> LogisticProduct:
    """Split a product into logistic factors and the rest."""
    remainder = Product(product.coefficient)
    powers: dict[Hashable, Powers] = {}
    weight = 0.0
    for variable, power in product.factors.items():
        atom = logistic_atom(variable)
        if atom is None:
            remainder.multiply(variable, power)
            continue
        argument, plus, minus, cost = atom
        signed = signed_sum(argument)
        if signed.sign < 0:
            plus, minus = minus, plus
        entry = powers.setdefault(signed.key, Powers())
        entry.plus += plus * power
        entry.minus += minus * power
        entry.arguments.setdefault(signed.sign, argument)
        weight += abs(power) * (3.0 if power < 0 and plus + minus > 0 else cost)
    return LogisticProduct(remainder, powers, weight)


def joined(first: LogisticProduct, second: LogisticProduct) -> LogisticProduct | None:
    """Return the sum of two products that differ by one factor s or t of one argument only, using ``s + t = 1``."""
    if first.rest.factors != second.rest.factors or abs(first.rest.coefficient) != abs(second.rest.coefficient):
        return None
    differing = []
    for key in {**first.powers, **second.powers}:
        a, b = first.powers.get(key, _NO_POWERS), second.powers.get(key, _NO_POWERS)
        if (a.plus, a.minus) != (b.plus, b.minus):
            differing.append((key, b.plus - a.plus, b.minus - a.minus))
    if len(differing) != 1:
        return None
    key, plus, minus = differing[0]
    one = LogisticProduct(Product(), {}, 0.0)
    opposite = first.rest.coefficient == -second.rest.coefficient
    if opposite and (plus, minus) in ((-1, 0), (0, -1)):
        first, second, plus, minus = second, first, -plus, -minus
    result = first.times(one)
    arguments = (second if key in second.powers else first).powers[key].arguments
    powers = result.powers.setdefault(key, Powers(arguments=dict(arguments)))
    if opposite and (plus, minus) == (1, 0):
        powers.minus += 1
    elif opposite and (plus, minus) == (0, 1):
        powers.plus += 1
    elif not opposite and (plus, minus) == (1, -1):
        powers.minus -= 1
    elif not opposite and (plus, minus) == (-1, 1):
        powers.plus -= 1
    else:
        return None
    return result


_NO_POWERS = Powers()
