"""Ops around pooling under the names and with the arguments of Theano 1.0."""

from __future__ import annotations

from typing import Any

from theano_graph import Apply
from theano_linker_c.cop import EnumList
from theano_tensor import Tensor
from theano_tensor.signal.pool import AveragePoolGrad, MaxPoolGrad, MaxPoolGradGrad, Pool

from .._expression_ops import ExpressionOp

PoolingMode_t = EnumList(
    ("POOLING_MAX", "max"),
    ("POOLING_SUM", "sum"),
    ("POOLING_AVERAGE_COUNT_INCLUDE_PADDING", "average_inc_pad"),
    ("POOLING_AVERAGE_COUNT_EXCLUDE_PADDING", "average_exc_pad"),
)


class DownsampleFactorMaxGradGrad(MaxPoolGradGrad):
    """The elements of another tensor at the first largest element of each window.

    Parameters
    ----------
    ignore_border : bool
    mode : {'max'}
    ndim : int
    openmp : optional
        Accepted for old programs.
    """

    def __init__(self, ignore_border: bool, mode: str = "max", ndim: int = 2, openmp: Any = None) -> None:
        super().__init__(ignore_border, ndim)


class MaxPoolRop(ExpressionOp):
    """The derivative of pooling along a direction `eval_point` in which a tensor changes.

    Parameters
    ----------
    ignore_border : bool
    mode : {'max', 'sum', 'average_inc_pad', 'average_exc_pad'}
    ndim : int
    openmp : optional
        Accepted for old programs.

    Examples
    --------
    >>> from theano.tensor.signal import pool
    >>> pool.MaxPoolRop()([[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]], (2, 2)).eval()
    array([[8.]])
    """

    __props__ = ("ignore_border", "mode", "ndim")

    def __init__(self, ignore_border: bool = False, mode: str = "max", ndim: int = 2, openmp: Any = None) -> None:
        self.pool = Pool(ignore_border, mode, ndim)
        self.ignore_border, self.mode, self.ndim = self.pool.ignore_border, self.pool.mode, self.pool.ndim

    def operands(self, x: Any, eval_point: Any, ws: Any, stride: Any = None, pad: Any = None) -> list[Any]:
        """Take a tensor, a tensor of its shape, and the layout of the windows."""
        pooled = self.pool.make_node(x, ws, stride, pad)
        return [pooled.inputs[0], self.pool.make_node(eval_point, ws, stride, pad).inputs[0], *pooled.inputs[1:]]

    def expression(self, x: Any, eval_point: Any, *layout: Any) -> list[Tensor]:
        """Return the derivative."""
        if self.mode != "max":
            return [self.pool(eval_point, *layout)]
        return [MaxPoolGradGrad(self.ignore_border, self.ndim)(x, self.pool(x, *layout), eval_point, *layout)]


class PoolGrad(Pool):
    """Base of the gradients of pooling: :class:`MaxPoolGrad` for the largest elements, :class:`AveragePoolGrad` else.

    It has the rule for shapes, `out_shape`; applying it gives the gradient for its mode.

    Parameters
    ----------
    ignore_border : bool
    mode : {'max', 'sum', 'average_inc_pad', 'average_exc_pad'}
    ndim : int
    openmp : optional
        Accepted for old programs.
    """

    def __init__(self, ignore_border: bool, mode: str = "max", ndim: int = 2, openmp: Any = None) -> None:
        super().__init__(ignore_border, mode, ndim)

    def make_node(self, x: Any, *rest: Any, **layout: Any) -> Apply:
        """Apply the gradient for the mode to a tensor, its further operands, and the layout of the windows."""
        if self.mode == "max":
            return MaxPoolGrad(self.ignore_border, self.ndim).make_node(x, *rest, **layout)
        return AveragePoolGrad(self.ignore_border, self.mode, self.ndim).make_node(x, *rest, **layout)
