"""Rectangular neighbourhoods in images, as rows of a matrix."""

from __future__ import annotations

from theano_graph import TheanoError, describe, format_error

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._ops import CheckAndRaise
from .._core._type import Tensor
from .._errors import ShapeError
from ..creation import arange
from ..elemwise import cast, dimshuffle, eq
from ..extra_ops import pad
from ..shape import as_lengths, lengths_of, reshape, shape_i, static_int

__all__ = ["images2neibs", "neibs2images"]

_MODES = ("valid", "full", "half", "ignore_borders", "wrap_centered")


class WindowError(TheanoError, TypeError, ValueError, AssertionError):
    """Windows that do not fit the images."""


def images2neibs(
    ten4: TensorLike, neib_shape: TensorLike, neib_step: TensorLike | None = None, mode: str = "valid"
) -> Tensor:
    """Slide a window over images, and make each neighbourhood a row of a matrix.

    Parameters
    ----------
    ten4 : tensor_like
        Images, of shape (a, b, rows, columns).
    neib_shape : two ints, or a vector of integers
        Height and width of the window.
    neib_step : two ints, or a vector of integers, optional
        How far the window moves down and to the right; by its own size if it is not given. Windows may overlap.
    mode : {'valid', 'full', 'half', 'ignore_borders', 'wrap_centered'}
        'valid': the windows must cover the images exactly. 'full' and 'half': so after zeros of the width
        ``neib_shape - 1`` or ``neib_shape // 2`` have been put around. 'ignore_borders': the remainder at the lower
        and the right border is left out. 'wrap_centered': windows have an odd shape, their centres are the elements at
        multiples of the step, and elements outside of the image are taken from its other side.

    Returns
    -------
    Tensor
        Of shape (number of windows, height * width): window by window along the rows of an image, image by image.

    Raises
    ------
    ValueError
        If `mode` is unknown.
    ShapeError
        If `ten4` has not four dimensions, or shape or step are no pairs.
    WindowError
        At run time, if windows do not fit: a TypeError that is a ValueError and an AssertionError as well.

    Examples
    --------
    >>> from theano.tensor.nnet import neighbours
    >>> import numpy as np
    >>> neighbours.images2neibs(np.arange(8.0).reshape(1, 1, 2, 4), (2, 2)).eval()
    array([[0., 1., 4., 5.],
           [2., 3., 6., 7.]])
    """
    images = as_tensor_variable(ten4)
    if mode not in _MODES:
        raise ValueError(format_error(f"images2neibs: unknown mode {mode!r}", hint=f"use one of {', '.join(_MODES)}"))
    if images.type.ndim != 4:
        raise ShapeError(
            format_error(
                "images2neibs takes four dimensions: two for lists of images, rows and columns",
                context=[describe(images)],
                hint="add dimensions with dimshuffle",
            )
        )
    window = _pair("neib_shape", neib_shape)
    if neib_step is None and mode == "valid":
        return _tiles(images, window)
    step = window if neib_step is None else _pair("neib_step", neib_step)
    if mode in ("full", "half"):
        images = _surrounded(images, window, mode)
    first, second = (_positions(images, axis, window[axis - 2], step[axis - 2], mode) for axis in (2, 3))
    patches = images[:, :, dimshuffle(first, [0, "x", 1, "x"]), dimshuffle(second, ["x", 0, "x", 1])]
    a, b, rows, columns, height, width = lengths_of(patches)
    return reshape(patches, (a * b * rows * columns, height * width))


def _pair(name: str, value: TensorLike) -> list[Tensor]:
    """Return two lengths."""
    lengths = as_lengths(value, 2) if not isinstance(value, int) else [value]
    if len(lengths) != 2:
        raise ShapeError(
            format_error(f"images2neibs: {name} is a pair: of rows and columns", hint=f"pass {name}=(2, 2)")
        )
    numbers = [cast(as_tensor_variable(n), "int64") for n in lengths]
    for k, length in enumerate(numbers):
        number = static_int(length)
        if number is None:
            numbers[k] = _checked(length, length >= 1, f"images2neibs: {name} has a length below 1")
        elif number < 1:
            raise ShapeError(format_error(f"images2neibs: {name} has a length of {number}", hint="use at least 1"))
    return numbers


def _tiles(images: Tensor, window: list[Tensor]) -> Tensor:
    """Return windows that do not overlap: the same numbers in another order."""
    a, b, rows, columns = lengths_of(images)
    (height, width), (down, right) = window, _counts(rows, columns, window)
    blocks = reshape(images, (a, b, down, height, right, width))
    return reshape(dimshuffle(blocks, [0, 1, 2, 4, 3, 5]), (a * b * down * right, height * width))


def _counts(rows: TensorLike, columns: TensorLike, window: list[Tensor]) -> list[Tensor]:
    """Return how many windows there are along the rows and columns that they cover."""
    return [
        _checked(
            length // size,
            eq(length % size, 0),
            f"windows do not cover axis {axis} exactly; mode='ignore_borders' leaves the rest out",
        )
        for axis, length, size in zip((2, 3), (rows, columns), window, strict=True)
    ]


def _surrounded(images: Tensor, window: list[Tensor], mode: str) -> Tensor:
    """Return images with zeros around them."""
    widths = [n - 1 if mode == "full" else n // 2 for n in window]
    return pad(images, [(0, 0), (0, 0), *((w, w) for w in widths)])


def _positions(images: Tensor, axis: int, size: Tensor, step: Tensor, mode: str) -> Tensor:
    """Return the numbers of rows (or columns) of each window, one window a row."""
    length = shape_i(images, axis)
    offsets = arange(size)
    if mode == "wrap_centered":
        size = _checked(
            size,
            eq(size % 2, 1) & (length >= size),
            f"images2neibs: windows that are centred have an odd length along axis {axis}, within that of the images",
        )
        centers = arange(0, length, step)
        return (dimshuffle(centers, [0, "x"]) - size // 2 + arange(size)) % length
    room = length - size
    if mode != "ignore_borders":
        room = _checked(
            room,
            (room >= 0) & eq(room % step, 0),
            f"windows do not cover axis {axis} exactly; mode='ignore_borders' leaves the rest out",
        )
    starts = arange(0, room + 1, step)
    return dimshuffle(starts, [0, "x"]) + offsets


def _checked(value: Tensor, condition: Tensor, message: str) -> Tensor:
    """Return a value that is used only if a condition holds."""
    result: Tensor = CheckAndRaise(WindowError, message)(value, condition)
    return result


def neibs2images(neibs: TensorLike, neib_shape: TensorLike, original_shape: TensorLike, mode: str = "valid") -> Tensor:
    """Put images together again from the result of :func:`images2neibs` with its default step.

    Parameters
    ----------
    neibs : tensor_like
        A matrix with a window in each row.
    neib_shape : two ints, or a vector of integers
        Height and width of the windows.
    original_shape : four ints, or a vector of integers
        Shape of the images.
    mode : {'valid', 'ignore_borders'}
        As there; with 'ignore_borders' zeros fill the borders that no window covers.

    Returns
    -------
    Tensor
        With four dimensions.

    Raises
    ------
    ValueError
        For another `mode`, and at run time if the windows are not as many as the images need.
    ShapeError
        If numbers of dimensions are wrong.

    Examples
    --------
    >>> from theano.tensor.nnet import neighbours
    >>> import numpy as np
    >>> images = np.arange(8.0).reshape(1, 1, 2, 4)
    >>> rows = neighbours.images2neibs(images, (2, 2))
    >>> bool((neighbours.neibs2images(rows, (2, 2), images.shape).eval() == images).all())
    True
    """
    patches = as_tensor_variable(neibs)
    if mode not in ("valid", "ignore_borders"):
        raise ValueError(format_error(f"neibs2images: unknown mode {mode!r}", hint="use 'valid' or 'ignore_borders'"))
    if patches.type.ndim != 2:
        raise ShapeError(
            format_error(
                "neibs2images takes a matrix with a window in each row", context=[describe(patches)], hint="reshape it"
            )
        )
    height, width = _pair("neib_shape", neib_shape)
    a, b, rows, columns = as_lengths(original_shape, 4)
    valid = mode == "valid"
    down, right = _counts(rows, columns, [height, width]) if valid else [rows // height, columns // width]
    blocks = dimshuffle(reshape(patches, (a, b, down, right, height, width)), [0, 1, 2, 4, 3, 5])
    images = reshape(blocks, (a, b, down * height, right * width))
    if valid:
        return images
    return pad(images, [(0, 0), (0, 0), (0, rows - down * height), (0, columns - right * width)])
