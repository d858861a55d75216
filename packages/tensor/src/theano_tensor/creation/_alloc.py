"""Tensors filled with one value, evenly spaced numbers, and the grids that they span."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, config, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.kernels import FullKernel, Kernel, native_kernel
from theano_linker_c.scalar import upcast

from .._core._convert import as_tensor_variable, constant
from .._core._dtypes import DISCRETE_DTYPES, Array, DTypeLike, ShapeLike, TensorLike, canonical_dtype
from .._core._ops import TensorOp, batch_length, padded, refused, run_in_a_loop
from .._core._type import Tensor, tensor_type
from .._errors import ShapeError
from .._protocols._methods import operation
from ..elemwise import cast, dimshuffle, maximum
from ..joining import stack
from ..reduce import sum as sum_over
from ..shape import as_length, as_lengths, lengths_of, shape_i, static_lengths
from ._ranges import arange

# ---- Tensors of a given shape, filled with one value


class Alloc(TensorOp):
    """A new tensor of a given shape, filled with a value, which is broadcast to it.

    Inputs are the value and one integer scalar for each dimension.
    """

    __props__ = ()

    def make_node(self, value: TensorLike, *lengths: ShapeLike) -> Apply[Self, Tensor]:
        """Apply to a value and lengths; ShapeError if the value does not fit."""
        variable = as_tensor_variable(value)
        sizes = [as_length(n) for n in lengths]
        if variable.type.ndim > len(sizes):
            raise ShapeError(
                format_error(
                    f"alloc: a value of {variable.type.ndim} dimensions does not fit into {len(sizes)}",
                    context=[describe(variable)],
                )
            )
        shape = static_lengths(sizes)
        for length, length_needed in zip(reversed(variable.type.shape), reversed(shape), strict=False):
            if length not in (1, None) and length_needed is not None and length != length_needed:
                error = ShapeError(
                    format_error(
                        f"alloc: a value of shape {variable.type.shape} does not fit into {shape}",
                        context=[describe(variable)],
                    )
                )
                variable = refused(error, variable, [n if n == 1 else None for n in variable.type.shape])
                break
        return Apply(self, [variable, *sizes], [tensor_type(variable.type.dtype, shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Allocate and fill; ValueError if a length is negative or the value does not fit."""
        value, *lengths = inputs
        shape = tuple(int(n) for n in lengths)
        if any(n < 0 for n in shape):
            raise ValueError(
                format_error(f"alloc: {shape} is no shape: a length is negative", hint="pass lengths from 0 up")
            )
        broadcastable = node.inputs[0].type.broadcastable
        ends = shape[len(shape) - value.ndim :]
        if any(n != m and not s for n, m, s in zip(value.shape, ends, broadcastable, strict=True)):
            raise ValueError(
                format_error(
                    f"alloc: a value of shape {value.shape} does not fit into the shape {shape}",
                    context=[describe(node.inputs[0])],
                    hint="lengths must be equal; only dimensions that are declared broadcastable broadcast",
                )
            )
        array = np.empty(shape, dtype=value.dtype)
        array[...] = value
        output_storage[0][0] = array

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """The result depends on the value, not differentiably on the lengths."""
        return [[True]] + [[False]] * (len(node.inputs) - 1)

    def do_constant_folding(self, node: Apply[Self, Tensor]) -> bool:
        """Tell whether a constant serves better: not where each call would copy it, to write into it or return it."""
        return not any(
            client == "output" or (position == 0 and hasattr(client.op, "set_instead_of_inc"))
            for client, position in node.outputs[0].clients
        )

    def __str__(self) -> str:
        return "Alloc"


@pullback.register(Alloc)
def _pullback(node: Apply[Alloc, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    value = node.inputs[0]
    g = as_tensor_variable(cotangents[0])
    extra = g.type.ndim - value.type.ndim
    if extra:
        g = sum_over(g, axis=list(range(extra)))
    broadcasted = [i for i, n in enumerate(value.type.shape) if n == 1 and g.type.shape[i] != 1]
    if broadcasted:
        g = sum_over(g, axis=broadcasted, keepdims=True)
    return [g, *(None for _ in node.inputs[1:])]


@pushforward.register(Alloc)
def _pushforward(node: Apply[Alloc, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else node.op(tangents[0], *node.inputs[1:])]


@batch_rule.register(Alloc)
def _batch(node: Apply[Alloc, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable] | None:
    """Lengths are those of all entries, or a loop finds out whether they are."""
    value, *lengths = inputs
    if any(stacked[1:]):
        return None
    return [Alloc()(padded(value, True, len(lengths)), batch_length(inputs, stacked), *lengths)]


@shape_rule.register(Alloc)
def _shape(node: Apply[Alloc, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [tuple(node.inputs[1:])]


@operation("alloc")
def alloc(value: TensorLike, *shape: ShapeLike) -> Tensor:
    """Return a tensor of a given shape, filled with `value`.

    Parameters
    ----------
    value : tensor_like
        Broadcast to the shape.
    *shape : int or integer scalar
        One length for each dimension.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.alloc(0.0, 2, 3).type.shape
    (2, 3)
    """
    result: Tensor = Alloc()(value, *shape)
    return result


class AllocEmpty(TensorOp):
    """A new tensor of a given shape with undefined elements; inputs are the lengths.

    Parameters
    ----------
    dtype : str
    """

    __props__ = ("dtype",)

    def __init__(self, dtype: str) -> None:
        self.dtype = canonical_dtype(dtype, "float64")

    def make_node(self, *lengths: ShapeLike) -> Apply[Self, Tensor]:
        """Apply to lengths. Checks for NaN and large numbers leave the result alone."""
        sizes = [as_length(n) for n in lengths]
        output = tensor_type(self.dtype, static_lengths(sizes)).make_variable()
        # The elements mean nothing, so no check may complain of them.
        output.tag.nan_guard_mode_check = False
        output.tag.values_eq_approx = _always_near
        return Apply(self, sizes, [output])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Allocate; ValueError if a length is negative."""
        shape = tuple(int(n) for n in inputs)
        if any(n < 0 for n in shape):
            raise ValueError(
                format_error(f"empty: {shape} is no shape: a length is negative", hint="pass lengths from 0 up")
            )
        output_storage[0][0] = np.empty(shape, dtype=self.dtype)

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """The result does not depend differentiably on anything."""
        return [[False] for _ in node.inputs]

    def do_constant_folding(self, node: Apply[Self, Tensor]) -> bool:
        """Never: a constant would be written over, or kept for no use."""
        return False

    def __str__(self) -> str:
        return f"AllocEmpty{{dtype={self.dtype!r}}}"


def _always_near(a: Array, b: Array) -> bool:
    return bool(a.shape == b.shape and a.dtype == b.dtype)


@pullback.register(AllocEmpty)
def _pullback_empty(node: Apply[AllocEmpty, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    return [None] * len(node.inputs)


@pushforward.register(AllocEmpty)
def _pushforward_empty(node: Apply[AllocEmpty, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None]


batch_rule.register(AllocEmpty)(run_in_a_loop)


@shape_rule.register(AllocEmpty)
def _shape_empty(node: Apply[AllocEmpty, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [tuple(node.inputs)]


def empty(shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
    """Return a tensor whose elements are not set; each of them must be written before it is read.

    Parameters
    ----------
    shape : int, sequence of (int or integer scalar), or symbolic vector
    dtype : str, optional
        floatX by default.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.empty((2, 3)).ndim
    2
    """
    result: Tensor = AllocEmpty(canonical_dtype("floatX" if dtype is None else dtype, config.floatX))(
        *as_lengths(shape)
    )
    return result


def empty_like(x: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Return a tensor of the shape of `x`, and of its dtype or `dtype`, whose elements are not set.

    Parameters
    ----------
    x : tensor_like
    dtype : str, optional
        By default that of `x`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.empty_like(T.dmatrix()).type
    TensorType(float64, matrix)
    """
    variable = as_tensor_variable(x)
    return empty(lengths_of(variable), variable.type.dtype if dtype is None else dtype)


def full_like(x: TensorLike, fill_value: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Return a tensor of the shape of `x`, and of its dtype or `dtype`, filled with a value.

    Parameters
    ----------
    x : tensor_like
    fill_value : tensor_like
        A number, or a scalar tensor.
    dtype : str, optional
        By default that of `x`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.full_like([1.0, 2.0], 3.0).eval()
    array([3., 3.])
    """
    variable = as_tensor_variable(x)
    name = variable.type.dtype if dtype is None else canonical_dtype(dtype, config.floatX)
    return full(lengths_of(variable), fill_value, name)


def broadcast_to(x: TensorLike, shape: ShapeLike) -> Tensor:
    """Return `x` repeated along its broadcastable dimensions, and new ones on the left, so that it has `shape`.

    Parameters
    ----------
    x : tensor_like
    shape : int, sequence of (int or integer scalar), or symbolic vector

    Raises
    ------
    ShapeError
        If `x` is known not to fit.
    ValueError
        When it runs, if it does not fit.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.broadcast_to([1, 2], (2, 2)).eval()
    array([[1, 2],
           [1, 2]])
    """
    return alloc(x, *as_lengths(shape))


def full(shape: ShapeLike, fill_value: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Return a tensor of a given shape, filled with a value.

    Parameters
    ----------
    shape : int, sequence of (int or integer scalar), or symbolic vector
    fill_value : number or scalar
    dtype : str, optional
        That of `fill_value` by default.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.full((2, 2), 7.0).eval()
    array([[7., 7.],
           [7., 7.]], dtype=float32)
    """
    value = as_tensor_variable(fill_value) if dtype is None else as_tensor_variable(fill_value).astype(dtype)
    return alloc(value, *as_lengths(shape))


def zeros(shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
    """Return zeros.

    Parameters
    ----------
    shape : int, sequence of (int or integer scalar), or symbolic vector
    dtype : str, optional
        floatX by default.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.zeros((2, 3), dtype="int32").type.shape
    (2, 3)
    """
    return alloc(
        constant(0, dtype=canonical_dtype("floatX" if dtype is None else dtype, config.floatX)), *as_lengths(shape)
    )


def ones(shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
    """Return ones; see :func:`zeros`.

    Parameters
    ----------
    shape : int, sequence or tensor_like
        Lengths; they may be symbolic.
    dtype : str, optional
        By default that of the flag `floatX`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.ones((2, 3)).eval()
    array([[1., 1., 1.],
           [1., 1., 1.]])
    """
    return alloc(
        constant(1, dtype=canonical_dtype("floatX" if dtype is None else dtype, config.floatX)), *as_lengths(shape)
    )


# ---- Evenly spaced numbers, and the grids that they span


def linspace(
    start: TensorLike, stop: TensorLike, num: TensorLike = 50, endpoint: bool = True, dtype: DTypeLike | None = None
) -> Tensor:
    """Return evenly spaced numbers from `start` to `stop`.

    Parameters
    ----------
    start, stop : scalar
    num : int or integer scalar
        How many.
    endpoint : bool
        Whether `stop` is the last of them.
    dtype : str, optional
        By default that of `start` and `stop`, floatX for integers.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.linspace(0.0, 1.0, 3, dtype="float64").eval()
    array([0. , 0.5, 1. ])
    """
    first, last = as_tensor_variable(start), as_tensor_variable(stop)
    for v in (first, last):
        if v.type.ndim:
            raise ShapeError(format_error("linspace: the bounds are scalars", context=[describe(v)]))
    common = upcast(first.type.dtype, last.type.dtype)
    chosen = config.floatX if common in DISCRETE_DTYPES else common
    count = as_length(num)
    steps = maximum(count - 1 if endpoint else count, 1)
    position = cast(arange(count), "float64") / steps
    values = first + (last - first) * position
    return cast(values, chosen if dtype is None else canonical_dtype(dtype, config.floatX))


def meshgrid(*vectors: TensorLike, indexing: str = "xy", sparse: bool = False) -> list[Tensor]:
    """Return the coordinates of the points of a grid.

    Parameters
    ----------
    *vectors : tensor_like
        The coordinates along each dimension; scalars count as vectors of length 1.
    indexing : {"xy", "ij"}
        With ``"xy"``, the first two dimensions of the results are exchanged.
    sparse : bool
        Whether each result has length 1 (broadcastable) in all dimensions but its own.

    Returns
    -------
    list of Tensor
        One for each vector.

    Raises
    ------
    ValueError
        If `indexing` is something else.
    ShapeError
        If an argument has more than one dimension.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> [a.tolist() for a in theano.function([], T.meshgrid([1, 2], [3, 4, 5]))()]
    [[[1, 2], [1, 2], [1, 2]], [[3, 3], [4, 4], [5, 5]]]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(format_error(f"meshgrid: {indexing!r} is no way of indexing", hint='use "xy" or "ij"'))
    axes = [as_tensor_variable(v) for v in vectors]
    for v in axes:
        if v.type.ndim > 1:
            raise ShapeError(format_error("meshgrid takes vectors", context=[describe(v)], hint="flatten it"))
    axes = [dimshuffle(v, ("x",)) if v.type.ndim == 0 else v for v in axes]
    places = list(range(len(axes)))
    if indexing == "xy" and len(axes) > 1:
        places[0], places[1] = 1, 0
    return _open_or_full(axes, places, sparse)


def _open_or_full(axes: Sequence[Tensor], places: Sequence[int], sparse: bool) -> list[Tensor]:
    ndim = len(axes)
    orders: list[list[int | str]] = [[0 if i == place else "x" for i in range(ndim)] for place in places]
    grids = [dimshuffle(v, order) for v, order in zip(axes, orders, strict=True)]
    if sparse:
        return grids
    lengths: list[Any] = [None] * ndim
    for v, axis in zip(axes, places, strict=True):
        lengths[axis] = shape_i(v, 0)
    return [alloc(grid, *lengths) for grid in grids]


class Grid:
    """Makes grids of numbers from slices: ``mgrid[0:5, 0:3]``; :data:`mgrid` and :data:`ogrid` are its instances.

    Parameters
    ----------
    sparse : bool
        Whether the result is one tensor for each slice, with length 1 in all other dimensions (``ogrid``), or one
        tensor with all of them in full along a new first dimension (``mgrid``).
    """

    def __init__(self, sparse: bool) -> None:
        self.sparse = sparse

    def __getitem__(self, index: Any) -> Any:
        """Return the grid of a slice, or of a tuple of slices.

        A slice is ``start:stop:step`` without `stop`; with an imaginary step ``5j``, five numbers with `stop`.
        Its parts may be symbolic scalars.

        Raises
        ------
        TypeError
            If an index is no slice with a `stop`.
        """
        slices = index if isinstance(index, tuple) else (index,)
        axes = [_axis_of_slice(s) for s in slices]
        if not isinstance(index, tuple):
            return axes[0]
        grids = _open_or_full(axes, list(range(len(axes))), self.sparse)
        return grids if self.sparse else stack(grids)

    def __repr__(self) -> str:
        return f"Grid(sparse={self.sparse})"


def _axis_of_slice(index: Any) -> Tensor:
    if not isinstance(index, slice) or index.stop is None:
        raise TypeError(
            format_error(f"{index!r} does not span a grid: slices with a stop do", hint="write mgrid[0:5, 0:3]")
        )
    start = 0 if index.start is None else index.start
    step = 1 if index.step is None else index.step
    if isinstance(step, (complex, np.complexfloating)):
        return linspace(start, index.stop, int(abs(complex(step))), dtype="float64")
    if isinstance(step, Variable) or step != 0:
        return arange(start, index.stop, step)
    raise ValueError(
        format_error(f"{index!r}: a step of zero goes nowhere", hint="use another step, or 5j for 5 numbers")
    )


#: Full grids: all coordinates for all points, in one tensor.
mgrid = Grid(sparse=False)
#: Open grids: the coordinates along each dimension, as tensors that broadcast against each other.
ogrid = Grid(sparse=True)


# ---- Native forms of ops that make tensors


@native_kernel.register(Alloc)
def _filled(node: Apply[Alloc, Tensor]) -> Kernel | None:
    value, *lengths = (v.type for v in node.inputs)
    return FullKernel(value.dtype, value.broadcastable) if all(n.dtype == "int64" for n in lengths) else None
