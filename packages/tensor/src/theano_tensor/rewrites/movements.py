"""Views, parts and constants between the halves of a stable form: they move, or wait, so that the halves meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from theano_graph import Apply, Constant, FunctionGraph, Variable, batch_rule, pullback, pushforward, shape_rule
from theano_linker_c import scalar
from theano_linker_c.modes import optdb
from theano_linker_c.scalar import Cast
from theano_optimize import Exactness, Phase, WalkRewriter, constant_folding, node_rewriter

from .._core._ops import CheckAndRaise, TensorOp, run_in_a_loop
from .._core._type import Tensor
from ..creation import Alloc
from ..elemwise import DimShuffle, Elemwise
from ..extra_ops import CpuContiguous, ExtractDiag
from ..indexing import (
    AdvancedIncSubtensor,
    AdvancedIncSubtensor1,
    AdvancedSubtensor,
    AdvancedSubtensor1,
    IncSubtensor,
    Subtensor,
)
from ..joining import Join
from ..nnet import Softmax
from ..reduce import Prod, Sum
from ..shape import Rebroadcast, Reshape, Roll, SpecifyShape
from ._language import can_replace, is_broadcast, is_float, lift, negated, number, remade, rule, shuffled, stabilizing
from ._products import whole_power
from .exponentials import sum_of_exp
from .indexing import FULL, index_of, is_zeros, part_of
from .views import number_of_dimensions

# ---- Views and parts between the halves of a stable form: they move, so that the halves meet
#
# An op that only moves elements, ``move(x)``, changes places with elementwise operations. ``log(sigmoid(x).flatten())``
# has the stable form of ``log(sigmoid(x.flatten()))``, and its gradient, which the user has built before, divides
# behind
# the opposite movement. All this holds whoever else reads the sigmoid: at worst it is computed once more.

Found = list[Variable] | None
#: Ops that move the elements of their first input, and change none.
MOVEMENTS = (
    DimShuffle,
    Reshape,
    Subtensor,
    AdvancedSubtensor,
    Rebroadcast,
    SpecifyShape,
    CheckAndRaise,
    ExtractDiag,
    CpuContiguous,
    Roll,
)
_BOTH = (Phase.CANONICALIZE, Phase.STABILIZE)
_TAGS = ("fast_run", "fast_compile", "stabilize")
#: So many operations are looked at below a movement, one below the other, and above it.
DEPTH = 4
STEPS = 24

_STEEP = frozenset(type(op) for op in (scalar.exp, scalar.sigmoid, scalar.erf, scalar.erfc, scalar.expm1))
_ADD, _SUB, _ERF = map(type, (scalar.add, scalar.sub, scalar.erf))
_SUMS = frozenset((_ADD, _SUB))
_MUL, _DIVISION, _RECIPROCAL, _NEG = map(type, (scalar.mul, scalar.true_div, scalar.reciprocal, scalar.neg))
_SIGNS = frozenset((_NEG, Cast, type(scalar.identity)))
_PRODUCTS = frozenset((_MUL, _DIVISION, _RECIPROCAL))
BETWEEN = _SUMS | _SIGNS | _PRODUCTS | {type(scalar.sqr), type(scalar.pow), type(scalar.second)}
_FACTORS = _PRODUCTS | _SUMS | _STEEP | {_NEG, type(scalar.sqr)}
_EXP = type(scalar.exp)
_LOGARITHMS = frozenset((type(scalar.log), type(scalar.log1p)))


def scalar_kind(node: Apply | None) -> type | None:
    """Return the class of the scalar op of an elementwise node with one result, or None."""
    return type(node.op.scalar_op) if node is not None and isinstance(node.op, Elemwise) else None


def is_movement(node: Apply | None) -> bool:
    """Tell whether a node moves the elements of its first input, which are real and floating-point numbers."""
    return node is not None and isinstance(node.op, MOVEMENTS) and is_float(node.inputs[0])


def is_steep_below(variable: Tensor, depth: int = DEPTH) -> bool:
    """Tell whether a variable is one half of a stable form: an exponential, say, in sums and products."""
    node = variable.owner
    if node is None or not is_float(variable):
        return False
    kind = scalar_kind(node)
    if kind in _STEEP:
        return True
    if kind is None:
        return depth > 0 and is_movement(node) and is_steep_below(node.inputs[0], depth - 1)
    if kind in _SUMS and len(node.inputs) == 2 and any(number(v) in (1, -1) for v in node.inputs):
        return True
    if kind is type(scalar.sqr) or whole_power(variable) is not None:
        return True
    if kind is _MUL and len(set(node.inputs)) < len(node.inputs):
        return True
    return kind in BETWEEN and depth > 0 and any(is_steep_below(v, depth - 1) for v in node.inputs)


def divides_by_steep(variable: Tensor, depth: int = DEPTH) -> bool:
    """Tell whether a variable is a product with the half of a stable form as a divisor."""
    node = variable.owner
    kind = scalar_kind(node)
    if node is None or not depth:
        return False
    if kind is None:
        return is_movement(node) and divides_by_steep(node.inputs[0], depth - 1)
    if kind is _DIVISION:
        return is_steep_below(node.inputs[1]) or divides_by_steep(node.inputs[0], depth - 1)
    if kind is _RECIPROCAL:
        return is_steep_below(node.inputs[0])
    return (kind in (_MUL, _NEG) or kind in _SUMS) and any(divides_by_steep(v, depth - 1) for v in node.inputs)


def has_sum_of_exp(variable: Tensor, depth: int = 2 * DEPTH) -> bool:
    """Tell whether a sum of exponentials is below elementwise operations and views: no movement goes below it."""
    node = variable.owner
    if node is None or not depth:
        return False
    if isinstance(node.op, Sum):
        return sum_of_exp(variable) is not None
    if scalar_kind(node) in BETWEEN:
        return any(has_sum_of_exp(v, depth - 1) for v in node.inputs)
    return isinstance(node.op, (*MOVEMENTS, Alloc)) and has_sum_of_exp(node.inputs[0], depth - 1)


def _differences(variable: Tensor) -> frozenset[int]:
    """Return the numbers n such that ``variable + n`` has a stable form: -1 for exp(x), 1 for its negative."""
    flip = 1
    for _ in range(DEPTH):
        node = variable.owner
        kind = scalar_kind(node)
        if node is None or kind in _STEEP or not (kind in _SIGNS or is_movement(node)):
            return frozenset((1, -1)) if kind is _ERF else frozenset((-flip,)) if kind in _STEEP else frozenset()
        flip = -flip if kind is _NEG else flip
        variable = node.inputs[0]
    return frozenset()


def is_awaited(fgraph: FunctionGraph, variable: Tensor) -> bool:
    """Tell whether the other half of a stable form is above: a logarithm, a difference from 1, a division by this."""
    pending = [(variable, _differences(variable))]
    seen = {variable}
    for _ in range(STEPS):
        if not pending:
            return False
        below, differences = pending.pop()
        for client, position in fgraph.clients(below)[:STEPS]:
            if not isinstance(client, Apply):
                continue
            kind = scalar_kind(client)
            if kind in _LOGARITHMS or (kind in (_RECIPROCAL, _DIVISION) and _divides_stably(client, position)):
                return True
            if differences and kind in _SUMS:
                # Likewise ``n - variable``, the negative of ``variable - n``.
                numbers = [n if kind is _ADD else -n for v in client.inputs if (n := number(v)) is not None]
                if any(n in differences for n in numbers):
                    return True
            is_moved = isinstance(client.op, Join) or (position == 0 and isinstance(client.op, (*MOVEMENTS, Alloc)))
            is_sum = position == 0 and isinstance(client.op, Sum)
            output = client.outputs[0]
            if not (is_moved or is_sum or kind in BETWEEN) or output in seen:
                continue
            seen.add(output)
            if kind is _NEG:
                pending.append((output, frozenset(-n for n in differences)))
            else:
                pending.append((output, differences if is_moved or kind in _SIGNS else frozenset()))
    return False


def _divides_stably(node: Apply[Any, Tensor], place: int) -> bool:
    """Tell whether a quotient by an input may have a stable form; one by a constant exponential is none."""
    *above, below = node.inputs
    if place < len(above):
        return False
    inner = below.owner
    if inner is not None and scalar_kind(inner) in _STEEP and isinstance(inner.inputs[0], Constant):
        return any(map(is_steep_below, above))
    return True


def meets_factor(fgraph: FunctionGraph, variable: Tensor, of_any_kind: bool = False) -> bool:
    """Tell whether a product with steep factors meets others by movements and changes of sign, with which they cancel.

    Where it divides by them, any others; else exponentials, which may be infinite.
    """
    inner = variable.owner
    divides = of_any_kind or (inner is not None and divides_by_steep(inner.inputs[0]))
    pending: list[Variable] = [variable]
    for _ in range(STEPS):
        if not pending:
            return False
        below = pending.pop()
        for client, position in fgraph.clients(below)[:STEPS]:
            if not isinstance(client, Apply):
                continue
            kind = scalar_kind(client)
            if kind in _PRODUCTS and (divides or any(scalar_kind(v.owner) is _EXP for v in client.inputs)):
                return True
            passes = (
                (*MOVEMENTS, Sum) if position == 0 else (IncSubtensor, AdvancedIncSubtensor) if position == 1 else ()
            )
            if kind in _SIGNS or kind in _SUMS or kind in _PRODUCTS or isinstance(client.op, passes):
                pending.append(client.outputs[0])
    return False


def moved(fgraph: FunctionGraph, node: Apply[Any, Tensor], variable: Tensor) -> Tensor | None:
    """Return the movement of a node applied to an operand of the moved node, or None where it cannot tell.

    Where the operand broadcasts, the movement leaves it so.
    """
    sign = negated(variable)
    if sign is not None:
        inner = moved(fgraph, node, sign)
        return None if inner is None else remade(fgraph, lift(scalar.neg), inner)
    whole, op = node.inputs[0].type.broadcastable, node.op
    pattern = variable.type.broadcastable
    if is_broadcast(variable):
        return number_of_dimensions(variable, node.outputs[0].type.ndim)
    if isinstance(op, DimShuffle):
        return shuffled(fgraph, variable, op.order)
    if pattern == whole:
        return remade(fgraph, op, variable, *node.inputs[1:])
    if isinstance(op, CheckAndRaise):
        return variable
    if not isinstance(op, Subtensor):
        return None
    index = index_of(node)
    one = [item if not pattern[axis] else 0 if not isinstance(item, slice) else FULL for axis, item in enumerate(index)]
    return part_of(variable, one)


def _has_whole_input(inner: Apply[Any, Tensor]) -> bool:
    pattern = inner.outputs[0].type.broadcastable
    return not any(pattern) or any(v.type.broadcastable == pattern for v in inner.inputs)


def movement_below(fgraph: FunctionGraph, node: Apply[Any, Tensor], deep: int = 0) -> Tensor | None:
    """Return ``f(move(x))`` for a node ``move(f(x))``, or None; `deep` operations further down as well."""
    inner = node.inputs[0].owner
    if inner is None or type(inner.op) is not Elemwise or inner.op.inplace_pattern or len(inner.outputs) != 1:
        return None
    if not inner.inputs or not _has_whole_input(inner):
        return None
    inputs: list[Tensor] = []
    for variable in inner.inputs:
        new = moved(fgraph, node, variable)
        if new is None:
            return None
        if deep and new.owner is not None and is_movement(new.owner) and is_steep_below(variable):
            below = movement_below(fgraph, new.owner, deep - 1)
            new = new if below is None else below
        inputs.append(new)
    result: Tensor = inner.op.make_node(*inputs).outputs[0]
    return result if can_replace(node.outputs[0], result) else None


def _has_steep_client(fgraph: FunctionGraph, variable: Tensor) -> bool:
    clients = fgraph.clients(variable)[:STEPS]
    return any(scalar_kind(c) in _STEEP or scalar_kind(c) is _NEG for c, _ in clients if isinstance(c, Apply))


def _without_claims(fgraph: FunctionGraph, variable: Tensor) -> Tensor | None:
    """Return x if a variable is x with a dimension that is said to have length 1, maybe taken out and put back.

    Others read the declared lengths, so that a wrong length is still reported.
    """
    node = variable.owner
    if node is not None and isinstance(node.op, DimShuffle):
        shuffle, order = node.op, iter(sorted(node.op.drop))
        if [next(order, None) if entry == "x" else entry for entry in shuffle.order] != list(range(variable.type.ndim)):
            return None
        node = node.inputs[0].owner
    if node is None or not isinstance(node.op, Rebroadcast) or fgraph.n_clients(node.outputs[0]) < 2:
        return None
    return node.inputs[0]


@rule(
    *MOVEMENTS,
    phases=_BOTH,
    exactness=Exactness.STABILIZING,
    tags=_TAGS,
    reach=DEPTH,
    key="local_movement_below_stable_form",
)
def movement_before_steep(fgraph: FunctionGraph, node: Apply[Any, Tensor]) -> Found:
    """``move(exp(x)) -> exp(move(x))`` where a logarithm is above, say, whoever else reads ``exp(x)``.

    A quotient that a gradient has, ``move(a / exp(x))``, becomes one of two movements, and a choice of zero one by a
    moved condition, which meets values that are not finite there.
    """
    y = node.inputs[0]
    if isinstance(node.op, Rebroadcast) and _has_steep_client(fgraph, node.outputs[0]):
        source = _without_claims(fgraph, y)
        if source is not None and can_replace(node.outputs[0], source):
            return [source]
    output = node.outputs[0]
    if is_float(y) and is_masked(y):
        new = movement_below(fgraph, node) if meets_factor(fgraph, output, of_any_kind=True) else None
        return None if new is None else [new]
    if scalar_kind(y.owner) is None or not is_float(y) or not is_steep_below(y):
        return None
    # Only permuted and dropped dimensions pass a sum of exponentials: each factor has them then.
    shared = has_sum_of_exp(y)
    meets = scalar_kind(y.owner) in _FACTORS and meets_factor(fgraph, output, of_any_kind=shared)
    if shared and not (meets and isinstance(node.op, DimShuffle)):
        return None
    if not is_awaited(fgraph, output) and not meets:
        return None
    new = movement_below(fgraph, node)
    return None if new is None else [new]


def _stays_below(movement: Apply[Any, Tensor], tensors: list[Tensor], is_sum: bool) -> bool:
    """Tell whether a movement does not go below its operand, so that the other half has to come."""
    if isinstance(movement.op, Join):
        return any(map(is_steep_below, tensors))
    if isinstance(movement.op, Alloc):
        return is_steep_below(tensors[0]) or has_sum_of_exp(tensors[0])
    # Views that insert dimensions are seen through where it matters.
    if is_sum or not is_movement(movement) or isinstance(movement.op, DimShuffle):
        return False
    return has_sum_of_exp(tensors[0])


@stabilizing(scalar.log, scalar.log1p, scalar.add, scalar.sub, reach=DEPTH, key="local_stable_form_before_movement")
def steep_before_movement(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``log(move(p)) -> move(log(p))`` for sums of exponentials, which no movement passes, and shares of them.

    Likewise where a movement repeats elements or joins tensors: ``log(alloc(exp(x), n)) -> alloc(log(exp(x)), n)``.
    """
    places = [position for position, v in enumerate(node.inputs) if number(v) is None]
    if len(places) != 1 or len(node.inputs) > 2:
        return None
    movement = node.inputs[places[0]].owner
    numbers = [v for v in node.inputs if number(v) is not None]
    if movement is None or not is_float(movement.outputs[0]) or any(number(v) not in (1, -1) for v in numbers):
        return None
    first = int(isinstance(movement.op, Join))
    tensors = movement.inputs[1:] if first else movement.inputs[:1]
    if not _stays_below(movement, tensors, bool(numbers)):
        return None
    inputs = list(movement.inputs)
    for at, tensor in enumerate(tensors, first):
        operands = [number_of_dimensions(v, tensor.type.ndim) if v in numbers else tensor for v in node.inputs]
        inputs[at] = node.op.make_node(*operands).outputs[0]
        if inputs[at].type.dtype != tensor.type.dtype:
            return None
    new: Variable = movement.op.make_node(*inputs).outputs[0]
    return [new] if can_replace(node.outputs[0], new) else None


_READS: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (IncSubtensor, lambda op: Subtensor(op.entries)),
    (AdvancedIncSubtensor1, lambda op: AdvancedSubtensor1()),
    (AdvancedIncSubtensor, lambda op: AdvancedSubtensor(op.entries)),
)


def placed_part(variable: Tensor) -> Apply[Any, Tensor] | None:
    """Return the node that adds a part to zeros, or None if a variable is made otherwise."""
    node = variable.owner
    if node is None or not isinstance(node.op, (IncSubtensor, AdvancedIncSubtensor)) or node.op.set_instead_of_inc:
        return None
    if getattr(node.op, "ignore_duplicates", False) or not is_zeros(node.inputs[0]):
        return None
    return node


@stabilizing(scalar.mul, scalar.true_div, reach=DEPTH, key="local_product_of_placed_part")
def product_of_placed_part(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``inc(zeros, y / exp(x[i]), i) * exp(x) -> inc(zeros, y / exp(x[i]) * exp(x[i]), i)``: factors meet in the part.

    Likewise a choice of zero meets values that are not finite there.
    """
    places = (0,) if scalar_kind(node) is _DIVISION else range(len(node.inputs))
    for position in places:
        placed = placed_part(node.inputs[position])
        if placed is None or placed.inputs[0].type.broadcastable != node.outputs[0].type.broadcastable:
            continue
        zeros, y, *index = placed.inputs
        if not is_float(y) or y.type.dtype != node.outputs[0].type.dtype:
            continue
        meets = is_steep_below(y) and not has_sum_of_exp(y) and any(map(is_steep_below, node.inputs))
        if not is_masked(y) and not meets:
            continue
        read = next(make(placed.op) for kind, make in _READS if isinstance(placed.op, kind))
        like = read.make_node(zeros, *index)
        others = [_part_below(fgraph, like, v) for i, v in enumerate(node.inputs) if i != position]
        factors = [v for v in others if v is not None]
        if len(factors) < len(others):
            continue
        factors.insert(position, y)
        part = node.op.make_node(*factors).outputs[0]
        new = placed.op(zeros, part, *index)
        if can_replace(node.outputs[0], new):
            return [new]
    return None


def _part_below(fgraph: FunctionGraph, like: Apply[Any, Tensor], variable: Tensor) -> Tensor | None:
    part = moved(fgraph, like, variable)
    if part is None or part.owner is None or not is_movement(part.owner) or not is_steep_below(variable):
        return part
    below = movement_below(fgraph, part.owner, DEPTH)
    return part if below is None else below


def is_masked(variable: Tensor) -> bool:
    """Tell whether a variable is a choice with zero as one branch."""
    node = variable.owner
    return (
        scalar_kind(node) is type(scalar.switch) and node is not None and any(number(v) == 0 for v in node.inputs[1:])
    )


# ---- Constants in stable forms: they wait until the forms have been recognised, and are folded then
#
# ``log(sigmoid(-1000))`` has the number that ``log(sigmoid(x))`` has for an x of -1000, and not the logarithm of 0.


class Unfolded(TensorOp):
    """A constant whose value is not looked at until it is folded."""

    __props__ = ()
    view_map = {0: [0]}

    def make_node(self, x: Tensor) -> Apply[Self, Tensor]:
        """Apply to a constant."""
        return Apply(self, [x], [x.type.make_variable()])

    def do_constant_folding(self, node: Apply[Self]) -> bool:
        """Return False."""
        return False

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Return the constant."""
        output_storage[0][0] = inputs[0]


@shape_rule.register(Unfolded)
def _shape(node: Apply[Unfolded, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


for _table in (pullback, pushforward):
    _table.declare_absent(Unfolded, "it is made when functions are compiled, after gradients have been taken")

unfolded = Unfolded()
#: The op is half of a stable form as it is, if only a constant is below.
_WHOLE = (Softmax, Prod)


def is_needed_unfolded(fgraph: FunctionGraph, node: Apply) -> bool:
    """Tell whether a node on constants is one half of a stable form, and the other half is above."""
    (output, *others) = node.outputs
    if others or not is_float(output) or not isinstance(node.op, (Elemwise, *_WHOLE)):
        return False
    return (isinstance(node.op, _WHOLE) or is_steep_below(output)) and is_awaited(fgraph, output)


constant_folding.postponed.append(is_needed_unfolded)


@rule(Elemwise, *_WHOLE, phases=(Phase.CANONICALIZE, Phase.STABILIZE), reach=0, key="local_constants_unfolded")
def constants_unfolded(fgraph: FunctionGraph, node: Apply[Any, Tensor]) -> Found:
    """``log(exp(2)) -> log(exp(unfolded(2)))``: rules see a variable."""
    for variable in node.inputs:
        if variable.owner is not None or not isinstance(variable, Constant):
            return None
    if not node.inputs or not is_needed_unfolded(fgraph, node):
        return None
    units = [v for v in node.inputs if number(v) in (1, -1)] if len(node.inputs) == 2 else []
    if type(node.op) is Elemwise and node.op.scalar_op.name == "pow":
        units = node.inputs[1:]
    if len(units) == len(node.inputs):
        return None
    new: Variable = node.op.make_node(*(v if v in units else unfolded(v) for v in node.inputs)).outputs[0]
    return [new]


@node_rewriter([Unfolded])
def constants_folded(fgraph: FunctionGraph, node: Apply[Unfolded, Tensor]) -> Found:
    """Constants keep their values."""
    return [node.inputs[0]]


optdb.register(
    "constants_folded",
    WalkRewriter(constants_folded),
    *("fast_run", "fast_compile", "o1", "o2", "o3", "o4", "unsafe", "stabilize"),
    position=Phase.STABILIZE.position + 0.05,
)


batch_rule.register(Unfolded)(run_in_a_loop)
