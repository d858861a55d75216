"""Products of logistic factors: ``exp(x)``, ``1 + exp(x)``, ``1 - sigmoid(x)`` in terms of sigmoids, and back.

With s = sigmoid(z) and t = sigmoid(-z) = 1 - s: ``exp(z) = s / t``, ``1 + exp(z) = 1 / t``. So each product of such
terms is ``s**a * t**b``. Written that way, factors cancel where they can, and no factor is infinite where the product
is finite.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import field
from typing import Any

from theano_graph import Apply, record
from theano_linker_c import scalar

from .._core._type import Tensor
from ..elemwise import Elemwise
from ._language import call, is_float, kind_of, maker, number, operands
from ._products import Product

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
