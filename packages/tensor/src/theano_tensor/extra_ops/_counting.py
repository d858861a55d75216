"""Integers counted, made to rows of zeros with a one, and a window function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, config, describe, format_error, pullback, pushforward, shape_rule

from .._core._convert import as_tensor_variable, constant
from .._core._dtypes import DISCRETE_DTYPES, INTEGER_DTYPES, DTypeLike, TensorLike, canonical_dtype
from .._core._ops import DiscreteOp, TensorOp, refused, run_in_a_loop
from .._core._type import Tensor, tensor_type
from .._errors import DTypeError, ShapeError
from ..creation import arange, zeros
from ..elemwise import cast, maximum
from ..indexing import set_subtensor, take
from ..reduce import sum_dtype
from ..shape import as_length, shape_i


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
