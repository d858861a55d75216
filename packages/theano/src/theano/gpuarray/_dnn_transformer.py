"""Spatial transformers of cuDNN: grids, sampling and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, describe, format_error
from theano_tensor import (
    and_,
    arange,
    as_tensor_variable,
    cast,
    ceil,
    clip,
    floor,
    grad,
    ones_like,
    stack,
    sum as sum_over,
    switch,
)
from theano_tensor.device.dnn import GpuDnnLayer, LayerOp
from theano_tensor.shape import as_lengths, make_vector

from ..tensor._expression_ops import ExpressionOp
from ._ops import OnDevice

# ---- Spatial transformers as cuDNN computes them


def _regular(rows: Any, columns: Any, dtype: str) -> Any:
    """Return x, y and 1 of the points of a regular grid from -1 to 1, of shape (rows, columns, 3)."""
    y, x = (cast(arange(n), dtype) * cast(2 / clip(n - 1, 1, n), dtype) - cast(1, dtype) for n in (rows, columns))
    first = x.dimshuffle("x", 0) + 0 * y.dimshuffle(0, "x")
    return stack([first, y.dimshuffle(0, "x") + 0 * first, ones_like(first)], axis=2)


def _bilinear(images: Any, grid: Any) -> Any:
    """Return images at points of a grid, of shape (batch, channels, rows, columns); outside they are zero."""
    dtype = images.type.dtype
    lengths = images.shape[3], images.shape[2]
    half = cast(0.5, dtype)
    x, y = ((grid[:, :, :, i] + 1) * (cast(n - 1, dtype) * half) for i, n in enumerate(lengths))
    left, upper = floor(x), floor(y)
    right_share, lower_share = x - left, y - upper
    batch = arange(images.shape[0]).dimshuffle(0, "x", "x")
    last = images.dimshuffle(0, 2, 3, 1)
    total: Any = 0
    for column, horizontal in ((left, 1 - right_share), (left + 1, right_share)):
        for row, vertical in ((upper, 1 - lower_share), (upper + 1, lower_share)):
            inside = and_(
                and_(column >= 0, column <= cast(lengths[0] - 1, dtype)),
                and_(row >= 0, row <= cast(lengths[1] - 1, dtype)),
            )
            # Positions outside count as zero, and are read at 0.
            i, j = (cast(switch(inside, v, 0), "int64") for v in (row, column))
            share = switch(inside, horizontal * vertical, cast(0, dtype))
            total = total + last[batch, i, j] * share.dimshuffle(0, 1, 2, "x")
    return total.dimshuffle(0, 3, 1, 2)


class _Transformer(LayerOp):
    """The base of spatial transformers: of float32 and float64."""

    dtypes = frozenset({"float32", "float64"})


class GridLayer(_Transformer):
    """Points at which images are sampled; operands are affine maps, and the shape of the sampled images."""

    task = "grid"
    numbers = (1,)

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the points, of shape (batch, rows, columns, 2)."""
        theta, out_dims = inputs
        _, _, rows, columns = as_lengths(out_dims, 4)
        points = _regular(rows, columns, theta.type.dtype).dimshuffle("x", 0, 1, "x", 2)
        return [sum_over(points * theta.dimshuffle(0, "x", "x", 1, 2), axis=4)]

    def connection_pattern(self, node: Apply[Any]) -> list[list[bool]]:
        """Tell that points depend on the maps, and have no derivative by lengths."""
        return [[True], [False]]

    def shapes(self, shapes: Sequence[Any]) -> list[Any]:
        """Return the shape of the points; the lengths are in the value of an operand."""
        return [None]

    def gradient(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any] | None:
        """Return the gradient by the maps, which the library computes, too."""
        return [GpuDnnLayer(GridLayerGrad())(cotangents[0]), None]


class GridLayerGrad(_Transformer):
    """The gradient of points by the affine maps; the operand is the gradient by the points."""

    task = "grid_grad"

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the gradient by the maps."""
        (by_grid,) = inputs
        points = _regular(by_grid.shape[1], by_grid.shape[2], by_grid.type.dtype).dimshuffle("x", 0, 1, "x", 2)
        return [sum_over(points * by_grid.dimshuffle(0, 1, 2, 3, "x"), axis=(1, 2))]

    def shapes(self, shapes: Sequence[Any]) -> list[Any]:
        """Return the shape of the maps."""
        return [(shapes[0][0], as_tensor_variable(np.int64(2)), as_tensor_variable(np.int64(3)))]


class SamplerLayer(_Transformer):
    """Images at points, interpolated linearly along both axes; operands are images and points."""

    task = "sample"

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the sampled images."""
        image, grid = inputs
        return [_bilinear(image, grid)]

    def shapes(self, shapes: Sequence[Any]) -> list[Any]:
        """Return the shape of the sampled images."""
        image, grid = shapes
        return [(*image[:2], *grid[1:3])]

    def gradient(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any] | None:
        """Return the gradients by images and points, which the library computes, too."""
        options: dict[str, Any] = {"return_list": True}
        return list(GpuDnnLayer(SamplerLayerGrad())(*inputs, cotangents[0], **options))


class SamplerLayerGrad(_Transformer):
    """The gradients of sampling; operands are images, points, and the gradient by the sampled images."""

    task = "sample_grad"

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the gradients by images and points."""
        image, grid, dy = inputs
        gradients: list[Any] = grad(None, [image, grid], known_grads={_bilinear(image, grid): dy})
        return gradients

    def shapes(self, shapes: Sequence[Any]) -> list[Any]:
        """Return the shapes of images and points."""
        return list(shapes[:2])


# ---- Spatial transformers on devices: images sampled at the points of a grid that affine maps make


def _tensors(op: object, **given: tuple[Any, int]) -> list[Any]:
    """Return operands as tensors; TypeError if numbers of dimensions are wrong."""
    tensors = []
    for name, (value, ndim) in given.items():
        variable = as_tensor_variable(value)
        if variable.type.ndim != ndim:
            raise TypeError(
                format_error(
                    f"{type(op).__name__}: {name} has {variable.type.ndim} dimensions, not {ndim}",
                    context=[describe(variable)],
                    hint="images are (batch, channels, rows, columns), grids (batch, rows, columns, 2), "
                    "affine maps (batch, 2, 3)",
                )
            )
        tensors.append(variable)
    return tensors


class _Grid(ExpressionOp):
    def operands(self, theta: Any, out_dims: Any) -> list[Any]:
        """Take affine maps and a shape."""
        return [*_tensors(self, theta=(theta, 3)), make_vector(*as_lengths(out_dims, 4))]

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the points, of shape (batch, rows, columns, 2)."""
        return GridLayer().expression(*inputs)


class GpuDnnTransformerGrid(OnDevice, _Grid):
    """Points at which images are sampled, from affine maps."""

    moved = 1

    def layer(self) -> LayerOp:
        """Return cuDNN's layer for this op."""
        return GridLayer()

    def make_node(self, theta: Any, out_dims: Any) -> Any:
        """Apply to affine maps and the shape of the sampled images.

        Parameters
        ----------
        theta : tensor_like
            Of shape (batch, 2, 3).
        out_dims : sequence or vector of int
            Batch size, channels, rows and columns.

        Raises
        ------
        TypeError
            If `theta` has other than three dimensions.
        """
        return super().make_node(theta, out_dims)


class _Sampler(ExpressionOp):
    def operands(self, img: Any, grid: Any) -> list[Any]:
        """Take images and points."""
        return _tensors(self, img=(img, 4), grid=(grid, 4))

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the sampled images."""
        return SamplerLayer().expression(*inputs)


class GpuDnnTransformerSampler(OnDevice, _Sampler):
    """Images at points, interpolated linearly along both axes; outside the images there are zeros."""

    def layer(self) -> LayerOp:
        """Return cuDNN's layer for this op."""
        return SamplerLayer()

    def make_node(self, img: Any, grid: Any) -> Any:
        """Apply to images and points.

        Parameters
        ----------
        img : tensor_like
            Of shape (batch, channels, rows, columns).
        grid : tensor_like
            The result of :class:`GpuDnnTransformerGrid`: x and y from -1 to 1, of shape (batch, rows, columns, 2).

        Raises
        ------
        TypeError
            If one has other than four dimensions.
        """
        return super().make_node(img, grid)


class _SamplerGrad(ExpressionOp):
    def operands(self, img: Any, grid: Any, dy: Any) -> list[Any]:
        """Take images, points, and the gradient by the sampled images."""
        return _tensors(self, img=(img, 4), grid=(grid, 4), dy=(dy, 4))

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the gradients by images and points."""
        return SamplerLayerGrad().expression(*inputs)


class GpuDnnTransformerGradI(OnDevice, _SamplerGrad):
    """The gradients of sampling by images and points; operands are these, and the gradient by the sampled images."""

    def layer(self) -> LayerOp:
        """Return cuDNN's layer for this op."""
        return SamplerLayerGrad()


class _GridGrad(ExpressionOp):
    def operands(self, dgrid: Any) -> list[Any]:
        """Take the gradient by points."""
        return _tensors(self, dgrid=(dgrid, 4))

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the gradient by the affine maps."""
        return GridLayerGrad().expression(*inputs)


class GpuDnnTransformerGradT(OnDevice, _GridGrad):
    """The gradient of points by the affine maps that make them; the operand is the gradient by the points."""

    def layer(self) -> LayerOp:
        """Return cuDNN's layer for this op."""
        return GridLayerGrad()


def dnn_spatialtf(img: Any, theta: Any, scale_width: float = 1, scale_height: float = 1) -> Any:
    """Transform images by affine maps on a device, with bilinear interpolation.

    Parameters
    ----------
    img : tensor_like
        Of shape (batch, channels, rows, columns).
    theta : tensor_like
        The affine map of each image, of shape (batch, 2, 3): from x, y and 1 of a point of the result to x and y of a
        point of the image, where -1 and 1 are the middles of its outermost pixels.
    scale_width, scale_height : float
        By how much the result is larger than the image; lengths are rounded up.

    Returns
    -------
    GpuArrayVariable
        Of shape (batch, channels, new rows, new columns).

    Raises
    ------
    TypeError
        If an operand has a wrong number of dimensions.
    """
    image = as_tensor_variable(img)
    _tensors(GpuDnnTransformerSampler(), img=(image, 4))
    rows, columns = (
        cast(ceil(cast(image.shape[i], "float64") * scale), "int64")
        for i, scale in ((2, scale_height), (3, scale_width))
    )
    grid = GpuDnnTransformerGrid()(theta, (image.shape[0], image.shape[1], rows, columns))
    return GpuDnnTransformerSampler()(img, grid)


__all__ = ["GridLayer", "GridLayerGrad", "SamplerLayer", "SamplerLayerGrad"]
