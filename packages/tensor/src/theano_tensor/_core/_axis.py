"""One axis of a tensor, as users give it."""

from __future__ import annotations

from theano_graph import describe, format_error

from .._errors import AxisError
from ._variable import Tensor


def one_axis(name: str, axis: object, x: Tensor, extra: int = 0) -> int:
    """Return `axis` as a number from 0 up.

    Parameters
    ----------
    name : str
        The operation, for errors.
    axis : int
        Also a NumPy integer, or a constant variable that holds one.
    x : Tensor
    extra : int
        How many dimensions the result has more than `x`, if `axis` is one of the result.

    Raises
    ------
    TypeError
        If `axis` is no integer.
    AxisError
        If there is no such axis.
    """
    number = getattr(axis, "data", axis) if isinstance(axis, Tensor) else axis
    if isinstance(number, (bool, Tensor)) or not hasattr(number, "__index__"):
        raise TypeError(
            format_error(
                f"{name}: {axis!r} is no axis: it must be a number that is known while the expression is built",
                context=[describe(x)],
                hint="use a Python int",
            )
        )
    ndim = x.type.ndim + extra
    axis_number = int(number.__index__())
    if not -ndim <= axis_number < ndim:
        raise AxisError(
            format_error(
                f"{name}: axis {axis_number} is out of range for {ndim} dimensions",
                context=[describe(x)],
                hint=f"use an axis from {-ndim} to {ndim - 1}" if ndim else "the tensor is a scalar: flatten it first",
            )
        )
    return axis_number % ndim
