"""Lengths of operands and results of convolutions; all may be None (unknown), numbers, or symbolic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from theano_graph import Constant, Variable, describe, format_error

from ..._core._convert import as_tensor_variable
from ..._core._dtypes import TensorLike
from ..._core._ops import Assert
from ..._core._type import Tensor
from ..._errors import ShapeError
from ...elemwise import eq
from ...shape import as_length, shape_i, static_int

#: For each axis how many zeros are before and after.
Padding = tuple[tuple[Any, Any], ...]
#: "valid", "half", "full", or how many zeros are around the images, for all axes or for each.
BorderMode: TypeAlias = "str | int | Sequence[Any]"
_NAMES = ("valid", "half", "full")


def _one_side(value: Any) -> Any:
    """Return a width of padding; numbers are checked."""
    if isinstance(value, Variable):
        return value
    width = int(value)
    if width != value or width < 0:
        raise ValueError(format_error(f"convolution: a border of {value!r}", hint="use integers from 0 up"))
    return width


def _both_sides(mode: BorderMode) -> tuple[Any, Any]:
    if isinstance(mode, (tuple, list)):
        if len(mode) != 2:
            raise ValueError(
                format_error(f"convolution: {mode!r} is no border of one axis", hint="use a width, or a pair of widths")
            )
        return (_one_side(mode[0]), _one_side(mode[1]))
    width = _one_side(mode)
    return (width, width)


def border_mode_to_pad(mode: BorderMode, convdim: int, kshp: Sequence[Any]) -> Padding:
    """Return how many zeros a border mode puts before and after each axis.

    Parameters
    ----------
    mode : {'valid', 'half', 'full'}, int, or tuple of (int or pair of int)
        One width for all axes, or one, or two, for each.
    convdim : int
        Number of axes along which filters slide.
    kshp : sequence of int
        Length of the (dilated) filters along each.

    Raises
    ------
    ValueError
        If the border is none of these, or does not fit the number of axes.

    Examples
    --------
    >>> from theano.tensor.nnet import abstract_conv
    >>> abstract_conv.border_mode_to_pad("half", 2, (3, 4))
    ((1, 1), (2, 2))
    >>> abstract_conv.border_mode_to_pad((1, (2, 0)), 2, (3, 3))
    ((1, 1), (2, 0))
    """
    if isinstance(mode, str):
        if mode not in _NAMES:
            raise ValueError(
                format_error(
                    f"convolution: unknown border_mode {mode!r}", hint=f"use one of {_NAMES}, widths, or pairs"
                )
            )
        widths = [0 if mode == "valid" else k // 2 if mode == "half" else k - 1 for k in kshp]
        return tuple((w, w) for w in widths)
    if isinstance(mode, (tuple, list)):
        if len(mode) != convdim:
            raise ValueError(
                format_error(
                    f"convolution: border_mode {mode!r} has {len(mode)} entries for {convdim} axes",
                    hint="give a width, or a pair of widths, for each axis",
                )
            )
        return tuple(_both_sides(m) for m in mode)
    return (_both_sides(mode),) * convdim


def _dilated(length: Any, dilation: Any) -> Any:
    return length if isinstance(dilation, int) and dilation == 1 else (length - 1) * dilation + 1


def _one_pad(border_mode: BorderMode, kernel: TensorLike) -> tuple[Any, Any]:
    if isinstance(border_mode, str):
        return border_mode_to_pad(border_mode, 1, (kernel,))[0]
    return _both_sides(border_mode)


def get_conv_shape_1axis(
    image_shape: Any, kernel_shape: Any, border_mode: BorderMode, subsample: int | Sequence[Any], dilation: Any = 1
) -> Any:
    """Return the length of the result of a convolution along one axis, or None where something is not known.

    Parameters
    ----------
    image_shape, kernel_shape : int, integer scalar or None
    border_mode : {'valid', 'half', 'full'}, int or pair of int
    subsample, dilation : int

    Examples
    --------
    >>> from theano.tensor.nnet import abstract_conv
    >>> abstract_conv.get_conv_shape_1axis(10, 3, "valid", 2)
    4
    """
    if any(v is None for v in (image_shape, kernel_shape, border_mode, subsample, dilation)):
        return None
    kernel = _dilated(kernel_shape, dilation)
    before, after = _one_pad(border_mode, kernel)
    room = image_shape + before + after - kernel
    return (room if isinstance(subsample, int) and subsample == 1 else room // subsample) + 1


def get_conv_output_shape(
    image_shape: Sequence[Any],
    kernel_shape: Sequence[Any],
    border_mode: BorderMode,
    subsample: Sequence[Any],
    filter_dilation: Sequence[Any] | None = None,
) -> tuple[Any, ...]:
    """Return the shape of the result of a convolution, with None for unknown lengths.

    Parameters
    ----------
    image_shape : sequence
        Batch size, channels, and lengths of the images.
    kernel_shape : sequence
        Output channels, input channels and lengths of the filters; of unshared ones, output channels, lengths of the
        result, input channels and lengths.
    border_mode : str, int or tuple
    subsample, filter_dilation : sequence of int

    Examples
    --------
    >>> from theano.tensor.nnet import abstract_conv
    >>> abstract_conv.get_conv_output_shape((2, 3, 8, None), (5, 3, 3, 3), "half", (2, 1))
    (2, 5, 4, None)
    """
    images, kernels = image_shape[2:], kernel_shape[-len(image_shape[2:]) :]
    dilation = (1,) * len(images) if filter_dilation is None else filter_dilation
    modes = _per_axis(border_mode, len(images))
    lengths = map(get_conv_shape_1axis, images, kernels, modes, subsample, dilation)
    return (image_shape[0], kernel_shape[0], *lengths)


def _per_axis(border_mode: BorderMode, ndim: int) -> Sequence[Any]:
    return border_mode if isinstance(border_mode, (tuple, list)) else (border_mode,) * ndim


def get_conv_gradweights_shape_1axis(
    image_shape: Any, top_shape: Any, border_mode: BorderMode, subsample: int | Sequence[Any], dilation: Any
) -> Any:
    """Return the length of filters along one axis, from those of images and results.

    None where something is not known, for a `subsample` other than 1, and for 'half': there several lengths are
    possible.

    Examples
    --------
    >>> from theano.tensor.nnet import abstract_conv
    >>> abstract_conv.get_conv_gradweights_shape_1axis(10, 8, "valid", 1, 1)
    3
    """
    if any(v is None for v in (image_shape, top_shape, border_mode, subsample, dilation)):
        return None
    if subsample != 1 or border_mode == "half":
        return None
    if border_mode == "full":
        room = top_shape - image_shape
    else:
        before, after = _one_pad(border_mode, 0) if border_mode != "valid" else (0, 0)
        room = image_shape + before + after - top_shape
    return (room if dilation == 1 else room // dilation) + 1


def get_conv_gradweights_shape(
    image_shape: Sequence[Any],
    top_shape: Sequence[Any],
    border_mode: BorderMode,
    subsample: Sequence[Any],
    filter_dilation: Sequence[Any] | None = None,
    num_groups: int = 1,
    unshared: bool = False,
) -> tuple[Any, ...]:
    """Return the shape of the filters of a convolution, from those of its images and of its result.

    Parameters and the meaning of None are those of :func:`get_conv_gradweights_shape_1axis`.

    Examples
    --------
    >>> from theano.tensor.nnet import abstract_conv
    >>> abstract_conv.get_conv_gradweights_shape((2, 6, 8, 8), (2, 4, 6, 6), "valid", (1, 1), num_groups=3)
    (4, 2, 3, 3)
    """
    images, outputs = image_shape[2:], top_shape[2:]
    dilation = (1,) * len(images) if filter_dilation is None else filter_dilation
    modes = _per_axis(border_mode, len(images))
    lengths = map(get_conv_gradweights_shape_1axis, images, outputs, modes, subsample, dilation)
    channels = None if image_shape[1] is None else image_shape[1] // num_groups
    return (top_shape[1], *(outputs if unshared else ()), channels, *lengths)


def get_conv_gradinputs_shape_1axis(
    kernel_shape: Any, top_shape: Any, border_mode: BorderMode, subsample: int | Sequence[Any], dilation: Any
) -> Any:
    """Return the length of images along one axis, from those of filters and results.

    None where something is not known, and for a `subsample` other than 1, where several lengths are possible.

    Examples
    --------
    >>> from theano.tensor.nnet import abstract_conv
    >>> abstract_conv.get_conv_gradinputs_shape_1axis(3, 8, "valid", 1, 1)
    10
    """
    if any(v is None for v in (kernel_shape, top_shape, border_mode, subsample, dilation)) or subsample != 1:
        return None
    kernel = _dilated(kernel_shape, dilation)
    before, after = _one_pad(border_mode, kernel)
    return top_shape + kernel - 1 - before - after


def get_conv_gradinputs_shape(
    kernel_shape: Sequence[Any],
    top_shape: Sequence[Any],
    border_mode: BorderMode,
    subsample: Sequence[Any],
    filter_dilation: Sequence[Any] | None = None,
    num_groups: int = 1,
) -> tuple[Any, ...]:
    """Return the shape of the images of a convolution, from those of its filters and of its result.

    Parameters and the meaning of None are those of :func:`get_conv_gradinputs_shape_1axis`.

    Examples
    --------
    >>> from theano.tensor.nnet import abstract_conv
    >>> abstract_conv.get_conv_gradinputs_shape((4, 2, 3, 3), (2, 4, 6, 6), "valid", (1, 1), num_groups=3)
    (2, 6, 8, 8)
    """
    outputs = top_shape[2:]
    ndim = len(outputs)
    dilation = (1,) * ndim if filter_dilation is None else filter_dilation
    modes = _per_axis(border_mode, ndim)
    lengths = map(get_conv_gradinputs_shape_1axis, kernel_shape[-ndim:], outputs, modes, subsample, dilation)
    channels = kernel_shape[-ndim - 1]
    return (top_shape[0], None if channels is None else channels * num_groups, *lengths)


def smallest_gradinputs_shape(
    kernel_shape: Sequence[Any],
    top_shape: Sequence[Any],
    border_mode: BorderMode,
    subsample: Sequence[Any],
    filter_dilation: Sequence[Any],
) -> tuple[Any, ...]:
    """Return the lengths of the smallest images whose convolution has a result of a certain shape.

    Parameters are those of :func:`get_conv_gradinputs_shape`. None along axes that have a border and a `subsample`
    other than 1: there it is better to give the shape.
    """
    outputs, kernels = top_shape[2:], kernel_shape[-len(top_shape[2:]) :]
    modes = _per_axis(border_mode, len(outputs))
    lengths = []
    for kernel, output, mode, step, dilation in zip(kernels, outputs, modes, subsample, filter_dilation, strict=True):
        length = get_conv_gradinputs_shape_1axis(kernel, output, mode, step, dilation)
        if length is None and mode in ("valid", 0, (0, 0)):
            length = (output - 1) * step + _dilated(kernel, dilation)
        lengths.append(length)
    return tuple(lengths)


def _known(value: Any) -> int | None:
    """Return a length that is known while the expression is built."""
    if value is None:
        return None
    return static_int(value) if isinstance(value, Variable) else int(value)


def check_conv_gradinputs_shape(
    image_shape: Sequence[Any],
    kernel_shape: Sequence[Any],
    output_shape: Sequence[Any],
    border_mode: BorderMode,
    subsample: Sequence[Any],
    filter_dilation: Sequence[Any] | None = None,
) -> bool:
    """Tell whether a convolution of such images with such filters may have a result of a certain shape.

    False where it certainly has not; True also where shapes are unknown or symbolic.

    Examples
    --------
    >>> from theano.tensor.nnet import abstract_conv
    >>> abstract_conv.check_conv_gradinputs_shape((2, 3, 8, 8), (5, 3, 3, 3), (2, 5, None, 7), "valid", (1, 1))
    False
    """
    images, kernels = [_known(n) for n in image_shape], [_known(n) for n in kernel_shape]
    if len(images) != len(output_shape):
        return False
    expected = get_conv_output_shape(images, kernels, border_mode, subsample, filter_dilation)
    pairs = zip(map(_known, output_shape), map(_known, expected), strict=True)
    return all(a is None or b is None or a == b for a, b in pairs)


def assert_conv_shape(shape: Sequence[Any]) -> tuple[Any, ...]:
    """Check the shape of an operand of a convolution: no negative lengths, and none of 0 where filters slide.

    Parameters
    ----------
    shape : sequence of (int, integer scalar or None)
        The first two are batch size and channels, or channels of filters.

    Returns
    -------
    tuple
        The same; symbolic lengths are checked at run time, with an AssertionError.

    Raises
    ------
    ValueError
        If a known length is wrong.

    Examples
    --------
    >>> from theano.tensor.nnet import abstract_conv
    >>> abstract_conv.assert_conv_shape((0, 3, 5, 5))
    (0, 3, 5, 5)
    """
    return tuple(_asserted(n, i) for i, n in enumerate(shape))


def _asserted(length: Any, i: int) -> Any:
    least = 0 if i < 2 else 1
    what = f"convolution: the length of dimension {i} must be at least {least}"
    number = _known(length)
    if number is not None and number < least:
        raise ValueError(format_error(f"{what}, not {number}", hint="look at border_mode, subsample and the shapes"))
    if length is None or number is not None:
        return length
    return Assert(f"{what}; look at border_mode, subsample and the shapes")(length, length >= least)


def assert_shape(x: TensorLike, expected_shape: Sequence[Any] | None, msg: str = "Unexpected shape.") -> Tensor:
    """Return a tensor whose shape is checked when it is used: AssertionError at run time where it is another one.

    Parameters
    ----------
    x : tensor_like
    expected_shape : sequence of (int, integer scalar or None), optional
        None for an unchecked length.
    msg : str
        Text of the error.

    Returns
    -------
    Tensor
        `x` itself if there is nothing to check.

    Raises
    ------
    ShapeError
        If there are too many or too few lengths.

    Examples
    --------
    >>> from theano.tensor.nnet import abstract_conv
    >>> abstract_conv.assert_shape([1.0, 2.0], (2,)).eval()
    array([1., 2.])
    """
    variable = as_tensor_variable(x)
    if expected_shape is None or all(n is None for n in expected_shape):
        return variable
    if len(expected_shape) != variable.type.ndim:
        raise ShapeError(
            format_error(
                f"assert_shape: {len(expected_shape)} lengths for {variable.type.ndim} dimensions",
                context=[describe(variable)],
                hint="give one for each dimension, None for any",
            )
        )
    conditions = [eq(shape_i(variable, i), n) for i, n in enumerate(expected_shape) if n is not None]
    checked: Tensor = Assert(msg)(variable, *conditions)
    return checked


def as_static(shape: Sequence[Any] | Variable | None, count: Sequence[int], name: str) -> tuple[int | None, ...] | None:
    """Return a shape given by a user as numbers and None; symbolic lengths are unknown."""
    if shape is None:
        return None
    if isinstance(shape, Variable):
        raise ShapeError(
            format_error(
                f"convolution: {name} is one variable, whose lengths are not known here",
                context=[describe(shape)],
                hint="give a tuple with a number for each dimension, None for an unknown length",
            )
        )
    if len(shape) not in count:
        raise ShapeError(
            format_error(
                f"convolution: {name} has {len(shape)} entries, expected {' or '.join(map(str, count))}",
                hint="give one for each dimension, None for an unknown length",
            )
        )
    return tuple(_known(as_length(n) if isinstance(n, (Variable, Constant)) else n) for n in shape)
