"""Differentiation rules of scalar ops on tensors, and gradients of sigmoids without cancellation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from theano_graph import Constant, Variable, config, record, toposort
from theano_linker_c import scalar
from theano_linker_c.scalar import NoDerivative, ScalarOp, ScalarType, scalar_pullback, scalar_pushforward

from .._core._convert import constant
from .._core._ops import is_same
from .._core._type import Tensor
from .._protocols._methods import call
from ._dimshuffle import DimShuffle

# ---- Differentiation rules of scalar ops, turned into rules on tensors
#
# A scalar rule is run once per (op, dtypes) on fresh scalar variables. The scalar graph that it returns is kept as a
# flat list of
# instructions, which are then applied to tensors, op by op, so that rewriting sees them and shares equal ones.

Apply1 = Callable[[ScalarOp, Sequence[Tensor]], Sequence[Tensor]]


@record
class LiftedRule:
    """A scalar graph in flat form.

    Registers 0 .. n-1 hold the inputs, then come the constants, then the outputs of each instruction in turn. A
    result is a
    register, None where the rule says that nothing is connected, or a text that says why there is no derivative.
    """

    constants: tuple[Any, ...]
    instructions: tuple[tuple[ScalarOp, tuple[int, ...]], ...]
    results: tuple[int | str | None, ...]

    def apply(self, values: Sequence[Tensor], ndim: int, apply_op: Apply1) -> list[Tensor | str | None]:
        """Run the graph on tensors with `ndim` dimensions."""
        registers = list(values)
        registers.extend(constant(np.reshape(data, (1,) * ndim)) for data in self.constants)
        for op, arguments in self.instructions:
            registers.extend(apply_op(op, [registers[i] for i in arguments]))
        return [registers[i] if isinstance(i, int) else i for i in self.results]


def _flatten(inputs: Sequence[Variable], results: Sequence[Variable | None]) -> LiftedRule:
    register: dict[Variable, int] = {v: i for i, v in enumerate(inputs)}
    needed = [v for v in results if v is not None and not isinstance(v.type, NoDerivative)]
    nodes = toposort(inputs, needed)
    constants: list[Any] = []
    for variable in [v for node in nodes for v in node.inputs] + needed:
        if variable not in register and isinstance(variable, Constant):
            register[variable] = len(inputs) + len(constants)
            constants.append(variable.data)
    instructions = []
    count = len(inputs) + len(constants)
    for node in nodes:
        instructions.append((node.op, tuple(register[v] for v in node.inputs)))
        for output in node.outputs:
            register[output] = count
            count += 1
    return LiftedRule(tuple(constants), tuple(instructions), tuple(_result(v, register) for v in results))


def _result(variable: Variable | None, register: dict[Variable, int]) -> int | str | None:
    if variable is None:
        return None
    return variable.type.reason if isinstance(variable.type, NoDerivative) else register[variable]


@lru_cache(maxsize=4096)
@config.change_flags(compute_test_value="off")  # the scalar variables here have no test values
def lifted_pullback(op: ScalarOp, dtypes: tuple[str, ...], cotangent_dtypes: tuple[str, ...]) -> LiftedRule:
    """Return the pullback of `op`; its registers start with inputs, then outputs, then cotangents.

    Raises
    ------
    MissingRuleError
        If the scalar op has none.
    """
    inputs = [ScalarType(dtype).make_variable() for dtype in dtypes]
    cotangents: list[Variable] = [ScalarType(dtype).make_variable() for dtype in cotangent_dtypes]
    node = op.make_node(*inputs)
    results = scalar_pullback(op)(node, cotangents)
    return _flatten([*inputs, *node.outputs, *cotangents], list(results))


@lru_cache(maxsize=1024)
@config.change_flags(compute_test_value="off")
def lifted_pushforward(
    op: ScalarOp, dtypes: tuple[str, ...], tangent_dtypes: tuple[str | None, ...]
) -> LiftedRule | None:
    """Return the pushforward of `op`, or None if none is registered; registers.

    Inputs, outputs, tangents that are there.
    """
    rule = scalar_pushforward(op)
    if rule is None:
        return None
    inputs = [ScalarType(dtype).make_variable() for dtype in dtypes]
    tangents: list[Variable | None] = [None if d is None else ScalarType(d).make_variable() for d in tangent_dtypes]
    node = op.make_node(*inputs)
    results = rule(node, tangents)
    return _flatten([*inputs, *node.outputs, *(t for t in tangents if t is not None)], list(results))


# ---- Gradients of sigmoids, exponentials and powers below logarithms and quotients, without cancellation
#
# The gradient of ``log(sigmoid(x))`` is ``g / s * s * (1 - s)``, where s vanishes far from 0. Here a cotangent that
# divides by s, say, is multiplied with the slope in powers of ``s = sigmoid(z)`` and ``t = sigmoid(-z) = 1 - s``, with
# ``exp(z) = s / t`` and ``1 + exp(z) = 1 / t``. So the gradient is right in every mode, and so are its derivatives, for
# which rewriting comes too late. A power, and ``expm1``, below a quotient by itself is divided by its argument, or is
# an ``expm1`` again.

#: Sums of more terms are left whole.
MAX_TERMS = 16
#: So many products and quotients are taken apart, one below the other.
DEPTH = 8
_ADD, _SUB, _NEG, _MUL, _DIVISION, _SQUARE, _RECIPROCAL, _SIGMOID, _EXP = map(
    type,
    (
        *(scalar.add, scalar.sub, scalar.neg, scalar.mul, scalar.true_div, scalar.sqr, scalar.reciprocal),
        *(scalar.sigmoid, scalar.exp),
    ),
)
#: Powers of s and t that a slope consists of.
SLOPES = MappingProxyType({_SIGMOID: (1, 1), _EXP: (1, -1)})


@record
class _Factors:
    """``rest * s ** plus * t ** minus``, where no rest is 1."""

    rest: Tensor | None
    plus: int = 0
    minus: int = 0

    @property
    def is_bare(self) -> bool:
        """Whether there is no power of s or t."""
        return not self.plus and not self.minus


@record
class _Form:
    """The result of a sigmoid, an exponential or another function, or a part of one; `kind` is the scalar op."""

    output: Tensor
    kind: type[ScalarOp]

    def is_output(self, variable: Tensor) -> bool:
        """Tell whether a variable is the result, or the same part of it."""
        return variable is self.output or (_kind(variable) is None and is_same(variable, self.output))


def stable_slope(scalar_op: ScalarOp, z: Tensor, output: Tensor, g: Tensor) -> Tensor | None:
    """Return the gradient by the argument z of a sigmoid or an exponential, given that by its result.

    None where nothing cancels, so that the rule of the scalar op is as good.
    """
    powers = SLOPES[type(scalar_op)]
    if z.type.dtype != output.type.dtype:
        return None
    form = _Form(output, type(scalar_op))
    stable: list[tuple[Tensor, int]] = []
    plain: list[tuple[Tensor, int]] = []
    for term, sign in _summands(g):
        factors = _factors(term, form, DEPTH)
        plus, minus = factors.plus + powers[0], factors.minus + powers[1]
        if factors.is_bare or plus < 0 or minus < 0:
            plain.append((term, sign))
        else:
            stable.append((_product(factors.rest, z, form, plus, minus), sign))
    if not stable:
        return None
    if plain:
        slope = output * (1 - output) if form.kind is _SIGMOID else output
        stable.append((_signed_sum(plain) * slope, 1))
    return _signed_sum(stable)


def _product(other: Tensor | None, z: Tensor, form: _Form, plus: int, minus: int) -> Tensor:
    output = form.output
    s = output if form.kind is _SIGMOID else call("sigmoid", z)
    t = call("sigmoid", -z) if minus else s
    result = other
    for factor in (*[s] * plus, *[t] * minus):
        result = factor if result is None else result * factor
    if result is None:
        return output.ones_like()
    return result if plus or minus else call("second", output, result)


def _signed_sum(terms: list[tuple[Tensor, int]]) -> Tensor:
    first, sign = terms[0]
    result = first if sign > 0 else -first
    for term, sign in terms[1:]:
        result = result + term if sign > 0 else result - term
    return result


def _kind(variable: Variable) -> type[ScalarOp] | None:
    scalar_op = None if variable.owner is None else getattr(variable.owner.op, "scalar_op", None)
    return type(scalar_op) if isinstance(scalar_op, ScalarOp) else None


def _summands(g: Tensor) -> list[tuple[Tensor, int]]:
    """Return the terms of a sum with their signs, the sum itself if there are too many."""
    terms: list[tuple[Tensor, int]] = []
    stack = [(g, 1)]
    while stack:
        term, sign = stack.pop()
        kind = _kind(term)
        inputs: list[Tensor] = [] if term.owner is None else term.owner.inputs
        if kind in (_ADD, _SUB, _NEG) and all(v.type == g.type for v in inputs):
            signs = [-sign] if kind is _NEG else [sign, -sign] if kind is _SUB else [sign] * len(inputs)
            stack.extend(reversed([*zip(inputs, signs, strict=True)]))
        else:
            terms.append((term, sign))
        if len(terms) + len(stack) > MAX_TERMS:
            return [(g, 1)]
    return terms


def _powers(variable: Tensor, form: _Form) -> tuple[int, int] | None:
    """Return a variable as powers of s and t: the result itself, 1 minus a sigmoid, or 1 plus an exponential."""
    if form.is_output(variable):
        return (1, -1) if form.kind is _EXP else (1, 0)
    kind = _kind(variable)
    if form.kind not in SLOPES:
        return None
    if kind not in (_ADD, _SUB) or variable.owner is None or len(variable.owner.inputs) != 2:
        return None
    one, other = variable.owner.inputs
    if kind is _ADD and _is_one(other):
        one, other = other, one
    if not _is_one(one):
        return None
    negative = kind is _SUB
    if kind is _ADD and _kind(other) is _NEG and other.owner is not None:
        other, negative = other.owner.inputs[0], True
    if not form.is_output(other) or negative != (form.kind is _SIGMOID):
        return None
    return (0, 1) if form.kind is _SIGMOID else (0, -1)


def _gap_of_exponentials(variable: Tensor, form: _Form) -> Tensor | None:
    """Return ``(exp(a) - exp(b)) / exp(a)``, or by ``exp(b)``, the result: a difference that has its digits."""
    if form.kind is not _EXP or _kind(variable) is not _SUB or variable.owner is None:
        return None
    one, other = variable.owner.inputs
    if not _kind(one) is _kind(other) is _EXP or variable.type != form.output.type:
        return None
    a, b = (v.owner.inputs[0] for v in (one, other) if v.owner is not None)
    if not form.is_output(one) and not form.is_output(other):
        return None
    result: Tensor = -call("expm1", b - a) if form.is_output(one) else call("expm1", a - b)
    return result


def divided_slope(
    scalar_op: ScalarOp, x: Tensor, exponent: Tensor | int | None, output: Tensor, g: Tensor
) -> Tensor | None:
    """Return the gradient by x of a power or of ``expm1`` if that by its result divides by the result; None if not.

    Both ``u = x ** n``, whose slope is ``n * u / x``, and ``u = expm1(x)``, ``-u / expm1(-x)``.
    """
    if x.type.dtype != output.type.dtype or x.type.dtype.startswith("complex"):
        return None
    factors = _factors(g, _Form(output, type(scalar_op)), DEPTH)
    if factors.plus >= 0:
        return None
    factor = output.ones_like() if factors.rest is None else factors.rest
    for _ in range(-1 - factors.plus):
        factor = factor / output
    result: Tensor = -factor / call("expm1", -x) if exponent is None else factor * exponent / x
    return result


def _is_one(variable: Variable) -> bool:
    while variable.owner is not None and isinstance(variable.owner.op, DimShuffle):
        variable = variable.owner.inputs[0]
    return isinstance(variable, Constant) and variable.data.size == 1 and bool(variable.data.item() == 1)


def _own_factors(term: Tensor, form: _Form) -> _Factors | None:
    """Return powers of s and t that a variable is by itself."""
    powers = _powers(term, form)
    if powers is not None:
        return _Factors(None, *powers)
    gap = _gap_of_exponentials(term, form)
    return None if gap is None else _Factors(gap, 1, -1)


def _factors(term: Tensor, form: _Form, depth: int) -> _Factors:
    """Take powers of s and t out of a product; `depth` bounds how far it is looked into."""
    factors_of_term, output = _own_factors(term, form), form.output
    if factors_of_term is not None:
        return factors_of_term
    node, kind = term.owner, _kind(term)
    if node is None or not depth or term.type.dtype != output.type.dtype:
        return _Factors(term)
    if kind not in (_NEG, _MUL, _DIVISION, _SQUARE, _RECIPROCAL):
        return _Factors(term)
    parts = [_factors(v, form, depth - 1) for v in node.inputs]
    if all(part.is_bare for part in parts):
        return _Factors(term)
    plus, minus = (sum(powers) for powers in ([p.plus for p in parts], [p.minus for p in parts]))
    rests = [part.rest for part in parts if part.rest is not None]
    remainder = None if not rests else rests[0]
    if kind is _NEG:
        return _Factors(-output.ones_like() if remainder is None else -remainder, plus, minus)
    if kind is _SQUARE:
        return _Factors(None if remainder is None else call("sqr", remainder), 2 * plus, 2 * minus)
    if kind is _MUL:
        for other in rests[1:]:
            remainder = other if remainder is None else remainder * other
        return _Factors(remainder, plus, minus)
    above, below = (_Factors(None), parts[0]) if kind is _RECIPROCAL else parts
    plus, minus = above.plus - below.plus, above.minus - below.minus
    if below.rest is None:
        return _Factors(above.rest, plus, minus)
    return _Factors(call("inv", below.rest) if above.rest is None else above.rest / below.rest, plus, minus)
