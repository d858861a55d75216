"""Everything besides its graph on which building a function depends: versions, flags, rules, the compiler."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from theano_graph import LOADED_AT, config, format_error, is_library_module, rule_tables
from theano_graph.hashing import NoStructuralHashError, StructuralHasher, hex_digest
from theano_optimize import RewriteDatabase

from ... import _flags as _flags
from ...modes import optdb
from ...runtime._native_machine import HAS_RUNTIME, runtime
from ._gate import is_any_of_user, surroundings
from ._loaded import folders_replaced

#: Flags about folders, lifetimes and printing only.
_NO_MATTER = frozenset(
    (
        *("base_compiledir", "compiledir", "compiledir_format", "cmodule.age_thresh_use", "cmodule.max_cache_size"),
        *("cmodule.preload_cache", "compile.wait", "compile.timeout", "nocleanup", "function_cache", "tiered"),
        *("exception_verbosity", "profile", "profile_memory", "profiling.destination", "on_unused_input"),
    )
)
#: Tables whose rules act before a function is built, or when it is exported.
_OF_OTHER_TIMES = frozenset(("batch_rule", "pullback", "pushforward", "straight_kernel", "straight_op"))


class Environment:
    """Everything besides its graph on which building a function depends: changeable parts are noted at once.

    Parameters
    ----------
    hasher : StructuralHasher

    Raises
    ------
    NoStructuralHashError
        If a rule that was registered from outside of the library has no code that could be compared, or is in a
        database that was.
    """

    def __init__(self, hasher: StructuralHasher) -> None:
        flags = [f"{name}={_value(name)}" for name in config.flag_names() if name not in _NO_MATTER]
        beside = [text.encode() for text in surroundings() or ()]
        self._noted = ["\n".join(flags).encode(), *_rules_of_users(hasher), *beside]
        self._packages = sorted(name for name in list(sys.modules) if "." not in name and is_library_module(name))
        self._version = optdb.version()
        self._rewrites = _digest_of_rewrites(hasher) if is_any_of_user(optdb) else b""
        self._digest: str | None = None

    def digest(self) -> str | None:
        """Return a hash of it all.

        None where rewrites have been registered meanwhile, and where files of the library differ from the running code.
        """
        if self._digest is None:
            rewrites, versions = self._rewrites or _rewrites(self._version), _versions(self._packages)
            if rewrites is None or versions is None:
                return None
            self._digest = hex_digest([versions, rewrites, *self._noted])
        return self._digest


def _value(name: str) -> str:
    return repr(getattr(config, name.replace(".", "__")))


#: The version of the registered rewrites, and a hash of them where none is of the user, whose code may change.
_rewrites_known: list[tuple[object, bytes]] = []


def _rewrites(version: object) -> bytes | None:
    """Return a hash of the rewrites, of which none is of the user; None where that is not their version any more."""
    for rule, digest in _rewrites_known:
        if rule == version:
            return digest
    digest = _digest_of_rewrites(StructuralHasher())
    if optdb.version() != version or is_any_of_user(optdb):
        return None
    _rewrites_known[:] = [(version, digest)]
    return digest


def _digest_of_rewrites(hasher: StructuralHasher) -> bytes:
    return hex_digest(list(_registered(optdb, hasher))).encode()


def _registered(database: RewriteDatabase[Any], hasher: StructuralHasher) -> Iterator[bytes]:
    """Yield the entries of a database and of those inside of it, in the order of application."""
    for entry in database.entries():
        item = entry.item
        inner = isinstance(item, RewriteDatabase)
        if inner and entry.of_user:
            raise NoStructuralHashError(
                format_error(
                    f"the database {entry.name!r} of rewrites was registered from outside of the library, "
                    "and nobody can tell how it chooses among them",
                    hint="register the rewrites themselves.",
                )
            )
        marks = (*sorted(entry.tags), *sorted(entry.aliases), repr(entry.position), entry.role, str(inner))
        yield f"{database.name} {entry.name} {' '.join(marks)}".encode()
        if isinstance(item, RewriteDatabase):
            yield from _registered(item, hasher)
        elif entry.of_user:
            yield hasher.of(entry.item)


def _rules_of_users(hasher: StructuralHasher) -> Iterator[bytes]:
    for table in rule_tables():
        if table.name not in _OF_OTHER_TIMES:
            for op_class, rule in table.of_users():
                yield table.name.encode() + hasher.of(op_class) + hasher.of(rule)


def _versions(packages: Sequence[str]) -> bytes | None:
    """Return the versions of Python and of all packages whose code takes part, the library's by its files.

    None where a file is younger than the library in this process, or its folder another one: another version may have
    been installed since.
    """
    if folders_replaced():
        return None
    try:
        marks = _marks(packages)
    except (OSError, ValueError):  # the library is in an archive; another module is called scipy
        return None
    if any(latest > LOADED_AT for _, latest in marks):
        return None
    fixed = (sys.version, sys.byteorder, str(sys.flags.optimize), np.__version__)
    return "\n".join((*fixed, *(text for text, _ in marks))).encode("utf-8", "surrogateescape")


def _marks(packages: Sequence[str]) -> list[tuple[str, int]]:
    return [_marks_of_scipy(), *(_files(folder) for name in packages for folder in _folders(name))]


def _folders(name: str) -> list[str]:
    return list(getattr(sys.modules.get(name), "__path__", ()))


@cache
def _marks_of_scipy() -> tuple[str, int]:
    spec = importlib.util.find_spec("scipy")
    if spec is None or spec.origin is None:
        return "", 0
    marks = [_mark(os.path.join(os.path.dirname(spec.origin), name)) for name in ("__init__.py", "version.py")]
    return " ".join(text for text, _ in marks), max(latest for _, latest in marks)


def _mark(path: str) -> tuple[str, int]:
    try:
        info = os.stat(path)
    except OSError:
        return path, 0
    return _told(path, info), _since(info, os.stat(os.path.dirname(path)))


def _since(info: os.stat_result, folder: os.stat_result) -> int:
    """Return when the code of a file came to stand in a folder, in ns since 1970.

    Installers share files between environments by hard links, and each new link changes `st_ctime` of them all: then
    the file's own time counts, or that at which the folder has been changed.
    """
    if info.st_nlink < 2:
        return info.st_ctime_ns
    return min(info.st_ctime_ns, max(info.st_mtime_ns, folder.st_mtime_ns))


def _told(path: str, info: os.stat_result) -> str:
    return f"{path} {info.st_size} {info.st_mtime_ns}"


@cache
def _files(folder: str) -> tuple[str, int]:
    """Return names, sizes and times of all files with code below a folder, and when one was changed or put there."""
    if HAS_RUNTIME and os.name == "posix":
        rows, latest = runtime.code_files(folder)
        return b"\n".join(rows).decode("utf-8", "surrogateescape"), latest
    files, latest = _files_in_python(folder)
    return "\n".join(files), latest


def _files_in_python(folder: str) -> tuple[list[str], int]:
    files, latest, waiting = [], 0, [folder]
    while waiting:
        folder = waiting.pop()
        about = os.stat(folder)
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith((".py", ".so", ".pyd")):
                    info = entry.stat()
                    files.append(_told(entry.path, info))
                    latest = max(latest, _since(info, about))
                elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                    waiting.append(entry.path)
    return sorted(files), latest
