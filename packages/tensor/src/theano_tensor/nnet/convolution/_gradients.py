"""Gradients of convolutions by their operands, transposed convolutions, and bilinear interpolation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import config, describe, format_error

from ..._core._convert import as_tensor_variable
from ..._core._dtypes import TensorLike
from ..._core._type import Tensor
from ..._errors import ShapeError
from ...creation import arange
from ...elemwise import cast, clip, dimshuffle, minimum
from ...indexing import take
from ...linear import outer
from ...shape import lengths_of, reshape, shape_i
from ._functions import (
    FILTERS,
    INPUT,
    AbstractConv2d_gradInputs,
    AbstractConv2d_gradWeights,
    AbstractConv3d_gradInputs,
    AbstractConv3d_gradWeights,
    Shape,
    checked,
)
from ._lengths import (
    BorderMode,
    assert_conv_shape,
    get_conv_gradinputs_shape,
    get_conv_gradweights_shape,
    smallest_gradinputs_shape,
)
from ._ops import BaseAbstractConv

# ---- Gradients of convolutions by their operands, for a cotangent of the result; transposed convolutions


def _lengths(name: str, shape: Shape, ndim: int, computed: Sequence[Any]) -> list[Any]:
    """Return the lengths along the axes of filters that a user has given, where needed completed by computed ones."""
    lengths_given = list(shape)[-ndim:] if shape is not None else [None] * ndim
    if len(lengths_given) != ndim:
        raise ShapeError(
            format_error(f"{name} has {len(lengths_given)} entries for {ndim} axes", hint="give the whole shape")
        )
    lengths = [n if n is not None else other for n, other in zip(lengths_given, computed, strict=True)]
    if any(n is None for n in lengths):
        raise ValueError(
            format_error(
                f"{name} = {shape!r} leaves several shapes possible",
                hint="say the lengths along the axes along which filters slide",
            )
        )
    return lengths


def _whole(shape: Shape, ndim: int) -> Shape:
    """Return a shape with its batch and channels; None for the lengths along which filters slide alone."""
    return None if shape is None or len(shape) == ndim else shape


def _wrt_inputs(op: BaseAbstractConv, cotangent: Any, filters: Any, input_shape: Shape, filter_shape: Shape) -> Any:
    gradient, kernel = as_tensor_variable(cotangent), checked(filters, filter_shape, FILTERS)
    _check_ndim(op, gradient, "output_grad")
    how = lengths_of(kernel), lengths_of(gradient), op.border_mode, op.subsample, op.filter_dilation
    computed = smallest_gradinputs_shape(*how) if input_shape is None else get_conv_gradinputs_shape(*how)[2:]
    lengths = _lengths("input_shape", input_shape, op.convdim, computed)
    return op(kernel, gradient, _asserted(lengths))


def _wrt_weights(op: BaseAbstractConv, x: TensorLike, cotangent: Any, filter_shape: Shape, input_shape: Shape) -> Any:
    images, gradient = checked(x, input_shape, INPUT), as_tensor_variable(cotangent)
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
            format_error(
                f"{type(op).__name__}: {name} must have {2 + op.convdim} dimensions, not {variable.type.ndim}",
                context=[describe(variable)],
                hint="batch and channels come first; add dimensions with dimshuffle",
            )
        )


def _asserted(lengths: list[Any]) -> tuple[Any, ...]:
    """Return lengths, checked at run time where the flag asks for it, and now where they are known."""
    shape = assert_conv_shape([0, 0, *lengths])[2:]
    return shape if config.conv.assert_shape else tuple(lengths)


def conv2d_grad_wrt_inputs(
    output_grad: TensorLike,
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
    """Gradient of a convolution by its input, for a cotangent of its result.

    Parameters
    ----------
    output_grad : tensor_like
        The cotangent, of the shape of the result of the convolution.
    filters : tensor_like
        As for :func:`conv2d`.
    input_shape : sequence, optional
        Shape of the input; rows and columns may be symbolic, and alone. Where steps are 1 they may be None. Without any
        shape, and without borders, the input is the smallest one.
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
    >>> import theano.tensor as T
    >>> T.nnet.conv2d_grad_wrt_inputs([[[[1.0, 1.0]]]], [[[[1.0, 10.0]]]], (1, 1, 1, 3)).eval()
    array([[[[10., 11.,  1.]]]])
    """
    shape = _whole(input_shape, 2)
    op = AbstractConv2d_gradInputs(
        shape, filter_shape, border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared
    )
    result: Tensor = _wrt_inputs(op, output_grad, filters, input_shape, filter_shape)
    return result


def conv3d_grad_wrt_inputs(
    output_grad: TensorLike,
    filters: TensorLike,
    input_shape: Shape = None,
    filter_shape: Shape = None,
    border_mode: BorderMode = "valid",
    subsample: int | Sequence[Any] = (1, 1, 1),
    filter_flip: bool = True,
    filter_dilation: int | Sequence[Any] = (1, 1, 1),
    num_groups: int = 1,
) -> Tensor:
    """Gradient of a convolution of volumes by these; see :func:`conv2d_grad_wrt_inputs`."""
    shape = _whole(input_shape, 3)
    op = AbstractConv3d_gradInputs(
        shape, filter_shape, border_mode, subsample, filter_flip, filter_dilation, num_groups
    )
    result: Tensor = _wrt_inputs(op, output_grad, filters, input_shape, filter_shape)
    return result


def conv2d_grad_wrt_weights(
    input: TensorLike,
    output_grad: TensorLike,
    filter_shape: Shape,
    input_shape: Shape = None,
    border_mode: BorderMode = "valid",
    subsample: int | Sequence[Any] = (1, 1),
    filter_flip: bool = True,
    filter_dilation: int | Sequence[Any] = (1, 1),
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
    >>> from theano.tensor.nnet import abstract_conv
    >>> abstract_conv.conv2d_grad_wrt_weights([[[[1.0, 2.0, 3.0]]]], [[[[1.0, 10.0]]]], (1, 1, 1, 2)).eval()
    array([[[[32., 21.]]]])
    """
    shape = _whole(filter_shape, 2)
    op = AbstractConv2d_gradWeights(
        input_shape, shape, border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared
    )
    result: Tensor = _wrt_weights(op, input, output_grad, filter_shape, input_shape)
    return result


def conv3d_grad_wrt_weights(
    input: TensorLike,
    output_grad: TensorLike,
    filter_shape: Shape,
    input_shape: Shape = None,
    border_mode: BorderMode = "valid",
    subsample: int | Sequence[Any] = (1, 1, 1),
    filter_flip: bool = True,
    filter_dilation: int | Sequence[Any] = (1, 1, 1),
    num_groups: int = 1,
) -> Tensor:
    """Gradient of a convolution of volumes by its filters; see :func:`conv2d_grad_wrt_weights`."""
    shape = _whole(filter_shape, 3)
    op = AbstractConv3d_gradWeights(
        input_shape, shape, border_mode, subsample, filter_flip, filter_dilation, num_groups
    )
    result: Tensor = _wrt_weights(op, input, output_grad, filter_shape, input_shape)
    return result


def conv2d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: Shape,
    filter_shape: Shape = None,
    border_mode: BorderMode = "valid",
    input_dilation: int | Sequence[Any] = (1, 1),
    filter_flip: bool = True,
    filter_dilation: int | Sequence[Any] = (1, 1),
    num_groups: int = 1,
    unshared: bool = False,
) -> Tensor:
    """Transpose of a convolution: its result if `input` is in the place of the convolution's result.

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
        Of the convolution that is transposed: its padding is cropped here.
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
    >>> import theano.tensor as T
    >>> T.nnet.conv2d_transpose([[[[1.0, 2.0]]]], [[[[1.0, 1.0]]]], (1, 1, 1, 4), input_dilation=(1, 2)).eval()
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


# ---- Bilinear interpolation between the elements of images


def bilinear_kernel_1D(ratio: Any, normalize: bool = True) -> Tensor:
    """Filter for upsampling by bilinear interpolation along one axis: a triangle of length ``2 * ratio - 1``.

    Parameters
    ----------
    ratio : int or integer scalar
    normalize : bool
        Whether the top is 1; otherwise it is `ratio`.

    Examples
    --------
    >>> from theano.tensor.nnet import abstract_conv
    >>> abstract_conv.bilinear_kernel_1D(2).eval()
    array([0.5, 1. , 0.5])
    """
    positions = arange(1, 2 * ratio, dtype=config.floatX)
    triangle = minimum(positions, 2 * ratio - positions)
    return cast(triangle / ratio if normalize else triangle, config.floatX)


def bilinear_kernel_2D(ratio: Any, normalize: bool = True) -> Tensor:
    """Filter for upsampling by bilinear interpolation along rows and columns: a pyramid.

    Parameters
    ----------
    ratio : int or integer scalar
    normalize : bool
        Whether the top is 1; otherwise it is the square of `ratio`.

    Examples
    --------
    >>> from theano.tensor.nnet import abstract_conv
    >>> abstract_conv.bilinear_kernel_2D(2, normalize=False).eval()
    array([[1., 2., 1.],
           [2., 4., 2.],
           [1., 2., 1.]])
    """
    triangle = bilinear_kernel_1D(ratio, normalize)
    return outer(triangle, triangle)


def _resampled(x: Tensor, axis: int, up: Any, down: Any) -> Tensor:
    """Return values between the elements along an axis, ``up / down`` times as many; edges are repeated."""
    last = shape_i(x, axis) - 1
    positions = arange(0, (last + 1) * up, down) - (up - 1) // 2
    before = positions // up
    order: list[int | str] = [0 if i == axis else "x" for i in range(x.type.ndim)]
    share = dimshuffle(cast(positions - before * up, x.type.dtype) / cast(up, x.type.dtype), order)
    left, right = (take(x, clip(before + k, 0, last), axis=axis) for k in (0, 1))
    return left + (right - left) * share


def _images(name: str, input: TensorLike, batch_size: Any, channels: Any) -> Tensor:
    images = as_tensor_variable(input)
    if images.type.ndim != 4:
        raise ShapeError(
            format_error(
                f"{name} takes four dimensions: batch, channels, rows and columns",
                context=[describe(images)],
                hint="add dimensions with dimshuffle",
            )
        )
    if images.type.dtype not in ("float16", "float32", "float64"):
        images = cast(images, config.floatX)
    if batch_size is None and channels is None:
        return images
    lengths = [shape_i(images, i) if n is None else n for i, n in enumerate((batch_size, channels))]
    return reshape(images, (*lengths, shape_i(images, 2), shape_i(images, 3)))


def bilinear_upsampling(
    input: TensorLike,
    ratio: TensorLike | None = None,
    frac_ratio: TensorLike | None = None,
    batch_size: TensorLike | None = None,
    num_input_channels: TensorLike | None = None,
    use_1D_kernel: bool = True,
) -> Tensor:
    """Make images larger by bilinear interpolation.

    For an even ratio the last row and column are repeated once more than the first.

    Parameters
    ----------
    input : tensor_like
        Of shape (batch size, channels, rows, columns).
    ratio : int or integer scalar, optional
        How many times larger, along rows and columns.
    frac_ratio : pair of int, or pair of these, optional
        The same as a fraction (numerator, denominator), for both axes or for each.
    batch_size, num_input_channels : int, optional
        Lengths of the first dimensions.
    use_1D_kernel : bool
        Both values give the same result: axes are treated one after the other.

    Returns
    -------
    Tensor
        Of shape (batch size, channels, rows * ratio, columns * ratio); fractions are rounded up.

    Raises
    ------
    ValueError
        If there is not exactly one of `ratio` and `frac_ratio`.
    ShapeError
        If `input` has not four dimensions.

    Examples
    --------
    >>> from theano.tensor.nnet import abstract_conv
    >>> abstract_conv.bilinear_upsampling([[[[0.0, 3.0]]]], ratio=3).eval()[0, 0, 0]
    array([0., 0., 1., 2., 3., 3.])
    """
    if (ratio is None) == (frac_ratio is None):
        raise ValueError(format_error("bilinear_upsampling needs either ratio or frac_ratio", hint="give one of them"))
    images = _images("bilinear_upsampling", input, batch_size, num_input_channels)
    if frac_ratio is not None:
        return frac_bilinear_upsampling(images, frac_ratio)
    return _resampled(_resampled(images, 2, ratio, 1), 3, ratio, 1)


def frac_bilinear_upsampling(input: TensorLike, frac_ratio: TensorLike) -> Tensor:
    """Make images larger, or smaller, by a fraction: so by the numerator, of which every denominator-th is taken.

    Parameters
    ----------
    input : tensor_like
        Of shape (batch size, channels, rows, columns).
    frac_ratio : pair of int, or pair of these
        Numerator and denominator, for both axes or for each.

    Raises
    ------
    ValueError
        If the fraction is something else.
    ShapeError
        If `input` has not four dimensions.

    Examples
    --------
    >>> from theano.tensor.nnet import abstract_conv
    >>> abstract_conv.frac_bilinear_upsampling([[[[0.0, 3.0]]]], ((1, 1), (3, 2))).eval()[0, 0, 0]
    array([0., 1., 3.])
    """
    images = _images("frac_bilinear_upsampling", input, None, None)
    for axis, (up, down) in zip((2, 3), _fractions(frac_ratio), strict=True):
        images = _resampled(images, axis, up, down)
    return images


def _fractions(ratio: Any) -> Sequence[tuple[int, int]]:
    pairs = ratio if isinstance(ratio[0], (tuple, list)) else (ratio, ratio)
    if len(pairs) != 2 or any(len(p) != 2 or any(int(n) != n or n < 1 for n in p) for p in pairs):
        raise ValueError(
            format_error(
                f"frac_bilinear_upsampling: {ratio!r} is no fraction",
                hint="give (numerator, denominator), positive integers, or such a pair for rows and one for columns",
            )
        )
    return [(int(up), int(down)) for up, down in pairs]
