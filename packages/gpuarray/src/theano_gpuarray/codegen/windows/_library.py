"""Convolutions that a library computes where there is one; else they are products of our own."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from theano_graph import record
from theano_linker_c.kernels import ConvolutionKernel, Kernel

from .._copies import contiguous
from .._form import ConvolutionRequest, Operand, Recorder, device_form, register_device_form
from ._convolution import Convolution, launch_convolution, understood
from ._geometry import sides_of

__all__ = ["ChosenOnce", "DnnConvolutionKernel"]


class ChosenOnce:
    """The algorithm that a convolution keeps when it has been chosen, for each context.

    Attributes
    ----------
    algorithms : mapping of GpuContext to int
    """

    def __init__(self) -> None:
        self.algorithms: MutableMapping[Any, int] = WeakKeyDictionary()


@record
class DnnConvolutionKernel(Kernel):
    """A convolution or a gradient of it, by a library where there is one; its inputs are those of the convolution.

    Parameters
    ----------
    convolution : ConvolutionKernel
    algorithm : str
        A name of :mod:`theano_gpuarray.dnn_flags`.
    chosen : ChosenOnce or None
        Where the algorithm is chosen once: what was chosen.
    """

    convolution: ConvolutionKernel
    algorithm: str
    chosen: ChosenOnce | None = None


@register_device_form(
    DnnConvolutionKernel,
    supports=lambda kernel: device_form.lookup(kernel.convolution).supports(kernel.convolution),
    host_inputs=lambda kernel, count: range(2, count),
)
def _convolution(kernel: DnnConvolutionKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    found = understood(kernel.convolution, recorder, operands)
    if not _by_library(kernel, recorder, found):
        launch_convolution(kernel.convolution, recorder, found)
    return [found.arrays[found.result]]


def _by_library(kernel: DnnConvolutionKernel, recorder: Recorder, convolution: Convolution) -> bool:
    """Compute a convolution by a library; return False where there is none for it."""
    request = _request(kernel, convolution)
    plan = None if request is None else recorder.plan_convolution(request)
    if plan is None:
        return False
    arrays = {
        name: array if name == convolution.result else contiguous(recorder, array)
        for name, array in convolution.arrays.items()
    }
    workspace = recorder.empty("uint8", (plan.workspace,))
    recorder.convolve(plan, arrays["image"], arrays["filter"], arrays["top"], workspace)
    return True


def _request(kernel: DnnConvolutionKernel, found: Convolution) -> ConvolutionRequest | None:
    """Describe a convolution; None where libraries have none such: of no elements, or with borders that differ."""
    convolution, geometry = kernel.convolution, found.geometry
    zeros = sides_of(convolution, geometry.filters[2:])
    if any(before != after for before, after in zeros) or 0 in (*geometry.images, *geometry.filters):
        return None
    # Libraries know two or three axes: one axis is the second of two.
    more = (1,) * max(2 - len(convolution.strides), 0)
    return ConvolutionRequest(
        convolution.task,
        convolution.dtype,
        _lengthened(geometry.images, more),
        _lengthened(geometry.filters, more),
        _lengthened(geometry.output, more),
        (*(0 for _ in more), *(before for before, _ in zeros)),
        (*more, *convolution.strides),
        (*more, *convolution.dilations),
        convolution.groups,
        convolution.flip,
        kernel.algorithm,
        kernel.chosen,
    )


def _lengthened(lengths: tuple[int, ...], more: tuple[int, ...]) -> tuple[int, ...]:
    return (*lengths[:2], *more, *lengths[2:])
