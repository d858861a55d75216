"""The library as it was loaded: its folders on disk, and the constants of its modules (names in capital letters)."""

from __future__ import annotations

import os
import sys
from operator import itemgetter
from typing import Any

from theano_graph import is_library_module

#: Packages that take no part in building functions.
_NO_PART = frozenset({"theano_testing"})
#: The modules of the library that have been looked at.
_noted: set[str] = set()
#: Their values at import, by their names, until somebody asks for changes.
_fresh: dict[str, dict[str, Any]] = {}
#: Their constants, for modules that have some.
_constants: dict[str, dict[str, Any]] = {}
#: The folders of its packages, and which ones they were on the disk.
_folders: dict[str, tuple[int, int] | None] = {}


def note_library() -> None:
    """Remember the objects in modules of the library that have come since the last time, and their folders.

    A package calls it when it is loaded: later changes by a program take part in the names of cached functions.
    """
    for name, module in list(sys.modules.items()):
        if name not in _noted and _takes_part(name) and module is not None:
            # A copy takes a third of the time of a look at each name.
            _fresh[name] = dict(vars(module))
            _noted.add(name)
            if "." not in name:
                _folders.update((path, _identity(path)) for path in getattr(module, "__path__", ()))


def folders_replaced() -> bool:
    """Tell whether a folder of the library is another one than that from which it was loaded.

    The files of a new folder may be older than this process: a link that led to one release may lead to the next one.
    """
    return any(_identity(path) != identity for path, identity in _folders.items())


def _identity(path: str) -> tuple[int, int] | None:
    try:
        info = os.stat(path)
    except OSError:  # it is in an archive, or is gone
        return None
    return info.st_dev, info.st_ino


def changed_constants() -> list[tuple[str, Any]]:
    """Return the full names of constants that a program has changed, with their values now.

    A change in place, as of entries of tables, is not noticed.
    """
    note_library()
    for name, content in list(_fresh.items()):  # other threads may be here, too
        constants = {key: value for key, value in content.items() if key.isupper()}
        if constants:
            _constants.setdefault(name, constants)
        _fresh.pop(name, None)
    names = []
    for name, constants in list(_constants.items()):
        now = getattr(sys.modules.get(name), "__dict__", constants)
        for key, value in constants.items():
            other = now.get(key)
            if other is not value and not _is_equal(other, value):
                names.append((f"{name}.{key}", other))
    return sorted(names, key=itemgetter(0))


def _takes_part(name: str) -> bool:
    return name.startswith("theano") and is_library_module(name) and name.partition(".")[0] not in _NO_PART


def _is_equal(value: Any, other: Any) -> bool:
    """Tell whether two values are of one type and equal: 1 and True differ, and so do 0.0 and -0.0."""
    return type(value) is type(other) and repr(value) == repr(other)
