"""Products in normal form: a coefficient and factors with integer powers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from theano_graph import Variable
from theano_linker_c import scalar

from .._variable import TensorVariable
from ._language import FLOATS, call, number, operands, scalar_constant

#: No product with more factors is taken apart: the work for one node stays bounded.
MAX_FACTORS = 48
#: Nor is one with more occurrences of factors: squares of squares have few factors, and very many occurrences.
MAX_STEPS = 256


@dataclass(slots=True)
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
    """

    coefficient: float = 1.0
    factors: dict[TensorVariable, int] = field(default_factory=dict)
    nodes: int = 0
    complete: bool = True

    def multiply(self, variable: TensorVariable, power: int) -> None:
        """Multiply by a power of a variable."""
        total = self.factors.get(variable, 0) + power
        if total:
            self.factors[variable] = total
        else:
            self.factors.pop(variable, None)

    def cost(self) -> int:
        """Return the number of elementary operations that :meth:`build` takes."""
        above = sum(p for p in self.factors.values() if p > 0)
        below = -sum(p for p in self.factors.values() if p < 0)
        cost = max(above - 1, 0) + below
        if above and self.coefficient != 1.0:
            cost += 1
        return cost

    def build(self, dtype: str, ndim: int) -> TensorVariable:
        """Return the expression of the product."""
        above = [_power(v, p) for v, p in self.factors.items() if p > 0]
        below = [_power(v, -p) for v, p in self.factors.items() if p < 0]
        negate = bool(above) and self.coefficient == -1.0
        if not above or self.coefficient not in (1.0, -1.0):
            above.insert(0, scalar_constant(self.coefficient, dtype, ndim))
        result = _chain(above)
        if below:
            result = call(scalar.true_div, result, _chain(below))
        return call(scalar.neg, result) if negate else result


def _chain(factors: list[TensorVariable]) -> TensorVariable:
    result = factors[0]
    for factor in factors[1:]:
        result = call(scalar.mul, result, factor)
    return result


def _power(variable: TensorVariable, power: int) -> TensorVariable:
    result = variable
    if power > 1:
        result = call(scalar.sqr, variable)
        for _ in range(power - 2):
            result = call(scalar.mul, result, variable)
    return result


def flatten_product(
    root: TensorVariable, enter: Callable[[Variable], bool], is_factor: Callable[[Variable], bool] | None = None
) -> Product:
    """Return the normal form of the product that makes `root`.

    Parameters
    ----------
    root : TensorVariable
        Taken apart itself in any case, if it holds real floating-point numbers.
    enter : callable
        Whether a product inside may be taken apart.
    is_factor : callable, optional
        Whether something is to stay whole though it is a product.
    """
    product = Product()
    dtype = root.type.dtype
    limits = np.finfo(dtype if dtype in FLOATS else "float64")
    stack: list[tuple[TensorVariable, int]] = [(root, 1)]
    steps = 0
    while stack:
        variable, power = stack.pop()
        value = number(variable)
        if value is not None and _absorb(product, value, power, limits):
            continue
        parts = None
        whole = is_factor is not None and is_factor(variable)
        if not whole and variable.type.dtype == dtype and dtype in FLOATS and (variable is root or enter(variable)):
            parts = _parts(product, variable, power)
        if parts is None:
            product.multiply(variable, power)
        else:
            stack.extend(reversed(parts))
        steps += 1
        if len(product.factors) + len(stack) > MAX_FACTORS or steps > MAX_STEPS:
            product.complete = False
            break
    return product


def _absorb(product: Product, value: float, power: int, limits: np.finfo[Any]) -> bool:
    """Multiply the coefficient by a constant; False where the result is out of the range of normal numbers."""
    if isinstance(value, complex) or value == 0 or not math.isfinite(value):
        return False
    try:
        coefficient = product.coefficient * float(value) ** power
    except OverflowError:
        return False
    if not float(limits.tiny) <= abs(coefficient) <= float(limits.max):
        return False
    product.coefficient = coefficient
    return True


def _parts(product: Product, variable: TensorVariable, power: int) -> list[tuple[TensorVariable, int]] | None:
    """Return the factors of `variable` with their powers, or None if it is no product."""
    inputs = operands(variable, scalar.mul)
    if inputs is not None:
        product.nodes += (len(inputs) - 1) * abs(power)
        return [(v, power) for v in inputs]
    inputs = operands(variable, scalar.true_div)
    if inputs is not None:
        product.nodes += abs(power)
        return [(inputs[0], power), (inputs[1], -power)]
    inputs = operands(variable, scalar.reciprocal)
    if inputs is not None:
        product.nodes += abs(power)
        return [(inputs[0], -power)]
    inputs = operands(variable, scalar.neg)
    if inputs is not None:
        product.nodes += abs(power)
        product.coefficient *= (-1.0) ** power
        return [(inputs[0], power)]
    inputs = operands(variable, scalar.sqr)
    if inputs is not None:
        product.nodes += abs(power)
        return [(inputs[0], 2 * power)]
    return None
