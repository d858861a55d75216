"""Views and arrays that follow from shapes and from indices: transposes, stacks, parts, arrays with a part changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from theano_graph import record

from ._kernel import (
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

# ---- Views and arrays that follow from shapes: transposes, reshapes, lengths, stacks, parts; the runtime has them all


@record
class TransposeKernel(Kernel):
    """Transpose: a view with the axes in another order, some dropped and some inserted.

    Parameters
    ----------
    order : tuple of (int or None)
        Which axis of the input stands in each place; None for a new axis of length 1.
    drop : tuple of int
        Axes of length 1 that disappear.
    """

    order: tuple[int | None, ...]
    drop: tuple[int, ...]

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        axes = tuple(-1 if axis is None else axis for axis in self.order)
        return "transpose", (len(self.drop) + sum(axis >= 0 for axis in axes), axes, self.drop)


@record
class LengthKernel(Kernel):
    """The length of dimension `axis` of an array, as int64."""

    axis: int

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        return "length", (self.axis,)


@record
class StackKernel(Kernel):
    """Stack scalars of `dtype` to a vector."""

    dtype: str

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        return "stack", (type_number(self.dtype),)


@record
class ReshapeKernel(Kernel):
    """Reshape an array to the shape that the second input (int64) gives; a view where the array is contiguous.

    Parameters
    ----------
    dtype : str
    ndim, ndim_out : int
        Numbers of dimensions of the array and of the result.
    """

    dtype: str
    ndim: int
    ndim_out: int

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        return "reshape", (type_number(self.dtype), self.ndim, self.ndim_out)


@record
class FullKernel(Kernel):
    """A new array full of a value of `dtype`; further inputs are the lengths, int64.

    Parameters
    ----------
    dtype : str
    broadcastable : tuple of bool
        Which dimensions of the value are broadcast.
    """

    dtype: str
    broadcastable: tuple[bool, ...]

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        return "full", (type_number(self.dtype), len(self.broadcastable), (self.broadcastable,))


@record
class ConcatenateKernel(Kernel):
    """Concatenate arrays of `dtype` along `axis`; the first input is the axis again."""

    dtype: str
    ndim: int
    axis: int

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        return "concatenate", (type_number(self.dtype), self.ndim, self.axis)


@record
class SpecifyShapeKernel(Kernel):
    """The array itself, if dimensions have the lengths that further inputs (int64) give, or 1 without inputs.

    Parameters
    ----------
    checked : tuple of bool
        Which dimensions are checked.
    compared : bool
        Whether the lengths are those of a value that this is used with, not a promise of the program.
    """

    checked: tuple[bool, ...]
    compared: bool = False

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        return "specify_shape", ((self.checked,),)


@record
class SplitKernel(Kernel):
    """Split an array of `dtype` along `axis` into views; further inputs are the axis again and the lengths, int64."""

    dtype: str
    ndim: int
    axis: int

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        return "split", (type_number(self.dtype), self.ndim, self.axis)


# ---- Kernels of ``x[index]``: views, copies of parts, and arrays with a part changed


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


__all__ = [
    "ConcatenateKernel",
    "FullKernel",
    "LengthKernel",
    "ReshapeKernel",
    "SpecifyShapeKernel",
    "SplitKernel",
    "StackKernel",
    "TransposeKernel",
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
