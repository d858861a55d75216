"""Sorting along any axis, and the largest or smallest elements."""

from __future__ import annotations

from collections.abc import Sequence

from theano_graph import format_error
from theano_linker_c.kernels import memory_type

from .._copies import copy_into, host_numbers, on_device
from .._form import DeviceOperand, Operand, Recorder, register_device_form
from .._kernel_writer import KernelWriter, is_device_dtype, merged_dimensions, spread
from ._kernels import SortKernel, TopKKernel
from ._merge_sort import sorted_rows

__all__: list[str] = []


def _axis_last(x: DeviceOperand, axis: int) -> DeviceOperand:
    order = [*(d for d in range(x.ndim) if d != axis), axis]
    return x.view([x.shape[d] for d in order], [x.strides[d] for d in order])


def _placed(recorder: Recorder, forms: DeviceOperand, x: DeviceOperand, axis: int, first: int, dtype: str) -> Operand:
    """Return the first elements of rows along the axis of the array that they come from, in some dtype."""
    shape = (*x.shape[:axis], first, *x.shape[axis + 1 :])
    if forms.dtype == dtype and axis == x.ndim - 1 and first == x.shape[axis]:
        return forms.view(shape, _row_strides(forms, x, axis))
    result = recorder.empty(dtype, shape)
    source = forms.view(shape, _row_strides(forms, x, axis))
    if forms.dtype == dtype:
        copy_into(recorder, result, source)
    elif result.size:
        _convert(recorder, result, source)
    return result


def _row_strides(forms: DeviceOperand, x: DeviceOperand, axis: int) -> tuple[int, ...]:
    """Return the strides of rows that follow each other, with the axis in its place."""
    strides, step = [0] * x.ndim, forms.itemsize * x.shape[axis]
    strides[axis] = forms.itemsize
    for d in reversed(range(x.ndim)):
        if d != axis:
            strides[d] = step
            step *= max(x.shape[d], 1)
    return tuple(strides)


def _convert(recorder: Recorder, target: DeviceOperand, source: DeviceOperand) -> None:
    """Copy numbers of elements to another dtype."""
    shape, (to, of) = merged_dimensions(target.shape, target.strides, source.strides)
    writer = KernelWriter("convert_numbers")
    writer.writes(p=target)
    writer.reads(q=source)
    lengths, into, out_of = writer.numbers("n", shape), writer.numbers("s", to), writer.numbers("t", of)
    writer.walk(target.size)
    writer.add("int64_t a = p_at, b = q_at;")
    writer.decode(lengths, [("a", into), ("b", out_of)])
    memory = memory_type(target.dtype)
    writer.add(f"*(GLOBAL_MEM {memory} *)(p + a) = ({memory})*(GLOBAL_MEM const int64_t *)(q + b);")
    writer.end()
    writer.launch(recorder, *spread(recorder, target.size))


@register_device_form(SortKernel, supports=lambda kernel: is_device_dtype(kernel.dtype))
def _sort(kernel: SortKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x, axis = on_device(recorder, operands[0]), kernel.axis
    values, order = sorted_rows(recorder, _axis_last(x, axis), with_order=kernel.numbers)
    result = values if order is None else order
    return [_placed(recorder, result, x, axis, x.shape[axis], result.dtype)]


@register_device_form(
    TopKKernel, supports=lambda kernel: is_device_dtype(kernel.dtype), host_inputs=lambda kernel, count: (1,)
)
def _top_k(kernel: TopKKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x, axis, (k,) = on_device(recorder, operands[0]), kernel.axis, host_numbers(operands[1])
    length = x.shape[axis]
    if not 0 < abs(k) <= length:
        raise ValueError(
            format_error(
                f"topk: k is {k}, the length of axis {axis} is {length}",
                hint=f"use 1 to {length} for the largest, -1 to -{length} for the smallest",
            )
        )
    values, order = sorted_rows(
        recorder, _axis_last(x, axis), descending=k > 0, with_order=kernel.indices, first=abs(k)
    )
    results = [_placed(recorder, values, x, axis, abs(k), kernel.dtype)] if kernel.values else []
    if order is not None:
        results.append(_placed(recorder, order, x, axis, abs(k), kernel.index_dtype))
    return results
