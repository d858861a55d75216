"""Positions of extrema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, config, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.kernels import ArgmaxKernel, Kernel, native_kernel

from .._core._convert import as_tensor_variable
from .._core._dtypes import COMPLEX_DTYPES, AxisLike, TensorLike
from .._core._ops import TensorOp
from .._core._type import Tensor, tensor_type
from .._errors import DTypeError
from .._protocols._methods import operation
from ._axes import as_axes, normal_axes
from ._functions import max as largest
from ._reduce import keep_dims


class ArgExtremum(TensorOp):
    """Base of `ArgMax` and `ArgMin`: index of the first extremum over axes, counted in the flattened axes."""

    __props__ = ("axis",)
    label: str

    def __init__(self, axis: AxisLike = None) -> None:
        self.axis = as_axes(axis)

    def axes(self, ndim: int) -> tuple[int, ...]:
        """Return the reduced axes of an input with `ndim` dimensions."""
        return tuple(range(ndim)) if self.axis is None else self.axis

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor; the result is int64."""
        variable = as_tensor_variable(x)
        if variable.type.dtype in COMPLEX_DTYPES:
            raise DTypeError(
                format_error(
                    f"{self.label}: complex numbers have no order", context=[describe(variable)], hint="use abs(x)"
                )
            )
        axis = normal_axes(self.label, self.axis, variable)
        op = self if axis == self.axis else type(self)(axis)
        gone = set(op.axes(variable.type.ndim))
        shape = [length for i, length in enumerate(variable.type.shape) if i not in gone]
        return Apply(op, [variable], [tensor_type("int64", shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute with NumPy."""
        (x,) = inputs
        axes = self.axes(x.ndim)
        kept_axes = [i for i in range(x.ndim) if i not in axes]
        rows = x.transpose([*kept_axes, *axes]).reshape(
            [*(x.shape[i] for i in kept_axes), int(np.prod([x.shape[i] for i in axes]))]
        )
        output_storage[0][0] = np.asarray(self.find(rows), dtype="int64")

    def find(self, rows: Any) -> Any:
        """Return the positions along the last axis."""
        raise TypeError(f"{type(self).__name__} is only a base")

    def __str__(self) -> str:
        return f"{type(self).__name__}{{axis={self.axis}}}"


class ArgMax(ArgExtremum):
    """Index of the first largest element over axes; of the first NaN if there is one."""

    label = "argmax"

    def find(self, rows: Any) -> Any:
        """Return the positions along the last axis."""
        return np.argmax(rows, axis=-1)


class ArgMin(ArgExtremum):
    """Index of the first smallest element over axes; of the first NaN if there is one."""

    label = "argmin"

    def find(self, rows: Any) -> Any:
        """Return the positions along the last axis."""
        return np.argmin(rows, axis=-1)


@pullback.register(ArgExtremum)
def _pullback(node: Apply[ArgExtremum, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    """A position is constant almost everywhere."""
    return [node.inputs[0].zeros_like(dtype=None if "float" in node.inputs[0].dtype else config.floatX)]


@pushforward.register(ArgExtremum)
def _pushforward(node: Apply[ArgExtremum, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None]


@batch_rule.register(ArgExtremum)
def _batch(node: Apply[ArgExtremum, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    op = node.op
    return [type(op)([axis + 1 for axis in op.axes(node.inputs[0].type.ndim)])(inputs[0])]


@native_kernel.register(ArgExtremum)
def _native(node: Apply[ArgExtremum, Tensor]) -> Kernel | None:
    (x,) = node.inputs
    largest = isinstance(node.op, ArgMax)
    return ArgmaxKernel(x.type.dtype, x.type.ndim, node.op.axes(x.type.ndim), largest)


@shape_rule.register(ArgExtremum)
def _shape(node: Apply[ArgExtremum, Tensor], input_shapes: list[Any]) -> list[Any]:
    (shape,) = input_shapes
    gone = set(node.op.axes(len(shape)))
    return [tuple(length for i, length in enumerate(shape) if i not in gone)]


def _apply(op: ArgExtremum, x: TensorLike, axis: AxisLike, keepdims: bool) -> Tensor:
    variable = as_tensor_variable(x)
    result: Tensor = op(variable)
    return keep_dims(variable, result, axis) if keepdims else result


@operation("argmax")
def argmax(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    """Index of the first largest element over an axis, int64; over the flattened tensor if `axis` is None.

    Parameters
    ----------
    x : tensor_like
    axis : None, int or sequence of int
    keepdims : bool
        Whether reduced axes stay, with length 1.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.argmax(T.dmatrix("x"), axis=1).type
    TensorType(int64, vector)
    """
    return _apply(ArgMax(axis), x, axis, keepdims)


@operation("argmin")
def argmin(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    """Index of the first smallest element over an axis; see :func:`argmax`.

    Parameters
    ----------
    x : tensor_like
    axis : int, sequence of int or None
        The searched axes; all of them by default.
    keepdims : bool
        Keep reduced axes, with length one.

    Returns
    -------
    Tensor
        Of dtype int64.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.argmin([[1.0, 3.0], [6.0, 0.5]], axis=1).eval()
    array([0, 1])
    """
    return _apply(ArgMin(axis), x, axis, keepdims)


def max_and_argmax(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Return the largest element over an axis and its index; see :func:`max` and :func:`argmax`."""
    return largest(x, axis=axis, keepdims=keepdims), argmax(x, axis=axis, keepdims=keepdims)
