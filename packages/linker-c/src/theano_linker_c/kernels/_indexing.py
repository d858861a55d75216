"""Kernels of ``x[index]``: views, copies of parts, and arrays with a part changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from theano_graph import record

from ._description._kernel import (
    Donors,
    Encoded,
    Kernel,
    LoadedKernel,
    Overwriting,
    Site,
    first_may_be_taken,
    overwrites,
    type_number,
    wait_number,
)

__all__ = [
    "IndexArray",
    "IndexEntry",
    "IndexInput",
    "IndexNumber",
    "IndexReadKernel",
    "IndexSlice",
    "IndexViewKernel",
    "IndexWriteKernel",
    "Indexing",
]


@record
class IndexInput:
    """A whole number that an input of the node gives.

    Parameters
    ----------
    position : int
        Which input.
    """

    position: int


IndexNumber: TypeAlias = int | IndexInput


@record
class IndexSlice:
    """A slice; None leaves a bound out."""

    start: IndexNumber | None = None
    stop: IndexNumber | None = None
    step: IndexNumber | None = None


@record
class IndexArray:
    """An array of integers, for one dimension, or of truth values, for as many dimensions as it has.

    Parameters
    ----------
    position : int
        Which input.
    mask : bool
        Whether it holds truth values.
    broadcastable : tuple of bool
        Which of its dimensions (of a mask: of the vector of its true elements) are known to have length 1.
    """

    position: int
    mask: bool
    broadcastable: tuple[bool, ...]


#: None stands for a new axis.
IndexEntry: TypeAlias = int | IndexInput | IndexSlice | IndexArray | None


@record
class IndexViewKernel(Kernel):
    """A view of the first input.

    Parameters
    ----------
    entries : tuple of IndexEntry
        From the left, without arrays; dimensions without an entry are taken whole.
    dtypes : tuple of str
        Of all inputs.
    ndims : tuple of int
        Numbers of dimensions of all inputs.
    """

    entries: tuple[IndexEntry, ...]
    dtypes: tuple[str, ...]
    ndims: tuple[int, ...]

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        return "index_view", (*_common_payload(self), False, 0, wait_number(site), 0)


@record
class IndexReadKernel(Kernel):
    """A copy of a part of the first input; see :class:`IndexViewKernel`. Among the entries is an array."""

    entries: tuple[IndexEntry, ...]
    dtypes: tuple[str, ...]
    ndims: tuple[int, ...]

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        return "index_read", (*_common_payload(self), False, 0, wait_number(site), 0)


@record
class IndexWriteKernel(Kernel):
    """The first input with a part replaced by, or incremented by, the second; see :class:`IndexViewKernel`.

    Parameters
    ----------
    entries, dtypes, ndims
        As of a view.
    replace : bool
        Whether the part is replaced.
    broadcastable : tuple of bool
        Which dimensions of the second input are known to have length 1.
    """

    overwriting: ClassVar[Overwriting | None] = Overwriting.INDEX_WRITE
    entries: tuple[IndexEntry, ...]
    dtypes: tuple[str, ...]
    ndims: tuple[int, ...]
    replace: bool
    broadcastable: tuple[bool, ...]

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        # 2 where the op overwrites its first input, 1 where the machine may, 0 where it may not.
        taken = 2 if overwrites(site) else int(first_may_be_taken(site))
        memory = taken, wait_number(site), _bits(self.broadcastable)
        return "index_write", (*_common_payload(self), self.replace, *memory)

    def donors(self, site: Site) -> Donors:
        """Return the first input."""
        first = site.inputs[0]
        return ((0,),) if first in site.release and first not in site.inputs[1:2] else ()

    def changes_first(self, n_inputs: int) -> bool:
        """Tell that it does."""
        return True


Indexing: TypeAlias = IndexViewKernel | IndexReadKernel | IndexWriteKernel


_SLICE, _NUMBER, _ARRAY, _NEWAXIS = range(4)
_ABSENT, _CONSTANT, _INPUT = range(3)
_LARGEST = np.iinfo(np.intp).max


def _common_payload(kernel: Indexing) -> tuple[Any, ...]:
    """Return the part of the payload that views, reads and writes have in common; see c/indexing/index.c."""
    arrays = [i for i, e in enumerate(kernel.entries) if isinstance(e, (IndexArray, int, IndexInput))]
    advanced = any(isinstance(e, IndexArray) for e in kernel.entries)
    adjacent = advanced and arrays == list(range(arrays[0], arrays[0] + len(arrays)))
    ndims = [_array_ndim(e) for e in kernel.entries]
    entries, types = tuple(_entry(e) for e in kernel.entries), tuple(type_number(dtype) for dtype in kernel.dtypes)
    return entries, types, kernel.ndims, advanced, adjacent, max(ndims, default=0)


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
