"""Canonical pickles: equal for equal content, and made in C, where a walk in Python takes ten times as long."""

from __future__ import annotations

import io
import pickle
from types import BuiltinFunctionType, FunctionType
from typing import Any

from .._expression._nodes import Apply, Variable
from .._expression._origin import Origin
from .._function_graph._fgraph import FunctionGraph
from ._names import known_name

#: What pickles of sets contain: their elements come in another order in each process.
_OF_SETS = (pickle.EMPTY_SET, pickle.FROZENSET)
#: Objects that are told by a walk over their graph, without the lines where it was made.
_GRAPHS = (Variable, Apply, FunctionGraph, Origin)


class _NotCanonicalError(Exception):
    """An object has to be looked at by a walk."""


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, known: dict[Any, bool]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._known_code = known
        # Without references to what came before: whether equal parts are one object does not count.
        self.fast = True

    def reducer_override(self, obj: Any) -> Any:
        code: Any = obj
        if not isinstance(obj, (type, FunctionType, BuiltinFunctionType)):
            code = type(obj)
            if isinstance(obj, _GRAPHS) or getattr(obj, "__wrapped__", None) is not None:
                raise _NotCanonicalError
        is_known = self._known_code.get(code)
        if is_known is None:
            is_known = self._known_code[code] = known_name(code) is not None
        if not is_known:
            raise _NotCanonicalError
        return NotImplemented


def canonical_pickle(value: Any, known: dict[Any, bool]) -> bytes | None:
    """Return a pickle that is equal for all objects of equal content, in each process; None where there is none.

    There is none of objects that hold code of the user's, graphs, or sets.

    Parameters
    ----------
    value : object
    known : dict
        What has been found out of functions and classes: whether their code is named by versions.
    """
    file = io.BytesIO()
    try:
        _Pickler(file, known).dump(value)
    except Exception:  # noqa: BLE001  # whatever it is, the object has to be looked at
        return None
    found = file.getvalue()
    return None if any(mark in found for mark in _OF_SETS) else found
