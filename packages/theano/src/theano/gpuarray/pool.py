"""Pooling on devices."""

from __future__ import annotations

from typing import Any

from ..tensor.signal._pool_ops import MaxPoolRop
from ._ops import OnDevice


class GpuMaxPoolRop(OnDevice, MaxPoolRop):
    """The derivative of pooling along a direction in which images on a device change.

    Parameters
    ----------
    ignore_border : bool
    mode : {'max', 'sum', 'average_inc_pad', 'average_exc_pad'}
    ndim : int
    """

    moved = 2

    def __init__(self, ignore_border: bool, mode: str = "max", ndim: int = 2) -> None:
        super().__init__(ignore_border, mode, ndim)

    def operands(self, inp: Any, eval_point: Any, ws: Any, stride: Any = None, pad: Any = None) -> list[Any]:
        """Take images, a direction, and the layout of the windows."""
        return super().operands(inp, eval_point, ws, stride, pad)
