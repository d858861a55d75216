"""Tensors in order, and their largest and smallest elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Op, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule

from ._core._convert import as_tensor_variable
from ._core._dtypes import COMPLEX_DTYPES, INTEGER_DTYPES, Array, TensorLike
from ._core._ops import DiscreteOp, TensorOp, one_axis, refused
from ._core._type import Tensor, tensor_type
from ._errors import DTypeError, ShapeError
from ._protocols._methods import operation
from .creation import arange, zeros
from .elemwise import abs_, cast, dimshuffle
from .indexing import inc_subtensor
from .shape import as_length, flatten, lengths_of, shape_i, static_int

#: Earlier names of its parts are found beneath it: see `_module_aliases`.
__path__: list[str] = []

# ---- Elements in ascending order along an axis, and the numbers that bring them there

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
def _pullback_sort(node: Apply[Sort, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    x, op = as_tensor_variable(node.inputs[0]), node.op
    numbers: Tensor = ArgSort(op.axis, op.kind)(x)
    return [put_back(x, numbers, op.axis, as_tensor_variable(cotangents[0]))]


@pushforward.register(Sort)
def _pushforward_sort(node: Apply[Sort, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    if tangents[0] is None:
        return [None]
    x, op = as_tensor_variable(node.inputs[0]), node.op
    numbers: Tensor = ArgSort(op.axis, op.kind)(x)
    return [as_tensor_variable(tangents[0])[along_axis(x, numbers, op.axis)]]


@batch_rule.register(Sort, ArgSort)
def _batch_sort(node: Apply[Sort | ArgSort, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    return [type(node.op)(node.op.axis + 1, node.op.kind)(inputs[0])]


@shape_rule.register(Sort, ArgSort)
def _shape_sort(node: Apply[Sort | ArgSort, Tensor], input_shapes: list[Any]) -> list[Any]:
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


# ---- The largest (or smallest) elements along an axis, and their numbers


class TopK(Op):
    """The k largest elements along an axis, or the -k smallest; inputs are the tensor and k.

    Parameters
    ----------
    axis : int
        From 0 up.
    sorted : bool
        Whether they come in descending order (ascending, if they are the smallest); otherwise in any order.
    idx_dtype : str
        Dtype of the numbers of the elements.
    return_values, return_indices : bool
        Which results there are.
    """

    __props__ = ("axis", "sorted", "idx_dtype", "return_values", "return_indices")

    def __init__(
        self,
        axis: int,
        sorted: bool = True,
        idx_dtype: str = "int64",
        return_values: bool = True,
        return_indices: bool = True,
    ) -> None:
        if idx_dtype not in INTEGER_DTYPES:
            raise DTypeError(format_error(f"topk: {idx_dtype!r} cannot hold numbers of elements", hint="use 'int64'"))
        if not (return_values or return_indices):
            raise ValueError(format_error("topk: no result is wanted", hint="set return_values or return_indices"))
        self.axis, self.sorted, self.idx_dtype = int(axis), bool(sorted), idx_dtype
        self.return_values, self.return_indices = bool(return_values), bool(return_indices)

    def make_node(self, x: TensorLike, k: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor and an integer.

        Raises
        ------
        ShapeError
            If there is no such axis.
        ValueError
            If `k` is known to be 0.
        """
        variable, count = as_tensor_variable(x), as_length(k, "a number of elements")
        if not 0 <= self.axis < variable.type.ndim:
            raise ShapeError(format_error(f"topk: there is no axis {self.axis}", context=[describe(variable)]))
        if variable.type.dtype in COMPLEX_DTYPES:
            raise DTypeError(format_error("topk: complex numbers have no order", context=[describe(variable)]))
        shape = list(variable.type.shape)
        count_known, length = static_int(count), shape[self.axis]
        if count_known == 0:
            raise ValueError(format_error("topk: k is 0, so nothing is asked for", context=[describe(variable)]))
        if count_known is not None and length is not None and abs(count_known) > length:
            error = ShapeError(
                format_error(
                    f"topk: {abs(count_known)} of {length} elements cannot be had", context=[describe(variable)]
                )
            )
            shape[self.axis] = None
            variable = refused(error, variable, shape)
        shape[self.axis] = None if count_known is None else abs(count_known)
        dtypes = [variable.type.dtype] * self.return_values + [self.idx_dtype] * self.return_indices
        return Apply(self, [variable, count], [tensor_type(dtype, shape).make_variable() for dtype in dtypes])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Select with NumPy; ValueError if k is 0 or larger than the length of the axis."""
        x, k = inputs[0], int(inputs[1])
        length = x.shape[self.axis]
        if not 0 < abs(k) <= length:
            raise ValueError(
                format_error(
                    f"topk: k is {k}, the length of axis {self.axis} is {length}",
                    context=[describe(node.inputs[0])],
                    hint=f"use 1 to {length} for the largest, -1 to -{length} for the smallest",
                )
            )
        numbers = _selected(x, k, self.axis, self.sorted)
        results = [np.take_along_axis(x, numbers, self.axis)] if self.return_values else []
        results += [numbers.astype(self.idx_dtype)] if self.return_indices else []
        for storage, result in zip(output_storage, results, strict=True):
            storage[0] = result

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """The elements depend differentiably on the tensor, their numbers do not; nothing does on k."""
        return [[True] * self.return_values + [False] * self.return_indices, [False] * len(node.outputs)]


def _selected(x: Array, k: int, axis: int, in_order: bool) -> Any:
    """Return the numbers of the elements."""
    length = x.shape[axis]
    before: list[slice] = [slice(None)] * axis
    chosen = (*before, slice(length - k, None) if k > 0 else slice(None, -k))
    if abs(k) < length:
        numbers = np.argpartition(x, length - k if k > 0 else -k - 1, axis=axis)[chosen]
    else:
        numbers = np.broadcast_to(np.arange(length).reshape([-1 if i == axis else 1 for i in range(x.ndim)]), x.shape)
    if not in_order:
        return numbers
    order = np.argsort(np.take_along_axis(x, numbers, axis), axis=axis)
    numbers = np.take_along_axis(numbers, order, axis)
    return np.flip(numbers, axis) if k > 0 else numbers


def _numbers(node: Apply) -> Tensor:
    """Return the numbers of the elements that a node selects, by the node itself where it gives them."""
    op = node.op
    if op.return_indices:
        return as_tensor_variable(node.outputs[-1])
    result: Tensor = TopK(op.axis, op.sorted, op.idx_dtype, False, True)(*node.inputs)
    return result


@pullback.register(TopK)
def _pullback_top(node: Apply[TopK, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    if not node.op.return_values or not isinstance(cotangents[0], Tensor):
        return [None, None]
    x = as_tensor_variable(node.inputs[0])
    return [put_back(x, cast(_numbers(node), "int64"), node.op.axis, cotangents[0]), None]


@pushforward.register(TopK)
def _pushforward_top(node: Apply[TopK, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    gradients: list[Variable | None] = [None] * len(node.outputs)
    if tangents[0] is None or not node.op.return_values:
        return gradients
    x = as_tensor_variable(node.inputs[0])
    index = along_axis(x, cast(_numbers(node), "int64"), node.op.axis)
    return [as_tensor_variable(tangents[0])[index], *gradients[1:]]


@batch_rule.register(TopK)
def _batch_top(node: Apply[TopK, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> Sequence[Variable] | None:
    """The number of elements has to be the same for all entries, or they have results of different lengths."""
    if stacked[1]:
        return None
    op = node.op
    shifted = TopK(op.axis + 1, op.sorted, op.idx_dtype, op.return_values, op.return_indices)
    return list(shifted(*inputs, return_list=True))


@shape_rule.register(TopK)
def _shape_top(node: Apply[TopK, Tensor], input_shapes: list[Any]) -> list[Any]:
    shape = list(input_shapes[0])
    shape[node.op.axis] = cast(abs_(node.inputs[1]), "int64")
    return [tuple(shape)] * len(node.outputs)


def _top(name: str, x: TensorLike, kth: Any, axis: int | None, *props: Any) -> Any:
    variable = as_tensor_variable(x)
    if axis is None:
        variable, axis = flatten(variable), 0
    return TopK(one_axis(name, axis, variable), *props)(variable, kth)


def topk(
    x: TensorLike, kth: TensorLike, axis: int | None = -1, sorted: bool = True, idx_dtype: str = "int64"
) -> Tensor:
    """Return the `kth` largest elements along an axis, or the ``-kth`` smallest if it is negative.

    Parameters
    ----------
    x : tensor_like
    kth : int or integer scalar
        Not 0, and at most the length of the axis.
    axis : int, optional
        With None, `x` is flattened.
    sorted : bool
        Whether they come in order, the largest first (the smallest, if `kth` is negative). Otherwise the order is not
        specified.
    idx_dtype : str
        Dtype of the numbers of elements, which are worked out on the way.

    Returns
    -------
    Tensor
        The axis has length ``abs(kth)``. NaN counts as larger than all numbers.

    Raises
    ------
    ShapeError, ValueError
        If there is no such axis; if `kth` is 0, or larger than the length of the axis.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.topk(T.constant([3, 1, 2]), 2).eval()
    array([3, 2])
    """
    result: Tensor = _top("topk", x, kth, axis, sorted, idx_dtype, True, False)
    return result


def argtopk(
    x: TensorLike, kth: TensorLike, axis: int | None = -1, sorted: bool = True, idx_dtype: str = "int64"
) -> Tensor:
    """Return the numbers of the `kth` largest elements along an axis; see :func:`topk`.

    Parameters
    ----------
    x : tensor_like
    kth : int or scalar tensor
        Number of elements; negative for the smallest ones.
    axis : int or None
    sorted : bool
    idx_dtype : str

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.sort(T.argtopk([3.0, 1.0, 2.0], 2)).eval()
    array([0, 2])
    """
    result: Tensor = _top("argtopk", x, kth, axis, sorted, idx_dtype, False, True)
    return result


def topk_and_argtopk(
    x: TensorLike, kth: TensorLike, axis: int | None = -1, sorted: bool = True, idx_dtype: str = "int64"
) -> list[Tensor]:
    """Return the `kth` largest elements along an axis, and their numbers; see :func:`topk`.

    Parameters
    ----------
    x : tensor_like
    kth : int or scalar tensor
        Number of elements; negative for the smallest ones.
    axis : int or None
    sorted : bool
    idx_dtype : str

    Returns
    -------
    tuple of two Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.sort(T.topk_and_argtopk([3.0, 1.0, 2.0], 2)[0]).eval()
    array([2., 3.])
    """
    result: list[Tensor] = _top("topk_and_argtopk", x, kth, axis, sorted, idx_dtype, True, True)
    return result


__all__ = ["ArgSort", "Sort", "TopK", "argsort", "argtopk", "sort", "topk", "topk_and_argtopk"]
