"""The point at which a product with a Jacobian is evaluated: it belongs to a variable and has its shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from theano_graph import Apply, Variable, batch_rule, describe, format_error, pullback, pushforward

from ..._core._stacks import all_stacked
from .._blocks import GradientGate


class EvaluationPoint(GradientGate):
    """The value of the first input, checked to have the shape of the second.

    :func:`Rop` makes it of the points that it gets, so that its result depends on the variables that it is taken with
    respect to. Rewriting removes it, as it removes all gates.
    """

    def make_node(self, *inputs: Any) -> Apply[Self]:
        """Apply the op to a point and the variable that it belongs to.

        Raises
        ------
        TypeError
            If there are not exactly two inputs, or one is no variable.
        """
        if len(inputs) != 2 or not all(isinstance(v, Variable) for v in inputs):
            raise TypeError(
                format_error(f"{self} takes two variables, got {inputs!r}", hint="pass a point and its variable")
            )
        return Apply(self, list(inputs), [inputs[0].type()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Pass the point on, if the shapes are equal."""
        point, value = inputs
        if getattr(point, "shape", None) != getattr(value, "shape", None):
            raise ValueError(
                format_error(
                    f"the evaluation point `{node.inputs[0]}` has shape {point.shape}, its variable {value.shape}",
                    context=[describe(v) for v in node.inputs],
                    hint="give the point the shape of its variable",
                )
            )
        output_storage[0][0] = point

    def infer_shape(self, node: Apply[Self], shapes: Sequence[Any]) -> Sequence[Any]:
        """Return the shape of the point."""
        return [shapes[0]]

    def connection_pattern(self, node: Apply[Self]) -> list[list[bool]]:
        """Say that only the shape of the variable matters."""
        return [[True], [False]]


@batch_rule.register(EvaluationPoint)
def _batch(node: Apply[EvaluationPoint], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    return [node.op(*all_stacked(inputs, stacked))]


@pullback.register(EvaluationPoint)
def _pullback(node: Apply[EvaluationPoint], cotangents: list[Variable]) -> list[Variable | None]:
    return [cotangents[0], None]


@pushforward.register(EvaluationPoint)
def _pushforward(node: Apply[EvaluationPoint], tangents: list[Variable | None]) -> list[Variable | None]:
    return [tangents[0]]
