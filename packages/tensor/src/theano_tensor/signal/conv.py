"""Convolution of images, or stacks of them, with single filters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import describe, format_error

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._type import Tensor
from .._errors import ShapeError
from ..elemwise import dimshuffle
from ..nnet.convolution import former_conv2d

__all__ = ["conv2d"]


def conv2d(
    input: TensorLike,
    filters: TensorLike,
    image_shape: Sequence[Any] | None = None,
    filter_shape: Sequence[Any] | None = None,
    border_mode: str = "valid",
    subsample: Sequence[int] = (1, 1),
    **kargs: Any,
) -> Tensor:
    """Convolve one image, or several, with one filter, or several: each image with each filter.

    Parameters
    ----------
    input : tensor_like
        Of shape (rows, columns), or (images, rows, columns).
    filters : tensor_like
        Of shape (rows, columns), or (filters, rows, columns).
    image_shape, filter_shape : sequence of (int or None), optional
        Their shapes.
    border_mode : {'valid', 'full'}
        As in :func:`scipy.signal.convolve2d`.
    subsample : pair of int
        Of the result.
    **kargs
        Those of :func:`theano_tensor.nnet.convolution.former_conv2d`.

    Returns
    -------
    Tensor
        Of shape ([images], [filters], rows, columns), with a dimension for each operand that has one for several.

    Raises
    ------
    ShapeError
        If an operand has neither two nor three dimensions, or a shape a wrong number of entries.
    ValueError, TypeError
        As :func:`theano_tensor.nnet.convolution.former_conv2d`.

    Examples
    --------
    >>> from theano.tensor.signal import conv
    >>> conv.conv2d([[1.0, 2.0, 3.0]], [[1.0, 10.0]], border_mode="full").eval()
    array([[ 1., 12., 23., 30.]])
    """
    images, kernel = as_tensor_variable(input), as_tensor_variable(filters)
    for variable, shape in ((images, image_shape), (kernel, filter_shape)):
        if variable.type.ndim not in (2, 3) or (shape is not None and len(shape) != variable.type.ndim):
            raise ShapeError(
                format_error(
                    f"signal.conv2d takes two or three dimensions, not {variable.type.ndim} of shape {shape}",
                    context=[describe(images), describe(kernel)],
                    hint="use nnet.conv2d for images with channels",
                )
            )
    result = former_conv2d(
        _with_channels(images),
        _with_channels(kernel),
        _shape_with_channels(image_shape),
        _shape_with_channels(filter_shape),
        border_mode,
        subsample,
        **kargs,
    )
    missing = [i for i, variable in ((0, images), (1, kernel)) if variable.type.ndim == 3]
    return dimshuffle(result, [*missing, 2, 3])


def _with_channels(x: Tensor) -> Tensor:
    """Return a stack of images as images with one channel."""
    return dimshuffle(x, ["x", "x", 0, 1] if x.type.ndim == 2 else [0, "x", 1, 2])


def _shape_with_channels(shape: Sequence[Any] | None) -> Sequence[Any] | None:
    if shape is None:
        return None
    return (1, 1, *shape) if len(shape) == 2 else (shape[0], 1, *shape[1:])
