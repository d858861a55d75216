"""Which functions can be on disk at all: the library as it was loaded, graphs that can be cached, and a short digest."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from operator import itemgetter
from typing import Any

import numpy as np

from theano_graph import Apply, Constant, Variable, config, is_library_module, rule_tables
from theano_optimize import RewriteDatabase, RewriteQuery

from .._flags import LARGE
from ..linkers import CLinker, Linker, OpWiseCLinker, PerformLinker, VM_Linker
from ..modes import Mode, optdb
from ..runtime._native_machine import HAS_RUNTIME, runtime
from ..targets import PYTHON, C

# ---- The library as it was loaded: its folders on disk, and the constants of its modules (names in capital letters)

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
        if name not in _noted and _is_noted(name) and module is not None:
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


def _is_noted(name: str) -> bool:
    return name.startswith("theano") and is_library_module(name) and name.partition(".")[0] not in _NO_PART


def _is_equal(value: Any, other: Any) -> bool:
    """Tell whether two values are of one type and equal: 1 and True differ, and so do 0.0 and -0.0."""
    return type(value) is type(other) and repr(value) == repr(other)


# ---- Which functions can be cached on disk at all; the code that does it is loaded for the first one

_surroundings: list[Callable[[], str | None]] = []

#: Nodes from which functions are cached by default. A process that finds nothing takes 5 % longer at most, the time
#: of the compiler included: the parts of the name are computed while that runs, and the rest is done afterwards.
LARGE_COUNT = 200
#: Where something besides the library matters, as devices do: rewriting and lowering take a millisecond a node there,
#: so that one function pays for the analysis of a process's first one.
LARGE_COUNT_BESIDE = 50

_LINKERS = (Linker, VM_Linker, OpWiseCLinker, CLinker, PerformLinker)


def function_cache_depends_on(tell: Callable[[], str | None]) -> None:
    """Make something of this process a part of the name of each cached function.

    Parameters
    ----------
    tell : callable
        Without arguments; returns a text that differs where functions do, such as that of the devices that are open.
        It is empty where there is nothing, and None where no text tells it, so that no function is cached.
    """
    _surroundings.append(tell)


def surroundings() -> list[str] | None:
    """Return the dependencies of functions besides library, flags and compiler; None where there is no text."""
    texts = [text for tell in _surroundings if (text := tell()) != ""]
    return None if None in texts else [text for text in texts if text is not None]


def rules_of_users() -> bool:
    """Tell whether rewrites or rules take part that were registered from outside of the library."""
    return is_any_of_user(optdb) or any(True for table in rule_tables() for _ in table.of_users())


def is_any_of_user(database: RewriteDatabase[Any]) -> bool:
    """Tell whether a database has rewrites that were registered from outside of the library."""
    return any(
        entry.of_user or (isinstance(entry.item, RewriteDatabase) and is_any_of_user(entry.item))
        for entry in database.entries()
    )


def _has_rewriters(query: RewriteQuery) -> bool:
    """Tell whether a query, or one for a database inside of another, adds rewriters that no database has."""
    return bool(query.extra) or any(map(_has_rewriters, query.subquery.values()))


def is_cacheable(mode: Mode, n_nodes: int) -> bool:
    """Tell whether a function of a mode is to be cached: not one that somebody looks at while it is built."""
    linker = mode.linker
    flag = config.function_cache
    if not flag or (flag == LARGE and n_nodes < LARGE_COUNT_BESIDE):
        return False
    beside = surroundings()
    return bool(
        beside is not None
        and (n_nodes >= LARGE_COUNT or flag != LARGE or beside)
        and type(mode) is Mode
        and mode.query is not None
        and not _has_rewriters(mode.query)
        and type(linker) in _LINKERS
        and not getattr(linker, "__dict__", None)
        and (linker.target is C or linker.target is PYTHON)
        and linker.preferred is None
        and getattr(linker, "callback", None) is None
        and not (config.optimizer_verbose or config.profile_optimizer)
        and config.check_stack_trace == "off"
        and config.compute_test_value_opt == "off"
    )


# ---- A short digest of a graph, made at once: where no file on disk begins with it, there is no need for the key

#: Digits of a sketch.
SKETCH_DIGITS = 12
_SMALL = 64


def sketch_of(nodes: Iterable[Apply], inputs: Sequence[Variable], outputs: Sequence[Variable]) -> str:
    """Return a text that is equal for equal functions in all processes, and differs for most that are not equal.

    Parameters
    ----------
    nodes : iterable of Apply
        In an order that depends on the graph alone.
    inputs, outputs : sequence of Variable
    """
    parts = [sys.version, np.__version__, str(len(outputs))]
    parts += [f"{v.name} {type(v.type).__qualname__} {getattr(v.type, 'dtype', '')}" for v in inputs]
    names: dict[str, int] = {}

    def number_of(op: Any) -> int:
        # Classes only: how an op is written may depend on where it lies in memory.
        name = f"{type(op).__qualname__} {type(getattr(op, 'scalar_op', None)).__qualname__}"
        return names.setdefault(name, len(names))

    tell = runtime.sketch_rows if HAS_RUNTIME else sketch_rows
    rows = tell(list(nodes), number_of, Constant)
    text = "\n".join([*parts, *names]).encode("utf-8", "surrogatepass")
    return blake2b(text + rows, digest_size=SKETCH_DIGITS // 2).hexdigest()


def sketch_rows(nodes: Iterable[Apply], number_of: Callable[[Any], int], constant: type[Any]) -> bytes:
    """Do as the runtime's function: return the number of each op, whether inputs are computed, small constants."""
    parts: list[bytes] = []
    numbers: dict[int, bytes] = {}
    for node in nodes:
        op = node.op
        if id(op) not in numbers:
            numbers[id(op)] = number_of(op).to_bytes(4, sys.byteorder)
        parts.append(numbers[id(op)])
        for variable in node.inputs:
            parts.append(b"-" if variable.owner is not None else b".")
            if variable.owner is None and isinstance(variable, constant):
                data = variable.data
                if isinstance(data, np.ndarray) and data.nbytes < _SMALL and not data.dtype.hasobject:
                    parts.append(data.tobytes())
    return b"".join(parts)
