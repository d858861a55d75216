"""Pickles that refer to the graph as it was given: its variables, ops and lines belong to the process that reads."""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from typing import Any

from theano_graph import Origin, PureOp
from theano_graph.hashing import known_name

from ._key import Given


class NotCachedError(Exception):
    """A function holds something that no other process can make of the graph as it is given there."""


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, given: Given) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._known: dict[int, tuple[int, int]] = {}
        self._lines: dict[Any, tuple[int, int]] = {}
        tables: tuple[Sequence[Any], ...] = (given.origins, given.ops, given.leaves)
        for kind, items in enumerate(tables):
            for i, item in enumerate(items):
                if item is not None:
                    self._known.setdefault(id(item), (kind, i))
        self._origins = given.origins

    def persistent_id(self, obj: Any) -> Any:
        known = self._known.get(id(obj))
        if known is not None:
            return known
        if type(obj) is not Origin:
            if isinstance(obj, PureOp) and known_name(type(obj)) is None:
                # The function is to run the caller's own object, which may count its calls, say.
                raise NotCachedError(f"{obj} of the user stands inside of another op")
            return None
        # A copy of a line, by a pickle say.
        if not self._lines:
            self._lines = {origin: (0, i) for i, origin in reversed(list(enumerate(self._origins))) if origin}
        if obj in self._lines:
            return self._lines[obj]
        # Rewriting makes nodes that stand for no others: they belong to the line that asked for the function.
        caller = self._origins[-1]
        if caller is None or caller.frames[0] not in obj.frames:
            raise NotCachedError(f"a node was made at {obj}, where none of the given graph was")
        return 0, len(self._origins) - 1


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, given: Given) -> None:
        super().__init__(file)
        self._tables: tuple[list[Any], ...] = (given.origins, given.ops, given.leaves)

    def persistent_load(self, pid: Any) -> Any:
        return self._tables[pid[0]][pid[1]]


def dump(value: Any, given: Given) -> bytes:
    """Return a pickle of a value, with references to the given graph.

    Raises
    ------
    NotCachedError
        If the value holds something that only this process has.
    """
    file = io.BytesIO()
    try:
        _Pickler(file, given).dump(value)
    except NotCachedError:
        raise
    except Exception as error:  # whatever objects of users raise
        raise NotCachedError(str(error)) from error
    return file.getvalue()


def load(data: bytes, given: Given) -> Any:
    """Return what :func:`dump` has written, with the variables, ops and lines of another, equal graph."""
    return _Unpickler(io.BytesIO(data), given).load()
