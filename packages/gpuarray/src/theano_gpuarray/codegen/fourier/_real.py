"""Transforms of real numbers over all dimensions but the first."""

from __future__ import annotations

from collections.abc import Sequence

from theano_graph import format_error

from .._copies import host_numbers, on_device
from .._form import Operand, Recorder, register_device_form
from ._kernel import InverseRealFourierKernel, RealFourierKernel
from ._library import forward_by_library, inverse_by_library
from ._lines import lines_of
from ._passes import transform

__all__: list[str] = []

_FLOATS = ("float32", "float64")


@register_device_form(RealFourierKernel, supports=lambda kernel: kernel.dtype in _FLOATS)
def _forward(kernel: RealFourierKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x = on_device(recorder, operands[0])
    if 0 in x.shape[1:]:
        raise ValueError(format_error(f"rfft: there is nothing to transform in shape {x.shape}"))
    *front, n = x.shape
    result = recorder.empty(kernel.dtype, (*front, n // 2 + 1, 2))
    if forward_by_library(recorder, x, result):
        return [result]
    transform(recorder, lines_of(x, x.ndim - 1, "real", n), lines_of(result, x.ndim - 1, "half", n), n, -1)
    for axis in range(1, x.ndim - 1):
        lines = lines_of(result, axis, "pairs", x.shape[axis])
        transform(recorder, lines, lines, x.shape[axis], -1)
    return [result]


@register_device_form(
    InverseRealFourierKernel,
    supports=lambda kernel: kernel.dtype in _FLOATS,
    host_inputs=lambda kernel, count: (1,),
)
def _inverse(kernel: InverseRealFourierKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    y, (n,) = on_device(recorder, operands[0]), host_numbers(operands[1])
    if y.shape[-1] != 2 or n < 1 or 0 in y.shape[1:] or y.shape[-2] != n // 2 + 1:
        raise ValueError(
            format_error(
                f"irfft: shape {y.shape} does not fit {n} elements",
                hint="the last two lengths are n//2 + 1 and 2; set is_odd for an odd n",
            )
        )
    result = recorder.empty(kernel.dtype, (*y.shape[:-2], n))
    if inverse_by_library(recorder, y, result):
        return [result]
    for axis in range(1, y.ndim - 2):
        target = recorder.empty(kernel.dtype, y.shape)
        length = y.shape[axis]
        transform(recorder, lines_of(y, axis, "pairs", length), lines_of(target, axis, "pairs", length), length, 1)
        y = target
    transform(recorder, lines_of(y, y.ndim - 2, "half", n), lines_of(result, y.ndim - 2, "real", n), n, 1)
    return [result]
