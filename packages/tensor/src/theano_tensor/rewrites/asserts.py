"""Checks that are known to hold, or not wanted."""

from __future__ import annotations

from theano_graph import Apply, FunctionGraph, Variable
from theano_optimize import Fit

from .._core._ops import CheckAndRaise
from .._core._type import Tensor
from ._equations import Anything, Equations, equations
from ._language import number
from ._registry import rule
from ._terms import applied

Found = list[Variable] | None
check = applied("check", CheckAndRaise)


@rule(CheckAndRaise, reach=0, key="local_remove_useless_assert")
def assert_of_truth(fgraph: FunctionGraph, node: Apply[CheckAndRaise, Tensor]) -> Found:
    """Conditions that are constant and true, and those given twice, need no check; without conditions none is left."""
    value, *conditions = node.inputs
    checks = list(dict.fromkeys(c for c in conditions if not number(c)))
    if conditions and len(checks) == len(conditions):
        return None
    return [node.op(value, *checks)] if checks else [value]


@equations(
    CheckAndRaise, tags=("local_remove_all_assert", "unsafe"), reach=0, key="local_remove_all_assert", fit=Fit.UNCHECKED
)
def assert_left_out(a: Anything) -> Equations:
    """No check of users' arguments is made. Only where that is asked for."""
    return [check(a, ...) >> a]
