"""An operation's demands on lengths of tensors, kept where rewriting leaves the operation out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from theano_graph import Apply, describe, format_error, pullback, pushforward, shape_rule

from .._core._dtypes import ShapeLike, TensorLike
from ._registered import SPECIFY_SHAPE_CODE, shaped_operand
from ._shape import SpecifyShape


class SameLengths(SpecifyShape):
    """The input itself, as long as some of its dimensions have the lengths that further inputs say; else a ValueError.

    Unlike after a :class:`SpecifyShape` nothing new is known of the type, and gradients do not see it: the checked
    lengths are lengths that an operation of the program, which is left out, would have compared.

    Parameters
    ----------
    axes : sequence of int
        The dimensions that are checked, in order; one further input for each.
    """

    __props__ = ("axes",)

    def make_node(self, x: TensorLike, *lengths: ShapeLike) -> Apply:
        """Apply to a tensor and one length for each of `axes`."""
        variable = shaped_operand(x, SPECIFY_SHAPE_CODE)
        return Apply(self, [variable, *super().make_node(x, *lengths).inputs[1:]], [variable.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Check the lengths and return the input."""
        x, *lengths = inputs
        for axis, n in zip(self.axes, lengths, strict=True):
            if x.shape[axis] != n:
                raise ValueError(
                    format_error(
                        f"Input dimension mis-match. (dimension {axis} has length {x.shape[axis]}, "
                        f"what it is used with has {n})",
                        context=[describe(node.inputs[0])],
                        hint="a length of 1 broadcasts only where it is declared: make the variable with shape 1 there "
                        "(row, col, broadcastable=...)",
                    )
                )
        output_storage[0][0] = x


@pullback.register(SameLengths)
def _pullback(node: Apply[SameLengths], cotangents: list[Any]) -> list[Any]:
    return [cotangents[0], *(None for _ in node.inputs[1:])]


@pushforward.register(SameLengths)
def _pushforward(node: Apply[SameLengths], tangents: list[Any]) -> list[Any]:
    return [tangents[0]]


@shape_rule.register(SameLengths)
def _shape(node: Apply[SameLengths], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]
