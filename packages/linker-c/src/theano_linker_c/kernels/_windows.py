"""Filters and windows that slide over images: what the runtime computes of convolutions and pooling."""

from __future__ import annotations

from typing import Literal, TypeAlias

from theano_graph import record

ConvolutionTask: TypeAlias = Literal["forward", "input_grad", "weight_grad"]
PoolingTask: TypeAlias = Literal["pool", "average_pool_grad", "max_pool_grad", "max_pool_grad_grad"]
PoolingMode: TypeAlias = Literal["max", "sum", "average_inc_pad", "average_exc_pad"]
#: The tasks, and the modes of pooling; places are the numbers of the runtime.
CONVOLUTION_TASKS: tuple[ConvolutionTask, ...] = ("forward", "input_grad", "weight_grad")
POOLING_TASKS: tuple[PoolingTask, ...] = ("pool", "average_pool_grad", "max_pool_grad", "max_pool_grad_grad")
POOLING_MODES: tuple[PoolingMode, ...] = ("max", "sum", "average_inc_pad", "average_exc_pad")
#: Widths of borders that depend on the lengths of the filters, as the runtime has them.
_BORDERS = {"valid": 0, "half": -1, "full": -2}


@record
class ConvolutionKernel:
    """A convolution of images (n, channels, ...) with filters (filters, channels of a group, ...), or a gradient of it.

    Inputs are images and filters; filters, the cotangent of the result and the lengths of the images (int64); or
    images, the cotangent and the lengths of the filters. What does not fit is left to the op's `perform`.

    Parameters
    ----------
    task : {"forward", "input_grad", "weight_grad"}
    dtype : {"float32", "float64"}
        Of all operands.
    strides, dilations : tuple of int
        One for each of the one to three axes.
    border : {"valid", "half", "full"} or tuple of pairs of int
        Zeros before and after each axis.
    flip : bool
        Whether filters are flipped.
    groups : int
    """

    task: ConvolutionTask
    dtype: str
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    border: str | tuple[tuple[int, int], ...]
    flip: bool = False
    groups: int = 1

    @property
    def sides(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Zeros before the axes, and behind them, as numbers of the runtime."""
        if isinstance(self.border, str):
            widths = (_BORDERS[self.border],) * len(self.strides)
            return widths, widths
        return tuple(before for before, _ in self.border), tuple(after for _, after in self.border)


@record
class PoolingKernel:
    """Pooling over windows of the last axes, or a gradient of it.

    The last three inputs are the sizes of the windows, their steps and their padding, vectors of int64. Before come:
    the tensor ("pool"); the gradient of the result and the lengths of the axes ("average_pool_grad", of sums too); the
    tensor, its maxima and the gradient of the result ("max_pool_grad": added to the first largest elements); or the
    tensor, its maxima and another tensor ("max_pool_grad_grad": its elements where the maxima are). What does not fit
    is left to the op's `perform`.

    Parameters
    ----------
    task : {"pool", "spread", "give", "pick"}
    dtype : {"float32", "float64"}
        Of all but the vectors.
    ndim : int
        Number of axes of the windows, up to 3.
    mode : {"max", "sum", "average_inc_pad", "average_exc_pad"}
    ignore_border : bool
        Whether windows that reach over the border are left out.
    """

    task: PoolingTask
    dtype: str
    ndim: int
    mode: PoolingMode
    ignore_border: bool
