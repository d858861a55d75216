"""The device form of elementwise kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theano_linker_c.kernels import ElementwiseKernel
from theano_linker_c.scalar import NoNativeForm

from .._form import Argument, DeviceOperand, DeviceProperties, NoDeviceForm, Operand, Recorder, register_device_form
from ._nest import Layout, Nest, broadcast_shape, layout_of, nest_of
from ._texts import elementwise_text

__all__ = ["arrays", "elementwise_layouts"]

#: Work-items of a group on a graphics card.
LOCAL = 256
#: Elements of a piece of a row on a CPU, and groups for each of its cores.
PIECE = 8192
GROUPS = 4


def arrays(operands: Sequence[Operand], recorder: Recorder) -> list[DeviceOperand]:
    """Return operands as arrays on the device; numbers of the host are transferred."""
    return [x if isinstance(x, DeviceOperand) else recorder.constant(_array(x)) for x in operands]


def _array(value: object) -> NDArray[Any]:
    return np.asarray(value)


def elementwise_layouts(ndim: int, count: int) -> list[Layout]:
    """Return some layouts, which together have all statements that there are."""
    ndim = max(ndim, 1)
    modes = ("contiguous", "strided", "fixed")
    return [
        Layout(ndim, tuple(modes[0] if ndim == 1 else modes[k % 2] for k in range(count)), True, cpu, 1 if cpu else 4)
        for cpu in (False, True)
    ]


def _supports(kernel: ElementwiseKernel) -> bool:
    """Try the text."""
    count = len(kernel.input_dtypes) + len(kernel.output_dtypes)
    layout = Layout(1, ("contiguous",) * count, True, False, 1)
    try:
        elementwise_text(kernel, layout)
    except (NoDeviceForm, NoNativeForm):
        return False
    return True


@register_device_form(ElementwiseKernel, supports=_supports)
def run(kernel: ElementwiseKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    """Launch a scalar op over all elements of its inputs.

    Raises
    ------
    ValueError
        If lengths differ that do not broadcast.
    """
    inputs = arrays(operands, recorder)
    shape = broadcast_shape([x.shape for x in inputs], kernel.broadcast, kernel.ndim)
    outputs = [recorder.empty(dtype, shape) for dtype in kernel.output_dtypes]
    nest = nest_of(shape, inputs, kernel.broadcast, outputs)
    if nest.size:
        launch(kernel, recorder, nest, [*inputs, *outputs])
    return outputs


def launch(kernel: ElementwiseKernel, recorder: Recorder, nest: Nest, operands: Sequence[DeviceOperand]) -> None:
    """Launch a kernel over a nest, on inputs and outputs."""
    properties = recorder.properties
    layout = layout_of(nest, [x.itemsize for x in operands], properties)
    text = elementwise_text(kernel, layout)
    given: list[Argument] = [*nest.shape]
    groups = [0]
    local = min(LOCAL, properties.max_local)
    if layout.cpu:
        rows, last = nest.size // nest.shape[-1], nest.shape[-1]
        pieces = -(-last // PIECE)
        given += [rows * pieces, pieces, PIECE]
        groups, local = [min(rows * pieces, GROUPS * properties.units)], 1
    else:
        groups = [-(-nest.size // (local * layout.unroll))]
    given += operand_arguments(layout, nest, operands)
    recorder.launch(text, given, groups, [local])


def operand_arguments(layout: Layout, nest: Nest, operands: Sequence[DeviceOperand]) -> list[Argument]:
    """Return the arguments for the arrays: memory, offset, and the strides that the text asks for."""
    given: list[Argument] = []
    for operand, mode, strides in zip(operands, layout.modes, nest.strides, strict=True):
        given += [operand, operand.offset]
        if mode == "strided" or (layout.cpu and layout.ndim > 1):
            given += strides
    return given


def group_count(nest: Nest, layout: Layout, properties: DeviceProperties) -> int:
    """Return how many groups of a graphics card a nest takes."""
    return -(-nest.size // (min(LOCAL, properties.max_local) * layout.unroll))
