"""The device form of elementwise kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theano_linker_c.kernels import ElementwiseKernel, broadcast_lengths
from theano_linker_c.scalar import NoNativeForm

from .._form import Argument, DeviceOperand, NoDeviceForm, Operand, Recorder, register_device_form
from ._nest import Layout, Nest, has_strides, layout_of, nest_of
from ._texts import elementwise_text

__all__ = ["arrays", "fits_parameters"]

#: Work-items of a group on a graphics card.
LOCAL = 256
#: Elements of a piece of a row on a CPU, and groups for each of its cores.
PIECE = 8192
GROUPS = 4
#: Bytes of the parameters of a kernel: CUDA has 4096.
MOST_PARAMETERS = 4000


def arrays(operands: Sequence[Operand], recorder: Recorder) -> list[DeviceOperand]:
    """Return operands as arrays on the device; numbers of the host are transferred."""
    return [x if isinstance(x, DeviceOperand) else recorder.constant(_array(x)) for x in operands]


def _array(value: object) -> NDArray[Any]:
    return np.asarray(value)


def fits_parameters(operands: int, ndim: int) -> bool:
    """Tell whether the parameters of a kernel are within the bytes that devices allow, however operands lie."""
    return (operands + 1) * (16 + 8 * max(ndim, 1)) <= MOST_PARAMETERS


def _supports(kernel: ElementwiseKernel) -> bool:
    """Try the text."""
    count = len(kernel.input_dtypes) + len(kernel.output_dtypes)
    layout = Layout(1, ("contiguous",) * count, True, False, 1)
    if not fits_parameters(count, kernel.ndim):
        return False
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
    shape = broadcast_lengths([x.shape for x in inputs], kernel.broadcast, kernel.ndim)
    outputs = [recorder.empty(dtype, shape) for dtype in kernel.output_dtypes[1:]]
    outputs.insert(0, _first_output(recorder, kernel.output_dtypes[0], shape, inputs))
    nest = nest_of(shape, inputs, kernel.broadcast, outputs)
    if nest.size:
        launch(kernel, recorder, nest, [*inputs, *outputs])
    return outputs


def _first_output(
    recorder: Recorder, dtype: str, shape: tuple[int, ...], inputs: Sequence[DeviceOperand]
) -> DeviceOperand:
    """Return the memory of the first input where that may be overwritten: each work-item reads what it writes first."""
    if inputs:
        x, others = inputs[0], inputs[1:]
        fits = (x.dtype, x.shape) == (dtype, shape) and x.contiguous
        if fits and all(y.slot != x.slot for y in others) and recorder.may_overwrite(x):
            return x
    return recorder.empty(dtype, shape)


def launch(kernel: ElementwiseKernel, recorder: Recorder, nest: Nest, operands: Sequence[DeviceOperand]) -> None:
    """Launch a kernel over a nest, on inputs and outputs."""
    properties = recorder.properties
    count = len(kernel.input_dtypes)
    apart = {x.slot for x in operands[:count]}.isdisjoint(y.slot for y in operands[count:])
    layout = layout_of(nest, [x.itemsize for x in operands], properties, kernel.scalar_op.cost, apart)
    text = elementwise_text(kernel, layout)
    arguments: list[Argument] = [*nest.shape]
    groups = [0]
    local = min(LOCAL, properties.max_local)
    if layout.cpu:
        rows, last = nest.size // nest.shape[-1], nest.shape[-1]
        pieces = -(-last // PIECE)
        arguments += [rows * pieces, pieces, PIECE]
        groups, local = [min(rows * pieces, GROUPS * properties.units)], 1
    else:
        groups = [-(-nest.size // (local * layout.unroll))]
    arguments += operand_arguments(layout, nest, operands)
    recorder.launch(text, arguments, groups, [local])


def operand_arguments(layout: Layout, nest: Nest, operands: Sequence[DeviceOperand]) -> list[Argument]:
    """Return the arguments for the arrays: memory, offset, and the strides that the text asks for."""
    arguments: list[Argument] = []
    for operand, mode, strides in zip(operands, layout.modes, nest.strides, strict=True):
        arguments += [operand, operand.offset]
        if has_strides(layout, mode):
            arguments += strides
    return arguments
