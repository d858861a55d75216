"""Spatial transformers on devices: images sampled at the points of a grid that affine maps make."""

from __future__ import annotations

from typing import Any

from theano_graph import describe, format_error
from theano_tensor import as_tensor_variable, cast, ceil
from theano_tensor.device.dnn import LayerOp
from theano_tensor.shape import as_lengths, make_vector

from ..tensor._expression_ops import ExpressionOp
from ._dnn_transformer_layers import GridLayer, GridLayerGrad, SamplerLayer, SamplerLayerGrad
from ._expressions import OnDevice


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
