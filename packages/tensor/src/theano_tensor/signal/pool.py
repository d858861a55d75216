"""Pooling: images made smaller by taking one number for each window."""

from __future__ import annotations

import warnings
from typing import Any

from theano_graph import format_error

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._type import Tensor
from ..shape import as_lengths
from ._core import renamed
from ._ops import (
    AveragePoolGrad as AveragePoolGrad,
    MaxPoolGrad as MaxPoolGrad,
    MaxPoolGradGrad as MaxPoolGradGrad,
    Pool as Pool,
)

__all__ = ["AveragePoolGrad", "MaxPoolGrad", "MaxPoolGradGrad", "Pool", "max_pool_2d_same_size", "pool_2d", "pool_3d"]


def _pooled(
    ndim: int,
    input: TensorLike,
    ws: TensorLike | None,
    ignore_border: bool | None,
    stride: TensorLike | None,
    pad: TensorLike | None,
    mode: str,
    former: tuple[Any, Any, Any],
) -> Tensor:
    ds, st, padding = former
    ws, stride = renamed("ds", "ws", ws, ds), renamed("st", "stride", stride, st)
    pad = renamed("padding", "pad", None if pad == (0,) * ndim else pad, padding)
    if ws is None:
        raise ValueError(format_error("pooling: the windows have no size", hint=f"give ws, {ndim} integers"))
    if ignore_border is None:
        warnings.warn(
            "pooling: ignore_border is not given, and False is taken: windows may reach over the border. "
            "Say which is meant.",
            UserWarning,
            stacklevel=3,
        )
        ignore_border = False
    windows = ws if isinstance(ws, (tuple, list)) else as_lengths(ws, ndim)
    result: Tensor = Pool(ignore_border, mode, ndim)(input, windows, stride, pad)
    return result


def pool_2d(
    input: TensorLike,
    ws: TensorLike | None = None,
    ignore_border: bool | None = None,
    stride: TensorLike | None = None,
    pad: TensorLike = (0, 0),
    mode: str = "max",
    ds: TensorLike | None = None,
    st: TensorLike | None = None,
    padding: TensorLike | None = None,
) -> Tensor:
    """Pool over windows of the last two axes.

    Parameters
    ----------
    input : tensor_like
        With at least two dimensions.
    ws : pair of int, or vector of integers
        Height and width of the windows.
    ignore_border : bool, optional
        Whether windows that reach over the border are left out: 5 x 5 with windows of 2 x 2 gives 2 x 2 then, and
        3 x 3 otherwise. Without it there is a warning, and False is taken.
    stride : pair of int, or vector of integers, optional
        Steps of the windows; their own size by default.
    pad : pair of int, or vector of integers, optional
        Widths of borders of zeros above and below, and to the left and right. Needs `ignore_border`; smaller than the
        windows.
    mode : {'max', 'sum', 'average_inc_pad', 'average_exc_pad'}
        The result for each window: the largest element, or the sum, without the padding; or the mean, with or
        without it.
    ds, st, padding : optional
        Former names of `ws`, `stride` and `pad`.

    Returns
    -------
    Tensor
        With as many dimensions as `input`. The gradient of 'max' goes to the first of several largest elements.

    Raises
    ------
    ValueError
        If `mode` is unknown, `ws` missing, or an argument given twice; at run time if the windows cannot be. Padding
        that cannot be raises one that is a NotImplementedError as well, right away where it is given as numbers.
    ShapeError
        If numbers of dimensions or entries do not fit.
    DTypeError
        For complex numbers.

    Examples
    --------
    >>> from theano.tensor.signal import pool
    >>> pool.pool_2d([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], (2, 2), ignore_border=False).eval()
    array([[5., 6.]])
    """
    return _pooled(2, input, ws, ignore_border, stride, pad, mode, (ds, st, padding))


def pool_3d(
    input: TensorLike,
    ws: TensorLike | None = None,
    ignore_border: bool | None = None,
    stride: TensorLike | None = None,
    pad: TensorLike = (0, 0, 0),
    mode: str = "max",
    ds: TensorLike | None = None,
    st: TensorLike | None = None,
    padding: TensorLike | None = None,
) -> Tensor:
    """Pool over windows of the last three axes; as :func:`pool_2d`, with three numbers for each argument.

    Examples
    --------
    >>> from theano.tensor.signal import pool
    >>> pool.pool_3d([[[1.0, 2.0]], [[3.0, 4.0]]], (2, 1, 2), ignore_border=True, mode="sum").eval()
    array([[[10.]]])
    """
    return _pooled(3, input, ws, ignore_border, stride, pad, mode, (ds, st, padding))


def max_pool_2d_same_size(input: TensorLike, patch_size: TensorLike) -> Tensor:
    """Keep the largest element of each window, and make the others zero.

    Parameters
    ----------
    input : tensor_like
        With at least two dimensions; windows do not overlap, and elements of windows over the border are zero.
    patch_size : pair of int, or vector of integers
        Height and width of the windows.

    Returns
    -------
    Tensor
        Of the shape of `input`.

    Raises
    ------
    ShapeError, DTypeError, ValueError
        As :func:`pool_2d`.

    Examples
    --------
    >>> from theano.tensor.signal import pool
    >>> pool.max_pool_2d_same_size([[1.0, 2.0, 5.0, 5.0], [4.0, 3.0, 5.0, 5.0]], (2, 2)).eval()
    array([[0., 0., 5., 0.],
           [4., 0., 0., 0.]])
    """
    x, windows = as_tensor_variable(input), as_lengths(patch_size, 2)
    layout = (windows, windows, (0, 0))
    largest = Pool(True, "max", 2)(x, *layout)
    result: Tensor = MaxPoolGrad(True, 2)(x, largest, largest, *layout)
    return result
