"""From a tensor without dimensions to a scalar, and back: the two kinds of variables that hold one number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Op, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.scalar import ScalarType, register_scalar_conversion

from ._core._convert import CONVERTERS, as_tensor_variable
from ._core._type import TensorType, tensor_type
from ._core._typing import TensorLike
from ._errors import ShapeError


class ScalarFromTensor(Op):
    """The number in a tensor without dimensions, as a scalar.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.ScalarFromTensor()(T.dscalar("x")).type
    Scalar(float64)
    """

    __props__ = ()

    def make_node(self, x: TensorLike) -> Apply[Self]:
        """Apply to a tensor; ShapeError if it has dimensions."""
        tensor = as_tensor_variable(x)
        if tensor.type.ndim:
            raise ShapeError(
                format_error(
                    f"ScalarFromTensor: the tensor has {tensor.type.ndim} dimensions, expected none",
                    context=[describe(tensor)],
                    hint="take one element, as x[0]",
                )
            )
        return Apply(self, [tensor], [ScalarType(tensor.type.dtype).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Take the number out."""
        output_storage[0][0] = inputs[0][()]


class TensorFromScalar(Op):
    """A scalar as a tensor without dimensions.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> T.TensorFromScalar()(theano.scalar.ScalarType("float32")("s")).type
    TensorType(float32, scalar)
    """

    __props__ = ()

    def make_node(self, s: Variable) -> Apply[Self]:
        """Apply to a scalar; TypeError if it is something else."""
        if not isinstance(s, Variable) or not isinstance(s.type, ScalarType):
            raise TypeError(
                format_error(
                    "TensorFromScalar: the argument is no scalar",
                    context=[describe(s) if isinstance(s, Variable) else repr(s)],
                    hint="make tensors of numbers and arrays with as_tensor_variable",
                )
            )
        return Apply(self, [s], [tensor_type(s.type.dtype, ()).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Make an array of the number."""
        output_storage[0][0] = np.asarray(inputs[0])


scalar_from_tensor = ScalarFromTensor()


@register_scalar_conversion
def _number_in_tensor(variable: Variable) -> Any:
    is_number = isinstance(variable.type, TensorType) and variable.type.ndim == 0
    return scalar_from_tensor(variable) if is_number else None


tensor_from_scalar = TensorFromScalar()


def _tensor_of_number(variable: Variable) -> Any:
    return tensor_from_scalar(variable) if isinstance(variable.type, ScalarType) else None


CONVERTERS.append(_tensor_of_number)


@pullback.register(ScalarFromTensor)
def _pullback_to_scalar(node: Apply[ScalarFromTensor], cotangents: list[Variable]) -> list[Variable | None]:
    return [tensor_from_scalar(cotangents[0])]


@pullback.register(TensorFromScalar)
def _pullback_to_tensor(node: Apply[TensorFromScalar], cotangents: list[Variable]) -> list[Variable | None]:
    return [scalar_from_tensor(cotangents[0])]


@pushforward.register(ScalarFromTensor)
def _pushforward_to_scalar(node: Apply[ScalarFromTensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else scalar_from_tensor(tangents[0])]


@pushforward.register(TensorFromScalar)
def _pushforward_to_tensor(node: Apply[TensorFromScalar], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else tensor_from_scalar(tangents[0])]


@batch_rule.register(ScalarFromTensor)
@batch_rule.register(TensorFromScalar)
def _batch(
    node: Apply[ScalarFromTensor | TensorFromScalar], inputs: list[Any], stacked: Sequence[bool]
) -> list[Variable]:
    """A batch of numbers is a vector."""
    return [inputs[0]]


@shape_rule.register(ScalarFromTensor)
@shape_rule.register(TensorFromScalar)
def _no_lengths(node: Apply[ScalarFromTensor | TensorFromScalar], input_shapes: list[Any]) -> list[Any]:
    return [()]
