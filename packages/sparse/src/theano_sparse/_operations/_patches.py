"""Convolution and pooling of images by a product with a sparse matrix that takes their patches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

import theano_tensor as T
from theano_graph import describe, format_error
from theano_tensor import as_tensor_variable

from .._core._structure import CSC
from .._core._type import Operand
from ._products import structured_dot

#: The result of `ConvolutionIndices.evaluate`.
Structure = tuple[Any, Any, tuple[int, int], str, tuple[int, int]]


class ConvolutionIndices:
    """The structure of a sparse matrix whose product with an image is the stack of the image's patches.

    A convolution is then the product of the patches with the kernels; see :func:`convolve`.
    """

    @staticmethod
    def evaluate(
        inshp: Sequence[int],
        kshp: Sequence[int],
        strides: Sequence[int] = (1, 1),
        nkern: int = 1,
        mode: str = "valid",
        ws: bool = True,
    ) -> Structure:
        """Return the positions of the ones in the matrix.

        Parameters
        ----------
        inshp : sequence of 2 or 3 int
            Shape of an image: (rows, columns) or (channels, rows, columns).
        kshp : sequence of 2 int
            Rows and columns of a kernel.
        strides : sequence of 2 int
            Columns, then rows, between patches that follow each other (``dx, dy``).
        nkern : int
            How many kernels there are; all share the patches, so the matrix does not depend on it.
        mode : {"valid", "full"}
            Whether patches lie within the image, or also reach beyond it, into zeros.
        ws : bool
            Whether kernels are shared by all positions; must be true.

        Returns
        -------
        indices, indptr : array of int32
            Of the csc matrix, whose stored elements are ones.
        logical_shape : tuple of 2 int
            Of the matrix: a row for each element of each patch, a column for each of the image.
        sp_type : str
            The format, ``"csc"``.
        out_img_shp : tuple of 2 int
            Rows and columns of positions.

        Raises
        ------
        ValueError
            If a shape, a stride or the mode is none, the kernel is larger than the image in mode "valid", or `ws` is
            false.

        Examples
        --------
        >>> indices, indptr, shape, format, positions = ConvolutionIndices.evaluate((1, 3), (1, 2))
        >>> indices, indptr, shape, format, positions
        (array([0, 1, 2, 3], dtype=int32), array([0, 1, 3, 4], dtype=int32), (4, 3), 'csc', (1, 2))
        """
        channels, image, kernel, steps = _checked(inshp, kshp, strides, nkern, mode, ws)
        pads = tuple(n - 1 for n in kernel) if mode == "full" else (0, 0)
        positions = tuple(
            (n + 2 * pad - k) // step + 1 for n, pad, k, step in zip(image, pads, kernel, steps, strict=True)
        )
        if min(positions) < 1:
            raise ValueError(
                format_error(
                    f"a kernel of {kernel[0]} x {kernel[1]} does not fit into an image of {image[0]} x {image[1]}",
                    hint="take a smaller kernel, or mode='full'",
                )
            )
        across = positions[0], positions[1], channels, kernel[0], kernel[1]
        i, j, channel, a, b = np.indices(across, sparse=True)
        row, column = i * steps[0] + a - pads[0], j * steps[1] + b - pads[1]
        inside = np.broadcast_to((row >= 0) & (row < image[0]) & (column >= 0) & (column < image[1]), across).ravel()
        pixels = np.broadcast_to((channel * image[0] + row) * image[1] + column, across).ravel()[inside]
        shape = int(np.prod(across)), channels * image[0] * image[1]
        ones = np.ones(len(pixels), "int8")
        matrix = scipy.sparse.coo_matrix((ones, (np.flatnonzero(inside), pixels)), shape=shape).tocsc()
        matrix.sort_indices()
        return matrix.indices.astype("int32"), matrix.indptr.astype("int32"), shape, "csc", (positions[0], positions[1])


def _checked(
    inshp: Sequence[int], kshp: Sequence[int], strides: Sequence[int], nkern: int, mode: str, ws: bool
) -> tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return channels, image, kernel and steps in the order of rows and columns; ValueError where one is wrong."""
    image, kernel = tuple(int(n) for n in inshp), tuple(int(n) for n in kshp)
    steps = tuple(int(n) for n in reversed(tuple(strides)))
    wrong = None
    if len(image) not in (2, 3) or min(image) < 1:
        wrong = f"an image has the shape (rows, columns) or (channels, rows, columns), not {image}"
    elif len(kernel) != 2 or min(kernel) < 1:
        wrong = f"a kernel has the shape (rows, columns), not {kernel}"
    elif len(steps) != 2 or min(steps) < 1:
        wrong = f"steps are two positive numbers, not {tuple(strides)}"
    elif nkern < 1:
        wrong = f"there is at least one kernel, not {nkern}"
    elif mode not in ("valid", "full"):
        wrong = f"there is no mode {mode!r}: write 'valid' or 'full'"
    elif not ws:
        wrong = "kernels that differ from position to position are not supported: leave ws=True"
    if wrong is not None:
        raise ValueError(format_error(f"sparse convolution: {wrong}", hint="pass the numbers themselves, not symbols"))
    return (image[0] if len(image) == 3 else 1), image[-2:], kernel, steps


def _matrix(variable: Any, name: str) -> Any:
    result = as_tensor_variable(variable)
    if result.type.ndim != 2:
        raise TypeError(
            format_error(f"{name} is a matrix", context=[describe(result)], hint="flatten the image of each row")
        )
    return result


def _patches(images: Any, structure: Structure) -> Any:
    """Return the patches of all images, a row for each image."""
    indices, indptr, shape, _, _ = structure
    taken = CSC(T.ones((len(indices),), dtype=images.type.dtype), indices, indptr, np.asarray(shape, "int64"))
    return structured_dot(taken, images.T).T


def convolve(
    kerns: Operand,
    kshp: Sequence[int],
    nkern: int,
    images: Operand,
    imgshp: Sequence[int],
    step: Sequence[int] = (1, 1),
    bias: Operand | None = None,
    mode: str = "valid",
    flatten: bool = True,
) -> tuple[Any, tuple[int, int, int]]:
    """Apply kernels at all positions of images, by the product with a sparse matrix. Kernels are not flipped.

    Parameters
    ----------
    kerns : matrix (nkern, channels * kshp[0] * kshp[1])
        A kernel in each row, in the order of its elements.
    kshp : sequence of 2 int
        Rows and columns of a kernel.
    nkern : int
        How many kernels there are.
    images : matrix (batch, elements of an image)
        An image in each row.
    imgshp : sequence of 2 or 3 int
        (rows, columns) or (channels, rows, columns) of an image.
    step : sequence of 2 int
        Columns, then rows, between positions that follow each other (``dx, dy``).
    bias : vector (nkern), optional
        Added to all that a kernel yields.
    mode : {"valid", "full"}
        See :meth:`ConvolutionIndices.evaluate`.
    flatten : bool
        Whether the last two dimensions of the result are joined.

    Returns
    -------
    output : Tensor
        Of shape (batch, nkern * positions), where the results of one kernel lie together; (batch, nkern, positions) if
        `flatten` is false.
    shape : tuple of 3 int
        (nkern, rows, columns) of the result for an image.

    Raises
    ------
    ValueError
        For shapes, steps or a mode that are none; see :meth:`ConvolutionIndices.evaluate`.
    TypeError
        If `kerns` or `images` is no matrix.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.sparse.sandbox import sp
    >>> kernel, images = T.dmatrix("kernel"), T.dmatrix("images")
    >>> output, shape = sp.convolve(kernel, (2, 2), 1, images, (3, 4))
    >>> shape
    (1, 2, 3)
    """
    weights, batch = _matrix(kerns, "`kerns`"), _matrix(images, "`images`")
    structure = ConvolutionIndices.evaluate(imgshp, kshp, step, nkern, mode)
    positions = structure[-1]
    count = positions[0] * positions[1]
    patches = _patches(batch, structure)
    rows = patches.reshape((batch.shape[0] * count, structure[2][0] // count))
    output = T.dot(rows, weights.T)
    if bias is not None:
        output = output + as_tensor_variable(bias)
    output = output.reshape((batch.shape[0], count, nkern)).dimshuffle(0, 2, 1)
    return output.flatten(2) if flatten else output, (int(nkern), *positions)


def max_pool(images: Operand, imgshp: Sequence[int], maxpoolshp: Sequence[int]) -> tuple[Any, tuple[int, int]]:
    """Return the maximum of each area of images; areas do not overlap, and the rest at the border is not used.

    Parameters
    ----------
    images : matrix (batch, elements of an image)
        An image in each row.
    imgshp : sequence of 2 or 3 int
        (rows, columns) or (channels, rows, columns) of an image.
    maxpoolshp : sequence of 2 int
        Rows and columns of an area.

    Returns
    -------
    output : Tensor
        Of shape (batch, channels * areas).
    shape : tuple of 2 int
        Rows and columns of areas.

    Raises
    ------
    ValueError
        If a shape is none, or an area is larger than an image.
    TypeError
        If `images` is no matrix.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.sparse.sandbox import sp
    >>> output, shape = sp.max_pool(T.dmatrix("images"), (5, 4), (2, 2))
    >>> shape
    (2, 2)
    """
    batch, area = _matrix(images, "`images`"), tuple(int(n) for n in maxpoolshp)
    structure = ConvolutionIndices.evaluate(imgshp, area, area[::-1])
    positions = structure[-1]
    count, size = positions[0] * positions[1], area[0] * area[1]
    channels = structure[2][0] // (count * size)
    areas = _patches(batch, structure).reshape((batch.shape[0], count, channels, size))
    return areas.max(axis=3).dimshuffle(0, 2, 1).flatten(2), positions
