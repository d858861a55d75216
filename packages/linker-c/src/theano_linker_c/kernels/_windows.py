"""Filters and windows that slide over images: the runtime's convolutions and pooling."""

from __future__ import annotations

from typing import Literal, TypeAlias

from theano_graph import record

from .._perform import perform_runner
from ._description._kernel import Encoded, Kernel, LoadedKernel, Site, type_number

__all__ = [
    "CONVOLUTION_TASKS",
    "POOLING_MODES",
    "POOLING_TASKS",
    "ConvolutionKernel",
    "ConvolutionTask",
    "PoolingKernel",
    "PoolingMode",
    "PoolingTask",
]

ConvolutionTask: TypeAlias = Literal["forward", "input_grad", "weight_grad"]
PoolingTask: TypeAlias = Literal["pool", "average_pool_grad", "max_pool_grad", "max_pool_grad_grad"]
PoolingMode: TypeAlias = Literal["max", "sum", "average_inc_pad", "average_exc_pad"]
#: The tasks, and the modes of pooling; positions are the numbers of the runtime.
CONVOLUTION_TASKS: tuple[ConvolutionTask, ...] = ("forward", "input_grad", "weight_grad")
POOLING_TASKS: tuple[PoolingTask, ...] = ("pool", "average_pool_grad", "max_pool_grad", "max_pool_grad_grad")
POOLING_MODES: tuple[PoolingMode, ...] = ("max", "sum", "average_inc_pad", "average_exc_pad")
#: Widths of borders that depend on the lengths of the filters, as the runtime has them.
_BORDERS = {"valid": 0, "half": -1, "full": -2}


@record
class ConvolutionKernel(Kernel):
    """A convolution of images (n, channels, ...) with filters (filters, channels of a group, ...), or a gradient of it.

    Inputs are images and filters; filters, the cotangent of the result and the lengths of the images (int64); or
    images, the cotangent and the lengths of the filters. Other cases are left to the op's `perform`.

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

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        numbers = CONVOLUTION_TASKS.index(self.task), type_number(self.dtype), self.flip, self.groups
        return "convolution", (*numbers, self.strides, self.dilations, *self.sides, perform_runner(site.node))


@record
class PoolingKernel(Kernel):
    """Pooling over windows of the last axes, or a gradient of it.

    The last three inputs are the sizes of the windows, their steps and their padding, vectors of int64. Before come:
    the tensor ("pool"); the gradient of the result and the lengths of the axes ("average_pool_grad", of sums too); the
    tensor, its maxima and the gradient of the result ("max_pool_grad": added to the first largest elements); or the
    tensor, its maxima and another tensor ("max_pool_grad_grad": its elements where the maxima are). Other cases
    is left to the op's `perform`.

    Parameters
    ----------
    task : {"pool", "average_pool_grad", "max_pool_grad", "max_pool_grad_grad"}
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

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        numbers = POOLING_TASKS.index(self.task), type_number(self.dtype), self.ndim, POOLING_MODES.index(self.mode)
        return "pooling", (*numbers, self.ignore_border, perform_runner(site.node))
