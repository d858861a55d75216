"""Choices moved outwards, so that unchosen values cannot spoil chosen ones: ``0 * inf`` is no number."""

from __future__ import annotations

from typing import Any

from theano_graph import Apply
from theano_linker_c import scalar
from theano_optimize import Exactness, Phase

from .._core._type import Tensor
from ._conditions import gives_floats
from ._equations import Anything, Equations, equations
from ._language import number, operands
from ._terms import mul, switch, wide
from .movements import BETWEEN, DEPTH, is_movement, scalar_kind

_BOTH = (Phase.CANONICALIZE, Phase.STABILIZE)
_DIVISION = type(scalar.true_div)
_POLES = frozenset(
    type(op)
    for op in (
        *(scalar.true_div, scalar.reciprocal, scalar.pow, scalar.sqrt, scalar.exp, scalar.expm1),
        *(scalar.log, scalar.log1p, scalar.log2, scalar.log10),
    )
)


@equations(
    scalar.mul,
    phases=_BOTH,
    exactness=Exactness.STABILIZING,
    tags=("fast_run", "fast_compile", "stabilize"),
    key="local_mul_switch_sink",
    guard=gives_floats,
)
def switch_outside_product(a: Anything, c: Anything) -> Equations:
    """A choice of zero stays one, also where another factor is infinite or no number."""
    product = wide(mul(a, ...))
    return [
        (mul(switch(c, 0, a), ...) >> switch(c, 0, product)).when(meets_pole),
        (mul(switch(c, a, 0), ...) >> switch(c, product, 0)).when(meets_pole),
        (mul(switch(c, 0, a), ...) >> switch(c, 0, product)).when(is_not_zero).alone(),
        (mul(switch(c, a, 0), ...) >> switch(c, product, 0)).when(is_not_zero).alone(),
    ]


@equations(
    scalar.true_div,
    phases=_BOTH,
    exactness=Exactness.STABILIZING,
    tags=("fast_run", "fast_compile", "stabilize"),
    key="local_div_switch_sink",
    guard=gives_floats,
)
def switch_outside_quotient(a: Anything, b: Anything, c: Anything) -> Equations:
    """A choice of zero stays one, also where the divisor is 0."""
    return [
        (switch(c, 0, a) / b >> switch(c, 0, wide(a / b))).when(meets_pole),
        (switch(c, a, 0) / b >> switch(c, wide(a / b), 0)).when(meets_pole),
        (switch(c, 0, a) / b >> switch(c, 0, wide(a / b))).when(is_not_zero).alone(),
        (switch(c, a, 0) / b >> switch(c, wide(a / b), 0)).when(is_not_zero).alone(),
    ]


@equations(scalar.add, scalar.sub, scalar.mul, key="local_merge_switch_same_cond", ordered=True)
def switches_on_one_condition(a: Anything, b: Anything, c: Anything, d: Anything, e: Anything) -> Equations:
    """Choices by one condition are one."""
    one, other, x, y, u, v = switch(c, a, b), switch(c, d, e), wide(a), wide(b), wide(d), wide(e)
    merged = [
        one + other >> switch(c, wide(x + u), wide(y + v)),
        one - other >> switch(c, wide(x - u), wide(y - v)),
        one * other >> switch(c, wide(x * u), wide(y * v)),
    ]
    return [equation.when(are_two, has_branch_of_numbers).alone() for equation in merged]


def are_two(node: Apply[Any, Tensor]) -> bool:
    """The two choices are not the same."""
    return node.inputs[0] is not node.inputs[1]


def has_branch_of_numbers(a: Tensor, b: Tensor, d: Tensor, e: Tensor) -> bool:
    """One branch has numbers only."""
    return any(number(v) is not None and number(w) is not None for v, w in ((a, d), (b, e)))


def is_not_zero(a: Tensor) -> bool:
    """The tensor `a` is not known to be 0."""
    return bool(number(a) != 0)


def meets_pole(a: Tensor, node: Apply[Any, Tensor]) -> bool:
    """Another factor may be infinite or no number, and `a` is no choice of zero: other readers do not pile up."""
    choice = operands(a, scalar.switch)
    if not is_not_zero(a) or (choice is not None and not all(map(is_not_zero, choice[1:]))):
        return False
    return scalar_kind(node) is _DIVISION or any(map(_has_pole, node.inputs))


def _has_pole(variable: Tensor, depth: int = DEPTH) -> bool:
    """Tell whether a variable is a function with poles, in sums, products and views."""
    node = variable.owner
    kind = scalar_kind(node)
    if node is None or kind in _POLES:
        return node is not None
    if kind is None:
        return depth > 0 and is_movement(node) and _has_pole(node.inputs[0], depth - 1)
    return depth > 0 and kind in BETWEEN and any(_has_pole(v, depth - 1) for v in node.inputs)
