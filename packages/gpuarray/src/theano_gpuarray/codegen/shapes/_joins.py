"""Arrays put together: vectors of scalars, arrays full of a value, arrays one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from theano_graph import format_error
from theano_linker_c.kernels import ConcatenateKernel, FullKernel, StackKernel

from .._copies import broadcast_to, copy_into, host_numbers, on_device
from .._form import DeviceOperand, Operand, Recorder, register_device_form
from .._kernel_writer import KernelWriter, is_device_dtype, merged_dimensions, move_type, spread

__all__ = ["join_parts"]

#: Bytes of arguments that any device takes.
_ARGUMENT_BYTES = 1000


@register_device_form(StackKernel, supports=lambda kernel: is_device_dtype(kernel.dtype))
def _stack(kernel: StackKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    if not any(isinstance(x, DeviceOperand) for x in operands):
        return [np.array([np.asarray(x) for x in operands], kernel.dtype)]
    result = recorder.empty(kernel.dtype, (len(operands),))
    join_parts(recorder, result, [_as_vector(on_device(recorder, x)) for x in operands], 0)
    return [result]


def _as_vector(x: DeviceOperand) -> DeviceOperand:
    return x.view((1,), (x.itemsize,))


@register_device_form(
    FullKernel,
    supports=lambda kernel: is_device_dtype(kernel.dtype),
    host_inputs=lambda kernel, count: range(1, count),
)
def _full(kernel: FullKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    value, *lengths = operands
    shape = tuple(host_numbers(n)[0] for n in lengths)
    if min(shape, default=0) < 0:
        raise ValueError(
            format_error(f"alloc: {shape} is no shape: a length is negative", hint="pass lengths from 0 up")
        )
    ends = shape[len(shape) - value.ndim :]
    if any(n != m and not s for n, m, s in zip(value.shape, ends, kernel.broadcastable, strict=True)):
        raise ValueError(
            format_error(
                f"alloc: a value of shape {value.shape} does not fit into the shape {shape}",
                hint="lengths must be equal; only dimensions that are declared broadcastable broadcast",
            )
        )
    result = recorder.empty(kernel.dtype, shape)
    if not isinstance(value, DeviceOperand) and not np.asarray(value).tobytes().strip(b"\0"):
        recorder.fill(result, 0)
    else:
        copy_into(recorder, result, broadcast_to(on_device(recorder, value), shape))
    return [result]


@register_device_form(
    ConcatenateKernel,
    supports=lambda kernel: is_device_dtype(kernel.dtype),
    host_inputs=lambda kernel, count: (0,),
)
def _concatenate(kernel: ConcatenateKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    parts, axis = [on_device(recorder, x) for x in operands[1:]], kernel.axis
    rests = {(*x.shape[:axis], *x.shape[axis + 1 :]) for x in parts}
    if len(rests) > 1:
        raise ValueError(
            format_error(
                f"join: shapes {', '.join(str(x.shape) for x in parts)} do not fit along axis {axis}",
                hint="all lengths but that of the axis must be equal",
            )
        )
    length = sum(x.shape[axis] for x in parts)
    result = recorder.empty(kernel.dtype, (*parts[0].shape[:axis], length, *parts[0].shape[axis + 1 :]))
    join_parts(recorder, result, parts, axis)
    return [result]


def join_parts(recorder: Recorder, result: DeviceOperand, parts: Sequence[DeviceOperand], axis: int) -> None:
    """Copy arrays one after the other along an axis, by as few launches as their arguments fit into."""
    begins = [0, *accumulate(x.shape[axis] for x in parts)]
    filled = [(x, begin) for x, begin in zip(parts, begins, strict=False) if x.size]
    if len(filled) == 1:
        copy_into(recorder, result, filled[0][0])
        return
    each = 8 * (3 + result.ndim)
    most = max((_ARGUMENT_BYTES - 8 * (4 + 2 * result.ndim)) // each, 1)
    for first in range(0, len(filled), most):
        chosen = filled[first : first + most]
        begin, end = chosen[0][1], chosen[-1][1] + chosen[-1][0].shape[axis]
        shape = (*result.shape[:axis], end - begin, *result.shape[axis + 1 :])
        target = result.view(shape, result.strides, result.offset + begin * result.strides[axis])
        _join(recorder, target, [(x, at - begin) for x, at in chosen], axis)


def _join(recorder: Recorder, target: DeviceOperand, parts: Sequence[tuple[DeviceOperand, int]], axis: int) -> None:
    """Launch one copy of parts that begin at some positions along an axis."""
    kind = move_type(target.itemsize)
    # Along the axis the first part stands for all: the others differ in their lengths, not in how dimensions join.
    shape, strides = merged_dimensions(
        target.shape, target.strides, *(x.strides for x, _ in parts), apart=(axis, axis + 1)
    )
    along = len(
        merged_dimensions(target.shape[:axis], *(x.strides[:axis] for x in (target, *(x for x, _ in parts))))[0]
    )
    writer = KernelWriter(f"join_{len(parts)}")
    writer.writes(p=target)
    lengths, into = writer.numbers("n", shape), writer.numbers("s", strides[0])
    for k, ((x, begin), target_strides) in enumerate(zip(parts, strides[1:], strict=True)):
        writer.array(f"q{k}_", x)
        writer.number(f"begin{k}", begin)
        writer.numbers(f"t{k}_", target_strides)
    writer.walk(target.size)
    places = writer.positions(lengths)
    writer.add(f"GLOBAL_MEM {kind} *to = (GLOBAL_MEM {kind} *)(p + p_at + {_dot(places, into)});")
    for k in reversed(range(len(parts))):
        own_places = [f"({j} - begin{k})" if d == along else j for d, j in enumerate(places)]
        at = f"q{k}__at + {_dot(own_places, [f't{k}_{d}' for d in range(len(shape))])}"
        head = f"if (j{along} >= begin{k}) " if k else ""
        tail = " else" if k else ""
        writer.add(f"{head}*to = *(GLOBAL_MEM const {kind} *)(q{k}_ + {at});{tail}")
    writer.end()
    writer.launch(recorder, *spread(recorder, target.size))


def _dot(places: Sequence[str], strides: Sequence[str]) -> str:
    return " + ".join(f"{j} * {s}" for j, s in zip(places, strides, strict=True))
