"""How a scalar op's derivative is stated: once, for both directions of differentiation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from theano_graph import Apply, compose, pullback, pushforward

from ._dtypes import is_complex, is_discrete
from ._op import ScalarOp, ScalarTypeError
from ._type import OperatorSet, ScalarVariable

#: ``rule(inputs, output, seed)`` gives ``seed`` times the derivative of the output by each input; None: disconnected.
PartialsRule = Callable[[Sequence[Any], Any, Any], Sequence[Any]]


def differentiable(*op_classes: type[ScalarOp]) -> Callable[[PartialsRule], PartialsRule]:
    """Register pullback and pushforward of `op_classes` from one statement of the partial derivatives.

    For one output the two differ only in what is multiplied with the partial derivatives. The wrapper sees to dtypes:
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


def real_operands(inputs: Sequence[Any], output: Any) -> list[Any]:
    """Return operands with integers and bools in the dtype of `output`: products of narrow integers wrap around."""
    table = OperatorSet.table
    return [table["cast_" + output.dtype](x) if is_discrete(x.dtype) else x for x in inputs]


def _pull(rule: PartialsRule, node: Apply, seed: Any) -> list[Any]:
    output = node.outputs[0]
    _refuse_complex(node)
    if is_discrete(output.dtype):
        parts = rule(node.inputs, output, OperatorSet.apply("second", output, 0.0))
        return [None if part is None else zero_like(x) for x, part in zip(node.inputs, parts, strict=True)]
    return [_in_dtype_of(x, part) for x, part in zip(node.inputs, rule(node.inputs, output, seed), strict=True)]


def _push(rule: PartialsRule, node: Apply, tangents: Sequence[Any]) -> list[Any]:
    output = node.outputs[0]
    _refuse_complex(node)
    if is_discrete(output.dtype):
        return [None]
    total = None
    for i, tangent in enumerate(tangents):
        part = None if tangent is None else rule(node.inputs, output, tangent)[i]
        if part is not None:
            total = part if total is None else total + part
    return [None if total is None else _in_dtype_of(output, total)]


def _in_dtype_of(x: Any, part: Any) -> Any:
    if part is None or is_discrete(x.dtype) or part.dtype == x.dtype:
        return part
    return OperatorSet.table["cast_" + x.dtype](part)


def _refuse_complex(node: Apply) -> None:
    if any(is_complex(variable.dtype) for variable in (*node.inputs, *node.outputs)):
        raise ScalarTypeError(
            compose(
                f"{node.op} has no gradient for complex numbers",
                where=[] if node.origin is None else [f"{node.op} applied at {node.origin}"],
                mend="differentiate the real and the imaginary part of the formula separately",
            )
        )
