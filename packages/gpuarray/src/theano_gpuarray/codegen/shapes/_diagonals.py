"""Diagonals of arrays of any number of dimensions, and matrices with something on a diagonal and zeros elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from theano_graph import record
from theano_linker_c.kernels import Kernel

from .._copies import contiguous, copy_into, on_device
from .._form import DeviceOperand, Operand, Recorder, register_device_form
from .._kernel_writer import is_device_dtype

__all__ = ["DiagonalKernel", "DiagonalMatrixKernel", "diagonal_view"]


@record
class DiagonalKernel(Kernel):
    """A copy of a diagonal of two dimensions, which is the last dimension of the result.

    Parameters
    ----------
    dtype : str
    offset : int
        0 is the main diagonal, positive above, negative below.
    axis1, axis2 : int
        From 0 up, different.
    """

    dtype: str
    offset: int
    axis1: int
    axis2: int


@record
class DiagonalMatrixKernel(Kernel):
    """Matrices of zeros, on a diagonal of which are the elements of the last dimension.

    Parameters
    ----------
    dtype : str
    offset : int
    axis1, axis2 : int
        The dimensions of the result that are rows and columns, from 0 up, different.
    """

    dtype: str
    offset: int
    axis1: int
    axis2: int


def diagonal_view(x: DeviceOperand, offset: int, axis1: int, axis2: int) -> DeviceOperand:
    """Return a diagonal as a view, with the diagonal as its last dimension."""
    down, right = max(-offset, 0), max(offset, 0)
    length = max(0, min(x.shape[axis1] - down, x.shape[axis2] - right))
    others = [d for d in range(x.ndim) if d not in (axis1, axis2)]
    shape = (*(x.shape[d] for d in others), length)
    strides = (*(x.strides[d] for d in others), x.strides[axis1] + x.strides[axis2])
    begin = x.offset + down * x.strides[axis1] + right * x.strides[axis2] if length else x.offset
    return x.view(shape, strides, begin)


@register_device_form(DiagonalKernel, supports=lambda kernel: is_device_dtype(kernel.dtype))
def _diagonal(kernel: DiagonalKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x = on_device(recorder, operands[0])
    return [contiguous(recorder, diagonal_view(x, kernel.offset, kernel.axis1, kernel.axis2), copied=True)]


@register_device_form(DiagonalMatrixKernel, supports=lambda kernel: is_device_dtype(kernel.dtype))
def _matrix(kernel: DiagonalMatrixKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x = on_device(recorder, operands[0])
    side = x.shape[-1] + abs(kernel.offset)
    shape = list(x.shape[:-1])
    for axis in sorted((kernel.axis1, kernel.axis2)):
        shape.insert(axis, side)
    result = recorder.empty(kernel.dtype, shape)
    recorder.fill(result, 0)
    copy_into(recorder, diagonal_view(result, kernel.offset, kernel.axis1, kernel.axis2), x)
    return [result]
