"""Shapes and strides of elementwise kernels: which dimensions are one in memory, and how operands lie."""

from __future__ import annotations

import math
from collections.abc import Sequence

from theano_graph import record

from .._form import DeviceOperand, DeviceProperties
from ..text import VECTOR_BYTES

__all__ = ["IndexWidth", "Layout", "Nest", "fits_narrow", "merge", "nest_of"]

#: Byte offsets and numbers of elements below this are computed with 32 bits.
_NARROW = 2**31 - 2**20
#: Operands up to which a work-item takes several elements.
_MOST_SIDE_BY_SIDE = 10
#: Elements of a work-item up to some cost of the program, which is written down for each of them; and those that it
#: loads side by side where it has no vectors. Heavier programs wait for arithmetic, not for memory.
_ELEMENTS = ((48, 16, 4), (96, 8, 1), (math.inf, 1, 1))
#: Vectors that a work-item loads of each operand, and operands up to which these are several.
_VECTORS, _FEW = 2, 4


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
    modes : tuple of {"contiguous", "fixed", "strided", "row", "column"}
        For each operand: an element behind the other, one for all, or something else. Where there are vectors: whether
        an operand with strides has one in each row, or a single element.
    narrow : bool
        Whether 32 bits are enough for all numbers.
    cpu : bool
        Whether the device is a CPU, where each group takes whole rows.
    unroll : int
        Elements of a work-item.
    vector : int
        How many of them are loaded and stored at once.
    apart : bool
        Whether nothing that is read is written to.
    rest : int
        Elements that a work-item loads side by side where there are no vectors.
    """

    ndim: int
    modes: tuple[str, ...]
    narrow: bool
    cpu: bool
    unroll: int
    vector: int = 1
    apart: bool = False
    rest: int = 1


def fits_narrow(nest: Nest) -> bool:
    """Whether 32 bits are enough for the numbers of elements and the byte offsets."""
    if nest.size >= _NARROW:
        return False
    return all(
        sum(abs(step) * (length - 1) for step, length in zip(strides, nest.shape, strict=True)) < _NARROW
        for strides in nest.strides
    )


def has_strides(layout: Layout, mode: str) -> bool:
    """Whether the strides of an operand are parameters."""
    return mode not in ("contiguous", "fixed") or (layout.cpu and layout.ndim > 1)


def layout_of(
    nest: Nest, itemsizes: Sequence[int], properties: DeviceProperties, cost: int = 1, apart: bool = False
) -> Layout:
    """Say how the operands of a nest lie.

    Parameters
    ----------
    nest : Nest
    itemsizes : sequence of int
    properties : DeviceProperties
    cost : int
        Rough number of cycles for one element.
    apart : bool
        Whether nothing that is read is written to.
    """
    cpu = properties.cpu
    modes = []
    for strides, size in zip(nest.strides, itemsizes, strict=True):
        row_strides = _contiguous(nest.shape, size)
        seen, full = (strides[-1:], row_strides[-1:]) if cpu else (strides, row_strides)
        alone = nest.shape == (1,)  # its stride says nothing
        modes.append("contiguous" if seen == full or alone else "strided" if any(seen) else "fixed")
    unroll, vector, remainder = 1, 1, 1
    # Short arrays are spread over all units; many operands would not fit into the registers of a work-item.
    if not cpu and nest.size > 1024 * properties.units and len(itemsizes) <= _MOST_SIDE_BY_SIDE:
        most, remainder = next((elements, side) for least, elements, side in _ELEMENTS if cost <= least)
        rows = _along_rows(nest, itemsizes, modes)
        vector = _vector_width(nest, itemsizes, rows, most)
        unroll = min(4, most)
        if vector > 1:
            modes, remainder = rows, min(remainder, vector)
            unroll = min(most, vector * _VECTORS) if len(itemsizes) <= _FEW else vector
    return Layout(len(nest.shape), tuple(modes), fits_narrow(nest), cpu, unroll, vector, apart, remainder)


def _along_rows(nest: Nest, itemsizes: Sequence[int], modes: Sequence[str]) -> list[str]:
    """Say of operands with strides whether they have a vector in each row, or one element."""
    dims = []
    for strides, size, mode in zip(nest.strides, itemsizes, modes, strict=True):
        along = {size: "row", 0: "column"}.get(strides[-1], "strided")
        dims.append(along if mode == "strided" else mode)
    return dims


def _vector_width(nest: Nest, itemsizes: Sequence[int], modes: Sequence[str], most: int) -> int:
    """Return how many elements are loaded at once; 1 where neighbours of an operand do not lie side by side."""
    if "strided" in modes:
        return 1
    sizes = [size for size, mode in zip(itemsizes, modes, strict=True) if mode in ("contiguous", "row")]
    width = min(VECTOR_BYTES // max(sizes), most)
    rows = "row" in modes or "column" in modes
    while rows and nest.shape[-1] % width:
        width //= 2
    return width


def _contiguous(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    steps, step = [0] * len(shape), itemsize
    for d in reversed(range(len(shape))):
        steps[d] = step
        step *= shape[d]
    return tuple(steps)
