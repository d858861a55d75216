"""From the C code of nodes to machine code, compiled together where possible, and to thunks that run it."""

from __future__ import annotations

import ctypes
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

from theano_graph import Apply, MissingRuleError, format_error, has_own_thunk, record, warn_user

from .._cache import KernelCache
from .._perform import params_of, perform_runner
from ..compiler import (
    CompileDirectory,
    CompilerOptions,
    CompilerWarning,
    Toolchain,
    build_lock,
    check_room,
    digest,
    remove,
)
from ..kernels import library as kernels_library, stand_in, with_room
from ._node_code import NAME, NoCCode, NodeCode, has_c_code, has_perform, node_code_of, warns_of_missing_version
from ._source import abi_identity, compile_unit, compiler_arguments, python_include, refused, thunk_text, unit_text

# ---- From the C code of nodes to machine code: code neither loaded nor on disk is compiled, together where possible
#
# Thunks may share a file only if nothing of one can change the meaning of another: the same arguments, no preprocessor
# directive that outlives its thunk, and code for the global scope either the same or named after the node.

_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)[ \t]*(\w*)", re.MULTILINE)


@record
class LoadedCode:
    """Machine code of one node.

    Attributes
    ----------
    make : callable
        ``make(params)`` gives a thunk: a capsule.
    call : callable
        ``call(thunk, tuple of inputs, tuple of the values in the cells of the outputs, or None)`` runs it and gives a
        tuple of outputs.
    """

    make: Callable[[Any], Any]
    call: Callable[[Any, tuple[Any, ...], tuple[Any, ...] | None], tuple[Any, ...]]


@record
class Unit:
    """The result of one run of the compiler."""

    items: tuple[tuple[NodeCode, str], ...]
    languages: tuple[bool, ...]

    @property
    def node_codes(self) -> list[NodeCode]:
        """The code of each node."""
        return [node_code for node_code, _ in self.items]


def key_of(node_code: NodeCode, toolchain: Toolchain, options: CompilerOptions) -> str:
    """Name the code of a node by all that its machine code depends on."""
    flags = compiler_arguments(toolchain, node_code.arguments, options, cpp=False)
    shared = "\n".join((*node_code.support, *node_code.init))
    content = repr((node_code.arguments, node_code.version, node_code.inputs, node_code.outputs))
    frame = unit_text([], cpp=False)
    return digest(frame, shared, thunk_text(node_code, cpp=True), content, *flags, toolchain.identity, abi_identity())


def units_of(items: Sequence[tuple[NodeCode, str]]) -> list[Unit]:
    """Divide thunks among as few files as is safe; those kept on disk and those not never share one."""
    groups: dict[Any, list[tuple[NodeCode, str]]] = {}
    for node_code, key in items:
        groups.setdefault(_group(node_code, key), []).append((node_code, key))
    return [Unit(tuple(unit), unit[0][0].languages) for unit in groups.values()]


def _group(node_code: NodeCode, key: str) -> Any:
    own_scope = "\n".join((*node_code.support_apply, *node_code.init))
    alone = not _leaves_no_macros(node_code) or (bool(node_code.support_apply) and NAME not in own_scope)
    settings = (node_code.arguments, bool(node_code.version), node_code.languages)
    return (settings, key) if alone else (settings, node_code.support_content if _defines(node_code) else ())


def _defines(node_code: NodeCode) -> bool:
    return bool(node_code.support or node_code.init)


def _leaves_no_macros(node_code: NodeCode) -> bool:
    """Tell whether all macros that the code defines are undefined by it again, and no other directive stands in it."""
    blocks = [text for block in node_code.blocks for text in (block.declare, block.enter, block.leave)]
    structs = (node_code.support_struct, node_code.init_struct, node_code.cleanup_struct)
    text = "\n".join((*node_code.support, *node_code.support_apply, *structs, *blocks, *node_code.init))
    open_macros: set[str] = set()
    for kind, name in _DIRECTIVE.findall(text):
        if kind == "define":
            open_macros.add(name)
        elif kind == "undef":
            open_macros.discard(name)
        elif kind not in ("include", "line", "pragma"):
            return False
    return not open_macros


class ThunkLibrary:
    """Machine code of ops in this process.

    Attributes
    ----------
    compiler_runs : int
        Runs of the compiler since the library was made.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._loaded: dict[str, LoadedCode] = {}
        self.compiler_runs = 0

    def renew_lock(self) -> None:
        """Start with a free lock, in a child after a fork."""
        self._lock = threading.RLock()

    def clear(self) -> None:
        """Forget loaded code; thunks that exist go on working."""
        with self._lock:
            self._loaded.clear()

    def toolchain(self, options: CompilerOptions) -> tuple[CompileDirectory, Toolchain] | None:
        """Return the compile directory and the toolchain, or None where code of ops cannot be compiled."""
        folder, toolchain = kernels_library.toolchain(options)
        if toolchain is None:
            return None
        if python_include() is None:
            _warn_no_headers()
            return None
        return folder, toolchain

    def load(self, units: Sequence[NodeCode], options: CompilerOptions) -> list[LoadedCode] | None:
        """Return the machine code of each of `units`; None where nothing can be compiled.

        Raises
        ------
        CompileError
            If the compiler refuses an op's code.
        """
        found = self.toolchain(options)
        if found is None:
            return None
        folder, toolchain = found
        cache = KernelCache(folder, options.max_age, options.max_bytes)
        with self._lock:
            keys = [key_of(node_code, toolchain, options) for node_code in units]
            missing = self._missing(dict(zip(keys, units, strict=True)).items(), cache)
            if missing:
                with build_lock(folder, digest(*sorted(missing)), options.wait, options.timeout):
                    # Another process may have finished between our look and the lock.
                    missing = self._missing(missing.items(), cache)
                    for unit in units_of([(node_code, key) for key, node_code in missing.items()]):
                        self._build(unit, toolchain, cache, options)
            return [self._loaded[key] for key in keys]

    def present(self, units: Sequence[NodeCode], options: CompilerOptions) -> list[LoadedCode] | None:
        """Return the machine code of each of `units` where all of it is loaded or on disk; None otherwise."""
        if kernels_library.known_toolchain(options) is None:
            return None
        toolchain = self.toolchain(options)
        if toolchain is None:
            return None
        cache = KernelCache(toolchain[0], options.max_age, options.max_bytes)
        with self._lock:
            keys = [key_of(node_code, toolchain[1], options) for node_code in units]
            if self._missing(dict(zip(keys, units, strict=True)).items(), cache):
                return None
            return [self._loaded[key] for key in keys]

    def load_beside(self, units: Sequence[NodeCode], options: CompilerOptions) -> None:
        """Load the machine code of `units`; others need not wait while the compiler runs."""
        library = ThunkLibrary()
        with self._lock:
            library._loaded.update(self._loaded)
        library.load(units, options)
        with self._lock:
            self._loaded.update(library._loaded)
            self.compiler_runs += library.compiler_runs

    def _missing(self, items: Iterable[tuple[str, NodeCode]], cache: KernelCache) -> dict[str, NodeCode]:
        """Load code from disk; returns the rest."""
        return {
            key: node_code
            for key, node_code in items
            if key not in self._loaded and not (node_code.version and self._load_cached(key, cache))
        }

    def _load_cached(self, key: str, cache: KernelCache) -> bool:
        path = cache.find(key)
        if path is None:
            return False
        try:
            self._loaded[key] = _open(path, key)
        except (OSError, AttributeError):
            return False
        return True

    def _build(self, unit: Unit, toolchain: Toolchain, cache: KernelCache, options: CompilerOptions) -> None:
        """Compile a unit: as C, then as C++, and then its thunks one by one, so that one error names one op."""
        for node_code in unit.node_codes:
            if warns_of_missing_version(node_code):
                _warn_no_version(node_code)
        messages: list[tuple[str, str]] = []
        text = ""
        for cpp in unit.languages:
            text = unit_text([(node_code, _name(key)) for node_code, key in unit.items], cpp)
            message = with_room(cache.folder, partial(self._try, unit, text, cpp, toolchain, cache, options))
            if message is None:
                return
            messages.append(("C++" if cpp else "C", message))
        if len(unit.items) == 1:
            raise refused([node_code.node for node_code in unit.node_codes], text, messages, cache.folder)
        for item in unit.items:
            self._build(Unit((item,), item[0].languages), toolchain, cache, options)

    def _try(
        self,
        unit: Unit,
        text: str,
        cpp: bool,
        toolchain: Toolchain,
        cache: KernelCache,
        options: CompilerOptions,
    ) -> str | None:
        """Compile and load a file; gives the compiler's message if it refused."""
        output = cache.folder.temporary_file(".so")
        arguments = unit.items[0][0].arguments
        try:
            run = compile_unit(text, toolchain, arguments, options, output, cpp)
            self.compiler_runs += 1
            if not run.ok:
                check_room(run.message, output)
                return run.message
            if options.warnings and "warning:" in run.message:
                warn_user(f"compiling code of ops: {run.message}", CompilerWarning)
            try:
                loaded = {key: _open(output, key) for _, key in unit.items}
            except OSError as error:
                return f"error: {error}"
            if unit.items[0][0].version:
                name = os.path.basename(cache.store(output, list(loaded)))
                if options.keep_sources:
                    cache.folder.write(text.encode(), "sources", name.removesuffix(".so") + ".c")
        finally:
            remove(output)
        self._loaded.update(loaded)
        return None


def _name(key: str) -> str:
    """Return the text for the node in names of C."""
    return "node_" + key


def _open(path: str, key: str) -> LoadedCode:
    loaded = ctypes.PyDLL(path)
    make, call = getattr(loaded, "theano_make_" + _name(key)), loaded.theano_call_thunk
    make.restype, make.argtypes = ctypes.py_object, [ctypes.py_object]
    call.restype, call.argtypes = ctypes.py_object, [ctypes.py_object] * 3
    return LoadedCode(make, call)


def _warn_no_version(node_code: NodeCode) -> None:
    op = node_code.node.op
    warn_user(
        format_error(
            f"the C code of {op} is compiled in every process: it has no version",
            hint=f"define {type(op).__qualname__}.c_code_cache_version, and that of the types of its variables",
        ),
        CompilerWarning,
    )


@cache
def _warn_no_headers() -> None:
    """Warn, once in a process."""
    warn_user(
        format_error(
            "Python's headers are not installed, so C code of ops cannot be compiled: their Python code is run",
            hint="install the development files of Python (python3-dev)",
        ),
        CompilerWarning,
    )


#: The code of ops in this process.
library = ThunkLibrary()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=library.renew_lock)


# ---- Thunks: nodes whose C code is compiled and ready to run


@record
class CThunk:
    """The C code of one node, with a state of its own.

    Parameters
    ----------
    capsule : object
        The object that machines in C run: it holds a ``theano_thunk`` (thunk.h). The state is freed with it.
    code : LoadedCode
    """

    capsule: Any
    code: LoadedCode

    def __call__(self, values: Sequence[Any], storage: Sequence[Any] | None = None) -> tuple[Any, ...]:
        """Run the code.

        Parameters
        ----------
        values : sequence
            One for each input.
        storage : sequence, optional
            For each output, an object that stands in its cell and may be taken over, or None.

        Returns
        -------
        tuple
            A value for each output.
        """
        return self.code.call(self.capsule, tuple(values), None if storage is None else tuple(storage))


class NoCompilerError(MissingRuleError, RuntimeError):
    """An op has C code only, and nothing can compile it."""


def offers_c_code(node: Apply) -> bool:
    """Tell whether a node may be run by its op's own C code."""
    return has_c_code(node) and not has_own_thunk(node.op)


def needs_c_code(node: Apply) -> bool:
    """Tell whether nothing but its op's own C code can run a node."""
    return offers_c_code(node) and not has_perform(node.op)


def c_thunks(nodes: Sequence[Apply], options: CompilerOptions | None = None) -> list[CThunk | None]:
    """Return a thunk for each node, with as few runs of the compiler as possible.

    Parameters
    ----------
    nodes : sequence of Apply
        Nodes of one function.
    options : CompilerOptions, optional
        Compiler and directory; from the configuration by default.

    Returns
    -------
    list of CThunk or None
        None where the op has no C code for the node, or nothing can compile it, and `perform` is to be run.

    Raises
    ------
    CompileError
        If the compiler refuses an op's code; the text names the op and the file that holds the code.
    NoCompilerError
        If the op has no `perform` either.
    """
    thunks: list[CThunk | None] = [None] * len(nodes)
    if not any(map(has_c_code, nodes)):
        return thunks
    of_config = options is None
    options = CompilerOptions.from_config() if options is None else options
    units: list[tuple[int, NodeCode, Any]] = []
    for i, node in enumerate(nodes):
        if has_c_code(node):
            params = next(iter(params_of(node)), None)
            node_code = _node_code(node, params, options)
            if node_code is not None:
                units.append((i, node_code, params))
    node_codes, other = [node_code for _, node_code, _ in units], stand_in.get() if of_config else None
    loaded = [] if not units else library.load(node_codes, options) if other is None else other.load(node_codes)
    if loaded is None:
        for _, node_code, _ in units:
            _require_perform(node_code.node, None, options)
        return thunks
    for (i, _, params), code in zip(units, loaded, strict=True):
        with _named(nodes[i], "the state of its C code was made"):
            thunks[i] = CThunk(code.make(params), code)
    return thunks


def c_thunk(node: Apply, options: CompilerOptions | None = None) -> CThunk | None:
    """Return the thunk of one node; see :func:`c_thunks`."""
    return c_thunks([node], options)[0]


def run_c_code(node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> bool:
    """Compute a node by its op's C code, in the form of `perform`; False where the op has none.

    Raises
    ------
    CompileError, NoCompilerError
        If the code cannot be compiled.
    """
    if not has_c_code(node) or not isinstance(inputs, Sequence):
        return False
    thunk = c_thunk(node)
    if thunk is None:
        return False
    for cell, value in zip(output_storage, thunk(inputs), strict=True):
        cell[0] = value
    return True


def storage_thunk(
    node: Apply,
    storage_map: Mapping[Any, list[Any]],
    compute_map: Mapping[Any, list[Any]],
    impl: str | None = None,
) -> Callable[[], None]:
    """Return a function without arguments that runs a node on cells, as `make_thunk` of an op does.

    Parameters
    ----------
    node : Apply
    storage_map, compute_map : mapping of Variable to one-element list
        The values, and whether they have been computed.
    impl : {"py", "c"}, optional
        "py" runs `perform`; "c" insists on C code; by default C code runs where there is any.

    Raises
    ------
    NoCompilerError
        If `impl` is "c" and there is no C code, or nothing to compile it.
    """
    thunk = c_thunk(node) if impl != "py" or not has_perform(node.op) else None
    if thunk is None and impl == "c":
        raise NoCompilerError(format_error(f"{node.op} has no C code for this node", hint="ask for impl='py'"))
    run: Callable[[list[Any]], Sequence[Any]] = perform_runner(node) if thunk is None else thunk

    def run_once() -> None:
        results = run([storage_map[variable][0] for variable in node.inputs])
        for variable, value in zip(node.outputs, results, strict=True):
            storage_map[variable][0] = value
            compute_map[variable][0] = True

    return run_once


def _node_code(node: Apply, params: Any, options: CompilerOptions) -> NodeCode | None:
    try:
        with _named(node, "its C code was asked for"):
            return node_code_of(node, params, options.command)
    except NoCCode as reason:
        _require_perform(node, reason, options)
        return None


@contextmanager
def _named(node: Apply, when: str) -> Iterator[None]:
    """Add to exceptions for the user whose op it was that raised them."""
    try:
        yield
    except NoCCode:
        raise
    except Exception as error:
        origin = "" if node.origin is None else f" applied at {node.origin}"
        error.add_note(f"  in {node.op}{origin}, when {when}")
        raise


def _require_perform(node: Apply, reason: NoCCode | None, options: CompilerOptions) -> None:
    if has_perform(node.op):
        return
    op_class = type(node.op).__qualname__
    where = [] if node.origin is None else [f"{node.op} applied at {node.origin}"]
    if reason is not None:
        what, hint = f"op {node.op} cannot be run: {reason}", f"complete the C code, or define {op_class}.perform"
    else:
        command = options.command or "none is set"
        what = f"op {node.op} has C code only, and there is no C compiler with Python's headers ({command})"
        hint = f"install gcc or clang, set THEANO_FLAGS=cxx=<path of a compiler>, or define {op_class}.perform"
    raise NoCompilerError(format_error(what, context=where, hint=hint)) from reason
