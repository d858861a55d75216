"""Elements by number along an axis, and slices by a condition."""

from __future__ import annotations

from typing import Any

from theano_graph import describe, format_error

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._type import Tensor
from .._errors import ShapeError
from .._protocols._methods import operation
from ..elemwise import clip, mod, neq
from ..shape import flatten, shape_i
from ._advanced._read import as_index
from ._getitem import getitem
from ._nonzero import flatnonzero


@operation("take")
def take(a: TensorLike, indices: TensorLike, axis: int | None = None, mode: str = "raise") -> Tensor:
    """Return elements, or slices along an axis, by their numbers.

    Parameters
    ----------
    a : tensor_like
    indices : tensor_like of int
        Of any shape.
    axis : int, optional
        Along which is taken; by default of the flattened tensor.
    mode : {"raise", "clip", "wrap"}
        Numbers out of range are an error; are replaced by the nearest in range (negative ones by 0); are taken modulo
        the length.

    Returns
    -------
    Tensor
        With the dimensions of `indices` in the place of `axis`.

    Raises
    ------
    ValueError
        If the mode is none of these.
    ShapeError
        If there is no such axis.
    IndexError
        When it runs, in mode "raise", for a number out of range.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.take(T.dmatrix("x"), [[0, 2], [1, 1]], axis=1).type.shape
    (None, 2, 2)
    """
    variable, index = as_tensor_variable(a), as_index(indices)
    check_mode("take", mode)
    if axis is None:
        variable, axis = flatten(variable), 0
    axis = _checked_axis("take", axis, variable)
    if index.type.dtype == "bool":
        index = index.astype("int64")
    if mode != "raise":
        length = shape_i(variable, axis)
        index = clip(index, 0, length - 1) if mode == "clip" else mod(index, length)
        index = index.astype("int64")
    return getitem(variable, (*[slice(None)] * axis, index))


def check_mode(name: str, mode: Any) -> None:
    """Refuse an unknown treatment of numbers out of range."""
    if mode not in ("raise", "clip", "wrap"):
        raise ValueError(format_error(f"{name}: {mode!r} is no mode", hint='use "raise", "clip" or "wrap"'))


def _checked_axis(name: str, axis: object, x: Tensor) -> int:
    if isinstance(axis, (bool, Tensor)) or not hasattr(axis, "__index__"):
        raise ShapeError(
            format_error(f"{name}: {axis!r} is no axis", context=[describe(x)], hint="give an int or None")
        )
    number = int(axis.__index__())
    if not -x.type.ndim <= number < x.type.ndim:
        raise ShapeError(
            format_error(
                f"{name}: axis {number} is out of range for {x.type.ndim} dimensions",
                context=[describe(x)],
                hint=f"give an axis from {-x.type.ndim} to {x.type.ndim - 1}",
            )
        )
    return number % x.type.ndim


@operation("compress")
def compress(condition: TensorLike, x: TensorLike, axis: int | None = None) -> Tensor:
    """Return the slices of `x` along an axis where a condition is not zero.

    Parameters
    ----------
    condition : tensor_like
        A vector. It may be shorter than the axis: elements beyond it are left out.
    x : tensor_like
    axis : int, optional
        By default `x` is flattened.

    Raises
    ------
    ShapeError
        If the condition is no vector, or there is no such axis.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.compress([0, 1], T.dmatrix("x"), axis=0).type
    TensorType(float64, matrix)
    """
    chosen = as_tensor_variable(condition)
    if chosen.type.ndim != 1:
        raise ShapeError(
            format_error("compress: the condition must be a vector", context=[describe(chosen)], hint="flatten it")
        )
    return take(x, flatnonzero(neq(chosen, 0)), axis=axis)
