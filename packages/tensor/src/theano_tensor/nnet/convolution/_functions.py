"""Convolutions of tensors, their gradients, and what is made of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from theano_graph import compose, config, describe

from ..._convert import as_tensor_variable
from ..._errors import ShapeError
from ..._variable import Tensor
from ...elemwise import dimshuffle
from ...shape import lengths_of
from ._dimensions import (
    AbstractConv2d,
    AbstractConv2d_gradInputs,
    AbstractConv2d_gradWeights,
    AbstractConv3d,
    AbstractConv3d_gradInputs,
    AbstractConv3d_gradWeights,
)
from ._lengths import assert_conv_shape, assert_shape, get_conv_gradinputs_shape, get_conv_gradweights_shape
from ._ops import BaseAbstractConv

Shape = Sequence[Any] | None
_INPUT, _FILTERS = "the input of a convolution", "the filters of a convolution"


def _checked(x: Any, shape: Shape, what: str) -> Tensor:
    """Return an operand; its shape is compared with what the user has said where the flag asks for it."""
    variable = as_tensor_variable(x)
    if not config.conv.assert_shape or shape is None or len(shape) != variable.type.ndim:
        return variable
    return assert_shape(variable, shape, f"{what} has not the shape that was given for it")


def conv2d(
    input: Any,
    filters: Any,
    input_shape: Shape = None,
    filter_shape: Shape = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1),
    filter_flip: bool = True,
    image_shape: Shape = None,
    filter_dilation: Any = (1, 1),
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
        Whether filters are turned over; without, this is a cross-correlation.
    image_shape : optional
        The former name of `input_shape`.
    filter_dilation : pair of int
        Distances of elements that neighbouring elements of a filter meet.
    num_groups : int
        Channels are divided into so many groups that are convolved separately.
    unshared : bool
        Whether each place of the result has filters of its own.
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
    >>> conv2d([[[[1.0, 2.0, 3.0]]]], [[[[1.0, 10.0]]]]).eval()
    array([[[[12., 23.]]]])
    """
    if kwargs:
        warnings.warn(f"conv2d ignores {', '.join(sorted(kwargs))}", DeprecationWarning, stacklevel=2)
    if image_shape is not None:
        if input_shape is not None:
            raise ValueError(compose("conv2d: input_shape and image_shape are the same", mend="give input_shape only"))
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
    input: Any,
    filters: Any,
    input_shape: Shape = None,
    filter_shape: Shape = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1),
    num_groups: int = 1,
    unshared: bool = False,
) -> Tensor:
    """Convolve images with filters: :func:`conv2d` without its former arguments.

    Examples
    --------
    >>> abstract_conv2d([[[[1.0, 2.0, 3.0]]]], [[[[1.0, 10.0]]]], None, None, "valid", (1, 1), False, (1, 2)).eval()
    array([[[[31.]]]])
    """
    op = AbstractConv2d(
        input_shape, filter_shape, border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared
    )
    return _applied(op, input, filters, input_shape, filter_shape)


def _applied(op: BaseAbstractConv, x: Any, filters: Any, input_shape: Shape, filter_shape: Shape) -> Tensor:
    result: Tensor = op(_checked(x, input_shape, _INPUT), _checked(filters, filter_shape, _FILTERS))
    return result


def conv3d(
    input: Any,
    filters: Any,
    input_shape: Shape = None,
    filter_shape: Shape = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1, 1),
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
    >>> conv3d([[[[[1.0, 2.0, 3.0]]]]], [[[[[1.0, 10.0]]]]], filter_flip=False).eval()
    array([[[[[21., 32.]]]]])
    """
    op = AbstractConv3d(input_shape, filter_shape, border_mode, subsample, filter_flip, filter_dilation, num_groups)
    return _applied(op, input, filters, input_shape, filter_shape)


def _lengths(name: str, shape: Shape, ndim: int, computed: Sequence[Any]) -> list[Any]:
    """Return the lengths along the axes of filters that a user has given, where needed completed by computed ones."""
    given = list(shape)[-ndim:] if shape is not None else [None] * ndim
    if len(given) != ndim:
        raise ShapeError(compose(f"{name} has {len(given)} entries for {ndim} axes", mend="give the whole shape"))
    found = [n if n is not None else other for n, other in zip(given, computed, strict=True)]
    if any(n is None for n in found):
        raise ValueError(
            compose(
                f"{name} = {shape!r} leaves several shapes possible",
                mend="say the lengths along the axes along which filters slide",
            )
        )
    return found


def _wrt_inputs(op: BaseAbstractConv, top: Any, filters: Any, input_shape: Shape, filter_shape: Shape) -> Any:
    gradient, kernel = as_tensor_variable(top), _checked(filters, filter_shape, _FILTERS)
    _check_ndim(op, gradient, "output_grad")
    static = get_conv_gradinputs_shape(
        lengths_of(kernel), lengths_of(gradient), op.border_mode, op.subsample, op.filter_dilation, op.num_groups
    )
    lengths = _lengths("input_shape", input_shape, op.convdim, static[2:])
    return op(kernel, gradient, _asserted(lengths))


def _wrt_weights(op: BaseAbstractConv, x: Any, top: Any, filter_shape: Shape, input_shape: Shape) -> Any:
    images, gradient = _checked(x, input_shape, _INPUT), as_tensor_variable(top)
    _check_ndim(op, images, "input")
    _check_ndim(op, gradient, "output_grad")
    static = get_conv_gradweights_shape(
        lengths_of(images), lengths_of(gradient), op.border_mode, op.subsample, op.filter_dilation
    )
    lengths = _lengths("filter_shape", filter_shape, op.convdim, static[2:])
    return op(images, gradient, _asserted(lengths))


def _check_ndim(op: BaseAbstractConv, variable: Tensor, name: str) -> None:
    if variable.type.ndim != 2 + op.convdim:
        raise ShapeError(
            compose(
                f"{type(op).__name__}: {name} must have {2 + op.convdim} dimensions, not {variable.type.ndim}",
                where=[describe(variable)],
                mend="batch and channels come first; add dimensions with dimshuffle",
            )
        )


def _asserted(lengths: list[Any]) -> tuple[Any, ...]:
    """Return lengths, checked at run time where the flag asks for it, and now where they are known."""
    shape = assert_conv_shape([0, 0, *lengths])[2:]
    return shape if config.conv.assert_shape else tuple(lengths)


def conv2d_grad_wrt_inputs(
    output_grad: Any,
    filters: Any,
    input_shape: Shape,
    filter_shape: Shape = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1),
    num_groups: int = 1,
    unshared: bool = False,
) -> Tensor:
    """Gradient of a convolution by its input, for a cotangent of its result.

    Parameters
    ----------
    output_grad : tensor_like
        The cotangent, of the shape of the result of the convolution.
    filters : tensor_like
        As for :func:`conv2d`.
    input_shape : sequence
        Shape of the input; rows and columns may be symbolic, and alone. Where steps are 1 they may be None.
    filter_shape, border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared
        As for the convolution.

    Returns
    -------
    Tensor
        Of the shape of the input.

    Raises
    ------
    ShapeError, ValueError
        As :func:`conv2d`; ValueError also if the input could have several shapes.

    Examples
    --------
    >>> conv2d_grad_wrt_inputs([[[[1.0, 1.0]]]], [[[[1.0, 10.0]]]], (1, 1, 1, 3)).eval()
    array([[[[10., 11.,  1.]]]])
    """
    shape = None if input_shape is None or len(input_shape) == 2 else input_shape
    op = AbstractConv2d_gradInputs(
        shape, filter_shape, border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared
    )
    result: Tensor = _wrt_inputs(op, output_grad, filters, input_shape, filter_shape)
    return result


def conv3d_grad_wrt_inputs(
    output_grad: Any,
    filters: Any,
    input_shape: Shape,
    filter_shape: Shape = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1, 1),
    num_groups: int = 1,
) -> Tensor:
    """Gradient of a convolution of volumes by these; see :func:`conv2d_grad_wrt_inputs`."""
    shape = None if input_shape is None or len(input_shape) == 3 else input_shape
    op = AbstractConv3d_gradInputs(
        shape, filter_shape, border_mode, subsample, filter_flip, filter_dilation, num_groups
    )
    result: Tensor = _wrt_inputs(op, output_grad, filters, input_shape, filter_shape)
    return result


def conv2d_grad_wrt_weights(
    input: Any,
    output_grad: Any,
    filter_shape: Shape,
    input_shape: Shape = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1),
    num_groups: int = 1,
    unshared: bool = False,
) -> Tensor:
    """Gradient of a convolution by its filters, for a cotangent of its result.

    Parameters
    ----------
    input : tensor_like
        As for :func:`conv2d`.
    output_grad : tensor_like
        The cotangent, of the shape of the result of the convolution.
    filter_shape : sequence
        Shape of the filters; rows and columns may be symbolic, and alone. Where steps are 1 and `border_mode` is not
        'half' they may be None.
    input_shape, border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared
        As for the convolution.

    Returns
    -------
    Tensor
        Of the shape of the filters.

    Raises
    ------
    ShapeError, ValueError
        As :func:`conv2d`; ValueError also if the filters could have several shapes.

    Examples
    --------
    >>> conv2d_grad_wrt_weights([[[[1.0, 2.0, 3.0]]]], [[[[1.0, 10.0]]]], (1, 1, 1, 2)).eval()
    array([[[[32., 21.]]]])
    """
    shape = None if filter_shape is None or len(filter_shape) == 2 else filter_shape
    op = AbstractConv2d_gradWeights(
        input_shape, shape, border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared
    )
    result: Tensor = _wrt_weights(op, input, output_grad, filter_shape, input_shape)
    return result


def conv3d_grad_wrt_weights(
    input: Any,
    output_grad: Any,
    filter_shape: Shape,
    input_shape: Shape = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1, 1),
    num_groups: int = 1,
) -> Tensor:
    """Gradient of a convolution of volumes by its filters; see :func:`conv2d_grad_wrt_weights`."""
    shape = None if filter_shape is None or len(filter_shape) == 3 else filter_shape
    op = AbstractConv3d_gradWeights(
        input_shape, shape, border_mode, subsample, filter_flip, filter_dilation, num_groups
    )
    result: Tensor = _wrt_weights(op, input, output_grad, filter_shape, input_shape)
    return result


def conv2d_transpose(
    input: Any,
    filters: Any,
    output_shape: Shape,
    filter_shape: Shape = None,
    border_mode: Any = "valid",
    input_dilation: Any = (1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1),
    num_groups: int = 1,
    unshared: bool = False,
) -> Tensor:
    """Transpose of a convolution: what takes the place of its input if `input` is in that of its result.

    Parameters
    ----------
    input : tensor_like
        Of shape (batch size, input channels, rows, columns).
    filters : tensor_like
        Of shape (input channels, output channels, rows, columns): the other way round than for :func:`conv2d`.
    output_shape : sequence
        Shape of the result; rows and columns may be integer scalars.
    filter_shape : sequence, optional
    border_mode : str, int or tuple
        Of the convolution that is transposed: what is padding there is cropped here.
    input_dilation : pair of int
        The steps of that convolution.
    filter_flip, filter_dilation, num_groups, unshared
        As for :func:`conv2d`.

    Returns
    -------
    Tensor
        Of shape (batch size, output channels, rows, columns).

    Raises
    ------
    ShapeError, ValueError
        As :func:`conv2d_grad_wrt_inputs`.

    Examples
    --------
    >>> conv2d_transpose([[[[1.0, 2.0]]]], [[[[1.0, 1.0]]]], (1, 1, 1, 4), input_dilation=(1, 2)).eval()
    array([[[[1., 1., 2., 2.]]]])
    """
    return conv2d_grad_wrt_inputs(
        input,
        filters,
        output_shape,
        filter_shape,
        border_mode,
        input_dilation,
        filter_flip,
        filter_dilation,
        num_groups,
        unshared,
    )


def separable_conv2d(
    input: Any,
    depthwise_filters: Any,
    pointwise_filters: Any,
    num_channels: int,
    input_shape: Shape = None,
    depthwise_filter_shape: Shape = None,
    pointwise_filter_shape: Shape = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1),
) -> Tensor:
    """Convolve each channel for itself, then mix the channels at each place.

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
    >>> x, d, p = [[[[1.0, 2.0]], [[3.0, 4.0]]]], [[[[1.0]]], [[[10.0]]]], [[[[1.0]], [[1.0]]]]
    >>> separable_conv2d(x, d, p, 2).eval()
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
    input: Any,
    depthwise_filters: Any,
    pointwise_filters: Any,
    num_channels: int,
    input_shape: Shape = None,
    depthwise_filter_shape: Shape = None,
    pointwise_filter_shape: Shape = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1, 1),
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
    input: Any,
    filters: Any,
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
    >>> causal_conv1d([[[1.0, 2.0, 3.0]]], [[[1.0, 10.0]]], (1, 1, 2)).eval()
    array([[[ 1., 12., 23.]]])
    """
    x, kernel = as_tensor_variable(input), as_tensor_variable(filters)
    wanted = 4 if unshared else 3
    if x.type.ndim != 3 or kernel.type.ndim != wanted:
        raise ShapeError(
            compose(
                f"causal_conv1d takes three dimensions, and filters with {wanted}",
                where=[describe(x), describe(kernel)],
                mend="batch and channels come first",
            )
        )
    length = filter_shape[-1]
    if length is None:
        raise ValueError(compose("causal_conv1d: the length of the filters is not known", mend="say filter_shape[-1]"))
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
