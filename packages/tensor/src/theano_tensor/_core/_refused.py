"""Nodes that stand for impossible results: they raise an error when a function is compiled or runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, ClassVar, Self

from theano_graph import Apply, Op, Variable, batch_rule, config, pullback, pushforward, shape_rule
from theano_linker_c.program import certain_error

from .._errors import PartError, ShapeError, SpecifiedShapeError
from ._dtypes import DISCRETE_DTYPES
from ._type import TensorType, tensor_type
from ._variable import Tensor

inner: ContextVar[bool] = ContextVar("compiles_inner_graph", default=False)
"""Whether a function is compiled that an op calls, perhaps never."""

at_once: ContextVar[bool] = ContextVar("refuses_at_once", default=False)
"""Whether the error is raised in the place of making a node that raises it."""

_ERRORS = {error.__name__: error for error in (ShapeError, PartError, SpecifiedShapeError, IndexError)}


class Refused(Op):
    """Stands for results that there cannot be, and raises an error where they are computed.

    A program may contain such an expression and never run it: in the branch of a choice that is not taken. Where every
    call runs it, the program is not compiled.

    Parameters
    ----------
    error : str
        The name of its class.
    message : str
        Of the error.
    types : tuple of TensorType
        Of the results.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("error", "message", "types")

    def __init__(self, error: str, message: str, types: tuple[TensorType, ...]) -> None:
        if error not in _ERRORS:
            raise ValueError(f"Refused: {error!r} is no error of lengths; use one of {', '.join(_ERRORS)}")
        self.error = error
        self.message = message
        self.types = types

    def make_node(self, *inputs: Variable) -> Apply[Self, Tensor]:
        """Apply to the operands."""
        operands: list[Any] = list(inputs)
        return Apply(self, operands, [t.make_variable() for t in self.types])

    def exception(self) -> Exception:
        """Return the error."""
        return _ERRORS[self.error](self.message)

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Raise the error."""
        raise self.exception()

    def do_constant_folding(self, node: Apply[Self, Tensor]) -> bool:
        """Return False: there is no value."""
        return False

    def __str__(self) -> str:
        return "Refused"


def refused_node(
    error: ShapeError | IndexError, inputs: Sequence[Variable], types: Sequence[TensorType]
) -> Apply[Any, Tensor]:
    """Return a node that raises `error` when it runs, in the place of one with results of such types."""
    if at_once.get():
        raise error
    return Refused(type(error).__name__, str(error), tuple(types)).make_node(*inputs)


def refused(error: ShapeError | IndexError, x: Tensor, shape: Sequence[int | None], *others: Variable) -> Tensor:
    """Return a variable in the place of an operand that does not fit; computing it raises `error`.

    Parameters
    ----------
    error : ShapeError or IndexError
    x : Tensor
        The operand.
    shape : sequence of int or None
        The static shape that would fit.
    others : Variable
        The other operands, shown where the error is raised.
    """
    return refused_node(error, [x, *others], [tensor_type(x.type.dtype, shape)]).outputs[0]


@certain_error.register(Refused)
def _error(node: Apply[Refused, Tensor]) -> Exception | None:
    return None if inner.get() else node.op.exception()


@pullback.register(Refused)
def _pullback(node: Apply[Refused, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    dtypes = [config.floatX if x.type.dtype in DISCRETE_DTYPES else x.type.dtype for x in node.inputs]
    types = [tensor_type(dtype, x.type.shape) for dtype, x in zip(dtypes, node.inputs, strict=True)]
    return list(Refused(node.op.error, node.op.message, tuple(types)).make_node(*node.inputs).outputs)


@pushforward.register(Refused)
def _pushforward(node: Apply[Refused, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return list(node.op.make_node(*node.inputs).outputs)


@batch_rule.register(Refused)
def _batch(node: Apply[Refused, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    types = tuple(tensor_type(t.dtype, (None, *t.shape)) for t in node.op.types)
    return list(Refused(node.op.error, node.op.message, types).make_node(*inputs).outputs)


@shape_rule.register(Refused)
def _shape(node: Apply[Refused, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [t.shape for t in node.op.types]  # asking for the other lengths raises the error, too
