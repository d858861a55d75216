"""Choices moved outwards, so that what is not chosen cannot spoil what is: ``0 * inf`` is no number."""

from __future__ import annotations

from typing import Any

from theano_graph import Apply
from theano_linker_c import scalar
from theano_optimize import Exactness, Phase

from .._core._variable import Tensor
from ._conditions import gives_floats
from ._equations import Anything, Equations, equations
from ._language import number
from ._terms import mul, switch, wide

BOTH = (Phase.CANONICALIZE, Phase.STABILIZE)


@equations(
    scalar.mul,
    phases=BOTH,
    exactness=Exactness.STABILIZING,
    tags=("fast_run", "fast_compile", "stabilize"),
    key="local_mul_switch_sink",
    guard=gives_floats,
)
def switch_outside_product(a: Anything, c: Anything) -> Equations:
    """A choice of zero stays one, also where another factor is infinite or no number."""
    product = wide(mul(a, ...))
    return [
        (mul(switch(c, 0, a), ...) >> switch(c, 0, product)).when(is_not_zero),
        (mul(switch(c, a, 0), ...) >> switch(c, product, 0)).when(is_not_zero),
    ]


@equations(
    scalar.true_div,
    phases=BOTH,
    exactness=Exactness.STABILIZING,
    tags=("fast_run", "fast_compile", "stabilize"),
    key="local_div_switch_sink",
    guard=gives_floats,
)
def switch_outside_quotient(a: Anything, b: Anything, c: Anything) -> Equations:
    """A choice of zero stays one, also where the divisor is 0."""
    return [
        (switch(c, 0, a) / b >> switch(c, 0, wide(a / b))).when(is_not_zero),
        (switch(c, a, 0) / b >> switch(c, wide(a / b), 0)).when(is_not_zero),
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
