"""Whether the library runs the code of its files: a program may have put other functions in their places."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import cache
from types import FunctionType
from typing import Any

from theano_graph import is_library_module
from theano_graph.hashing import is_known_module

from ...runtime._native_machine import HAS_RUNTIME, runtime

#: Wrappers of functions in the bodies of classes, with the names of the attributes that hold them.
_WRAPPERS: dict[type, tuple[str, ...]] = {
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget", "fset", "fdel"),
}
#: Packages that take no part in building functions, and use objects of other projects.
_NO_PART = frozenset({"theano_testing"})


class _Seen:
    """The modules and objects of the last look."""

    def __init__(self) -> None:
        self.modules: dict[str, Any] = {}
        self._look = runtime.first_look()

    def is_any_foreign(self, modules: dict[str, Any]) -> bool:
        """Tell whether there is code of another kind among new and changed objects."""
        new = {name: vars(module) for name, module in modules.items() if name not in self.modules}
        self.modules = modules
        look = _Look()
        return any(look.foreign({"": value}) is not None for value in runtime.uncommon(self._look, new))


#: The last look, which whoever looks takes out of here meanwhile.
_last: list[_Seen] = []
#: The last finding: the module, its position in that, and the number of the object.
_found: list[tuple[str, list[str], int]] = []


def exchanged_code() -> str | None:
    """Return the name of a function of the library in whose place a program has put its own; None where there is none.

    The look covers modules and classes of the library: functions and classes of other modules, and the
    objects of ``unittest.mock``. Values that a program has changed are not noticed.
    """
    for name, path, number in _found:
        if id(_standing(name, path)) == number:
            return ".".join((name, *path))
    _found.clear()
    modules = {
        name: module
        for name, module in sys.modules.copy().items()
        if _takes_part(name.partition(".")[0]) and module is not None
    }
    # The runtime checks this ten times as fast; where anything differs, its name is looked for here.
    if HAS_RUNTIME and not _is_any_exchanged(modules):
        return None
    look = _Look()
    for name, module in modules.items():
        functions = look.foreign(vars(module))
        if functions is not None:
            path = functions.split(".")
            _found.append((name, path, id(_standing(name, path))))
            return f"{name}.{functions}"
    return None


def _is_any_exchanged(modules: dict[str, Any]) -> bool:
    try:
        seen = _last.pop()
    except IndexError:
        seen = _Seen()
    if any(modules.get(name) is not module for name, module in seen.modules.items()):
        seen = _Seen()
    is_foreign = seen.is_any_foreign(modules)
    if not is_foreign:
        _last[:] = [seen]
    return is_foreign


def _standing(name: str, path: list[str]) -> Any:
    """Return the object in a module of the library, or in a class in it."""
    module: Any = sys.modules.get(name)
    for part in path:
        module = getattr(module, "__dict__", {}).get(part)
    return module


@cache
def _takes_part(package: str) -> bool:
    return is_library_module(package) and package not in _NO_PART


class _Look:
    def __init__(self) -> None:
        #: Name of a module -> whether its code is named by versions.
        self._known: dict[Any, bool] = {}
        self._seen: set[type] = set()

    def foreign(self, content: Mapping[str, Any]) -> str | None:
        """Return the name under which code of another kind stands in a module or class."""
        for name, value in list(content.items()):
            kind = type(value)
            if kind is FunctionType:
                if not self._is_known(value.__globals__.get("__name__")):
                    return name
            elif isinstance(value, type):
                inner = self._in_class(value)
                if inner is not None:
                    return name + inner
            elif kind in _WRAPPERS:
                if not self._all_known(getattr(value, part) for part in _WRAPPERS[kind]):
                    return name
            elif kind.__module__ == "unittest.mock":
                return name
        return None

    def _in_class(self, cls: type) -> str | None:
        if cls in self._seen:
            return None
        self._seen.add(cls)
        if not self._is_known(cls.__module__):
            return ""
        if not is_library_module(cls.__module__):
            return None
        functions = self.foreign(vars(cls))
        return None if functions is None else f".{functions}"

    def _all_known(self, functions: Iterable[Any]) -> bool:
        return all(
            self._is_known(f.__globals__.get("__name__")) for f in functions if type(f) is FunctionType
        )  # fmt: skip

    def _is_known(self, module: Any) -> bool:
        is_expected = self._known.get(module)
        if is_expected is None:
            is_expected = is_library_module(module) or is_known_module(module)
            # Named tuples are made by code in a namespace of its own.
            is_expected = self._known[module] = is_expected or str(module).startswith("namedtuple_")
        return is_expected
