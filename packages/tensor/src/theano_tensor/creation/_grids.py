"""Evenly spaced numbers, and the grids that they span."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import Variable, config, describe, format_error
from theano_linker_c.scalar import upcast

from .._core._convert import as_tensor_variable
from .._core._dtypes import DISCRETE_DTYPES, DTypeLike, TensorLike, canonical_dtype
from .._core._type import Tensor
from .._errors import ShapeError
from ..elemwise import cast, dimshuffle, maximum
from ..joining import stack
from ..shape import as_length, shape_i
from ._alloc import alloc
from ._ranges import arange


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
