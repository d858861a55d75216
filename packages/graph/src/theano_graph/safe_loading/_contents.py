"""Contents of objects: copies of what archives say, made of nothing but plain things."""

from __future__ import annotations

import re
from collections import OrderedDict
from enum import Enum
from typing import Any

from .._expression._nodes import Variable
from .._expression._op import PureOp
from .._expression._type import Type
from .._function_graph._fgraph import FunctionGraph
from ._words import Word, refused

#: Texts that say how something is done: words, dtypes, formats. Nothing that means anything between other words.
_CHOICE = re.compile(r"[\w.+\-<>=|]{0,200}", re.ASCII)
#: Attributes that hold texts for people.
TEXTS = frozenset({"label", "message", "msg", "name", "reason"})
#: Numbers under these names say how many things there are: as many are made.
_COUNTS = re.compile(
    r"n|n_.*|nin|nout|ndim.*|.*_ndim|len_splits|count|sequences|states|convdim|dims?|order|depth|i|axis"
)
_MOST = 10_000
_DEPTH = 40
#: Classes whose instances are plain, beside numbers and texts; layers add theirs.
LEAVES: list[type] = [Type, PureOp, Variable, Enum, FunctionGraph]
_NUMBERS = (type(None), bool, int, float, complex, bytes)


class Contents:
    """A copy of some contents, and the variables that were met.

    Parameters
    ----------
    whose : str
        For errors.
    """

    def __init__(self, whose: str) -> None:
        self._whose = whose
        self._known: dict[int, tuple[Any, Any]] = {}
        self.variables: list[Variable] = []
        self.things: list[Any] = []

    def attributes(self, state: Any) -> dict[str, Any]:
        """Return a copy of attributes.

        Raises
        ------
        UnsafeArchiveError
            If they are none, or hold anything that is not plain.
        """
        if type(state) is not dict:
            raise refused(f"the contents of {self._whose} are a {type(state).__name__} in place of attributes")
        found = {}
        for name, value in state.items():
            if type(name) is not str or not name.isidentifier() or name.startswith("__"):
                raise refused(f"{self._whose} has an attribute {name!r:.60}")
            found[name] = self.copy(value, name)
        return found

    def copy(self, value: Any, name: str = "", depth: int = 0) -> Any:
        """Return a copy of plain contents; `name` is that of the attribute that they belong to."""
        kind = type(value)
        if kind is str:
            if name not in TEXTS and not _CHOICE.fullmatch(value):
                raise refused(f"{self._whose} has the text {value!r:.60} as `{name}`")
            return value
        if kind is int and not -_MOST <= value <= _MOST and _COUNTS.fullmatch(name):
            raise refused(f"{self._whose} has the number {value!s:.40} as `{name}`")
        if kind in _NUMBERS:
            return value
        if kind in (list, tuple, set, frozenset, dict, OrderedDict):
            return self._container(value, name, depth)
        if isinstance(value, Variable):
            self.variables.append(value)
        # A class or a function can only have come from a word that says so.
        if isinstance(value, Word) or not (isinstance(value, (*LEAVES, type)) or callable(value)):
            raise refused(f"{self._whose} has {value if isinstance(value, Word) else f'a {kind.__name__}'} as `{name}`")
        self.things.append(value)
        return value

    def _container(self, value: Any, name: str, depth: int) -> Any:
        if depth > _DEPTH:
            raise refused(f"the contents of {self._whose} are nested more than {_DEPTH} deep")
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        if isinstance(value, dict):
            # Keys name what their values are, as the names of attributes do.
            made: Any = type(value)(
                (self.copy(k, name, depth + 1), self.copy(v, k if type(k) is str else name, depth + 1))
                for k, v in value.items()
            )
        else:
            made = type(value)([self.copy(item, name, depth + 1) for item in value])
        self._known[id(value)] = (value, made)
        return made


def is_same(first: Any, second: Any) -> bool:
    """Tell whether contents are equal, and of the same classes: True is not 1."""
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(is_same, first, second))
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(is_same(first[key], second[key]) for key in first)
    if isinstance(first, float):
        return first == second or (first != first and second != second)
    return bool(first == second)
