"""Pickles that refer to the graph as it was given: its variables, ops and lines belong to the process that reads."""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from theano_graph import Origin, PureOp
from theano_graph.hashing import known_name

from ._key import Given

#: Bytes of new arrays in an entry at most: beyond, computing them takes no longer than reading, and the folder fills.
_MOST_BYTES = 4_000_000


class NotCachedError(Exception):
    """A function holds something that no other process can make of the graph as it is given there."""


def _given(kind: int, number: int) -> Any:
    """Stand in pickles for objects of the caller's graph; see :class:`_Unpickler`."""
    raise pickle.UnpicklingError(f"the given graph is not at hand, of which number {number} of kind {kind} is wanted")


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, given: Given) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._known: dict[int, tuple[int, int]] = {}
        self._lines: dict[Any, tuple[int, int]] = {}
        tables: tuple[Sequence[Any], ...] = (given.origins, given.ops, given.leaves)
        for kind, items in enumerate(tables):
            last = len(items) - 1
            # The first of several equal ones comes last here.
            self._known.update((id(item), (kind, last - i)) for i, item in enumerate(reversed(items)))
        self._known.pop(id(None), None)
        self._origins = given.origins
        self._n_bytes = 0
        #: Whether all that is found by its name is found in each process with the same versions.
        self.is_known = True

    def reducer_override(self, obj: Any) -> Any:
        # Asked of no number, text or container of Python's: a persistent id would be asked of each.
        reference = self._known.get(id(obj))
        if reference is not None:
            return _given, reference
        if type(obj) is Origin:
            return _given, self._line(obj)
        if isinstance(obj, (type, FunctionType, BuiltinFunctionType)) and obj is not _given:
            self.is_known = self.is_known and known_name(obj) is not None
        if isinstance(obj, np.ndarray):
            self._n_bytes += obj.nbytes
            if self._n_bytes > _MOST_BYTES:
                raise NotCachedError("rewriting has made large constants")
        if isinstance(obj, PureOp) and known_name(type(obj)) is None:
            # The function is to run the caller's own object, which may count its calls, say.
            raise NotCachedError(f"{obj} of the user stands inside of another op")
        return NotImplemented

    def _line(self, origin: Origin) -> tuple[int, int]:
        """Return the number of a line of the given graph that is not one of its objects: a copy by a pickle, say."""
        if not self._lines:
            self._lines = {other: (0, i) for i, other in reversed(list(enumerate(self._origins))) if other}
        if origin in self._lines:
            return self._lines[origin]
        # Rewriting makes nodes that stand for no others: they belong to the line that asked for the function.
        caller = self._origins[-1]
        if caller is None or caller.frames[0] not in origin.frames:
            raise NotCachedError(f"a node was made at {origin}, where none of the given graph was")
        return 0, len(self._origins) - 1


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, given: Given) -> None:
        super().__init__(file)
        self._tables: tuple[list[Any], ...] = (given.origins, given.ops, given.leaves)

    def find_class(self, module: str, name: str) -> Any:
        if name == _given.__name__ and module == __name__:
            return self._look_up
        return super().find_class(module, name)

    def _look_up(self, kind: int, number: int) -> Any:
        return self._tables[kind][number]


def dump(value: Any, graph: Given) -> tuple[bytes, bool]:
    """Return a pickle of a value with references to the given graph, and whether it names no code of the user's.

    Raises
    ------
    NotCachedError
        If the value holds something that only this process has.
    """
    file = io.BytesIO()
    pickler = _Pickler(file, graph)
    try:
        pickler.dump(value)
    except NotCachedError:
        raise
    except Exception as error:  # objects of users raise anything
        raise NotCachedError(str(error)) from error
    return file.getvalue(), pickler.is_known


def load(data: bytes, graph: Given) -> Any:
    """Return the object of :func:`dump`, with the variables, ops and lines of another, equal graph."""
    return _Unpickler(io.BytesIO(data), graph).load()
