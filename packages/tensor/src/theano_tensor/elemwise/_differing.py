"""Elementwise results of lengths that are known to differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from theano_graph import Apply, Op, Variable, batch_rule, config, pullback, pushforward, shape_rule

from .._core._dtypes import DISCRETE_DTYPES
from .._core._type import TensorType, tensor_type
from .._core._variable import Tensor
from .._errors import ShapeError


class LengthsDiffer(Op):
    """Stands for results that there cannot be, and raises ShapeError where they are computed.

    A program may contain such an expression and never run it: in the branch of a choice that is not taken.

    Parameters
    ----------
    message : str
        Of the error.
    types : tuple of TensorType
        Of the results.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("message", "types")

    def __init__(self, message: str, types: tuple[TensorType, ...]) -> None:
        self.message = message
        self.types = types

    def make_node(self, *inputs: Tensor) -> Apply[Self, Tensor]:
        """Apply to the operands."""
        return Apply(self, list(inputs), [t.make_variable() for t in self.types])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Raise the error."""
        raise ShapeError(self.message)

    def do_constant_folding(self, node: Apply[Self, Tensor]) -> bool:
        """Return False: there is no value."""
        return False

    def __str__(self) -> str:
        return "LengthsDiffer"


def lengths_differ(error: ShapeError, inputs: Sequence[Tensor], dtypes: Sequence[str]) -> Apply[Any, Tensor]:
    """Return a node that raises `error` when it runs, in the place of an elementwise one."""
    shape = tuple(1 if set(lengths) == {1} else None for lengths in zip(*(x.type.shape for x in inputs), strict=True))
    return LengthsDiffer(str(error), tuple(tensor_type(dtype, shape) for dtype in dtypes)).make_node(*inputs)


@pullback.register(LengthsDiffer)
def _pullback(node: Apply[LengthsDiffer, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    dtypes = [config.floatX if x.type.dtype in DISCRETE_DTYPES else x.type.dtype for x in node.inputs]
    types = [tensor_type(dtype, x.type.shape) for dtype, x in zip(dtypes, node.inputs, strict=True)]
    return list(LengthsDiffer(node.op.message, tuple(types)).make_node(*node.inputs).outputs)


@pushforward.register(LengthsDiffer)
def _pushforward(node: Apply[LengthsDiffer, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return list(node.op.make_node(*node.inputs).outputs)


@batch_rule.register(LengthsDiffer)
def _batch(node: Apply[LengthsDiffer, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    types = tuple(tensor_type(t.dtype, (None, *t.shape)) for t in node.op.types)
    return list(LengthsDiffer(node.op.message, types).make_node(*inputs).outputs)


@shape_rule.register(LengthsDiffer)
def _shape(node: Apply[LengthsDiffer, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [t.shape for t in node.op.types]  # asking for the other lengths raises the error, too
