"""Convolutions of arrays as matrix products: windows become columns of a matrix (im2col), a few images at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._core._dtypes import Array

#: Columns are made for so many bytes at once, so that they are in the cache when the product reads them.
MAX_COLUMN_BYTES = 1 << 22


class Geometry(NamedTuple):
    """How filters slide.

    Parameters
    ----------
    pad : pairs of int
        Zeros before and after each axis.
    stride, dilation : tuple of int
    flip : bool
        Whether filters are flipped before.
    groups : int
    unshared : bool
    """

    pad: tuple[tuple[int, int], ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    flip: bool
    groups: int
    unshared: bool

    @property
    def ndim(self) -> int:
        """Number of axes along which filters slide."""
        return len(self.stride)

    def output_lengths(self, image: Sequence[int], kernel: Sequence[int]) -> tuple[int, ...]:
        """Return the lengths of the result, from those of images and filters."""
        return tuple(
            (n + before + after - (k - 1) * d - 1) // s + 1
            for n, k, (before, after), s, d in zip(image, kernel, self.pad, self.stride, self.dilation, strict=True)
        )


def _flipped(kernel: Array, geometry: Geometry) -> Any:
    """Return filters as they meet the image."""
    return np.flip(kernel, tuple(range(-geometry.ndim, 0))) if geometry.flip else kernel


def _padded_shape(shape: Sequence[int], geometry: Geometry) -> tuple[int, ...]:
    lengths = (n + before + after for n, (before, after) in zip(shape[2:], geometry.pad, strict=True))
    return (*shape[:2], *lengths)


def _inside(shape: Sequence[int], geometry: Geometry) -> tuple[slice, ...]:
    """Return the position of the image in the padded one."""
    positions = (slice(before, before + n) for n, (before, _) in zip(shape[2:], geometry.pad, strict=True))
    return (slice(None), slice(None), *positions)


def _padded(images: Array, geometry: Geometry) -> Any:
    if not any(map(any, geometry.pad)):
        return images
    result = np.zeros(_padded_shape(images.shape, geometry), images.dtype)
    result[_inside(images.shape, geometry)] = images
    return result


def _windows(padded: Array, kernel: Sequence[int], output: Sequence[int], geometry: Geometry) -> Any:
    """Return a view with the axes images, channels, filter, result."""
    n, c, *steps = padded.strides
    along = [step * d for step, d in zip(steps, geometry.dilation, strict=True)]
    moved = [step * s for step, s in zip(steps, geometry.stride, strict=True)]
    shape = (*padded.shape[:2], *kernel, *output)
    return np.lib.stride_tricks.as_strided(padded, shape, (n, c, *along, *moved), writeable=False)


def _chunks(count: int, bytes_each: int) -> Iterator[slice]:
    step = max(1, MAX_COLUMN_BYTES // max(bytes_each, 1))
    for start in range(0, count, step):
        yield slice(start, start + step)


class _Sizes(NamedTuple):
    """Sizes of one group: channels of filters and images, elements of a filter and of a result."""

    filters: int
    channels: int
    kernel: tuple[int, ...]
    output: tuple[int, ...]
    taps: int
    positions: int


def _sizes(filters: int, channels: int, kernel: Sequence[int], output: Sequence[int], groups: int) -> _Sizes:
    taps = (channels // groups) * int(np.prod(kernel, dtype=int))
    positions = int(np.prod(output, dtype=int))
    return _Sizes(filters // groups, channels // groups, tuple(kernel), tuple(output), taps, positions)


class _Columns:
    """The windows of some images as matrices (taps, positions); the memory for them is used again and again."""

    def __init__(self, windows: Array, size: _Sizes) -> None:
        self.windows, self.size = windows, size
        self.buffer = np.empty((0,), windows.dtype)

    def chunks(self) -> Iterator[slice]:
        """Yield which images come together."""
        return _chunks(len(self.windows), self.size.taps * self.size.positions * self.windows.itemsize)

    def of(self, chunk: slice, group: int) -> Any:
        """Return the columns of some images in a group; they hold until the next call."""
        size = self.size
        part = self.windows[chunk, group * size.channels : (group + 1) * size.channels]
        shape = (len(part), size.taps, size.positions)
        if part.flags.c_contiguous or (size.taps == size.channels and part[0].flags.c_contiguous):
            return part.reshape(shape)
        if self.buffer.size < part.size:
            self.buffer = np.empty(part.size, part.dtype)
        memory = self.buffer[: part.size]
        np.copyto(memory.reshape(part.shape), part)
        return memory.reshape(shape)


def _matrix(kernel: Array, group: int, size: _Sizes, unshared: bool) -> Any:
    """Return the filters of a group as a matrix (filters, taps), or for each position (positions, filters, taps)."""
    part = kernel[group * size.filters : (group + 1) * size.filters]
    if unshared:
        return part.reshape(size.filters, size.positions, size.taps).swapaxes(0, 1)
    return part.reshape(size.filters, size.taps)


def _group(g: int, size: _Sizes) -> slice:
    return slice(g * size.filters, (g + 1) * size.filters)


def forward(images: Array, kernel: Array, geometry: Geometry) -> Any:
    """Convolve images (n, channels, ...) with filters (filters, channels of a group, ...)."""
    lengths = kernel.shape[-geometry.ndim :]
    output = geometry.output_lengths(images.shape[2:], lengths)
    size = _sizes(kernel.shape[0], images.shape[1], lengths, output, geometry.groups)
    result = np.zeros((images.shape[0], kernel.shape[0], size.positions), np.result_type(images, kernel))
    if not result.size or not size.taps:
        return result.reshape(*result.shape[:2], *output)
    windows = _windows(_padded(images, geometry), lengths, output, geometry)
    flipped = _flipped(kernel, geometry)
    source = _Columns(windows, size)
    for g in range(geometry.groups):
        matrix = _matrix(flipped, g, size, geometry.unshared)
        for chunk in source.chunks():
            columns, target = source.of(chunk, g), result[chunk, _group(g, size)]
            if geometry.unshared:
                target[...] = np.matmul(matrix, columns.transpose(2, 1, 0)).transpose(2, 1, 0)
            else:
                np.matmul(matrix, columns, out=target)
    return result.reshape(*result.shape[:2], *output)


def input_grad(kernel: Array, cotangent: Array, shape: Sequence[int], geometry: Geometry) -> Any:
    """Return the gradient by images of `shape` of a convolution, given the cotangent of its result."""
    other = _transposed(kernel, geometry)
    if other is not None:
        return forward(cotangent, *other)
    lengths, output = kernel.shape[-geometry.ndim :], cotangent.shape[2:]
    size = _sizes(kernel.shape[0], shape[1], lengths, output, geometry.groups)
    padded = np.zeros(_padded_shape(shape, geometry), np.result_type(kernel, cotangent))
    if padded.size and size.positions and kernel.size:
        flipped, flat = _flipped(kernel, geometry), cotangent.reshape(*cotangent.shape[:2], size.positions)
        for g in range(geometry.groups):
            matrix = _matrix(flipped, g, size, geometry.unshared)
            for chunk in _chunks(shape[0], size.taps * size.positions * padded.itemsize):
                part = flat[chunk, _group(g, size)]
                if geometry.unshared:
                    columns = np.matmul(matrix.swapaxes(1, 2), part.transpose(2, 1, 0)).transpose(2, 1, 0)
                else:
                    columns = np.matmul(matrix.T, part)
                _add_columns(padded[chunk, g * size.channels : (g + 1) * size.channels], columns, size, geometry)
    return np.ascontiguousarray(padded[_inside(shape, geometry)])


def _transposed(kernel: Array, geometry: Geometry) -> tuple[Any, Geometry] | None:
    """Return filters with which another convolution is the gradient by images, where this is the cheaper way.

    It reads columns where the general way adds them up, which takes longer; but there are as many as filters then.
    """
    filters, channels = kernel.shape[0] // geometry.groups, kernel.shape[1]
    spans = [(k - 1) * d for k, d in zip(kernel.shape[-geometry.ndim :], geometry.dilation, strict=True)]
    pad = tuple((n - before, n - after) for n, (before, after) in zip(spans, geometry.pad, strict=True))
    if geometry.unshared or filters > channels or any(s != 1 for s in geometry.stride) or min(map(min, pad)) < 0:
        return None
    grouped = kernel.reshape(geometry.groups, filters, *kernel.shape[1:]).swapaxes(1, 2)
    swapped = grouped.reshape(geometry.groups * channels, filters, *kernel.shape[2:])
    return swapped, geometry._replace(pad=pad, flip=not geometry.flip)


def _add_columns(target: Array, columns: Array, size: _Sizes, geometry: Geometry) -> None:
    """Add columns where their windows are (col2im), one tap of the filters after the other."""
    windows = columns.reshape(len(columns), size.channels, *size.kernel, *size.output)
    for tap in np.ndindex(*size.kernel):
        positions = tuple(
            slice(i * d, i * d + s * (n - 1) + 1, s)
            for i, d, s, n in zip(tap, geometry.dilation, geometry.stride, size.output, strict=True)
        )
        target[(slice(None), slice(None), *positions)] += windows[(slice(None), slice(None), *tap)]


def weight_grad(images: Array, cotangent: Array, shape: Sequence[int], geometry: Geometry) -> Any:
    """Return the gradient by filters of `shape` of a convolution, given the cotangent of its result."""
    lengths, output = tuple(shape[-geometry.ndim :]), cotangent.shape[2:]
    size = _sizes(shape[0], images.shape[1], lengths, output, geometry.groups)
    result = np.zeros(shape, np.result_type(images, cotangent))
    if not result.size or not size.positions or not len(images):
        return result
    windows = _windows(_padded(images, geometry), lengths, output, geometry)
    flat = cotangent.reshape(*cotangent.shape[:2], size.positions)
    source = _Columns(windows, size)
    for g in range(geometry.groups):
        target = _matrix(result, g, size, geometry.unshared)
        for chunk in source.chunks():
            columns, part = source.of(chunk, g), flat[chunk, _group(g, size)]
            if geometry.unshared:
                target += np.matmul(part.transpose(2, 1, 0), columns.transpose(2, 0, 1))
            else:
                for one, other in zip(part, columns, strict=True):
                    target += one @ other.T
    return np.ascontiguousarray(_flipped(result, geometry))
