"""Bilinear interpolation between the elements of images."""

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
from ...shape import reshape, shape_i


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
