"""Indexing as the extension takes it, and which writes go into the storage of shared variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._program import Instruction, Program
from .kernels import IndexArray, IndexEntry, Indexing, IndexInput, IndexNumber, IndexSlice, IndexWrite, MatrixProduct

_SLICE, _NUMBER, _ARRAY, _NEWAXIS = range(4)
_ABSENT, _CONSTANT, _INPUT = range(3)
_LARGEST = np.iinfo(np.intp).max


def index_payload(kernel: Indexing, instruction: Instruction, deferred: bool) -> tuple[Any, ...]:
    """Return the payload of an instruction; see c/index.c."""
    arrays = [i for i, e in enumerate(kernel.entries) if isinstance(e, (IndexArray, int, IndexInput))]
    advanced = any(isinstance(e, IndexArray) for e in kernel.entries)
    adjacent = advanced and arrays == list(range(arrays[0], arrays[0] + len(arrays)))
    ndims = [_array_ndim(e) for e in kernel.entries]
    write = kernel if isinstance(kernel, IndexWrite) else None
    return (
        tuple(_entry(e) for e in kernel.entries),
        tuple(np.dtype(dtype).num for dtype in kernel.dtypes),
        kernel.ndims,
        advanced,
        adjacent,
        max(ndims, default=0),
        write is not None and write.replace,
        0 if write is None else _takes(instruction),
        deferred,
        0 if write is None else _bits(write.stretches),
    )


def _takes(instruction: Instruction) -> int:
    """Return 2 where the op overwrites its first input, 1 where the machine may, 0 where it may not."""
    if 0 in instruction.node.op.destroy_map.get(0, ()):
        return 2
    return int(instruction.overwrites and instruction.inputs[0] in instruction.release)


def _array_ndim(entry: IndexEntry) -> int:
    return len(entry.stretches) if isinstance(entry, IndexArray) else 0


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
        case IndexArray(position, mask, stretches):
            return (_ARRAY, *nothing, *nothing, *nothing, position, mask, _bits(stretches))
    return (_NUMBER, *_number(entry), *nothing, *nothing, 0, False, 0)


def _writes(instruction: Instruction) -> bool:
    """Tell whether the result is the first input with something written into it or added to it."""
    kernel = instruction.kernel
    if not instruction.overwrites:
        return False
    if isinstance(kernel, MatrixProduct):
        return kernel.accumulates(len(instruction.inputs))
    return isinstance(kernel, IndexWrite)


def deferred_writes(program: Program) -> frozenset[int]:
    """Return the instructions that may write into the storage of a shared variable when the call has succeeded.

    Such a write changes the present value of a shared variable, and its result is nothing but the new value of the
    same variable, or what the next such write changes. Nothing in the program reads the result, so the write can wait.
    """
    reads: dict[int, list[tuple[int, int]]] = {}
    for i, instruction in enumerate(program.instructions):
        for position, register in enumerate(instruction.inputs):
            reads.setdefault(register, []).append((i, position))
    targets: dict[int, list[int]] = {}
    for register, cell in program.updates:
        targets.setdefault(register, []).append(id(cell))
    returned = set(program.outputs)
    wanted: dict[int, int] = {}
    for i in range(len(program.instructions) - 1, -1, -1):
        instruction = program.instructions[i]
        if not _writes(instruction) or instruction.outputs[0] in returned:
            continue
        readers, cells = reads.get(instruction.outputs[0], []), targets.get(instruction.outputs[0], [])
        if not readers and len(cells) == 1:
            wanted[i] = cells[0]
        elif len(readers) == 1 and not cells and readers[0][1] == 0 and readers[0][0] in wanted:
            wanted[i] = wanted[readers[0][0]]
    holds = {register: id(cell) for register, cell in program.cells}
    found: set[int] = set()
    for i, instruction in enumerate(program.instructions):
        if i in wanted and holds.get(instruction.inputs[0]) == wanted[i]:
            found.add(i)
            holds[instruction.outputs[0]] = wanted[i]
    return frozenset(found)
