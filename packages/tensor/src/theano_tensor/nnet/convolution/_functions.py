"""Convolutions of tensors along one, two and three axes, their gradients, and functions made of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from theano_graph import config, describe, format_error

from ..._core._convert import as_tensor_variable
from ..._core._dtypes import TensorLike
from ..._core._type import Tensor
from ..._errors import ShapeError
from ...elemwise import dimshuffle
from ._lengths import BorderMode, assert_shape
from ._ops import AbstractConv, AbstractConv_gradInputs, AbstractConv_gradWeights, BaseAbstractConv, register_special

# ---- Convolutions along two and three axes


class _Conv2d(BaseAbstractConv):
    """The common part of convolutions along rows and columns: their constructor."""

    def __init__(
        self,
        imshp: Sequence[Any] | None = None,
        kshp: Sequence[Any] | None = None,
        border_mode: BorderMode = "valid",
        subsample: int | Sequence[Any] = (1, 1),
        filter_flip: bool = True,
        filter_dilation: int | Sequence[Any] = (1, 1),
        num_groups: int = 1,
        unshared: bool = False,
    ) -> None:
        super().__init__(2, imshp, kshp, border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared)


class _Conv3d(BaseAbstractConv):
    """The common part of convolutions along depth, rows and columns: their constructor."""

    def __init__(
        self,
        imshp: Sequence[Any] | None = None,
        kshp: Sequence[Any] | None = None,
        border_mode: BorderMode = "valid",
        subsample: int | Sequence[Any] = (1, 1, 1),
        filter_flip: bool = True,
        filter_dilation: int | Sequence[Any] = (1, 1, 1),
        num_groups: int = 1,
    ) -> None:
        super().__init__(3, imshp, kshp, border_mode, subsample, filter_flip, filter_dilation, num_groups)


class AbstractConv2d(_Conv2d, AbstractConv):
    """Convolution of images with filters; see :class:`BaseAbstractConv`."""


class AbstractConv2d_gradInputs(_Conv2d, AbstractConv_gradInputs):
    """Gradient of a convolution by its images."""


class AbstractConv2d_gradWeights(_Conv2d, AbstractConv_gradWeights):
    """Gradient of a convolution by its filters."""


class AbstractConv3d(_Conv3d, AbstractConv):
    """Convolution of volumes with filters; see :class:`BaseAbstractConv`."""


class AbstractConv3d_gradInputs(_Conv3d, AbstractConv_gradInputs):
    """Gradient of a convolution of volumes by these."""


class AbstractConv3d_gradWeights(_Conv3d, AbstractConv_gradWeights):
    """Gradient of a convolution of volumes by its filters."""


register_special(AbstractConv, 2, AbstractConv2d)
register_special(AbstractConv_gradInputs, 2, AbstractConv2d_gradInputs)
register_special(AbstractConv_gradWeights, 2, AbstractConv2d_gradWeights)
register_special(AbstractConv, 3, AbstractConv3d)
register_special(AbstractConv_gradInputs, 3, AbstractConv3d_gradInputs)
register_special(AbstractConv_gradWeights, 3, AbstractConv3d_gradWeights)


# ---- Convolutions of tensors, their gradients, and functions made of them

Shape = Sequence[Any] | None
INPUT, FILTERS = "the input of a convolution", "the filters of a convolution"


def checked(x: TensorLike, shape: Shape, what: str) -> Tensor:
    """Return an operand; its shape is compared with the user's where the flag asks for it."""
    variable = as_tensor_variable(x)
    if not config.conv.assert_shape or shape is None or len(shape) != variable.type.ndim:
        return variable
    return assert_shape(variable, shape, f"{what} has not the shape that was given for it")


def conv2d(
    input: TensorLike,
    filters: TensorLike,
    input_shape: Shape = None,
    filter_shape: Shape = None,
    border_mode: BorderMode = "valid",
    subsample: int | Sequence[Any] = (1, 1),
    filter_flip: bool = True,
    image_shape: Shape = None,
    filter_dilation: int | Sequence[Any] = (1, 1),
    num_groups: int = 1,
    unshared: bool = False,
    **kwargs: Any,
) -> Tensor:
    """Convolve a batch of stacks of images with a set of filters.

    Parameters
    ----------
    input : tensor_like
        Of shape (batch size, input channels, rows, columns).
    filters : tensor_like
        Of shape (output channels, input channels, rows, columns); unshared ones (output channels, output rows, output
        columns, input channels, rows, columns). With groups, the input channels of one group.
    input_shape, filter_shape : sequence of (int, constant or None), optional
        The shapes. They are checked at run time where the flag ``conv.assert_shape`` is set.
    border_mode : {'valid', 'full', 'half'}, int, or pair of (int or pair of int)
        Zeros around the images: none, ``filter - 1``, ``filter // 2``, a width, or a width for rows and one for
        columns, either of which may be a pair for both sides.
    subsample : pair of int
        Steps of the filters (strides).
    filter_flip : bool
        Whether filters are flipped; without, this is a cross-correlation.
    image_shape : optional
        The former name of `input_shape`.
    filter_dilation : pair of int
        Distances of elements that neighbouring elements of a filter meet.
    num_groups : int
        Channels are divided into so many groups that are convolved separately.
    unshared : bool
        Whether each position of the result has filters of its own.
    **kwargs
        Accepted for old programs, and ignored with a warning.

    Returns
    -------
    Tensor
        Of shape (batch size, output channels, output rows, output columns).

    Raises
    ------
    ShapeError
        If a number of dimensions is wrong.
    ValueError
        If an argument is unknown; at run time if shapes do not fit.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.conv2d([[[[1.0, 2.0, 3.0]]]], [[[[1.0, 10.0]]]]).eval()
    array([[[[12., 23.]]]])
    """
    if kwargs:
        warnings.warn(f"conv2d ignores {', '.join(sorted(kwargs))}", DeprecationWarning, stacklevel=2)
    if image_shape is not None:
        if input_shape is not None:
            raise ValueError(
                format_error("conv2d: input_shape and image_shape are the same", hint="give input_shape only")
            )
        warnings.warn("conv2d: image_shape is called input_shape now", DeprecationWarning, stacklevel=2)
        input_shape = image_shape
    return abstract_conv2d(
        input,
        filters,
        input_shape,
        filter_shape,
        border_mode,
        subsample,
        filter_flip,
        filter_dilation,
        num_groups,
        unshared,
    )


def abstract_conv2d(
    input: TensorLike,
    filters: TensorLike,
    input_shape: Shape = None,
    filter_shape: Shape = None,
    border_mode: BorderMode = "valid",
    subsample: int | Sequence[Any] = (1, 1),
    filter_flip: bool = True,
    filter_dilation: int | Sequence[Any] = (1, 1),
    num_groups: int = 1,
    unshared: bool = False,
) -> Tensor:
    """Convolve images with filters: :func:`conv2d` without its former arguments.

    Examples
    --------
    >>> import theano.tensor as T
    >>> images, filters = [[[[1.0, 2.0, 3.0]]]], [[[[1.0, 10.0]]]]
    >>> T.nnet.abstract_conv2d(images, filters, None, None, "valid", (1, 1), False, (1, 2)).eval()
    array([[[[31.]]]])
    """
    op = AbstractConv2d(
        input_shape, filter_shape, border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared
    )
    return _applied(op, input, filters, input_shape, filter_shape)


def _applied(
    op: BaseAbstractConv, x: TensorLike, filters: TensorLike, input_shape: Shape, filter_shape: Shape
) -> Tensor:
    result: Tensor = op(checked(x, input_shape, INPUT), checked(filters, filter_shape, FILTERS))
    return result


def conv3d(
    input: TensorLike,
    filters: TensorLike,
    input_shape: Shape = None,
    filter_shape: Shape = None,
    border_mode: BorderMode = "valid",
    subsample: int | Sequence[Any] = (1, 1, 1),
    filter_flip: bool = True,
    filter_dilation: int | Sequence[Any] = (1, 1, 1),
    num_groups: int = 1,
) -> Tensor:
    """Convolve a batch of stacks of volumes with a set of filters.

    Parameters
    ----------
    input : tensor_like
        Of shape (batch size, input channels, depth, rows, columns).
    filters : tensor_like
        Of shape (output channels, input channels, depth, rows, columns).
    input_shape, filter_shape, border_mode, subsample, filter_flip, filter_dilation, num_groups
        As for :func:`conv2d`, with three axes.

    Returns
    -------
    Tensor
        Of shape (batch size, output channels, depth, rows, columns).

    Raises
    ------
    ShapeError, ValueError
        As :func:`conv2d`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.nnet.conv3d([[[[[1.0, 2.0, 3.0]]]]], [[[[[1.0, 10.0]]]]], filter_flip=False).eval()
    array([[[[[21., 32.]]]]])
    """
    op = AbstractConv3d(input_shape, filter_shape, border_mode, subsample, filter_flip, filter_dilation, num_groups)
    return _applied(op, input, filters, input_shape, filter_shape)


def separable_conv2d(
    input: TensorLike,
    depthwise_filters: TensorLike,
    pointwise_filters: TensorLike,
    num_channels: int,
    input_shape: Shape = None,
    depthwise_filter_shape: Shape = None,
    pointwise_filter_shape: Shape = None,
    border_mode: BorderMode = "valid",
    subsample: int | Sequence[Any] = (1, 1),
    filter_flip: bool = True,
    filter_dilation: int | Sequence[Any] = (1, 1),
) -> Tensor:
    """Convolve each channel for itself, then mix the channels at each position.

    Parameters
    ----------
    input : tensor_like
        Of shape (batch size, input channels, rows, columns).
    depthwise_filters : tensor_like
        Of shape (channels in between, 1, rows, columns); so many filters for each input channel.
    pointwise_filters : tensor_like
        Of shape (output channels, channels in between, 1, 1).
    num_channels : int
        Number of input channels.
    input_shape, depthwise_filter_shape, pointwise_filter_shape : sequence, optional
    border_mode, subsample, filter_flip, filter_dilation
        Of the first step; as for :func:`conv2d`.

    Returns
    -------
    Tensor
        Of shape (batch size, output channels, rows, columns).

    Raises
    ------
    ShapeError, ValueError
        As :func:`conv2d`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, d, p = [[[[1.0, 2.0]], [[3.0, 4.0]]]], [[[[1.0]]], [[[10.0]]]], [[[[1.0]], [[1.0]]]]
    >>> T.nnet.separable_conv2d(x, d, p, 2).eval()
    array([[[[31., 42.]]]])
    """
    between = conv2d(
        input,
        depthwise_filters,
        input_shape,
        depthwise_filter_shape,
        border_mode,
        subsample,
        filter_flip,
        filter_dilation=filter_dilation,
        num_groups=num_channels,
    )
    return conv2d(between, pointwise_filters, None, pointwise_filter_shape, filter_flip=filter_flip)


def separable_conv3d(
    input: TensorLike,
    depthwise_filters: TensorLike,
    pointwise_filters: TensorLike,
    num_channels: int,
    input_shape: Shape = None,
    depthwise_filter_shape: Shape = None,
    pointwise_filter_shape: Shape = None,
    border_mode: BorderMode = "valid",
    subsample: int | Sequence[Any] = (1, 1, 1),
    filter_flip: bool = True,
    filter_dilation: int | Sequence[Any] = (1, 1, 1),
) -> Tensor:
    """Convolve each channel of volumes for itself, then mix the channels; see :func:`separable_conv2d`."""
    between = conv3d(
        input,
        depthwise_filters,
        input_shape,
        depthwise_filter_shape,
        border_mode,
        subsample,
        filter_flip,
        filter_dilation,
        num_channels,
    )
    return conv3d(between, pointwise_filters, None, pointwise_filter_shape, filter_flip=filter_flip)


def causal_conv1d(
    input: TensorLike,
    filters: TensorLike,
    filter_shape: Sequence[Any],
    input_shape: Shape = None,
    subsample: int = 1,
    filter_flip: bool = True,
    filter_dilation: int = 1,
    num_groups: int = 1,
    unshared: bool = False,
) -> Tensor:
    """Convolve sequences such that a result depends on nothing later: zeros are put before, none behind.

    Parameters
    ----------
    input : tensor_like
        Of shape (batch size, input channels, length).
    filters : tensor_like
        Of shape (output channels, input channels, length of filters).
    filter_shape : sequence of (int, constant or None)
        Shape of the filters; the last entry must be known.
    input_shape : sequence, optional
    subsample, filter_flip, filter_dilation, num_groups, unshared
        As for :func:`conv2d`, with one axis. Unshared filters have the length of the result behind the first dimension.

    Returns
    -------
    Tensor
        Of shape (batch size, output channels, output length).

    Raises
    ------
    ShapeError, ValueError
        As :func:`conv2d`.

    Examples
    --------
    >>> from theano.tensor.nnet import abstract_conv
    >>> abstract_conv.causal_conv1d([[[1.0, 2.0, 3.0]]], [[[1.0, 10.0]]], (1, 1, 2)).eval()
    array([[[ 1., 12., 23.]]])
    """
    x, kernel = as_tensor_variable(input), as_tensor_variable(filters)
    n_dims = 4 if unshared else 3
    if x.type.ndim != 3 or kernel.type.ndim != n_dims:
        raise ShapeError(
            format_error(
                f"causal_conv1d takes three dimensions, and filters with {n_dims}",
                context=[describe(x), describe(kernel)],
                hint="batch and channels come first",
            )
        )
    length = filter_shape[-1]
    if length is None:
        raise ValueError(
            format_error("causal_conv1d: the length of the filters is not known", hint="say filter_shape[-1]")
        )
    before = (int(getattr(length, "data", length)) - 1) * filter_dilation
    order: list[int | str] = [0, 1, "x", 2, 3, "x"] if unshared else [0, 1, 2, "x"]
    result = conv2d(
        dimshuffle(x, [0, 1, 2, "x"]),
        dimshuffle(kernel, order),
        None if input_shape is None else (*input_shape, 1),
        None if unshared else (*filter_shape, 1),
        ((before, 0), 0),
        (subsample, 1),
        filter_flip,
        filter_dilation=(filter_dilation, 1),
        num_groups=num_groups,
        unshared=unshared,
    )
    return dimshuffle(result, [0, 1, 2])
