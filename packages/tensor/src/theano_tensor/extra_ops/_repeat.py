"""Elements repeated one by one, tensors repeated side by side, and tensors made longer at both ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, batch_rule, describe, format_error, shape_rule

from .._core._convert import as_tensor_variable, constant
from .._core._dtypes import INTEGER_DTYPES, TensorLike
from .._core._ops import Assert, DiscreteOp, one_axis, refused, run_in_a_loop
from .._core._type import Tensor, tensor_type
from .._errors import CountError, DTypeError, ShapeError
from .._protocols._methods import operation
from ..creation import alloc, arange, full
from ..elemwise import cast, clip, dimshuffle, maximum, minimum, mod
from ..indexing import set_subtensor, take
from ..joining import join
from ..reduce import sum as sum_over
from ..shape import as_length, as_lengths, flatten, lengths_of, reshape, shape_i, specify_shape
from ..shape._shape import static_int

# ---- Elements repeated one by one, and whole tensors repeated side by side


class RepeatedNumbers(DiscreteOp):
    """The numbers 0, 1, 2 ..., each as often as the vector of repetitions says."""

    __props__ = ()

    def make_node(self, repeats: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a vector of integers."""
        vector = as_tensor_variable(repeats)
        if vector.type.ndim != 1:
            raise ShapeError(format_error("repeat: repetitions are a number or a vector", context=[describe(vector)]))
        if vector.type.dtype not in INTEGER_DTYPES:
            raise DTypeError(format_error("repeat: repetitions are integers", context=[describe(vector)]))
        return Apply(self, [vector], [tensor_type("int64", (None,)).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Repeat with NumPy; ValueError for negative numbers, and for a sum of them that is no length."""
        (repeats,) = inputs
        if repeats.size and repeats.min() < 0:
            raise ValueError(
                format_error(
                    f"repeat: {int(repeats.min())} repetitions are not possible",
                    context=[describe(node.inputs[0])],
                    hint="use numbers from 0 up",
                )
            )
        # NumPy adds in 64 bits, and writes where a sum that has wrapped around says; a float does not wrap.
        if repeats.sum(dtype="float64") >= 2.0**62:
            raise ValueError(
                format_error(
                    "repeat: the result would be longer than any tensor can be", context=[describe(node.inputs[0])]
                )
            )
        output_storage[0][0] = np.repeat(np.arange(len(repeats)), repeats.astype("int64"))


@shape_rule.register(RepeatedNumbers)
def _shape(node: Apply[RepeatedNumbers, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [(cast(sum_over(node.inputs[0]), "int64"),)]


@operation("repeat")
def repeat(x: TensorLike, repeats: TensorLike, axis: int | None = None) -> Tensor:
    """Repeat elements along an axis.

    Parameters
    ----------
    x : tensor_like
    repeats : int, integer scalar, or vector of integers
        How often each element (or slice) is repeated: one number for all, or one for each.
    axis : int, optional
        By default `x` is flattened.

    Returns
    -------
    Tensor

    Raises
    ------
    ShapeError
        If there is no such axis, or `repeats` has more than one dimension or not as many numbers as the axis is long.
    ValueError, AssertionError
        When it runs, for negative numbers; for another number of them than elements.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.repeat(T.constant([1, 2]), 2).eval()
    array([1, 1, 2, 2])
    """
    variable, times = as_tensor_variable(x), as_tensor_variable(repeats)
    if times.type.dtype not in INTEGER_DTYPES:
        raise DTypeError(format_error("repeat: repetitions are integers", context=[describe(times)]))
    if axis is None:
        variable, axis = flatten(variable), 0
    where = one_axis("repeat", axis, variable)
    if times.type.ndim > 1:
        raise ShapeError(format_error("repeat: repetitions are a number or a vector", context=[describe(times)]))
    if times.type.broadcastable in ((), (True,)):
        return _repeat_all(variable, as_length(times, "a repetition"), where)
    n, m = times.type.shape[0], variable.type.shape[where]
    if n is not None and m is not None and n != m:
        error = ShapeError(
            format_error(
                f"repeat: {n} numbers of repetitions for {m} elements",
                context=[describe(variable), describe(times)],
                hint="pass one number, or one for each element of the axis",
            )
        )
        times = refused(error, times, (m,), variable)
    one_each = specify_shape(times, (shape_i(variable, where),))
    return take(variable, RepeatedNumbers()(one_each), axis=where)


def _repeat_all(x: Tensor, times: Tensor, axis: int) -> Tensor:
    """Repeat each element equally often: a new dimension, filled, and joined with the axis."""
    lengths: list[Any] = list(lengths_of(x))
    inserted = dimshuffle(x, [*range(axis + 1), "x", *range(axis + 1, x.type.ndim)])
    filled = alloc(inserted, *lengths[: axis + 1], times, *lengths[axis + 1 :])
    return reshape(filled, [*lengths[:axis], lengths[axis] * times, *lengths[axis + 1 :]])


def tile(x: TensorLike, reps: Any, ndim: int | None = None) -> Tensor:
    """Repeat a tensor side by side.

    Parameters
    ----------
    x : tensor_like
    reps : int, sequence of (int or integer scalar), or symbolic vector
        How often along each dimension. Missing numbers (on the left) are 1; for surplus ones `x` gets dimensions on
        the left.
    ndim : int, optional
        Number of dimensions of the result, at least those of `x` and the length of `reps`; needed where `reps` is a
        vector of unknown length, which then has at most this length.

    Raises
    ------
    ShapeError
        If the number of dimensions cannot be had.
    ValueError
        When it runs, for negative numbers.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.tile(T.constant([1, 2]), 2).eval()
    array([1, 2, 1, 2])
    """
    variable = as_tensor_variable(x)
    if _length_unknown(reps) and ndim is not None:
        reps = _padded_counts(reps, ndim)
    try:
        times = as_lengths(reps)
    except DTypeError as error:
        raise CountError(str(error)) from error
    rank = max(variable.type.ndim, len(times)) if ndim is None else ndim
    if rank < max(variable.type.ndim, len(times)):
        raise ShapeError(
            format_error(
                f"tile: {rank} dimensions are less than those of the tensor ({variable.type.ndim}) or the number of "
                f"repetitions ({len(times)})",
                context=[describe(variable)],
                hint="leave ndim out, or make it larger",
            )
        )
    times = [as_length(1)] * (rank - len(times)) + times
    padded = dimshuffle(variable, ["x"] * (rank - variable.type.ndim) + list(range(variable.type.ndim)))
    lengths = lengths_of(padded)
    order: list[int | str] = [entry for i in range(rank) for entry in ("x", i)]
    pairs = [n for pair in zip(times, lengths, strict=True) for n in pair]
    total = [_product(t, n) for t, n in zip(times, lengths, strict=True)]
    return reshape(alloc(dimshuffle(padded, order), *pairs), total)


def _product(times: Any, length: Any) -> Any:
    """Return the product of two lengths, as a number where it is known: a dimension of length 1 can be broadcast."""
    first, second = static_int(times), static_int(length)
    if first is not None and second is not None:
        return as_length(first * second)
    return length if first == 1 else times if second == 1 else times * length


def _padded_counts(reps: Tensor, ndim: int) -> Tensor:
    """Return a vector with as many numbers of repetitions as dimensions, with 1 for missing ones."""
    count = reps.shape[0]
    checked = Assert("tile: there are more numbers of repetitions than dimensions")(reps, count <= ndim)
    ones = alloc(constant(np.asarray(1, dtype=reps.type.dtype)), maximum(ndim - count, 0))
    return specify_shape(join(0, ones, checked), (ndim,))


def _length_unknown(reps: Any) -> bool:
    return isinstance(reps, Tensor) and reps.type.ndim == 1 and reps.type.shape[0] is None


batch_rule.register(RepeatedNumbers)(run_in_a_loop)


# ---- Tensors made longer at both ends of each axis

_MODES = ("constant", "edge", "wrap", "reflect", "symmetric")


def pad(x: TensorLike, pad_width: TensorLike, mode: str = "constant", constant_values: TensorLike = 0) -> Tensor:
    """Make a tensor longer at both ends of each axis.

    Parameters
    ----------
    x : tensor_like
    pad_width : int, pair of int, or sequence of pairs
        How many elements are added before and after, along all axes or along each; entries may be integer scalars.
    mode : {"constant", "edge", "wrap", "reflect", "symmetric"}
        The new elements: one value; the nearest element; the elements of the other end; the elements
        mirrored at the last one, without or with repeating it.
    constant_values : scalar
        For mode "constant"; converted to the dtype of `x`.

    Returns
    -------
    Tensor
        Of the dtype of `x`.

    Raises
    ------
    ValueError
        If the mode is unknown.
    ShapeError
        If `pad_width` does not fit the number of dimensions.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.pad(T.constant([1, 2, 3]), 2, "reflect").eval()
    array([3, 2, 1, 2, 3, 2, 1])
    """
    variable = as_tensor_variable(x)
    if mode not in _MODES:
        raise ValueError(format_error(f"pad: unknown mode {mode!r}", hint=f"use one of {', '.join(_MODES)}"))
    widths = _widths(variable, pad_width)
    if mode == "constant":
        lengths = [before + shape_i(variable, i) + after for i, (before, after) in enumerate(widths)]
        inner = tuple(slice(before, before + shape_i(variable, i)) for i, (before, _) in enumerate(widths))
        value = cast(as_tensor_variable(constant_values), variable.type.dtype)
        return set_subtensor(full(lengths, value)[inner], variable) if inner else variable
    for axis, (before, after) in enumerate(widths):
        n = shape_i(variable, axis)
        variable = take(variable, _sources(arange(-before, n + after), n, mode), axis=axis)
    return variable


def _widths(x: Tensor, widths: Any) -> list[tuple[Any, Any]]:
    entries = widths if isinstance(widths, (list, tuple, np.ndarray)) else [widths]
    pairs = [list(e) if isinstance(e, (list, tuple, np.ndarray)) else [e] for e in entries]
    if pairs and all(len(p) == 1 for p in pairs) and not isinstance(entries[0], (list, tuple, np.ndarray)):
        pairs = [[p[0] for p in pairs]]
    if len(pairs) == 1:
        pairs *= x.type.ndim
    if len(pairs) != x.type.ndim or any(len(p) not in (1, 2) for p in pairs):
        raise ShapeError(
            format_error(
                f"pad: {widths!r} says nothing about {x.type.ndim} dimensions",
                context=[describe(x)],
                hint="pass a number, a pair, or a pair for each dimension",
            )
        )
    return [(_width(p[0]), _width(p[-1])) for p in pairs]


def _width(value: Any) -> Any:
    if isinstance(value, (int, np.integer)) and value < 0:
        raise ShapeError(format_error(f"pad: {value} elements cannot be added", hint="use numbers from 0 up"))
    return as_length(value, "a width")


def _sources(position: Tensor, n: Tensor, mode: str) -> Tensor:
    """Return which element stands at each place, counted from the first element of the tensor."""
    if mode == "edge":
        return clip(position, 0, n - 1)
    if mode == "wrap":
        return mod(position, n)
    # A mirrored tensor repeats itself with a period of twice its length, less both ends if these are not repeated.
    if mode == "symmetric":
        period = 2 * n
        along = mod(position, period)
        return minimum(along, period - 1 - along)
    period = as_length(2 * n - 2)
    along = mod(position, period.clip(1, np.iinfo("int64").max))
    return minimum(along, period - along)
