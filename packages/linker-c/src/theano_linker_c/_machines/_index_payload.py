"""Indexing as the extension takes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._programs._instructions import Instruction
from ..kernels import IndexArray, IndexEntry, Indexing, IndexInput, IndexNumber, IndexSlice, IndexWriteKernel

_SLICE, _NUMBER, _ARRAY, _NEWAXIS = range(4)
_ABSENT, _CONSTANT, _INPUT = range(3)
_LARGEST = np.iinfo(np.intp).max


def index_payload(kernel: Indexing, instruction: Instruction) -> tuple[Any, ...]:
    """Return the payload of an instruction; see c/indexing/index.c."""
    arrays = [i for i, e in enumerate(kernel.entries) if isinstance(e, (IndexArray, int, IndexInput))]
    advanced = any(isinstance(e, IndexArray) for e in kernel.entries)
    adjacent = advanced and arrays == list(range(arrays[0], arrays[0] + len(arrays)))
    ndims = [_array_ndim(e) for e in kernel.entries]
    write = kernel if isinstance(kernel, IndexWriteKernel) else None
    return (
        tuple(_entry(e) for e in kernel.entries),
        tuple(np.dtype(dtype).num for dtype in kernel.dtypes),
        kernel.ndims,
        advanced,
        adjacent,
        max(ndims, default=0),
        write is not None and write.replace,
        0 if write is None else _takes(instruction),
        0 if instruction.waits is None else instruction.waits + 1,
        0 if write is None else _bits(write.broadcastable),
    )


def _takes(instruction: Instruction) -> int:
    """Return 2 where the op overwrites its first input, 1 where the machine may, 0 where it may not."""
    if 0 in instruction.node.op.destroy_map.get(0, ()):
        return 2
    return int(bool(instruction.donors) and 0 in instruction.donors[0])


def _array_ndim(entry: IndexEntry) -> int:
    return len(entry.broadcastable) if isinstance(entry, IndexArray) else 0


def _bits(flags: Sequence[bool]) -> int:
    return sum(1 << d for d, flag in enumerate(flags) if flag)


def _number(value: IndexNumber | None) -> tuple[int, int]:
    if value is None:
        return _ABSENT, 0
    if isinstance(value, IndexInput):
        return _INPUT, value.position
    return _CONSTANT, max(-_LARGEST, min(value, _LARGEST))


def _entry(entry: IndexEntry) -> tuple[Any, ...]:
    nothing = _number(None)
    match entry:
        case None:
            return (_NEWAXIS, *nothing, *nothing, *nothing, 0, False, 0)
        case IndexSlice(start, stop, step):
            return (_SLICE, *_number(start), *_number(stop), *_number(step), 0, False, 0)
        case IndexArray(position, mask, broadcastable):
            return (_ARRAY, *nothing, *nothing, *nothing, position, mask, _bits(broadcastable))
    return (_NUMBER, *_number(entry), *nothing, *nothing, 0, False, 0)
