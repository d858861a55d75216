"""Arrays that are made in one pass: diagonals, ranges, unit matrices, cumulative sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from theano_graph import format_error
from theano_linker_c.kernels import ArrayRoutineKernel, memory_type
from theano_linker_c.scalar import CValue, c_stored

from .._copies import contiguous, host_numbers, on_device
from .._form import Operand, Recorder, Run, register_device_form
from .._kernel_writer import KernelWriter, is_device_dtype, spread
from ..reduction import cumulative

__all__: list[str] = []


@register_device_form(
    ArrayRoutineKernel,
    supports=lambda kernel: kernel.task in _TASKS and is_device_dtype(kernel.dtype),
    host_inputs=lambda kernel, count: range(count) if kernel.task in ("arange", "eye") else (),
)
def _routine(kernel: ArrayRoutineKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    return _TASKS[kernel.task](kernel, recorder, operands)


def _diagonal(kernel: ArrayRoutineKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x, number = on_device(recorder, operands[0]), kernel.number
    down, right = max(-number, 0), max(number, 0)
    length = max(0, min(x.shape[0] - down, x.shape[1] - right))
    offset = x.offset + down * x.strides[0] + right * x.strides[1] if length else x.offset
    return [contiguous(recorder, x.view((length,), (sum(x.strides),), offset), copied=True)]


def _arange(kernel: ArrayRoutineKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    start, stop, step = (host_numbers(x)[0] for x in operands)
    if step == 0:
        raise ValueError(
            format_error(f"arange: from {start} to {stop} in steps of zero there is no end", hint="use another step")
        )
    result = recorder.empty(kernel.dtype, (len(range(start, stop, step)),))
    if result.size:
        writer, memory = KernelWriter("arange"), memory_type(kernel.dtype)
        writer.writes(p=result)
        writer.number("start", start)
        writer.number("step", step)
        writer.walk(result.size)
        writer.add(
            f"((GLOBAL_MEM {memory} *)(p + p_at))[i] = {c_stored(CValue('(start + r * step)', 'int64'), kernel.dtype)};"
        )
        writer.end()
        writer.launch(recorder, *spread(recorder, result.size))
    return [result]


def _eye(kernel: ArrayRoutineKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    rows, columns, number = (host_numbers(x)[0] for x in operands)
    if min(rows, columns) < 0:
        raise ValueError(
            format_error(
                f"negative dimensions are not allowed: eye has {rows} rows and {columns} columns",
                hint="pass lengths from 0 up",
            )
        )
    result = recorder.empty(kernel.dtype, (rows, columns))
    if result.size:
        writer, memory = KernelWriter("eye"), memory_type(kernel.dtype)
        writer.writes(p=result)
        writer.number("columns", columns)
        writer.number("diagonal", number)
        writer.walk(result.size)
        on_it = CValue("((int64_t)(i % columns) == (int64_t)(i / columns) + diagonal)", "bool")
        writer.add(f"((GLOBAL_MEM {memory} *)(p + p_at))[i] = {c_stored(on_it, kernel.dtype)};")
        writer.end()
        writer.launch(recorder, *spread(recorder, result.size))
    return [result]


_TASKS: Mapping[str, Run] = MappingProxyType(
    {"diagonal": _diagonal, "arange": _arange, "eye": _eye, "cumsum": cumulative, "cumprod": cumulative}
)
