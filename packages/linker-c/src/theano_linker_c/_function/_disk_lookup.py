"""Functions on disk: which can be there, how they are looked for, and how they are put there in the background.

A function that an earlier process has built is not rewritten and lowered again. The code that reads and writes is
loaded for the first one.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from theano_graph import Apply, Constant, FunctionGraph, Variable, config, is_library_module, rule_tables
from theano_optimize import RewriteDatabase, RewriteQuery, number_of_reports, number_of_user_foldings

from .._flags import LARGE
from .._lazy import cached_functions
from ..compiler import CompilerOptions, while_compiling
from ..kernels._build import library
from ..linkers import CLinker, Linker, OpWiseCLinker, PerformLinker, VM_Linker
from ..modes import Mode, optdb
from ..runtime._native_machine import HAS_RUNTIME, runtime
from ..targets import PYTHON, C
from ._capture import Collection, Signature
from ._maker import FunctionMaker, SourceGraph

if TYPE_CHECKING:
    from ._disk_files import RestoredFunction
    from ._disk_key import FunctionKey


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


# ---- Entries that are put on disk in the background, after `function` has returned

#: Seconds that the interpreter is left to the program before the background begins.
_GRACE = 0.1
#: Functions that wait at most: a program that builds more at once stores the first ones itself.
_MOST = 32
#: Seconds that the end of the program spends on waiting entries at most.
_LAST_SECONDS = 5.0


class Stores:
    """Functions that wait until they are put on disk.

    They are stored by a thread after a moment, by the next function that looks for one of them, or at the end of the
    program.
    """

    def __init__(self) -> None:
        self._at_exit = False
        #: Whether the end of the program is there: functions built by other actions at the end are stored at once.
        self._is_over = False
        self.renew()

    def renew(self) -> None:
        """Begin anew in a forked process: the parent stores the waiting entries."""
        self._waiting: dict[str, list[Callable[[], None]]] = {}
        # The handler of a signal, or a finalizer, may build a function while this thread holds it.
        self._lock = threading.RLock()
        #: Held while something is stored.
        self._turn = threading.RLock()
        self._thread: threading.Thread | None = None
        self._finalizer: object = None

    def add(self, sketch: str, store: Callable[[], None]) -> None:
        """Let `store` be called soon; it must not raise.

        Parameters
        ----------
        sketch : str
            The beginning of the function's name.
        store : callable
        """
        with self._lock:
            self._waiting.setdefault(sketch, []).append(store)
            is_full = len(self._waiting) > _MOST or self._is_over
            thread = None
            if self._thread is None and not self._is_over:
                thread = self._thread = threading.Thread(target=self._work, name="theano-store", daemon=True)
            self._register()
        if thread is not None:
            try:
                thread.start()
            except RuntimeError:  # no threads here, or no more of them
                is_full = True
                with self._lock:
                    self._thread = None
        if is_full:
            self.finish()

    def _register(self) -> None:
        """Let the end of the process store the waiting entries."""
        if not self._at_exit:
            self._at_exit = True
            atexit.register(self._end)
        # Processes that multiprocessing has made call its finalizers alone at their end.
        processes = sys.modules.get("multiprocessing.util")
        if processes is not None and self._finalizer is None:
            self._finalizer = processes.Finalize(None, self._end, exitpriority=0)

    def _end(self) -> None:
        self._is_over = True
        self.finish(seconds=_LAST_SECONDS)

    def holds(self, sketch: str) -> bool:
        """Tell whether a function waits, or is being stored, whose name begins so."""
        return sketch in self._waiting

    def finish(self, sketch: str | None = None, seconds: float | None = None) -> bool:
        """Store the waiting entries now.

        Parameters
        ----------
        sketch : str, optional
            The beginning of the names of functions; all by default.
        seconds : float, optional
            How long that may take, about.

        Returns
        -------
        bool
            Whether nothing waits any more.
        """
        last = None if seconds is None else time.monotonic() + seconds
        while (name := self._next(sketch)) is not None:
            left = -1 if last is None else last - time.monotonic()
            if (last is not None and left <= 0) or not self._turn.acquire(timeout=left):
                return False
            try:
                self._store_one(name)
            finally:
                self._turn.release()
        return True

    def _next(self, sketch: str | None) -> str | None:
        with self._lock:
            return next((name for name in list(self._waiting) if sketch in (None, name)), None)

    def _store_one(self, sketch: str) -> None:
        """Store the first function of a name, which is known to wait until that is over."""
        with self._lock:
            entries = self._waiting.get(sketch, [])
            store = entries[0] if entries else None
        try:
            if store is not None:
                store()
        finally:
            with self._lock:
                if store in entries:  # or it was stored meanwhile by the handler of a signal, in this thread
                    entries.remove(store)
                if not entries and self._waiting.get(sketch) is entries:
                    del self._waiting[sketch]

    def _work(self) -> None:
        time.sleep(_GRACE)
        while True:
            self.finish()
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return


#: Those of this process.
stores = Stores()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=stores.renew)


def finish_storing(seconds: float | None = None) -> bool:
    """Write now the entries that the cache of functions has put off; programs need not call this, their end does it.

    Parameters
    ----------
    seconds : float, optional
        How long that may take, about; by default as long as it takes.

    Returns
    -------
    bool
        Whether nothing waits any more.

    Examples
    --------
    >>> import theano_linker_c
    >>> theano_linker_c.finish_storing()
    True
    """
    return stores.finish(seconds=seconds)


# ---- Functions that are looked for on disk before they are built, and put there afterwards

#: A graph, and a function from a leaf of it to the variable in the function: None for the function's own graph.
_Graph = tuple[Sequence[Variable], Sequence[Variable], Callable[[Variable], Variable] | None]


class CachedFunction:
    """One function that may be on disk.

    A function with no similar one on disk is built at once, and named while the compiler is waited for.

    Parameters
    ----------
    signature : Signature
    mode : Mode
    builder : callable
        Makes a function of a maker and containers.
    accept_inplace : bool
        Whether the graph may overwrite operands. One that does is neither taken nor kept.
    """

    def __init__(
        self, signature: Signature, mode: Mode, builder: Callable[..., Any], accept_inplace: bool = False
    ) -> None:
        self._counts = _counts()
        self._options = CompilerOptions.from_config()
        self._signature, self._mode, self._builder = signature, mode, builder
        self._accepts_inplace = accept_inplace
        self._sketch = ""
        self._key: FunctionKey | None = None
        #: Whether the key has been looked for, which there may not be.
        self._is_named = False
        #: Whether there is nothing on disk.
        self._is_missing = False
        #: Whether nothing is taken or kept: None where that is not known yet.
        self._is_left: bool | None = None
        #: The caller's own graph, where the function computes exactly that.
        self._given: _Graph | None = None

    def find(self, collection: Collection, on_unused_input: str) -> FunctionMaker | None:
        """Return the maker of the function as it was built before, without a copy of the caller's graph.

        None where it has to be built, and where there is something to report or to add: that is done to a copy.
        """
        if not collection.is_plain:
            return None
        inputs, outputs = collection.inputs, collection.outputs
        self._given = inputs, outputs, collection.leaf
        if not self._may_be_there(collection.nodes, inputs, outputs):
            self._name_early(collection.nodes)
            return None
        key = self._named()
        if key is None:
            return None
        items = self._signature.inputs
        unused = any(not items[i].shared and items[i].update is None for i in key.unused)
        if key.overwrites or (unused and on_unused_input != "ignore"):
            return None
        return self._found(key, inputs, outputs)

    def find_copy(self, fgraph: FunctionGraph) -> FunctionMaker | None:
        """Return the maker of the function as it was built before; None where it has to be built."""
        inputs, outputs = fgraph.inputs, fgraph.outputs
        if self._given is None and not self._is_missing:
            self._given = inputs, outputs, None
            if self._may_be_there(fgraph.data_order(), inputs, outputs):
                self._named()
            else:
                self._name_early(fgraph.apply_nodes)
            self._given = None  # it will be rewritten
        if self._is_missing or self._key is None or self._is_given_up(self._key):
            return None
        return self._found(self._key, inputs, outputs)

    def built(self, maker: FunctionMaker, make: Callable[[], Any]) -> Any:
        """Return the function that `make` gives, which is put on disk as soon as it is native."""
        if self._given is None and not self._is_named:
            self._given = (*maker.source.twin(), None)
        with while_compiling(self._load, self._look, self._named):
            function = make()
        self._named()
        self._given = None
        function.once_settled(lambda _, is_native: self._store(function) if is_native else None)
        return function

    def _may_be_there(self, nodes: Iterable[Apply], inputs: Sequence[Variable], outputs: Sequence[Variable]) -> bool:
        self._sketch = sketch_of(nodes, inputs, outputs)
        if stores.holds(self._sketch):
            stores.finish(self._sketch)
        may_exist = library.cache(self._options).has_function_like(self._sketch) and not self._look()
        self._is_missing = not may_exist
        return may_exist

    def _name_early(self, nodes: Iterable[Apply]) -> None:
        """Name a function at once where its key may change while it is built.

        Ops with graphs of their own keep compiled functions; rules of users may have globals that they change.
        """
        if rules_of_users() or any(hasattr(node.op, "compiled") for node in nodes):
            self._named()

    def _load(self) -> None:
        """Load the modules that name and store it."""
        cached_functions()

    def _look(self) -> bool:
        """Tell whether nothing is taken or kept.

        Users who did not ask for the cache need not know its limits.
        """
        if self._is_left is None:
            self._is_left = config.function_cache == LARGE and cached_functions().is_code_exchanged()
        return self._is_left

    def _named(self) -> FunctionKey | None:
        if not self._is_named and self._given is not None and not self._look():
            self._is_named = True
            inputs, outputs, leaf_of = self._given
            self._key = cached_functions().key_of(self._signature, inputs, outputs, self._mode, leaf_of)
        return self._key

    def _found(self, key: FunctionKey, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> FunctionMaker | None:
        name = cached_functions().named(self._sketch, key, self._options)
        data = None if name is None else library.cache(self._options).find_function(name)
        self._is_missing = data is None
        if name is None or data is None:
            return None
        source = SourceGraph(inputs, outputs, changes=False)
        maker: FunctionMaker | None = cached_functions().restored(data, key, name, self._maker, source, self._options)
        return maker

    def _maker(self, rewritten: FunctionGraph | RestoredFunction, source: SourceGraph) -> FunctionMaker:
        return FunctionMaker(
            self._signature, rewritten, self._mode, self._builder, self._accepts_inplace, source=source
        )

    def _is_given_up(self, key: FunctionKey) -> bool:
        """Tell whether calls overwrite the caller's arrays."""
        return self._accepts_inplace and key.overwrites

    def _store(self, function: Any) -> None:
        if self._key is None or self._is_given_up(self._key) or self._counts != _counts():
            return
        cached_functions().put_later(function, self._key, self._sketch, self._options)


def _counts() -> tuple[int, int]:
    """Return numbers that go up with events that only rewriting can cause: reports of failures, code of the user's."""
    return number_of_reports(), number_of_user_foldings()
