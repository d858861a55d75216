"""Copies of arrays into arrays of any layout."""

from __future__ import annotations

import numpy as np

from ._form import DeviceOperand, Operand, Recorder
from ._kernel_writer import KernelWriter, merged_dimensions, move_type, spread

__all__ = ["broadcast_to", "contiguous", "copy_into", "on_device"]


def broadcast_to(operand: DeviceOperand, shape: tuple[int, ...]) -> DeviceOperand:
    """Return a view with more dimensions, and other lengths where an operand has length 1."""
    more = len(shape) - operand.ndim
    strides = tuple(
        0 if d < more or (operand.shape[d - more] == 1 and n != 1) else operand.strides[d - more]
        for d, n in enumerate(shape)
    )
    return operand.view(shape, strides)


def copy_into(recorder: Recorder, target: DeviceOperand, source: DeviceOperand) -> None:
    """Copy an array of the same shape and dtype; the target may have any layout that does not overlap itself."""
    if not target.size:
        return
    if target.contiguous and source.contiguous:
        recorder.copy(target, source)
        return
    shape, (to, of) = merged_dimensions(target.shape, target.strides, source.strides)
    kind = move_type(target.itemsize)
    writer = KernelWriter("copy_strided")
    writer.writes(p=target)
    writer.reads(q=source)
    lengths, into, out_of = writer.numbers("n", shape), writer.numbers("s", to), writer.numbers("t", of)
    writer.walk(target.size)
    writer.add("int64_t a = p_at, b = q_at;")
    writer.decode(lengths, [("a", into), ("b", out_of)])
    writer.add(f"*(GLOBAL_MEM {kind} *)(p + a) = *(GLOBAL_MEM const {kind} *)(q + b);")
    writer.end()
    writer.launch(recorder, *spread(recorder, target.size))


def contiguous(recorder: Recorder, operand: DeviceOperand, copied: bool = False) -> DeviceOperand:
    """Return an array with the same elements one behind the other: itself where it is so, and no copy is wanted."""
    if operand.contiguous and not copied:
        return operand
    result = recorder.empty(operand.dtype, operand.shape)
    copy_into(recorder, result, operand)
    return result


def on_device(recorder: Recorder, operand: Operand) -> DeviceOperand:
    """Return an operand on the device; one that is a number on the host is the same in every replay."""
    return operand if isinstance(operand, DeviceOperand) else recorder.constant(np.asarray(operand))


def host_numbers(operand: Operand) -> list[int]:
    """Return whole numbers that are on the host."""
    assert not isinstance(operand, DeviceOperand), "forms say which of their inputs are on the host"
    return [int(n) for n in np.asarray(operand).reshape(-1)]
