"""Shapes and strides of elementwise kernels: which dimensions are one in memory, and how operands lie."""

from __future__ import annotations

import math
from collections.abc import Sequence

from theano_graph import record

from .._form import DeviceOperand, DeviceProperties

__all__ = ["IndexWidth", "Layout", "Nest", "fits_narrow", "merge", "nest_of"]

#: Byte offsets and numbers of elements below this are computed with 32 bits.
_NARROW = 2**31 - 2**20
#: Operands up to which a work-item takes several elements.
_MOST_SIDE_BY_SIDE = 10


@record
class Nest:
    """A shape without dimensions of length 1, and the byte strides of operands, 0 where they broadcast."""

    shape: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


def merge(shape: Sequence[int], strides: Sequence[Sequence[int]], kinds: Sequence[object] | None = None) -> Nest:
    """Leave out dimensions of length 1, and join neighbours that lie in all operands like one dimension.

    Parameters
    ----------
    shape : sequence of int
    strides : sequence of sequences of int
        For each operand, in bytes.
    kinds : sequence, optional
        For each dimension; only dimensions with equal ones are joined.
    """
    lengths: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    last: object = None
    for d, length in enumerate(shape):
        if length == 1:
            continue
        kind = None if kinds is None else kinds[d]
        joins = lengths and kind == last
        if joins and all(own[-1] == given[d] * length for own, given in zip(steps, strides, strict=True)):
            lengths[-1] *= length
            for own, given in zip(steps, strides, strict=True):
                own[-1] = given[d]
            continue
        last = kind
        lengths.append(length)
        for own, given in zip(steps, strides, strict=True):
            own.append(given[d])
    return Nest(tuple(lengths), tuple(map(tuple, steps)))


def broadcast_strides(operand: DeviceOperand, broadcast: Sequence[bool]) -> tuple[int, ...]:
    """Return the strides of an operand in the common shape."""
    return tuple(0 if fixed else step for fixed, step in zip(broadcast, operand.strides, strict=True))


def nest_of(
    shape: Sequence[int],
    inputs: Sequence[DeviceOperand],
    broadcast: Sequence[Sequence[bool]],
    outputs: Sequence[DeviceOperand],
) -> Nest:
    """Return the loop nest of an elementwise kernel over inputs, then outputs."""
    strides = [broadcast_strides(x, pattern) for x, pattern in zip(inputs, broadcast, strict=True)]
    nest = merge(shape, [*strides, *(y.strides for y in outputs)])
    return nest if nest.shape else Nest((1,), tuple((0,) for _ in nest.strides))


class IndexWidth:
    """What the width of a layout's indices is in C text.

    Attributes
    ----------
    narrow : bool
        Whether 32 bits are enough for all numbers.
    """

    __slots__ = ()
    narrow: bool

    @property
    def letter(self) -> str:
        """Kind of the parameters that are lengths and strides."""
        return "i" if self.narrow else "q"

    @property
    def index(self) -> str:
        """C type of indices."""
        return "int32_t" if self.narrow else "int64_t"

    @property
    def unsigned(self) -> str:
        """C type of flat indices, which are divided."""
        return "uint32_t" if self.narrow else "uint64_t"


@record
class Layout(IndexWidth):
    """What the text of a nest depends on.

    Parameters
    ----------
    ndim : int
    modes : tuple of {"contiguous", "fixed", "strided"}
        For each operand: an element behind the other, one for all, or something else.
    narrow : bool
        Whether 32 bits are enough for all numbers.
    cpu : bool
        Whether the device is a CPU, where each group takes whole rows.
    unroll : int
        Elements of a work-item.
    """

    ndim: int
    modes: tuple[str, ...]
    narrow: bool
    cpu: bool
    unroll: int


def fits_narrow(nest: Nest) -> bool:
    """Whether 32 bits are enough for the numbers of elements and the byte offsets."""
    if nest.size >= _NARROW:
        return False
    return all(
        sum(abs(step) * (length - 1) for step, length in zip(strides, nest.shape, strict=True)) < _NARROW
        for strides in nest.strides
    )


def layout_of(nest: Nest, itemsizes: Sequence[int], properties: DeviceProperties) -> Layout:
    """Say how the operands of a nest lie."""
    cpu = properties.cpu
    modes = []
    for strides, size in zip(nest.strides, itemsizes, strict=True):
        wanted = _contiguous(nest.shape, size)
        seen, full = (strides[-1:], wanted[-1:]) if cpu else (strides, wanted)
        alone = nest.shape == (1,)  # its stride says nothing
        modes.append("contiguous" if seen == full or alone else "strided" if any(seen) else "fixed")
    # Short arrays are spread over all units; many operands would not fit into the registers of a work-item.
    alone = nest.size <= 1024 * properties.units or len(itemsizes) > _MOST_SIDE_BY_SIDE
    return Layout(len(nest.shape), tuple(modes), fits_narrow(nest), cpu, 1 if cpu or alone else 4)


def _contiguous(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    steps, step = [0] * len(shape), itemsize
    for d in reversed(range(len(shape))):
        steps[d] = step
        step *= shape[d]
    return tuple(steps)
