"""Elements in ascending order along an axis, and the numbers that bring them there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._ops import DiscreteOp, TensorOp, one_axis
from .._core._type import Tensor, tensor_type
from .._errors import ShapeError
from .._protocols._methods import operation
from ..creation import arange, zeros
from ..elemwise import dimshuffle
from ..indexing import inc_subtensor
from ..shape import flatten, lengths_of, shape_i

_KINDS = ("quicksort", "mergesort", "heapsort", "stable")


def _check_kind(name: str, kind: str, order: Any) -> Any:
    if kind not in _KINDS:
        raise ValueError(format_error(f"{name}: unknown kind {kind!r}", hint=f"use one of {', '.join(_KINDS)}"))
    if order is not None:
        raise ValueError(
            format_error(f"{name}: order={order!r} names fields, which tensors do not have", hint="leave order out")
        )
    return kind


def _check_node(op: Any, name: str, x: TensorLike) -> Tensor:
    variable = as_tensor_variable(x)
    if not 0 <= op.axis < variable.type.ndim:
        raise ShapeError(format_error(f"{name}: there is no axis {op.axis}", context=[describe(variable)]))
    return variable


class Sort(TensorOp):
    """The elements in ascending order along an axis; NaN last.

    Parameters
    ----------
    axis : int
        From 0 up.
    kind : {"quicksort", "mergesort", "heapsort", "stable"}
    """

    __props__ = ("axis", "kind")

    def __init__(self, axis: int, kind: str = "quicksort", order: None = None) -> None:
        self.axis, self.kind = int(axis), _check_kind("sort", kind, order)

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor; ShapeError if it has no such axis."""
        variable = _check_node(self, "sort", x)
        return Apply(self, [variable], [variable.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Sort with NumPy."""
        output_storage[0][0] = np.sort(inputs[0], axis=self.axis, kind=self.kind)


class ArgSort(DiscreteOp):
    """The numbers of the elements in ascending order along an axis, int64; see :class:`Sort`."""

    __props__ = ("axis", "kind")

    def __init__(self, axis: int, kind: str = "quicksort", order: None = None) -> None:
        self.axis, self.kind = int(axis), _check_kind("argsort", kind, order)

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor; ShapeError if it has no such axis."""
        variable = _check_node(self, "argsort", x)
        return Apply(self, [variable], [tensor_type("int64", variable.type.shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Sort with NumPy."""
        order = np.argsort(inputs[0], axis=self.axis, kind=self.kind)
        output_storage[0][0] = np.asarray(order, dtype="int64")


def along_axis(x: Tensor, numbers: Tensor, axis: int) -> tuple[Tensor, ...]:
    """Return the index that takes elements of `x` along an axis by `numbers`, which has its number of dimensions."""
    index = []
    for i in range(x.type.ndim):
        if i == axis:
            index.append(numbers)
            continue
        order: list[int | str] = [0 if j == i else "x" for j in range(x.type.ndim)]
        index.append(dimshuffle(arange(shape_i(x, i)), order))
    return tuple(index)


def put_back(x: Tensor, numbers: Tensor, axis: int, g: Tensor) -> Tensor:
    """Return zeros in the shape of `x` to which `g` is added where `numbers` say along an axis."""
    return inc_subtensor(zeros(lengths_of(x), g.type.dtype)[along_axis(x, numbers, axis)], g)


@pullback.register(Sort)
def _pullback(node: Apply[Sort, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    x, op = as_tensor_variable(node.inputs[0]), node.op
    numbers: Tensor = ArgSort(op.axis, op.kind)(x)
    return [put_back(x, numbers, op.axis, as_tensor_variable(cotangents[0]))]


@pushforward.register(Sort)
def _pushforward(node: Apply[Sort, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    if tangents[0] is None:
        return [None]
    x, op = as_tensor_variable(node.inputs[0]), node.op
    numbers: Tensor = ArgSort(op.axis, op.kind)(x)
    return [as_tensor_variable(tangents[0])[along_axis(x, numbers, op.axis)]]


@batch_rule.register(Sort, ArgSort)
def _batch(node: Apply[Sort | ArgSort, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    return [type(node.op)(node.op.axis + 1, node.op.kind)(inputs[0])]


@shape_rule.register(Sort, ArgSort)
def _shape(node: Apply[Sort | ArgSort, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


def _prepared(name: str, a: TensorLike, axis: int | None) -> tuple[Tensor, int]:
    x = as_tensor_variable(a)
    if axis is None:
        return flatten(x), 0
    return x, one_axis(name, axis, x)


@operation("sort")
def sort(a: TensorLike, axis: int | None = -1, kind: str = "quicksort", order: None = None) -> Tensor:
    """Return the elements in ascending order along an axis.

    Parameters
    ----------
    a : tensor_like
    axis : int, optional
        With None, `a` is flattened.
    kind : {"quicksort", "mergesort", "heapsort", "stable"}
        The algorithm.
    order : None
        Tensors have no fields by which they could be sorted.

    Returns
    -------
    Tensor
        NaN stands last. The gradient goes to the places that the elements came from.

    Raises
    ------
    ShapeError
        If there is no such axis.
    ValueError
        If `kind` is unknown, or `order` is given.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.sort(T.constant([3, 1, 2])).eval()
    array([1, 2, 3])
    """
    x, where = _prepared("sort", a, axis)
    result: Tensor = Sort(where, kind, order)(x)
    return result


@operation("argsort")
def argsort(a: TensorLike, axis: int | None = -1, kind: str = "quicksort", order: None = None) -> Tensor:
    """Return the numbers of the elements in ascending order along an axis, as int64; see :func:`sort`.

    Parameters
    ----------
    a : tensor_like
    axis : int or None
        None sorts the flattened tensor.
    kind : str
        The algorithm, as in :func:`sort`.
    order : str, optional
        For structured arrays only.

    Returns
    -------
    Tensor
        Of dtype int64.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.argsort([3.0, 1.0, 2.0]).eval()
    array([1, 2, 0])
    """
    x, where = _prepared("argsort", a, axis)
    result: Tensor = ArgSort(where, kind, order)(x)
    return result
