"""Largest elements and their positions on devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_tensor import as_tensor_variable
from theano_tensor.reduce import ArgMax, Max

from ..tensor._expression_ops import ExpressionOp
from ._ops import OnDevice


class _LargestAndPosition(ExpressionOp):
    """The largest elements over axes, and where they are among them."""

    __props__ = ("axis",)

    def __init__(self, axis: Sequence[int] | int) -> None:
        self.axis = (axis,) if isinstance(axis, int) else tuple(axis)

    def get_params(self, node: Any) -> tuple[int, ...]:
        """Return the axes."""
        return self.axis

    def operands(self, x: Any) -> list[Any]:
        """Take an array."""
        return [as_tensor_variable(x)]

    def expression(self, x: Any) -> list[Any]:
        """Return the largest elements, and their positions as int64."""
        return [Max(self.axis)(x), ArgMax(self.axis)(x)]


class GpuMaxAndArgmax(OnDevice, _LargestAndPosition):
    """The largest elements of an array on a device over axes, and where they are among these.

    Parameters
    ----------
    axis : int or sequence of int
    """
