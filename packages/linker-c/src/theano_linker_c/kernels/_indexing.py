"""Native forms of ``x[index]``: views, copies of parts, and arrays with a part changed."""

from __future__ import annotations

from typing import TypeAlias

from theano_graph import record


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
class IndexViewKernel:
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


@record
class IndexReadKernel:
    """A copy of a part of the first input; see :class:`IndexViewKernel`. Among the entries is an array."""

    entries: tuple[IndexEntry, ...]
    dtypes: tuple[str, ...]
    ndims: tuple[int, ...]


@record
class IndexWriteKernel:
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

    entries: tuple[IndexEntry, ...]
    dtypes: tuple[str, ...]
    ndims: tuple[int, ...]
    replace: bool
    broadcastable: tuple[bool, ...]


Indexing: TypeAlias = IndexViewKernel | IndexReadKernel | IndexWriteKernel
