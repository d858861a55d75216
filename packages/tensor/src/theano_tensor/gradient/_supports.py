"""Where a cotangent is zero by construction, and variables that hold numbers, as differentiation asks for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

import numpy as np

from theano_graph import Apply, Constant, RuleTable, Variable, config, record
from theano_linker_c import scalar
from theano_linker_c.scalar import Cast

from .._core._convert import constant
from .._core._ops import is_same
from .._core._type import Tensor, TensorType
from .._protocols._methods import call
from ..elemwise import DimShuffle, Elemwise, dimshuffle, partials, switch, unbroadcast
from ..shape import Reshape, addbroadcast, unbroadcast as without_broadcast

# ---- Where a cotangent is zero by construction: at elements that a choice leaves out, and outside of a part
#
# The gradient of ``switch(c, f(x), 0)`` is ``switch(c, g * slope, 0)``, not ``switch(c, g, 0) * slope``, which is no
# number where the slope is infinite. So choices of zero and placed parts stay outermost: a rule gets the
# cotangent inside of them, and its results are put into them again. A part of a result needs that part of the operands
# only. The derivatives of such gradients have the same form, so that this holds for all orders.

#: So many choices and parts are taken off a cotangent, and so many views are looked through.
DEPTH = 8
_SWITCH, _SECOND, _NEG, _ADD = map(type, (scalar.switch, scalar.second, scalar.neg, scalar.add))
#: Ops whose slopes are infinite somewhere.
_POLES = frozenset(
    type(op)
    for op in (
        *(scalar.true_div, scalar.reciprocal, scalar.pow, scalar.sqrt, scalar.log, scalar.log1p, scalar.log2),
        *(scalar.log10, scalar.arcsin, scalar.arccos, scalar.arctanh, scalar.arccosh, scalar.gammaln, scalar.psi),
    )
)


@record
class Choice:
    """Zero where a condition does not hold or, with `otherwise`, where it holds."""

    condition: Tensor
    otherwise: bool

    def put(self, value: Tensor) -> Tensor:
        """Return a value with zeros elsewhere."""
        zero = constant(0, dtype=value.type.dtype)
        return switch(self.condition, zero, value) if self.otherwise else switch(self.condition, value, zero)

    def is_same(self, other: Support) -> bool:
        """Tell whether another support is known to be this one."""
        if not isinstance(other, Choice) or self.otherwise != other.otherwise:
            return False
        return is_same(self.condition, other.condition)


@record
class Rest:
    """Zero in a part, which `put` empties; `key` says which."""

    key: tuple[Any, ...]
    put: Callable[[Tensor], Tensor]

    def is_same(self, other: Support) -> bool:
        """Tell whether another support is known to be this one."""
        return isinstance(other, Rest) and self.key == other.key


@record
class Part:
    """Zero outside of a part: `put` places it into zeros, `of` reads it from a tensor of that shape.

    A part that `may_repeat` elements may have more of them than the tensor. Only ops whose slopes are infinite
    somewhere are differentiated inside of it: the others would compute more.
    """

    key: tuple[Any, ...]
    put: Callable[[Tensor], Tensor]
    of: Callable[[Tensor], Tensor]
    may_repeat: bool = False

    def is_same(self, other: Support) -> bool:
        """Tell whether another support is known to be this one."""
        return isinstance(other, Part) and self.key == other.key


Support = Choice | Rest | Part
#: The support of the result of a node, outside of which it is zero, and the value inside; None for an unknown support.
support_rule: RuleTable[Callable[[Apply[Any, Tensor]], tuple[Support, Tensor] | None]] = RuleTable("support")
#: Ops that move the elements of their first inputs; the condition of a choice moves along.
_VIEWS: list[type] = [DimShuffle, Reshape]


def moves_elements(op_class: type) -> None:
    """Say that ops of a class move the elements of their first input, or leave some out."""
    _VIEWS.append(op_class)


@record(frozen=False)
class _Inside:
    """A cotangent taken apart: `value` in `parts` of the operands, where no one of `marks` makes it zero."""

    inputs: list[Tensor]
    output: Tensor
    value: Tensor
    parts: list[Part]
    marks: list[Choice | Rest]

    def enter(self, support: Support) -> bool:
        """Take in the next support; tell whether that can be done."""
        if not isinstance(support, Part):
            self.marks.append(support)
            return True
        # Choices outside of a part are choices in it.
        choices = [mark for mark in self.marks if isinstance(mark, Choice)]
        narrow = _narrowed(support, [*self.inputs, *(mark.condition for mark in choices)], self.output)
        if narrow is None or len(choices) < len(self.marks):
            return False
        self.inputs, conditions = narrow[: len(self.inputs)], narrow[len(self.inputs) :]
        self.marks = [Choice(c, mark.otherwise) for c, mark in zip(conditions, choices, strict=True)]
        self.output = support.of(self.output)
        self.parts.append(support)
        return True

    def leave(self, value: Tensor, source: Tensor, narrow: Tensor) -> Tensor:
        """Return the cotangent of an input, `source`, of which `narrow` is the part."""
        for mark in reversed(self.marks):
            # Where a condition and a value broadcast, so does the choice.
            value = mark.put(value if isinstance(mark, Choice) else unbroadcast(value, self.output))
        value = unbroadcast(unbroadcast(value, self.output), narrow)
        if self.parts and _is_single(source):
            return _as_single(value, source.type.ndim)
        for part in reversed(self.parts):
            value = part.put(value)
        return value


def pull_back_inside(node: Apply[Any, Tensor], g: Tensor) -> list[Tensor | str | None] | None:
    """Pull a cotangent that is zero in places back through an elementwise node; None for any other cotangent."""
    inside = _Inside(list(node.inputs), node.outputs[0], g, [], [])
    has_poles = type(node.op.scalar_op) in _POLES
    for _ in range(DEPTH):
        step = _outermost(inside.value)
        if step is None or (isinstance(step[0], Part) and step[0].may_repeat and not has_poles):
            break
        if not inside.enter(step[0]):
            break
        inside.value = step[1]
    among = _where_chosen(inside.value)
    if among is None and has_poles:
        among = _where_placed(inside.value)
    if among is not None:
        inside.marks.append(among)
    if inside.value is g and not inside.marks:
        return None
    results = partials(node.op.scalar_op, inside.inputs, [inside.output], [inside.value])
    pulled: list[Tensor | str | None] = []
    for value, source, narrow in zip(results, node.inputs, inside.inputs, strict=True):
        if value is None or isinstance(value, str):
            pulled.append(value)
        elif value is inside.value and (not inside.parts or not _is_single(source)):
            pulled.append(unbroadcast(g, source))
        else:
            pulled.append(inside.leave(value, source, narrow))
    return pulled


def sum_inside(one: Tensor, other: Tensor) -> Tensor:
    """Return the sum of two cotangents, inside of the supports that they share."""
    common: list[Support] = []
    for _ in range(DEPTH):
        step, twin = _outermost(one), _outermost(other)
        if step is None or twin is None or not step[0].is_same(twin[0]) or step[1].type != twin[1].type:
            break
        common.append(step[0])
        one, other = step[1], twin[1]
    result = one + other
    for support in reversed(common):
        result = support.put(result)
    return result


def _where_chosen(g: Tensor) -> Choice | None:
    """Return where one of the terms of a sum is chosen; None if not all terms are choices."""
    terms, conditions = [g] if _kind(g) is _ADD else [], list[Tensor]()
    while terms:
        term = terms.pop()
        if _kind(term) is _ADD and term.owner is not None:
            terms.extend(term.owner.inputs)
            continue
        condition = _condition_of(term)
        if condition is None or len(conditions) == DEPTH:
            return None
        conditions.append(condition)
    return Choice(_joined("or_", conditions), False) if conditions else None


def _where_placed(g: Tensor) -> Choice | None:
    """Return the elements to which views have moved a part, or the rest of one; None if there is none."""
    views: list[Apply[Any, Tensor]] = []
    while len(views) < DEPTH and g.owner is not None and isinstance(g.owner.op, tuple(_VIEWS)):
        views.append(g.owner)
        g = g.owner.inputs[0]
    step = _outermost(g) if views else None
    if step is None or isinstance(step[0], Choice):
        return None
    condition = step[0].put(step[1].ones_like(dtype="int8"))
    for view in reversed(views):
        condition = view.op(condition, *view.inputs[1:])
    return Choice(condition, False)


def _condition_of(term: Tensor) -> Tensor | None:
    """Return where all the choices hold that are outermost in a cotangent; None if there is none."""
    conditions: list[Tensor] = []
    for _ in range(DEPTH):
        step = _outermost(term)
        support = None if step is None else step[0]
        if step is None or not isinstance(support, Choice):
            break
        term = step[1]
        conditions.append(call("eq" if support.otherwise else "neq", support.condition, 0))
    return _joined("and_", conditions) if conditions else None


def _joined(operator: str, conditions: Sequence[Tensor]) -> Tensor:
    result = conditions[0]
    for other in conditions[1:]:
        result = call(operator, result, other)
    return result


def _narrowed(part: Part, tensors: Sequence[Tensor], output: Tensor) -> list[Tensor] | None:
    """Return the parts of tensors; None if one of them broadcasts in some dimensions only."""
    pattern, ndim = output.type.broadcastable, part.of(output).type.ndim
    if any(v.type.broadcastable != pattern and not _is_single(v) for v in tensors):
        return None
    return [part.of(v) if v.type.broadcastable == pattern else _as_single(v, ndim) for v in tensors]


def _is_single(tensor: Tensor) -> bool:
    return all(tensor.type.broadcastable)


def _as_single(tensor: Tensor, ndim: int) -> Tensor:
    """Return a tensor of one element with other dimensions of length 1."""
    source: Variable = tensor
    while source.owner is not None and isinstance(source.owner.op, DimShuffle):
        source = source.owner.inputs[0]
    if isinstance(source, Constant):
        return constant(np.reshape(source.data, (1,) * ndim))
    return tensor if tensor.type.ndim == ndim else dimshuffle(tensor, ["x"] * ndim)


def _outermost(g: Tensor, depth: int = DEPTH) -> tuple[Support, Tensor] | None:
    """Return the outermost support of a cotangent and the value inside; None for an unknown support."""
    node = g.owner
    if node is None or not depth:
        return None
    op = node.op
    kind = _kind(g)
    if kind is _SWITCH:
        return _choice(node)
    rule = support_rule.get(op)
    if rule is not None:
        return rule(node)
    position = 1 if kind is _SECOND else 0
    if not isinstance(op, tuple(_VIEWS)) and kind not in (_SECOND, _NEG, Cast):
        return None
    inner = _outermost(node.inputs[position], depth - 1)
    if inner is None or (not isinstance(inner[0], Choice) and kind not in (_NEG, Cast)):
        return None
    support, below = inner
    operands = node.inputs[1:]
    if isinstance(support, Choice) and kind is None:
        # A view is zero where the view of the condition says so.
        condition = support.condition
        if condition.type.broadcastable != node.inputs[0].type.broadcastable:
            return None
        support = Choice(op(condition, *operands), support.otherwise)
    return support, op(node.inputs[0], below) if kind is _SECOND else op(below, *operands)


def _kind(variable: Tensor) -> type | None:
    node = variable.owner
    return type(node.op.scalar_op) if node is not None and isinstance(node.op, Elemwise) else None


def _choice(node: Apply[Any, Tensor]) -> tuple[Support, Tensor] | None:
    condition, yes, no = node.inputs
    for value, other, otherwise in ((yes, no, False), (no, yes, True)):
        if is_zero(other) and value.type.dtype == node.outputs[0].type.dtype:
            return Choice(condition, otherwise), value
    return None


def is_zero(variable: Variable) -> bool:
    """Tell whether a tensor is the constant zero. A fill with zero counts as a variable, by which is differentiated."""
    while variable.owner is not None and isinstance(variable.owner.op, DimShuffle):
        variable = variable.owner.inputs[0]
    return isinstance(variable, Constant) and getattr(variable.data, "size", 0) == 1 and not variable.data.any()


# ---- The few things that differentiation asks of a variable that holds numbers
#
# They are asked through the variable's own methods, so that each array type (dense, sparse, on a device) can be
# differentiated.


class Numbers(Protocol):
    """The interface of variables that hold numbers for differentiation."""

    @property
    def real(self) -> Variable: ...

    def zeros_like(self, dtype: str) -> Variable: ...

    def ones_like(self, dtype: str) -> Variable: ...

    def astype(self, dtype: str) -> Variable: ...


def dtype_of(variable: Variable) -> str | None:
    """Return the dtype of a variable's type, or None where the type has none."""
    return getattr(variable.type, "dtype", None)


def is_discrete(variable: Variable) -> bool:
    """Tell whether a variable holds integers or booleans."""
    dtype = dtype_of(variable)
    return dtype is not None and dtype.startswith(("int", "uint", "bool"))


def is_continuous(variable: Variable) -> bool:
    """Tell whether a variable holds real or complex floating-point numbers."""
    dtype = dtype_of(variable)
    return dtype is not None and dtype.startswith(("float", "complex"))


def is_complex(variable: Variable) -> bool:
    """Tell whether a variable holds complex numbers."""
    dtype = dtype_of(variable)
    return dtype is not None and dtype.startswith("complex")


def real_part(variable: Variable) -> Variable:
    """Return the real part of complex numbers."""
    return _methods(variable).real


def cotangent_dtype(variable: Variable) -> str:
    """Return the dtype of the gradient with respect to `variable`: its own, or floatX where that is discrete."""
    dtype = dtype_of(variable)
    return dtype if dtype is not None and is_continuous(variable) else str(config.floatX)


def zeros_for(variable: Variable) -> Variable:
    """Return a zero gradient for `variable`: its shape, its dtype or floatX."""
    return _methods(variable).zeros_like(dtype=cotangent_dtype(variable))


def ones_for(variable: Variable) -> Variable:
    """Return the gradient of `variable` with respect to itself."""
    return _methods(variable).ones_like(dtype=cotangent_dtype(variable))


def cast_to(variable: Variable, dtype: str) -> Variable:
    """Return `variable` converted to `dtype`, or itself."""
    return variable if dtype_of(variable) == dtype else _methods(variable).astype(dtype)


def total(terms: list[Variable]) -> Variable:
    """Return the sum of one or more cotangents of one variable, in order."""
    result: Any = terms[0]
    for term in terms[1:]:
        if isinstance(result, Tensor) and isinstance(term, Tensor):
            result = sum_inside(result, term)
        else:
            result = result + term
    reduced: Variable = result
    return reduced


def static_shape(variable: Variable) -> tuple[int | None, ...] | None:
    """Return the static shape of a variable's type, or None where the type has none."""
    return getattr(variable.type, "shape", None)


def shaped_as(variable: Variable, gradient: Variable) -> Variable:
    """Return a gradient such that it broadcasts where `variable` does: a rule may know the lengths of others only."""
    if not isinstance(variable.type, TensorType) or not isinstance(gradient.type, TensorType):
        return gradient
    kinds = enumerate(zip(variable.type.broadcastable, gradient.type.broadcastable, strict=True))
    axes = [axis for axis, (wanted, known) in kinds if wanted and not known]
    return addbroadcast(gradient, *axes) if axes else gradient


def of_same_pattern(variable: Variable, gradient: Variable) -> Variable:
    """Return a gradient that broadcasts only where `variable` does, so that it can be added to that as an update."""
    if not isinstance(variable.type, TensorType) or not isinstance(gradient.type, TensorType):
        return gradient
    kinds = enumerate(zip(variable.type.broadcastable, gradient.type.broadcastable, strict=True))
    axes = [axis for axis, (expected, actual) in kinds if actual and not expected]
    return without_broadcast(gradient, *axes) if axes else gradient


def _methods(variable: Variable) -> Numbers:
    if not hasattr(variable, "zeros_like"):
        raise TypeError(
            f"`{variable}` of type {variable.type.describe()} cannot be differentiated: it holds no numbers"
        )
    return cast(Numbers, variable)
