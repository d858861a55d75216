"""How a scalar op's derivative is stated, once for both directions of differentiation; facts about ops for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from theano_graph import Apply, RuleTable, Type, Variable, format_error, pullback, pushforward, record

from ._dtypes import is_complex, is_discrete
from ._op import ScalarOp, ScalarTypeError
from ._type import OperatorSet, ScalarType, ScalarVariable, as_scalar

#: ``rule(inputs, output, seed)`` gives ``seed`` times the derivative of the output by each input; None: disconnected.
PartialsRule = Callable[[Sequence[Any], Any, Any], Sequence[Any]]


class ComplexRule(NamedTuple):
    """How an op that is not analytic, such as `abs`, is differentiated where its numbers are complex.

    Parameters
    ----------
    back : callable
        ``back(inputs, output, seed)`` gives the cotangents of the inputs.
    forth : callable
        ``forth(inputs, output, tangents)`` gives the tangent of the output; tangents may be None.
    """

    back: PartialsRule
    forth: Callable[[Sequence[Any], Any, Sequence[Any]], Any]


#: Derivatives by complex numbers, by the class of the op; all other ops count as analytic, and keep their rules.
#: The gradient by ``a + ib`` is the gradient by a, plus i times that by b.
complex_rules: RuleTable[ComplexRule] = RuleTable("complex_rules")


class NoDerivative(Type):
    """The type of a placeholder for a partial derivative that has no formula.

    Parameters
    ----------
    reason : str
        Why, as part of a sentence.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoDerivative) and other.reason == self.reason

    def __hash__(self) -> int:
        return hash((NoDerivative, self.reason))

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Refuse every value."""
        raise TypeError(format_error(f"there is no derivative: {self.reason}", hint="leave it out of the expression"))


def undefined(reason: str) -> Variable:
    """Return the result of a rule for an input by which the op cannot be differentiated.

    Parameters
    ----------
    reason : str
        Why; becomes part of the error of whoever asks for this derivative.

    Examples
    --------
    >>> undefined("the order of a Bessel function").type.reason
    'the order of a Bessel function'
    """
    variable: Variable = NoDerivative(reason).make_variable()
    return variable


def is_undefined(part: Any) -> bool:
    """Tell whether a partial derivative is one of `undefined`."""
    return part is not None and isinstance(part.type, NoDerivative)


def differentiable(*op_classes: type[ScalarOp]) -> Callable[[PartialsRule], PartialsRule]:
    """Register pullback and pushforward of `op_classes` from one statement of the partial derivatives.

    For one output the two differ only in the factor of the partial derivatives. The wrapper sees to dtypes:
    a cotangent has the dtype of its input where that is a float, and a discrete output passes zeros back.
    """

    def register(rule: PartialsRule) -> PartialsRule:
        def back(node: Apply, cotangents: list[Any]) -> Sequence[Any]:
            return _pull(rule, node, cotangents[0])

        def forth(node: Apply, tangents: list[Any]) -> Sequence[Any]:
            return _push(rule, node, tangents)

        pullback.register(*op_classes)(back)
        pushforward.register(*op_classes)(forth)
        return rule

    return register


def without_derivative(*op_classes: type[ScalarOp]) -> None:
    """Declare that no derivative flows through these ops: their inputs are disconnected."""
    differentiable(*op_classes)(lambda inputs, output, seed: [None] * len(inputs))


def zero_like(x: Any) -> ScalarVariable:
    """Make a zero with the shape of `x`, in its dtype if that is a float, else in float64."""
    return OperatorSet.apply("second", x, 0.0)


def one_like(x: Any) -> Any:
    """Make a constant one of the dtype of `x`."""
    return x.type.make_constant(1)


def real_operands(inputs: Sequence[Any], output: Any) -> list[Any]:
    """Return operands with integers and bools in the dtype of `output`: products of narrow integers wrap around."""
    table = OperatorSet.table
    return [table["cast_" + output.dtype](x) if is_discrete(x.dtype) else x for x in inputs]


def _pull(rule: PartialsRule, node: Apply, seed: Any) -> list[Any]:
    output = node.outputs[0]
    if is_discrete(output.dtype):
        parts = rule(node.inputs, output, OperatorSet.apply("second", output, 0.0))
        return [
            part if part is None or is_undefined(part) else zero_like(x)
            for x, part in zip(node.inputs, parts, strict=True)
        ]
    if _has_complex(node):
        parts = _pull_complex(rule, node, seed)
    else:
        parts = rule(node.inputs, output, seed)
    return [_in_dtype_of(x, part) for x, part in zip(node.inputs, parts, strict=True)]


def _has_complex(node: Apply) -> bool:
    return any(is_complex(variable.dtype) for variable in (*node.inputs, *node.outputs))


def _pull_complex(rule: PartialsRule, node: Apply, seed: Any) -> list[Any]:
    """Pull back where numbers are complex.

    The gradient by ``a + ib`` is the gradient by a plus i times that by b. So the cotangent of the input of an analytic
    function is that of its output times the conjugate of the derivative.
    """
    own = complex_rules.get(node.op)
    if own is not None:
        return list(own.back(node.inputs, node.outputs[0], seed))
    conj = OperatorSet.table["conj"]
    parts = rule(node.inputs, node.outputs[0], conj(seed))
    return [part if part is None or is_undefined(part) else conj(part) for part in parts]


def _push(rule: PartialsRule, node: Apply, tangents: Sequence[Any]) -> list[Any]:
    output = node.outputs[0]
    if is_discrete(output.dtype):
        return [None]
    own = complex_rules.get(node.op) if _has_complex(node) else None
    if own is not None:
        total = own.forth(node.inputs, output, tangents)
        return [None if total is None else _in_dtype_of(output, total)]
    total = None
    for i, tangent in enumerate(tangents):
        part = None if tangent is None else rule(node.inputs, output, tangent)[i]
        if is_undefined(part):
            return [part]
        if part is not None:
            total = part if total is None else total + part
    return [None if total is None else _in_dtype_of(output, total)]


def _in_dtype_of(x: Any, part: Any) -> Any:
    if part is None or is_undefined(part) or part.dtype == x.dtype:
        return part
    if is_discrete(x.dtype) and not is_complex(part.dtype):
        return part
    if is_complex(part.dtype) and not is_complex(x.dtype):
        part = OperatorSet.table["real"](part)
    return part if is_discrete(x.dtype) else OperatorSet.table["cast_" + x.dtype](part)


def scalar_pullback(op: Any) -> Callable[[Apply, list[Any]], Sequence[Any]]:
    """Return the rule that differentiates a scalar op: a registered one, or the op's own ``L_op`` or ``grad``.

    Raises
    ------
    MissingRuleError
        If there is none of these.
    """
    rule = pullback.get(op, "L_op", "grad")
    if rule is None and _overrides(op):
        return _own_gradient
    return rule if rule is not None else pullback.lookup(op)


def scalar_pushforward(op: Any) -> Callable[[Apply, list[Any]], Sequence[Any]] | None:
    """Return the rule that carries tangents through a scalar op; None where its own gradient replaces the rule."""
    return pushforward.get(op, "L_op", "grad")


def _overrides(op: Any) -> bool:
    kind = type(op)
    return kind.L_op is not ScalarOp.L_op or kind.grad is not ScalarOp.grad


def _nearest(op: Any) -> str:
    """Return which of the two methods the class nearest to the op has; `L_op` where one class has both."""
    return next((m for c in type(op).__mro__ for m in ("L_op", "grad") if m in vars(c)), "grad")


def _own_gradient(node: Apply, cotangents: list[Any]) -> Sequence[Any]:
    op: Any = node.op
    operands = list(node.inputs)
    if _nearest(op) == "L_op":
        parts = op.L_op(operands, list(node.outputs), cotangents)
    else:
        parts = op.grad(operands, cotangents)
    if not isinstance(parts, (list, tuple)) or len(parts) != len(operands):
        raise ScalarTypeError(
            format_error(
                f"the gradient of {op} returned {parts!r} for {len(operands)} inputs",
                hint="return a list with one scalar expression for each input, None where there is no dependence",
            )
        )
    return [_own_part(x, part) for x, part in zip(operands, parts, strict=True)]


def _own_part(x: Any, part: Any) -> Any:
    if isinstance(part, Variable) and not isinstance(part.type, ScalarType) and hasattr(part.type, "reason"):
        # A higher layer has a type of its own for missing gradients.
        return undefined(str(part.type.reason))
    if part is None or (isinstance(part, Variable) and not isinstance(part.type, (ScalarType, NoDerivative))):
        return None
    if isinstance(part, Variable) and is_undefined(part):
        return part
    value = as_scalar(part)
    part_dtype = "float64" if is_discrete(x.dtype) else x.dtype
    return value if value.dtype == part_dtype else OperatorSet.table["cast_" + part_dtype](value)


# ---- Facts about an op for its tests

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
REALS = ("bool", *INTEGERS, *FLOATS)
NUMBERS = (*INTEGERS, *FLOATS)
DISCRETE = ("bool", *INTEGERS)


@record
class ScalarRecord:
    """How to test one op: reference, dtypes, domain and accuracy.

    Parameters
    ----------
    op : ScalarOp
    reference : callable
        An independent NumPy (or SciPy) form of the op.
    dtypes : tuple of str
        Input dtypes for which the op has a C form.
    low, high : float
        Range of random float inputs; special values (nan, inf, zeros) are always tried too.
    ulp : float
        Largest error of the C form, in units in the last place.
    smooth : bool
        Whether the derivative is checked numerically on the open interval.
    count : int
        Number of inputs for variadic ops.
    parameters : int
        How many inputs, from the first, are parameters by which there is no derivative.
    """

    op: ScalarOp
    reference: Callable[..., Any]
    dtypes: tuple[str, ...] = REALS
    low: float = -5.0
    high: float = 5.0
    ulp: float = 4.0
    smooth: bool = True
    count: int | None = None
    parameters: int = 0

    @property
    def nin(self) -> int:
        """Number of inputs to try the op with."""
        return self.count if self.count is not None else self.op.nin
