"""The name of a function on disk: a hash of its graph, of the caller's arguments, and of the environment.

The environment is everything besides the graph on which building a function depends: versions, flags, rules, the
compiler. Whether the library runs the code of its files is asked first.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from theano_graph import (
    LOADED_AT,
    Op,
    Origin,
    Variable,
    config,
    current_origin,
    format_error,
    is_library_module,
    rule_tables,
)
from theano_graph.hashing import GraphScope, NoStructuralHashError, StructuralHasher, hex_digest, is_known_module
from theano_optimize import RewriteDatabase

from ..compiler import CompilerOptions
from ..kernels._build import library
from ..modes import Mode, optdb
from ..program import loop_of_step
from ..runtime._native_machine import HAS_RUNTIME, runtime
from ..targets import PYTHON
from ._capture import Signature
from ._disk_lookup import changed_constants, folders_replaced, is_any_of_user, surroundings

# ---- Whether the library runs the code of its files: a program may have put other functions in their places

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


# ---- Everything besides its graph on which building a function depends: versions, flags, rules, the compiler

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


#: Goes up when entries are written in another way.
_FORMAT = "8"


class Given:
    """The graph of a function before it is rewritten: entries refer to it.

    Parameters
    ----------
    leaves : list of Variable
    ops : list of Op
        Of the nodes, in order.
    origins : list of Origin or None
        The last one is where the function was asked for.
    """

    def __init__(self, leaves: list[Variable], ops: list[Op], origins: list[Origin | None]) -> None:
        self.leaves = leaves
        self.ops = ops
        self.origins = origins


class FunctionKey:
    """Names a function; the graph is looked at once, before it is rewritten.

    Parameters
    ----------
    signature : Signature
    inputs, outputs : sequence of Variable
        The graph, the caller's own or a copy of it.
    mode : Mode
    leaf_of : callable or None
        Gives the variable that stands in the function for a leaf of the graph; None for the function's own graph.

    Attributes
    ----------
    given : Given
    unused : list of int
        The inputs that nothing depends on.
    overwrites : bool
        Whether an op of the graph overwrites an operand.

    Raises
    ------
    NoStructuralHashError
        If the graph or the rules contain something that cannot be compared between processes.
    """

    def __init__(
        self,
        signature: Signature,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        mode: Mode,
        leaf_of: Callable[[Variable], Variable] | None,
    ) -> None:
        hasher = StructuralHasher()
        scope = GraphScope(hasher, True, runtime.graph_rows if HAS_RUNTIME else None, copied=leaf_of is not None)
        scope.add_inputs(inputs)
        scope.add(outputs)
        ops = [node.op for node in scope.nodes]
        leaves = scope.leaves if leaf_of is None else [leaf_of(v) for v in scope.leaves]
        self.given = Given(leaves, ops, [*scope.origins(), current_origin()])
        self.unused = [i for i, variable in enumerate(inputs) if not scope.used[scope.numbers[variable]]]
        self.overwrites = any(op.destroy_map for op in scope.ops)
        self.mode = mode
        self._hasher = hasher  # it keeps alive the objects that it knows by identity
        self._environment = Environment(hasher)
        parts = [_FORMAT, scope.digest(outputs), repr(loop_of_step())]
        parts += [*_of_mode(mode), *_of_signature(signature)]
        self._noted = [part.encode() for part in parts]
        self._noted += [name.encode() + b" " + hasher.of(value) for name, value in changed_constants()]

    @property
    def has_user_code(self) -> bool:
        """Whether code of the user's takes part."""
        return self._hasher.has_user_code

    def name(self, options: CompilerOptions) -> str | None:
        """Return the name of the file; None where the compiler does not work, or rewrites have been registered since.

        A function built without the compiler, as one that runs on devices alone, has a name of its own.
        """
        environment = self._environment.digest()
        if environment is None:
            return None
        toolchain = b"no compiler was asked"
        if self.mode.linker.target is PYTHON:
            toolchain = b"no compiler"
        else:
            known = library.known_toolchain(options)
            if known is not None:
                toolchain = known.identity.encode()
            elif library.lacks_compiler(options):
                return None
        return hex_digest([*self._noted, environment.encode(), toolchain])


def _of_mode(mode: Mode) -> list[str]:
    linker, query = mode.linker, mode.query
    parts: list[Any] = [type(linker).__name__, linker.name, linker.target.name, linker.target.present.name]
    parts += [linker.frees, linker.native_only, linker.lazy]
    waiting = [] if query is None else [query]
    while waiting:
        one = waiting.pop()
        parts += [sorted(one.include), sorted(one.require), sorted(one.exclude), one.position_cutoff, one.name]
        for name, inner in sorted(one.subquery.items(), key=lambda item: item[0]):
            parts.append(name)
            waiting.append(inner)
    return [repr(part) for part in parts]


def _of_signature(signature: Signature) -> list[str]:
    parts: list[Any] = [signature.update_targets, signature.single]
    for item in signature.inputs:
        flags = (item.strict, item.allow_downcast, item.mutable, item.borrow, item.implicit, item.shared)
        parts.append((item.name, *flags, item.update is not None, item.value is None))
    parts += [(out.borrow, out.return_internal_type) for out in signature.outputs]
    return [repr(part) for part in parts]
