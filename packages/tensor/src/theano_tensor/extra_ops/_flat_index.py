"""Numbers of elements in the flattened tensor, to and from numbers along each dimension; memory in C order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule

from .._core._convert import as_tensor_variable
from .._core._dtypes import INTEGER_DTYPES, TensorLike
from .._core._ops import DiscreteOp, TensorOp, on_stacks
from .._core._type import Tensor, tensor_type
from .._errors import DTypeError, ShapeError
from ..elemwise import broadcast_static, dimshuffle, refused_broadcast
from ..shape import as_lengths, make_vector


def _check_order(name: str, order: str) -> str:
    if order not in ("C", "F"):
        raise ValueError(format_error(f"{name}: {order!r} is no order", hint='use "C" (rows) or "F" (columns)'))
    return order


def _integers(name: str, x: TensorLike) -> Tensor:
    variable = as_tensor_variable(x)
    if variable.type.dtype not in INTEGER_DTYPES:
        raise DTypeError(
            format_error(
                f"{name}: numbers of elements are integers", context=[describe(variable)], hint="T.cast(i, 'int64')"
            )
        )
    return variable


class UnravelIndex(DiscreteOp):
    """Numbers along each dimension of elements given by their numbers in the flattened tensor.

    Inputs are these numbers and the vector of the lengths of the tensor.

    Parameters
    ----------
    ndim : int
        The length of that vector.
    order : {"C", "F"}
    """

    __props__ = ("ndim", "order")

    def __init__(self, ndim: int, order: str = "C") -> None:
        self.ndim, self.order = int(ndim), _check_order("unravel_index", order)

    def make_node(self, indices: TensorLike, dims: TensorLike) -> Apply[Self, Tensor]:
        """Apply to integers and a vector of lengths."""
        numbers, lengths = _integers("unravel_index", indices), _integers("unravel_index", dims)
        if lengths.type.ndim != 1 or lengths.type.shape[0] not in (None, self.ndim):
            raise ShapeError(
                format_error("unravel_index: the shape is a vector of lengths", context=[describe(lengths)])
            )
        outputs = [tensor_type("int64", numbers.type.shape).make_variable() for _ in range(self.ndim)]
        return Apply(self, [numbers, lengths], outputs)

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute with NumPy; ValueError for numbers out of range."""
        numbers, lengths = inputs
        shape = tuple(int(n) for n in lengths)
        try:
            indices = np.unravel_index(numbers, shape, order=self.order)  # type: ignore[call-overload]  # checked above
        except ValueError as error:
            raise ValueError(
                format_error(f"unravel_index: {error} (shape {shape})", context=[describe(node.inputs[0])])
            ) from error
        for storage, part in zip(output_storage, indices, strict=True):
            storage[0] = np.array(part, dtype="int64")


class RavelMultiIndex(DiscreteOp):
    """Numbers in the flattened tensor of elements given by their numbers along each dimension.

    Inputs are one tensor of integers for each dimension, and the vector of lengths.

    Parameters
    ----------
    mode : {"raise", "wrap", "clip"}, or tuple of these, one for each dimension
    order : {"C", "F"}
    """

    __props__ = ("mode", "order")

    def __init__(self, mode: str | Sequence[str] = "raise", order: str = "C") -> None:
        for entry in mode if isinstance(mode, (tuple, list)) else (mode,):
            if entry not in ("raise", "wrap", "clip"):
                raise ValueError(
                    format_error(f"ravel_multi_index: {entry!r} is no mode", hint='use "raise", "wrap" or "clip"')
                )
        self.mode = tuple(mode) if isinstance(mode, (tuple, list)) else mode
        self.order = _check_order("ravel_multi_index", order)

    def make_node(self, *inputs: TensorLike) -> Apply[Self, Tensor]:
        """Apply to tensors of integers that broadcast with each other, and the vector of lengths."""
        *numbers, lengths = [_integers("ravel_multi_index", x) for x in inputs]
        if lengths.type.ndim != 1 or lengths.type.shape[0] not in (None, len(numbers)) or not numbers:
            raise ShapeError(
                format_error(
                    f"ravel_multi_index: a shape of {len(numbers)} lengths is needed", context=[describe(lengths)]
                )
            )
        if isinstance(self.mode, tuple) and len(self.mode) != len(numbers):
            raise ValueError(format_error(f"ravel_multi_index: {len(self.mode)} modes for {len(numbers)} dimensions"))
        ndim = max(x.type.ndim for x in numbers)
        padded = [dimshuffle(x, ["x"] * (ndim - x.type.ndim) + list(range(x.type.ndim))) for x in numbers]
        try:
            shape = broadcast_static("ravel_multi_index", padded, numbers)
        except ShapeError as error:
            return refused_broadcast(error, padded, ["int64"])
        return Apply(self, [*padded, lengths], [tensor_type("int64", shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute with NumPy; ValueError for numbers out of range in mode "raise"."""
        *numbers, lengths = inputs
        shape = tuple(int(n) for n in lengths)
        try:
            numbers_flat = np.ravel_multi_index(tuple(numbers), shape, mode=self.mode, order=self.order)  # type: ignore[call-overload]  # checked above
        except ValueError as error:
            raise ValueError(
                format_error(
                    f"ravel_multi_index: {error} (shape {shape})", context=[describe(v) for v in node.inputs[:-1]]
                )
            ) from error
        output_storage[0][0] = np.asarray(numbers_flat, dtype="int64")


@shape_rule.register(UnravelIndex)
def _shape_unravel(node: Apply[UnravelIndex, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]] * len(node.outputs)


@shape_rule.register(RavelMultiIndex)
def _shape_ravel(node: Apply[RavelMultiIndex, Tensor], input_shapes: list[Any]) -> list[Any]:
    shapes, result = input_shapes[:-1], []
    for i in range(node.outputs[0].type.ndim):
        wide = [s[i] for s, v in zip(shapes, node.inputs, strict=False) if v.type.shape[i] != 1]
        result.append(wide[0] if wide else 1)
    return [tuple(result)]


def unravel_index(
    indices: TensorLike, dims: TensorLike, order: str = "C", ndim: int | None = None
) -> tuple[Tensor, ...]:
    """Return the numbers along each dimension of elements given by their numbers in the flattened tensor.

    Parameters
    ----------
    indices : tensor_like of int
    dims : sequence of (int or integer scalar), or symbolic vector
        The shape of the tensor.
    order : {"C", "F"}
        Whether elements are counted row by row or column by column.
    ndim : int, optional
        The length of `dims`; needed where that is a vector of unknown length.

    Returns
    -------
    tuple of Tensor
        One for each dimension, of int64 and the shape of `indices`.

    Raises
    ------
    ShapeError
        If the length of `dims` is not known, or not `ndim`.
    ValueError
        When it runs, for numbers out of range.

    Examples
    --------
    >>> import theano.tensor as T
    >>> [int(i.eval()) for i in T.unravel_index(7, (3, 4))]
    [1, 3]
    """
    if not isinstance(dims, Variable):
        lengths = as_lengths(dims)
        if ndim is not None and ndim != len(lengths):
            raise ShapeError(format_error(f"unravel_index: the shape has {len(lengths)} lengths, ndim is {ndim}"))
        vector, ndim = make_vector(*lengths), len(lengths)
    else:
        vector = as_tensor_variable(dims)
        ndim = vector.type.shape[0] if ndim is None and vector.type.ndim == 1 else ndim
        if ndim is None:
            raise ShapeError(
                format_error(
                    "unravel_index: the number of dimensions is not known",
                    context=[describe(vector)],
                    hint="pass ndim=..., or give the shape as a tuple",
                )
            )
    return tuple(UnravelIndex(ndim, order)(indices, vector, return_list=True))


def ravel_multi_index(
    multi_index: Iterable[Any], dims: TensorLike, mode: str | Sequence[str] = "raise", order: str = "C"
) -> Tensor:
    """Return the numbers in the flattened tensor of elements given by their numbers along each dimension.

    Parameters
    ----------
    multi_index : sequence of tensor_like of int
        One for each dimension; they broadcast with each other.
    dims : sequence of (int or integer scalar), or symbolic vector
        The shape of the tensor.
    mode : {"raise", "wrap", "clip"}, or tuple of these
        The treatment of numbers out of range: an error, taken modulo the length, or replaced by the nearest.
    order : {"C", "F"}
        Whether elements are counted row by row or column by column.

    Returns
    -------
    Tensor
        Of int64.

    Raises
    ------
    ShapeError
        If there are other numbers of index tensors and lengths.
    ValueError
        For an unknown mode or order; when it runs, for numbers out of range in mode "raise".

    Examples
    --------
    >>> import theano.tensor as T
    >>> int(T.ravel_multi_index((1, 3), (3, 4)).eval())
    7
    """
    vector = as_tensor_variable(dims) if isinstance(dims, Variable) else make_vector(*as_lengths(dims))
    result: Tensor = RavelMultiIndex(mode, order)(*multi_index, vector)
    return result


class CpuContiguous(TensorOp):
    """The input itself where it lies in C order without gaps, otherwise a copy that does."""

    __props__ = ()
    view_map = {0: [0]}

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor."""
        variable = as_tensor_variable(x)
        return Apply(self, [variable], [variable.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Return the input or a copy."""
        (x,) = inputs
        output_storage[0][0] = x if x.flags["C_CONTIGUOUS"] else np.array(x, order="C")


@pullback.register(CpuContiguous)
def _pullback_contiguous(node: Apply[CpuContiguous, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    return [cotangents[0]]


@pushforward.register(CpuContiguous)
def _pushforward_contiguous(
    node: Apply[CpuContiguous, Tensor], tangents: list[Variable | None]
) -> list[Variable | None]:
    return [tangents[0]]


@shape_rule.register(CpuContiguous)
def _shape_contiguous(node: Apply[CpuContiguous, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


cpu_contiguous = CpuContiguous()


@batch_rule.register(UnravelIndex, RavelMultiIndex)
def _batch_index(
    node: Apply[UnravelIndex | RavelMultiIndex, Tensor], inputs: list[Any], stacked: Sequence[bool]
) -> list[Variable] | None:
    """Element by element, in a tensor that has one shape for all entries."""
    return None if stacked[-1] else list(node.op(*inputs, return_list=True))


batch_rule.register(CpuContiguous)(on_stacks)
