"""Arrays of indices that are known when code is written: elements found where they are read, sums in a better order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels import ElementwiseKernel, IndexArray, IndexReadKernel, ReductionKernel
from ..runtime._instructions import Instruction, KernelForm, Program
from ._arrays import CArray
from ._block import Block
from ._lengths import ONE, Length

__all__ = ["checked_indices", "found_elements", "looked_up_registers", "spread_order", "written_in_order"]

#: Elements that are read by more loops than this are copied together first.
_READERS = 2
#: The order of sums is changed within parts of so many terms, which stay in the cache.
_PART = 1024


def checked_indices(block: Block, array: CArray, length: Length) -> CArray | None:
    """Return a table of indices counted from the beginning; None where they are not known, or one is out of bounds.

    Parameters
    ----------
    block : Block
    array : CArray
        The indices.
    length : Length
        Of the dimension that is indexed.
    """
    if array.value is None or not length.known:
        return None
    values = np.asarray(array.value)
    if values.dtype.kind not in "iu" or length.factor > np.iinfo("int64").max:
        return None
    if values.size and not (values.min() >= -length.factor and values.max() < length.factor):
        return None
    return block.constant(_small(np.where(values < 0, values.astype("int64") + length.factor, values)))


def _small(indices: Any) -> Any:
    """Return indices as int32 where they are small enough."""
    dtype = "int32" if not indices.size or indices.max() <= np.iinfo("int32").max else "int64"
    return np.ascontiguousarray(indices, dtype)


def found_elements(block: Block, x: CArray, positions: CArray) -> CArray | None:
    """Return elements of a vector as an array that is looked up where it is read, if the present step allows that.

    Parameters
    ----------
    block : Block
    x : CArray
        The vector.
    positions : CArray
        A table of indices, one for each element.
    """
    assert block.step is not None, "indices belong to an instruction"
    fits = x.ndim == 1 and positions.ndim == 1 and x.strides[0] == ONE and x.positions is None
    if not fits or block.step.instruction.outputs[0] not in block.looked_up:
        return None
    return CArray(x.dtype, positions.shape, positions.strides, x.pointer, x.root, positions=positions)


def spread_order(indices: Any) -> Any:
    """Return an order of terms in which those of one sum are apart, so that none waits for the one before it.

    Terms of one sum keep their order among each other. None where the given order is as good.

    Parameters
    ----------
    indices : ndarray
        To which sum each term belongs.

    Examples
    --------
    >>> import numpy
    >>> spread_order(numpy.array([0, 0, 0, 1, 1, 2, 3])).tolist()
    [0, 3, 5, 6, 1, 4, 2]
    """
    order, near = np.arange(indices.size), False
    for begin in range(0, indices.size, _PART):
        part = indices[begin : begin + _PART]
        by_sum = np.argsort(part, kind="stable")
        first = np.flatnonzero(np.diff(part[by_sum], prepend=-1))
        counts = np.diff(first, append=part.size)
        ranks = np.empty(part.size, "int64")
        ranks[by_sum] = np.arange(part.size) - np.repeat(first, counts)
        found = np.lexsort((part, ranks))
        near = near or (len(counts) > 1 and _waits(part) > _waits(part[found]))
        order[begin : begin + part.size] = begin + found
    return order if near else None


def _waits(indices: Any) -> int:
    """Return how many terms are added to the sum to which one of the two terms before them was added."""
    return int(np.count_nonzero(indices[1:] == indices[:-1]) + np.count_nonzero(indices[2:] == indices[:-2]))


def written_in_order(block: Block, positions: CArray) -> tuple[CArray, CArray] | None:
    """Return tables of indices and of the terms for them, in an order in which sums are faster; None for the given one.

    Parameters
    ----------
    block : Block
    positions : CArray
        A table of indices, one for each term.
    """
    if positions.ndim != 1 or positions.value is None:
        return None
    order = spread_order(positions.value)
    if order is None:
        return None
    return block.constant(positions.value[order]), block.constant(_small(order))


def looked_up_registers(program: Program) -> frozenset[int]:
    """Return registers of elements that loops may look up one by one: nothing else reads them.

    Parameters
    ----------
    program : Program
    """
    needed = {*program.outputs, *(register for register, _ in program.updates)}
    readers: dict[int, list[Instruction]] = {}
    for instruction in program.instructions:
        for register in set(instruction.inputs):
            readers.setdefault(register, []).append(instruction)
    registers = []
    for instruction in program.instructions:
        kernel = _kernel(instruction)
        if isinstance(kernel, IndexReadKernel) and all(isinstance(entry, IndexArray) for entry in kernel.entries):
            mine = readers.get(instruction.outputs[0], [])
            looping = all(isinstance(_kernel(reader), (ElementwiseKernel, ReductionKernel)) for reader in mine)
            if looping and len(mine) <= _READERS and instruction.outputs[0] not in needed:
                registers.append(instruction.outputs[0])
    return frozenset(registers)


def _kernel(instruction: Instruction) -> object:
    return instruction.form.kernel if isinstance(instruction.form, KernelForm) else None
