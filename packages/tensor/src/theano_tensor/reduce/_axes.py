"""Axes of reductions, and the dtypes of sums."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from theano_graph import Constant, describe, format_error
from theano_linker_c.scalar import upcast

from .._core._dtypes import AxisLike
from .._core._type import Tensor
from .._errors import ShapeError

Axes = tuple[int, ...]


def as_axes(axis: AxisLike) -> Axes | None:
    """Return `axis` (None, an int, a constant, or several of these) as a tuple, or None for all axes."""
    if isinstance(axis, Constant):
        axis = axis.data
    if axis is None:
        return None
    if isinstance(axis, (int, np.number)) or (isinstance(axis, np.ndarray) and axis.ndim == 0):
        return (_as_int(axis),)
    if isinstance(axis, Iterable) and not isinstance(axis, (str, bytes)):
        return tuple(_as_int(a.data if isinstance(a, Constant) else a) for a in axis)
    raise TypeError(format_error(f"{axis!r} is no axis", hint="use None (all axes), a number, or a tuple of numbers"))


def _as_int(axis: object) -> int:
    if (not isinstance(axis, bool) and isinstance(axis, (int, np.integer))) or (
        isinstance(axis, np.ndarray) and axis.ndim == 0 and axis.dtype.kind in "iu"
    ):
        return int(axis)
    if isinstance(axis, (float, np.floating)) and float(axis).is_integer():
        return int(axis)
    raise TypeError(
        format_error(f"{axis!r} is no axis: it must be known while the expression is built", hint="use a Python int")
    )


def normal_axes(name: str, axes: Axes | None, x: Tensor) -> Axes | None:
    """Return `axes` without negative numbers, sorted; None if they are all axes of `x`.

    Raises
    ------
    ShapeError
        If an axis is out of range or given twice.
    """
    if axes is None:
        return None
    ndim = x.type.ndim
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise ShapeError(
                format_error(
                    f"{name}: axis {axis} is out of range for {ndim} dimensions",
                    context=[describe(x)],
                    hint=f"use an axis from {-ndim} to {ndim - 1}"
                    if ndim
                    else "leave the axis out: the tensor is a scalar",
                )
            )
    normal = tuple(sorted(axis % ndim for axis in axes))
    if len(set(normal)) != len(normal):
        raise ShapeError(
            format_error(f"{name}: an axis is given twice in {axes}", context=[describe(x)], hint="name each axis once")
        )
    return None if len(normal) == ndim and ndim else normal


def sum_dtype(dtype: str) -> str:
    """Return the default dtype of a sum or product: small integers and bool become int64 or uint64, others stay."""
    if dtype in ("bool", "int8", "int16", "int32"):
        return "int64"
    if dtype in ("uint8", "uint16", "uint32"):
        return "uint64"
    return dtype


def accumulator_dtype(dtype: str) -> str:
    """Return the default dtype of an accumulator: the next wider one of floats, 64 bits for others."""
    if dtype == "float16":
        return "float32"
    if dtype == "float32":
        return "float64"
    if dtype == "complex64":
        return "complex128"
    return sum_dtype(dtype)


def combined_accumulator(dtype: str, result: str) -> str:
    """Return the default accumulator for an input of `dtype` and a result of `result`."""
    return accumulator_dtype(upcast(dtype, result) if result.startswith(("float", "complex")) else dtype)
