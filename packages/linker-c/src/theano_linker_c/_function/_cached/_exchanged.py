"""Whether the library runs the code of its files: a program may have put other functions in their places."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from types import FunctionType
from typing import Any

from theano_graph import is_library_module
from theano_graph.hashing import is_known_module

#: What wraps functions in the bodies of classes, with the names of the attributes that hold them.
_WRAPPERS: dict[type, tuple[str, ...]] = {
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget", "fset", "fdel"),
}
#: Packages that take no part in building functions, and use what other projects make.
_NO_PART = frozenset({"theano_testing"})


def exchanged_code() -> str | None:
    """Return the name of a function of the library in whose place a program has put its own; None where there is none.

    What stands in modules and classes of the library is looked at: functions and classes of other modules, and the
    objects of ``unittest.mock``. Values that a program has changed are not noticed.
    """
    look = _Look()
    for name, module in list(sys.modules.items()):
        if is_library_module(name) and name.partition(".")[0] not in _NO_PART and module is not None:
            content = vars(module)
            found = look.foreign(content, content)
            if found is not None:
                return f"{name}.{found}"
    return None


#: What is looked at in a value, by its class.
_NOTHING, _FUNCTION, _CLASS, _WRAPPER, _MOCK = range(5)


def _kind_of(kind: type) -> int:
    if kind is FunctionType:
        return _FUNCTION
    if issubclass(kind, type):
        return _CLASS
    if kind in _WRAPPERS:
        return _WRAPPER
    return _MOCK if kind.__module__ == "unittest.mock" else _NOTHING


class _Look:
    def __init__(self) -> None:
        #: Name of a module -> whether its code is named by versions.
        self._known: dict[Any, bool] = {}
        self._seen: set[type] = set()
        self._kinds: dict[type, int] = {}

    def foreign(self, content: Mapping[str, Any], own: Mapping[str, Any]) -> str | None:
        """Return the name under which code of another kind stands in a module or class.

        Most of it is functions whose globals are those of the module itself, `own`, and that is seen at once.
        """
        kinds, seen = self._kinds, self._seen
        for name, value in list(content.items()):
            kind = type(value)
            what = kinds.get(kind)
            if what is None:
                what = kinds[kind] = _kind_of(kind)
            if what == _FUNCTION:
                space = value.__globals__
                if space is not own and not self._is_known(space.get("__name__")):
                    return name
            elif what == _CLASS:
                if value not in seen and (inner := self._in_class(value)) is not None:
                    return name + inner
            elif what == _WRAPPER:
                if not self._all_known(getattr(value, part) for part in _WRAPPERS[kind]):
                    return name
            elif what == _MOCK:
                return name
        return None

    def _in_class(self, cls: type) -> str | None:
        self._seen.add(cls)
        if not self._is_known(cls.__module__):
            return ""
        if not is_library_module(cls.__module__):
            return None
        found = self.foreign(vars(cls), vars(sys.modules[cls.__module__]))
        return None if found is None else f".{found}"

    def _all_known(self, functions: Iterable[Any]) -> bool:
        return all(
            self._is_known(f.__globals__.get("__name__")) for f in functions if type(f) is FunctionType
        )  # fmt: skip

    def _is_known(self, module: Any) -> bool:
        known = self._known.get(module)
        if known is None:
            known = is_library_module(module) or is_known_module(module)
            # Named tuples are made by code in a namespace of its own.
            known = self._known[module] = known or str(module).startswith("namedtuple_")
        return known
