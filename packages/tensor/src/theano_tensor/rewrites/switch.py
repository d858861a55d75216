"""Choices whose outcome is known or does not matter, and choices moved outwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Apply, Constant, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_optimize import Exactness, Phase

from .._core._ops import Assert
from .._core._type import Tensor
from ..control import IfElse, ifelse
from ..creation import Alloc
from ..elemwise import DimShuffle, Elemwise
from ..indexing import IncSubtensor, Subtensor
from ..linear import BatchedDot, Dot
from ..reduce import Reduce
from ..shape import Reshape
from ..sorting import TopK
from ._language import can_replace, gives_floats, lift, maker, number, operands, rule
from .equations import Anything, Equations, equations, mul, switch, wide
from .movements import BETWEEN, DEPTH, is_movement, scalar_kind

# ---- Rewrites of choices whose outcome is known, or does not matter

Found = list[Variable] | None


@rule(IfElse, key="cond_constant", reach=0)
def choice_by_a_constant(fgraph: FunctionGraph, node: Apply[IfElse]) -> Found:
    """A constant condition leaves one branch."""
    condition, *branches = node.inputs
    if not isinstance(condition, Constant):
        return None
    n = node.op.n_outs
    return _fitting(node, branches[:n] if condition.data else branches[n:])


@rule(IfElse, key="cond_remove_identical", reach=0)
def choice_between_equals(fgraph: FunctionGraph, node: Apply[IfElse]) -> Found:
    """Equal branches need no choice."""
    condition, *branches = node.inputs
    n = node.op.n_outs
    left = [k for k in range(n) if branches[k] is not branches[n + k]]
    if len(left) == n:
        return None
    chosen: Sequence[Any] = (
        ifelse(condition, [branches[k] for k in left], [branches[n + k] for k in left], node.op.name) if left else []
    )
    replacements = dict(zip(left, chosen, strict=True))
    return _fitting(node, [replacements.get(k, branches[k]) for k in range(n)])


@rule(IfElse, key="cond_same_condition", phases=(Phase.CANONICALIZE,))
def choice_inside_a_choice(fgraph: FunctionGraph, node: Apply[IfElse]) -> Found:
    """A choice by the same condition, inside of a branch, is known there."""
    condition, *branches = node.inputs
    n = node.op.n_outs
    seen = [_seen_through(v, condition, k < n) for k, v in enumerate(branches)]
    if all(a is b for a, b in zip(seen, branches, strict=True)):
        return None
    return _fitting(node, ifelse(condition, seen[:n], seen[n:], node.op.name))


@rule(IfElse, key="cond_unused_outputs")
def choice_without_unused_outputs(fgraph: FunctionGraph, node: Apply[IfElse]) -> list[Variable | None] | None:
    """Unused outputs are not computed in either branch."""
    condition, *branches = node.inputs
    n = node.op.n_outs
    used = [k for k, output in enumerate(node.outputs) if fgraph.has_clients(output)]
    if len(used) == n or not used:
        return None
    chosen = ifelse(condition, [branches[k] for k in used], [branches[n + k] for k in used], node.op.name)
    replacements = dict(zip(used, chosen, strict=True))
    return [replacements.get(k) for k in range(n)]


@rule(TopK, key="local_useless_topk")
def selection_without_unused_output(fgraph: FunctionGraph, node: Apply[TopK, Tensor]) -> list[Variable | None] | None:
    """The largest elements are not taken where only their numbers are used, and the other way round."""
    op = node.op
    used = [fgraph.has_clients(output) for output in node.outputs]
    if used not in ([True, False], [False, True]):
        return None
    values, indices = used
    (selection,) = TopK(op.axis, op.sorted, op.idx_dtype, values, indices).make_node(*node.inputs).outputs
    return [selection if is_used else None for is_used in used]


#: Operations that go into branches.
WORK = (Elemwise, DimShuffle, Reduce, Dot, BatchedDot, Reshape, Subtensor, IncSubtensor)


@rule(IfElse, tags=("fast_run",), key="ifelse_lift_single_if_through_acceptable_ops")
def work_inside_a_choice(fgraph: FunctionGraph, node: Apply[IfElse]) -> dict[Variable, Variable] | None:
    """``f(ifelse(c, a, 0), y) -> ifelse(c, f(a, y), f(0, y))``: work on zeros need not be done.

    Gradients of choices are such expressions: zero for the branch that is not taken. The needs of its gradient are
    then only computed where the branch is taken. Either branch has a constant value, and all choices among the inputs
    are made by the same condition, so that graphs do not grow by the number of combinations.
    """
    clients = dict.fromkeys(client for output in node.outputs for client, _ in fgraph.clients(output))
    work = [client for client in clients if isinstance(client, Apply) and isinstance(client.op, WORK)]
    results = {client.outputs[0] for client in work}
    replacements: dict[Variable, Variable] = {}
    for client in work:
        if results.isdisjoint(client.inputs):  # else its needs go first
            new = _inside(client)
            if new is not None:
                replacements[client.outputs[0]] = new
    return replacements or None


def _inside(node: Apply[Any, Tensor]) -> Variable | None:
    if len(node.outputs) != 1 or node.op.destroy_map:
        return None
    choices = [v.owner if v.owner is not None and isinstance(v.owner.op, IfElse) else None for v in node.inputs]
    present_choices = [choice for choice in choices if choice is not None]
    if not present_choices or any(choice.inputs[0] is not present_choices[0].inputs[0] for choice in present_choices):
        return None
    pairs = [_branches(v) if choice else (v, v) for v, choice in zip(node.inputs, choices, strict=True)]
    chosen = [pair for pair, choice in zip(pairs, choices, strict=True) if choice]
    if not any(_is_constant(a) or _is_constant(b) for a, b in chosen):
        return None
    condition = present_choices[0].inputs[0]
    results = [_applied(node, [pair[k] for pair in pairs]) for k in range(2)]
    new: Variable = ifelse(condition, results[0], results[1], present_choices[0].op.name)
    return new if can_replace(node.outputs[0], new) else None


def _applied(node: Apply[Any, Tensor], inputs: list[Tensor]) -> Tensor:
    """Return the op of a node applied to other inputs; zeros are left out of sums."""
    if node.op == lift(scalar.add):
        nonzero = [v for v in inputs if _constant_of(v) != 0]
        if len(nonzero) == 1 and can_replace(node.outputs[0], nonzero[0]):
            return nonzero[0]
        if len(nonzero) > 1:
            total: Tensor = node.op.make_node(*nonzero).outputs[0]
            if can_replace(node.outputs[0], total):
                return total
    result: Tensor = node.op.make_node(*inputs).outputs[0]
    return result


def _branches(variable: Tensor) -> tuple[Tensor, Tensor]:
    owner = maker(variable)
    k = variable.index or 0
    return owner.inputs[1 + k], owner.inputs[1 + owner.op.n_outs + k]


def _is_constant(variable: Tensor) -> bool:
    """Tell whether the value is known now."""
    return isinstance(variable, Constant) or _constant_of(variable) is not None


def _constant_of(variable: Tensor) -> Any:
    """Return the number that all elements are known to be, or None."""
    owner = variable.owner
    if owner is not None and isinstance(owner.op, (Dot, BatchedDot)):
        # A product with zeros may not have been rewritten yet.
        return 0 if any(_filling(v) == 0 for v in owner.inputs) else None
    return _filling(variable)


def _filling(variable: Tensor) -> Any:
    while variable.owner is not None and isinstance(variable.owner.op, DimShuffle):
        variable = variable.owner.inputs[0]
    fill = operands(variable, scalar.second)
    if fill is not None:
        return number(fill[1])
    owner = variable.owner
    value = owner.inputs[0] if owner is not None and isinstance(owner.op, Alloc) else variable
    while value.owner is not None and isinstance(value.owner.op, Assert):
        value = value.owner.inputs[0]  # The remainder of products with zeros until their lengths are known to fit.
    return number(value)


def _seen_through(variable: Tensor, condition: Tensor, value: bool) -> Variable:
    owner = variable.owner
    if owner is None or not isinstance(owner.op, IfElse) or owner.inputs[0] is not condition:
        return variable
    index = (variable.index or 0) + (1 if value else 1 + owner.op.n_outs)
    inner: Variable = owner.inputs[index]
    return inner


def _fitting(node: Apply[Any, Tensor], found: list[Variable]) -> Found:
    """Return replacements that have the types of the outputs, or none."""
    return found if all(o.type.is_super(v.type) for o, v in zip(node.outputs, found, strict=True)) else None


# ---- Choices moved outwards, so that unchosen values cannot spoil chosen ones: ``0 * inf`` is no number

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
