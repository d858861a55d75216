"""Matrices as stacks with one leading dimension, and what is refused of them."""

from __future__ import annotations

import math

import numpy as np

from theano_graph import format_error

from .._copies import copy_into
from .._form import DeviceOperand, Recorder
from ._blocks import Explain

__all__ = ["FLOATS", "as_stack", "check_square", "copy_matrices", "explained", "stack", "transposed"]

#: Dtypes of matrices.
FLOATS = ("float32", "float64")
_NOT_SQUARE = "use nlinalg.pinv or nlinalg.lstsq for matrices that are not square"


def stack(x: DeviceOperand) -> DeviceOperand:
    """Return contiguous matrices as a stack with one leading dimension."""
    shape = (math.prod(x.shape[:-2]), *x.shape[-2:])
    rows = x.itemsize * x.shape[-1]
    return x.view(shape, (rows * x.shape[-2], rows, x.itemsize))


def as_stack(recorder: Recorder, x: DeviceOperand) -> DeviceOperand:
    """Return matrices as a stack; those of more than one leading dimension are copied where they have gaps."""
    if x.ndim <= 3:
        return x if x.ndim == 3 else x.view((1, *x.shape), (0, *x.strides))
    if x.contiguous:
        return stack(x)
    copied = recorder.empty(x.dtype, x.shape)
    copy_into(recorder, copied, x)
    return stack(copied)


def transposed(x: DeviceOperand) -> DeviceOperand:
    """Return a view with each matrix transposed."""
    order = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
    return x.view([x.shape[d] for d in order], [x.strides[d] for d in order])


def copy_matrices(recorder: Recorder, target: DeviceOperand, source: DeviceOperand) -> None:
    """Copy matrices of any layout into a stack."""
    lead = source.shape[:-2]
    steps, step = [0] * len(lead), target.strides[0]
    for d in reversed(range(len(lead))):
        steps[d] = step
        step *= lead[d]
    copy_into(recorder, target.view(source.shape, (*steps, *target.strides[1:])), source)


def check_square(name: str, x: DeviceOperand) -> None:
    """Raise LinAlgError if matrices are not square."""
    rows, columns = x.shape[-2:]
    if rows != columns:
        what = f"{name}: the matrix is {rows} by {columns}, not square"
        raise np.linalg.LinAlgError(format_error(what, hint=_NOT_SQUARE))


def explained(what: str, hint: str) -> Explain:
    """Return what makes a LinAlgError of what a kernel found wrong."""

    def explain(index: int, value: int, length: int) -> Exception:
        return np.linalg.LinAlgError(format_error(what, hint=hint))

    return explain
