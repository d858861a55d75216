"""How one node is differentiated: the choice of the rule, and the check of its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Apply, Variable, describe, format_error, origin_from, pullback

from ..._core._variable import Tensor
from ...elemwise import Elemwise
from ._arrays import (
    cast_to,
    cotangent_dtype,
    dtype_of,
    is_complex,
    is_continuous,
    is_discrete,
    real_part,
    shaped_as,
    static_shape,
    zeros_for,
)
from ._errors import GradNotImplementedError, GradUndefinedError, PullbackError
from ._methods import written_method
from ._supports import pull_back_inside
from ._types import DisconnectedType, NullType, is_disconnected, is_null

GivenBack = Sequence[Variable | None]


def pull_back(node: Apply, cotangents: Sequence[Variable | None], pattern: list[list[bool]]) -> list[Variable | None]:
    """Return the cotangents of the inputs of `node`, given those of its outputs.

    Parameters
    ----------
    node : Apply
    cotangents : sequence of Variable or None
        One for each output; None where the cost does not depend on it.
    pattern : list of list of bool
        The connection pattern of the node.

    Returns
    -------
    list of Variable or None
        One for each input, of its shape; of its dtype where that is continuous. None: disconnected. NullType: unknown.

    Raises
    ------
    PullbackError
        If the rule returns a wrong number of cotangents, or one that does not fit its input.
    """
    null = next((c for c in cotangents if is_null(c)), None)
    if null is not None:
        return [null if any(row) else None for row in pattern]
    with origin_from(node):
        prepared = [_prepare(output, c) for output, c in zip(node.outputs, cotangents, strict=True)]
        rule = pullback.get(node.op, "grad", "L_op")
        if type(node.op) is Elemwise and len(prepared) == 1 and isinstance(prepared[0], Tensor):
            inside: Any = pull_back_inside(node, prepared[0])
            if inside is not None:
                return _checked(node, inside, pattern, lenient=False)
        if rule is not None:
            terms = rule(node, [DisconnectedType()() if c is None else c for c in prepared])
            return _checked(node, terms, pattern, lenient=False)
        found_by_op = _own_method(node, prepared)
        if found_by_op is not None:
            return _checked(node, found_by_op, pattern, lenient=True)
    return [_unknown(node, i) if any(row) else None for i, row in enumerate(pattern)]


def _prepare(output: Variable, cotangent: Variable | None) -> Variable | None:
    """Return a cotangent as a rule expects it: an integer output is a step function, so that it passes zeros on."""
    if cotangent is None:
        return None
    if is_discrete(output):
        return zeros_for(output)
    return cotangent


def _own_method(node: Apply, cotangents: Sequence[Variable | None]) -> Sequence[Variable | None] | None:
    """Call ``L_op`` or ``grad`` of a user-written op; None when it defines neither.

    The class nearest to the op decides, so that a subclass with ``grad`` overrides a base with ``L_op``.
    """
    cotangents_given = [DisconnectedType()() if c is None else c for c in cotangents]
    answer: GivenBack | None = None
    l_op, grad = written_method(node.op, "L_op"), written_method(node.op, "grad")
    if l_op is not None and (grad is None or _rank(node.op, "L_op") <= _rank(node.op, "grad")):
        answer = l_op(list(node.inputs), list(node.outputs), cotangents_given)
    elif grad is not None:
        answer = grad(list(node.inputs), cotangents_given)
    return answer


def _rank(op: object, method: str) -> int:
    """Return how far from the class of `op` the class is that defines a method; -1 for one of the op itself."""
    if method in getattr(op, "__dict__", ()):
        return -1
    return next((i for i, c in enumerate(type(op).__mro__) if method in vars(c)), len(type(op).__mro__))


def _unknown(node: Apply, position: int) -> Variable:
    reason = pullback.absence(node.op)
    origin = f" made at {node.origin}" if node.origin is not None else ""
    if reason is not None:
        null = NullType(f"the gradient of {node.op}{origin} is undefined: {reason}", GradUndefinedError)
    else:
        text = f"{node.op}{origin} has no gradient rule (asked for its input {position}, `{node.inputs[position]}`)"
        null = NullType(text, GradNotImplementedError)
    variable: Variable = null()
    return variable


def _checked(
    node: Apply, found: Sequence[Variable | None], pattern: list[list[bool]], *, lenient: bool
) -> list[Variable | None]:
    if not isinstance(found, (list, tuple)):
        raise PullbackError(
            _text(node, f"returned {found!r}, not a list", "return a list with one item for each input")
        )
    if len(found) != len(node.inputs):
        raise PullbackError(
            _text(
                node,
                f"returned {len(found)} gradients for {len(node.inputs)} inputs",
                "return one item for each input; DisconnectedType()() for an input that does not matter",
            )
        )
    return [_checked_term(node, i, term, connected=any(pattern[i]), lenient=lenient) for i, term in enumerate(found)]


def _checked_term(
    node: Apply, position: int, term: Variable | None, *, connected: bool, lenient: bool
) -> Variable | None:
    if term is None or not connected:
        return None
    if not isinstance(term, Variable):
        raise PullbackError(
            _text(node, f"returned {term!r} for input {position}, which is no variable", "return symbolic variables")
        )
    if is_disconnected(term):
        return None
    source = node.inputs[position]
    if is_null(term) or dtype_of(source) is None:
        return term
    _check_shape(node, position, term)
    term = shaped_as(source, term)
    if is_complex(term) and not is_complex(source):
        # The derivative by a real number has no imaginary part: a rule's imaginary part is for complex inputs.
        term = real_part(term)
    if not is_continuous(term):
        if lenient and dtype_of(term) is not None:
            # Integers are forbidden here, yet an integer constant 0 or 1 is the commonest slip: its value is right.
            return cast_to(term, cotangent_dtype(source))
        raise PullbackError(
            _text(node, f"returned a gradient of dtype {dtype_of(term)} for input {position}", "return floating point")
        )
    if is_continuous(source) and dtype_of(term) != dtype_of(source):
        # Operands of several precisions: a rule computes in that of its result.
        return cast_to(term, cotangent_dtype(source))
    return term


def _check_shape(node: Apply, position: int, term: Variable) -> None:
    expected, got = static_shape(node.inputs[position]), static_shape(term)
    if expected is None or got is None:
        return
    if len(expected) != len(got):
        problem = f"returned a gradient with {len(got)} dimensions for input {position} with {len(expected)}"
    elif any(w is not None and g is not None and w != g for w, g in zip(expected, got, strict=True)):
        problem = f"returned a gradient of shape {got} for input {position} of shape {expected}"
    else:
        return
    raise PullbackError(_text(node, problem, "a gradient has the shape of its input: sum over broadcast dimensions"))


def _text(node: Apply, problem: str, hint: str) -> str:
    origin = f" made at {node.origin}" if node.origin is not None else ""
    return format_error(
        f"the gradient rule of {node.op}{origin} {problem}",
        context=[f"input {i}: {describe(v)}" for i, v in enumerate(node.inputs)],
        hint=hint,
    )
