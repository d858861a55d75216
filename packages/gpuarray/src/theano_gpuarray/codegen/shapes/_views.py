"""Views: arrays with other axes or lengths, and parts of arrays; a kernel is launched only where a view cannot be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theano_graph import format_error
from theano_linker_c.kernels import (
    IndexViewKernel,
    LengthKernel,
    ReshapeKernel,
    SpecifyShapeKernel,
    SplitKernel,
    TransposeKernel,
)

from .._copies import contiguous, host_numbers, on_device
from .._form import Operand, Recorder, contiguous_strides, register_device_form
from ..indexing._region import host_positions, resolve

__all__ = ["reshaped_strides"]


def _after_first(kernel: object, count: int) -> Sequence[int]:
    return range(1, count)


@register_device_form(TransposeKernel)
def _transpose(kernel: TransposeKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x = on_device(recorder, operands[0])
    for axis in kernel.drop:
        if x.shape[axis] != 1:
            raise ValueError(
                format_error(
                    f"dimshuffle: dimension {axis} of an array of shape {x.shape} cannot be dropped",
                    hint="drop dimensions of length 1 only, index it (x[0]), or reduce over it",
                )
            )
    shape = [1 if axis is None else x.shape[axis] for axis in kernel.order]
    return [x.view(shape, [0 if axis is None else x.strides[axis] for axis in kernel.order])]


@register_device_form(LengthKernel)
def _length(kernel: LengthKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    return [np.asarray(operands[0].shape[kernel.axis], "int64")]


@register_device_form(SpecifyShapeKernel, host_inputs=_after_first)
def _specify_shape(kernel: SpecifyShapeKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x, *lengths = operands
    axes = [axis for axis, checked in enumerate(kernel.checked) if checked]
    if not lengths:
        for axis in axes:
            if x.shape[axis] != 1:
                raise ValueError(
                    format_error(
                        f"Dimension {axis} in Rebroadcast's input was supposed to be 1 (got {x.shape[axis]} instead)",
                        hint="pass an array of length 1 there, or do not make this dimension broadcastable",
                    )
                )
    for axis, length in zip(axes, lengths, strict=False):
        (n,) = host_numbers(length)
        if x.shape[axis] != n and kernel.compared:
            raise ValueError(
                format_error(
                    f"Input dimension mis-match. (dimension {axis} has length {x.shape[axis]}, what it is used with "
                    f"has {n})",
                    hint="a length of 1 broadcasts only where it is declared",
                )
            )
        if x.shape[axis] != n:
            raise AssertionError(
                format_error(
                    f"SpecifyShape: dimension {axis} has length {x.shape[axis]}, expected {n} (shape {x.shape})",
                    hint="pass an array of the specified shape, or specify another one",
                )
            )
    return [x]


@register_device_form(ReshapeKernel, host_inputs=_after_first)
def _reshape(kernel: ReshapeKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x, lengths = on_device(recorder, operands[0]), host_numbers(operands[1])
    shape = _new_shape(kernel.ndim_out, x.shape, lengths)
    strides = reshaped_strides(x.shape, x.strides, shape)
    if strides is None:
        x = contiguous(recorder, x)
        strides = contiguous_strides(shape, x.itemsize)
    return [x.view(shape, strides)]


def _new_shape(ndim: int, shape: tuple[int, ...], lengths: Sequence[int]) -> tuple[int, ...]:
    """Return the lengths that are wanted, with the one that is -1 worked out."""
    if len(lengths) != ndim:
        raise ValueError(format_error(f"reshape: the shape has {len(lengths)} lengths, expected {ndim}"))
    if min(lengths, default=0) < -1 or sum(n == -1 for n in lengths) > 1:
        raise ValueError(
            format_error(
                f"reshape: {tuple(lengths)} is no shape: at most one length may be -1",
                hint="write lengths from 0 up, and -1 for one that follows from the others",
            )
        )
    product, size = 1, 1
    for n in lengths:
        product *= 1 if n == -1 else n
    for n in shape:
        size *= n
    if product != size if -1 not in lengths else product == 0 or size % product:
        raise ValueError(
            format_error(
                f"reshape: cannot give an array of shape {shape} the shape {tuple(lengths)}",
                hint="the numbers of elements must be equal; one length may be -1",
            )
        )
    return tuple(size // product if n == -1 else n for n in lengths)


def reshaped_strides(shape: Sequence[int], strides: Sequence[int], lengths: Sequence[int]) -> tuple[int, ...] | None:
    """Return the strides of the view that has the wanted lengths, or None where there is no such view.

    Parameters
    ----------
    shape, strides : sequence of int
        Of the array.
    lengths : sequence of int
        With the same number of elements.
    """
    if 0 in lengths:
        return contiguous_strides(lengths, 0)
    old = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    result: list[int] = []
    first = 0
    for n in lengths:
        if n == 1:
            result.append(0)
            continue
        # Dimensions of the array that together hold this one; what is left of the last of them serves the next.
        if first == len(old):
            return None
        length, stride = old[first]
        while length % n and first + 1 < len(old):
            inner, step = old[first + 1]
            if stride != inner * step:
                return None
            first += 1
            length, stride = length * inner, step
        if length % n:
            return None
        result.append(stride * (length // n))
        old[first] = (length // n, stride)
        first += old[first][0] == 1
    return tuple(result)


@register_device_form(SplitKernel, host_inputs=_after_first)
def _split(kernel: SplitKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x, lengths, axis = on_device(recorder, operands[0]), host_numbers(operands[2]), kernel.axis
    if sum(lengths) != x.shape[axis] or min(lengths, default=0) < 0:
        raise ValueError(
            format_error(
                f"split: lengths {lengths} do not add up to {x.shape[axis]} in {len(lengths)} parts",
                hint="give lengths from 0 up that add up to the length of the axis",
            )
        )
    parts, offset = [], x.offset
    for n in lengths:
        shape = (*x.shape[:axis], n, *x.shape[axis + 1 :])
        parts.append(x.view(shape, x.strides, offset))
        offset += n * x.strides[axis]
    return parts


@register_device_form(IndexViewKernel, host_inputs=lambda kernel, count: host_positions(kernel.entries))
def _index_view(kernel: IndexViewKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x = on_device(recorder, operands[0])
    region = resolve(kernel.entries, x, operands, kernel.ndims)
    return [x.view(region.shape, region.strides, x.offset + region.start)]
