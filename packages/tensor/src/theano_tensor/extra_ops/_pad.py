"""Tensors made longer at both ends of each axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano_graph import describe, format_error

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._type import Tensor
from .._errors import ShapeError
from ..creation import arange, full
from ..elemwise import cast, clip, minimum, mod
from ..indexing import set_subtensor, take
from ..shape import as_length, shape_i

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
