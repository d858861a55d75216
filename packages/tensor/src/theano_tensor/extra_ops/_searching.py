"""Integers counted, places in sorted vectors, and the distinct elements of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import (
    Apply,
    Op,
    Variable,
    batch_rule,
    config,
    describe,
    format_error,
    pullback,
    pushforward,
    shape_rule,
)

from .._core._convert import as_tensor_variable, constant
from .._core._dtypes import DISCRETE_DTYPES, INTEGER_DTYPES, DTypeLike, TensorLike, canonical_dtype
from .._core._ops import DiscreteOp, TensorOp, one_axis, refused, run_in_a_loop
from .._core._type import Tensor, tensor_type
from .._errors import DTypeError, ShapeError
from .._protocols._methods import operation
from ..creation import arange, zeros
from ..elemwise import cast, maximum
from ..indexing import set_subtensor, take
from ..reduce import sum_dtype
from ..shape import as_length, flatten, lengths_of, reshape, shape_i, size

# ---- Integers counted, made to rows of zeros with a one, and a window function


class BinCount(TensorOp):
    """How often each number occurs in a vector, or the sum of weights for each number.

    Inputs are the vector of numbers, the least length of the result and, if there are any, the weights.

    Parameters
    ----------
    assert_nonneg : bool
        Whether a negative number is an AssertionError (and not a ValueError).
    """

    __props__ = ("assert_nonneg",)

    def __init__(self, assert_nonneg: bool = False) -> None:
        self.assert_nonneg = bool(assert_nonneg)

    def make_node(self, x: TensorLike, minlength: TensorLike, *weights: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a vector of integers, a length and perhaps weights."""
        numbers, least = as_tensor_variable(x), as_length(minlength)
        if numbers.type.ndim != 1:
            raise ShapeError(format_error("bincount counts a vector", context=[describe(numbers)], hint="flatten it"))
        if numbers.type.dtype not in DISCRETE_DTYPES:
            raise DTypeError(
                format_error(
                    "bincount counts integers", context=[describe(numbers)], hint="convert them: T.cast(x, 'int64')"
                )
            )
        operands = [as_tensor_variable(w) for w in weights]
        for w in operands:
            n, m = w.type.shape[0] if w.type.ndim == 1 else None, numbers.type.shape[0]
            error = ShapeError(
                format_error("bincount: one weight for each number is needed", context=[describe(numbers), describe(w)])
            )
            if w.type.ndim != 1:
                raise error
            if None not in (n, m) and n != m:
                numbers = refused(error, numbers, (None,), w)
        dtype = sum_dtype(operands[0].type.dtype) if operands else "int64"
        return Apply(self, [numbers, least, *operands], [tensor_type(dtype, (None,)).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Count; ValueError (AssertionError) for negative numbers, ValueError for too large ones or unfit weights."""
        x, least, *weights = inputs
        if x.size and x.min() < 0:
            error = AssertionError if self.assert_nonneg else ValueError
            raise error(
                format_error(
                    f"bincount: {int(x.min())} is negative, only numbers from 0 up are counted",
                    context=[describe(node.inputs[0])],
                )
            )
        if least < 0:
            raise ValueError(format_error(f"bincount: minlength {int(least)} is negative"))
        # NumPy adds 1 in 64 bits, and writes where the number that has wrapped around says.
        if x.size and x.max() >= 2**62:
            raise ValueError(
                format_error(
                    f"bincount: {int(x.max())} is too large, the result would be longer than any tensor can be",
                    context=[describe(node.inputs[0])],
                )
            )
        numbers = x.astype("int64")
        if not weights:
            output_storage[0][0] = np.bincount(numbers, minlength=int(least)).astype("int64")
            return
        if weights[0].shape != x.shape:
            raise ValueError(format_error(f"bincount: {len(weights[0])} weights for {len(x)} numbers"))
        counts = np.zeros(max(int(numbers.max(initial=-1)) + 1, int(least)), dtype=node.outputs[0].type.dtype)
        np.add.at(counts, numbers, weights[0])
        output_storage[0][0] = counts

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """The result depends differentiably on the weights only."""
        return [[i == 2] for i in range(len(node.inputs))]


@pullback.register(BinCount)
def _pullback_count(node: Apply[BinCount, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    weights = node.inputs[2:]
    if not weights:
        return [None, None]
    g = as_tensor_variable(cotangents[0])
    dtype = weights[0].type.dtype
    return [None, None, cast(take(g, node.inputs[0]), g.type.dtype if dtype in DISCRETE_DTYPES else dtype)]


@pushforward.register(BinCount)
def _pushforward_count(node: Apply[BinCount, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    t = tangents[2] if len(tangents) > 2 else None
    return [None if t is None else node.op(node.inputs[0], node.inputs[1], t)]


@shape_rule.register(BinCount)
def _shape_count(node: Apply[BinCount, Tensor], input_shapes: list[Any]) -> list[Any]:
    # The largest number is not known without reading them all.
    return [(None,)]


def bincount(
    x: TensorLike, weights: TensorLike | None = None, minlength: TensorLike | None = None, assert_nonneg: bool = False
) -> Tensor:
    """Count how often each number from 0 up to the largest occurs.

    Parameters
    ----------
    x : tensor_like of int
        A vector of numbers from 0 up.
    weights : tensor_like, optional
        One for each number: they are summed in place of counting.
    minlength : int or integer scalar, optional
        The result has at least this length.
    assert_nonneg : bool
        Whether a negative number raises an AssertionError; otherwise it raises a ValueError.

    Returns
    -------
    Tensor
        A vector: int64, or of the dtype of a sum of weights.

    Raises
    ------
    ShapeError, DTypeError
        If `x` is no vector of integers, or the weights do not fit it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.bincount(T.constant([0, 1, 1, 3])).eval()
    array([1, 2, 0, 1])
    """
    operands = [] if weights is None else [weights]
    result: Tensor = BinCount(assert_nonneg)(x, 0 if minlength is None else minlength, *operands)
    return result


class Bartlett(DiscreteOp):
    """The triangular window of a number of points, float64; zero at both ends."""

    __props__ = ()

    def make_node(self, M: TensorLike) -> Apply[Self, Tensor]:
        """Apply to an integer scalar."""
        count = as_tensor_variable(M)
        if count.type.ndim:
            raise TypeError(
                format_error(
                    "bartlett: the number of points is a scalar", context=[describe(count)], hint="index it: v[0]"
                )
            )
        if count.type.dtype not in INTEGER_DTYPES:
            raise TypeError(
                format_error(
                    "bartlett: the number of points is an integer", context=[describe(count)], hint="T.cast(n, 'int64')"
                )
            )
        return Apply(self, [count], [tensor_type("float64", (None,)).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute with NumPy."""
        output_storage[0][0] = np.bartlett(int(inputs[0]))


@shape_rule.register(Bartlett)
def _shape_bartlett(node: Apply[Bartlett, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [(maximum(cast(node.inputs[0], "int64"), 0),)]


def bartlett(M: TensorLike) -> Tensor:
    """Return the Bartlett window, a triangle of height one whose first and last points are zero.

    Parameters
    ----------
    M : int or integer scalar
        Number of points; with zero or less the result is empty.

    Returns
    -------
    Tensor
        A vector of float64.

    Raises
    ------
    TypeError
        If `M` is no integer scalar.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.bartlett(5).eval()
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    result: Tensor = Bartlett()(M)
    return result


def to_one_hot(y: TensorLike, nb_class: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Return a matrix with a row for each number: zeros, and a one in the column of that number.

    Parameters
    ----------
    y : tensor_like of int
        A vector of numbers from 0 up to, and without, `nb_class`.
    nb_class : int or integer scalar
        Number of columns.
    dtype : str, optional
        floatX by default.

    Raises
    ------
    ShapeError, DTypeError
        If `y` is no vector of integers.
    IndexError
        When it runs, if a number is out of range.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.to_one_hot(T.constant([2, 0]), 3, "int8").eval()
    array([[0, 0, 1],
           [1, 0, 0]], dtype=int8)
    """
    numbers = as_tensor_variable(y)
    if numbers.type.ndim != 1:
        raise ShapeError(format_error("to_one_hot takes a vector", context=[describe(numbers)], hint="flatten it"))
    if numbers.type.dtype not in INTEGER_DTYPES:
        raise DTypeError(
            format_error("to_one_hot takes integers", context=[describe(numbers)], hint="T.cast(y, 'int64')")
        )
    name = canonical_dtype("floatX" if dtype is None else dtype, config.floatX)
    rows = shape_i(numbers, 0)
    empty = zeros((rows, nb_class), name)
    return set_subtensor(empty[arange(rows), numbers], constant(1, dtype=name))


# Entries have results of other lengths.
batch_rule.register(BinCount, Bartlett)(run_in_a_loop)


# ---- Places in sorted vectors, and the distinct elements of a tensor


class SearchsortedOp(DiscreteOp):
    """Where values would have to be inserted into a sorted vector; see :func:`searchsorted`.

    Parameters
    ----------
    side : {"left", "right"}
        Before or after equal elements.
    """

    __props__ = ("side",)

    def __init__(self, side: str = "left") -> None:
        if side not in ("left", "right"):
            raise ValueError(format_error(f"searchsorted: {side!r} is no side", hint='use "left" or "right"'))
        self.side = side

    def make_node(self, x: TensorLike, v: TensorLike, sorter: TensorLike | None = None) -> Apply[Self, Tensor]:
        """Apply to a vector, values, and perhaps the numbers that sort the vector."""
        inputs = [as_tensor_variable(x), as_tensor_variable(v)]
        if sorter is not None:
            order = as_tensor_variable(sorter)
            if order.type.ndim != 1:
                raise ShapeError(format_error("searchsorted: the sorter is a vector", context=[describe(order)]))
            if order.type.dtype not in INTEGER_DTYPES:
                raise DTypeError(
                    format_error(
                        "searchsorted: the sorter holds integers", context=[describe(order)], hint="use T.argsort"
                    )
                )
            inputs.append(order)
        if inputs[0].type.ndim != 1:
            raise ShapeError(
                format_error("searchsorted looks in a vector", context=[describe(inputs[0])], hint="flatten it")
            )
        return Apply(self, inputs, [tensor_type("int64", inputs[1].type.shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Search with NumPy."""
        x, v, *sorter = inputs
        order = sorter[0].astype("int64") if sorter else None
        output_storage[0][0] = np.asarray(np.searchsorted(x, v, side=self.side, sorter=order), dtype="int64")  # type: ignore[call-overload]  # a str, checked above


@shape_rule.register(SearchsortedOp)
def _shape_search(node: Apply[SearchsortedOp, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[1]]


@operation("searchsorted")
def searchsorted(x: TensorLike, v: TensorLike, side: str = "left", sorter: TensorLike | None = None) -> Tensor:
    """Find where elements would have to be inserted to keep a vector sorted.

    Parameters
    ----------
    x : tensor_like
        A vector in ascending order, or in any order with a `sorter`.
    v : tensor_like
        The elements.
    side : {"left", "right"}
        Whether the place before or after equal elements is wanted.
    sorter : tensor_like of int, optional
        The numbers that sort `x`, as :func:`argsort` gives them.

    Returns
    -------
    Tensor
        Of int64 and the shape of `v`; from 0 to the length of `x`.

    Raises
    ------
    ShapeError, DTypeError
        If `x` or `sorter` is no vector, or `sorter` holds no integers.
    ValueError
        If `side` is something else.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.searchsorted([1, 2, 3, 4, 5], [-10, 10, 2, 3]).eval()
    array([0, 5, 1, 2])
    """
    result: Tensor = SearchsortedOp(side)(x, v, *([] if sorter is None else [sorter]))
    return result


class Unique(Op):
    """The distinct elements of a tensor in ascending order (or distinct slices along an axis).

    Parameters
    ----------
    return_index : bool
        Whether there is a result with the number of the first of each.
    return_inverse : bool
        Whether there is a result that says for each element which of the distinct ones it is. It is a vector.
    return_counts : bool
        Whether there is a result that says how often each occurs.
    axis : int, optional
        By default the tensor is flattened.
    """

    __props__ = ("return_index", "return_inverse", "return_counts", "axis")

    def __init__(
        self,
        return_index: bool = False,
        return_inverse: bool = False,
        return_counts: bool = False,
        axis: int | None = None,
    ) -> None:
        self.return_index, self.return_inverse = bool(return_index), bool(return_inverse)
        self.return_counts, self.axis = bool(return_counts), axis

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor; ShapeError if it has no such axis."""
        variable = as_tensor_variable(x)
        axis = None if self.axis is None else one_axis("unique", self.axis, variable)
        shape = [None] if axis is None else [None if i == axis else n for i, n in enumerate(variable.type.shape)]
        outputs = [tensor_type(variable.type.dtype, shape).make_variable()]
        flags = (self.return_index, self.return_inverse, self.return_counts)
        lengths = (None, None if axis is None else variable.type.shape[axis], None)
        outputs += [tensor_type("int64", (n,)).make_variable() for flag, n in zip(flags, lengths, strict=True) if flag]
        return Apply(self, [variable], outputs)

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Find the distinct elements with NumPy."""
        numpy_unique: Any = np.unique  # its annotations want literal flags
        outcomes = numpy_unique(inputs[0], self.return_index, self.return_inverse, self.return_counts, axis=self.axis)
        results = list(outcomes) if isinstance(outcomes, tuple) else [outcomes]
        output_storage[0][0] = results[0]
        # NumPy gives the inverse in different shapes, depending on its version.
        for storage, numbers in zip(output_storage[1:], results[1:], strict=True):
            storage[0] = np.asarray(numbers, dtype="int64").reshape(-1)

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """Only the elements themselves depend differentiably on the tensor."""
        return [[True] + [False] * (len(node.outputs) - 1)]


@pullback.register(Unique)
def _pullback_unique(node: Apply[Unique, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    """Each distinct element is the first of its kind."""
    x, g, axis = as_tensor_variable(node.inputs[0]), as_tensor_variable(cotangents[0]), node.op.axis
    first = Unique(return_index=True, axis=axis)(x)[1]
    if axis is None:
        flat = set_subtensor(zeros(size(x), g.type.dtype)[first], g)
        return [reshape(flat, lengths_of(x))]
    index = (*[slice(None)] * one_axis("unique", axis, x), first)
    return [set_subtensor(zeros(lengths_of(x), g.type.dtype)[index], g)]


@pushforward.register(Unique)
def _pushforward_unique(node: Apply[Unique, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    gradients: list[Variable | None] = [None] * (len(node.outputs) - 1)
    if tangents[0] is None:
        return [None, *gradients]
    first = Unique(return_index=True, axis=node.op.axis)(node.inputs[0])[1]
    t = as_tensor_variable(tangents[0])
    return [take(flatten(t), first) if node.op.axis is None else take(t, first, axis=node.op.axis), *gradients]


@shape_rule.register(Unique)
def _shape_unique(node: Apply[Unique, Tensor], input_shapes: list[Any]) -> list[Any]:
    (shape,), axis = input_shapes, node.op.axis
    # How many elements are distinct is not known without looking at them.
    if axis is None:
        total: Any = 1
        for n in shape:
            total = total * n
        shapes: list[Any] = [(None,)]
    else:
        axis %= len(shape)
        total = shape[axis]
        shapes = [tuple(None if i == axis else n for i, n in enumerate(shape))]
    flags = (node.op.return_index, node.op.return_inverse, node.op.return_counts)
    return shapes + [(n,) for flag, n in zip(flags, (None, total, None), strict=True) if flag]


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> Any:
    """Return the distinct elements of a tensor, in ascending order.

    Parameters
    ----------
    ar : tensor_like
    return_index, return_inverse, return_counts : bool
        Which further results are wanted, see :class:`Unique`.
    axis : int, optional
        Along which slices are compared; by default all elements.

    Returns
    -------
    Tensor, or list of them if further results are wanted

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.unique(T.constant([3, 1, 3])).eval()
    array([1, 3])
    """
    return Unique(return_index, return_inverse, return_counts, axis)(ar)


@batch_rule.register(SearchsortedOp)
def _batch_search(
    node: Apply[SearchsortedOp, Tensor], inputs: list[Any], stacked: Sequence[bool]
) -> list[Variable] | None:
    """The values to insert may have any shape; where the sorted vectors differ, each is searched for itself."""
    wanted_only = not any(flag for k, flag in enumerate(stacked) if k != 1)
    return [node.op(*inputs)] if wanted_only else None


# Entries have other numbers of different elements.
batch_rule.register(Unique)(run_in_a_loop)
