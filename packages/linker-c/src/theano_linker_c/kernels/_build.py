"""From descriptions to machine code: kernels neither loaded nor on disk are compiled, all by one compiler run."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

from theano_graph import format_error, record, warn_user

from .._cache import KernelCache
from ..compiler import (
    CompileDirectory,
    CompilerOptions,
    CompilerWarning,
    MappedCode,
    Toolchain,
    build_lock,
    check_room,
    compile_error,
    digest,
    find_toolchain,
    known_toolchain,
    remove,
    run_compiler,
)
from ..compiler._toolchain import loading
from ..scalar import NoNativeForm
from ._kernel import Kernel, Linkage, LoadedKernel, c_text
from ._libraries import set_special_functions, special_address
from ._source import SHARED_CODE, KernelSource, file_text, set_shared_code

__all__ = ["BuildStandIn", "KernelLibrary", "build", "kernel_source", "library", "stand_in", "with_room"]

_T = TypeVar("_T")
_ATTEMPTS = 3
#: How long the background writes the text of kernels before it leaves the interpreter to others, and for how long. Who
#: calls then has it for 5 ms (`sys.getswitchinterval`), by which native code comes later.
_HELD_SECONDS = 0.001
_YIELD_SECONDS = 0.0002


@record
class _Wanted:
    source: KernelSource
    key: str

    @property
    def symbol(self) -> str:
        return "k" + self.key


class KernelLibrary:
    """Loaded kernels of the process, and the toolchains that made them.

    Programs keep the kernels that they run; here the latest ones are kept too, for the next program.

    Parameters
    ----------
    kept : int
        How many kernels are kept.
    """

    def __init__(self, kept: int = 256) -> None:
        self._lock = threading.RLock()
        self._loaded: weakref.WeakValueDictionary[str, LoadedKernel] = weakref.WeakValueDictionary()
        self._recent: deque[LoadedKernel] = deque(maxlen=kept)
        self._toolchains: dict[CompilerOptions, tuple[CompileDirectory, Toolchain | None]] = {}
        self._caches: dict[CompilerOptions, KernelCache] = {}
        #: Whether a compiler that does not work is warned of.
        self._warns = True
        #: Whether other threads get the interpreter while the text of kernels is written.
        self._yields = False
        #: Number of compiler runs for kernels since the library was made (probing not counted).
        self.compiler_runs = 0

    @classmethod
    def beside(cls, other: KernelLibrary) -> KernelLibrary:
        """Return a library for the background, which starts with another one's kernels; it does not warn."""
        fork = cls()
        with other._lock:
            fork._toolchains.update(
                {k: toolchain for k, toolchain in other._toolchains.items() if toolchain[1] is not None}
            )
            fork._caches.update(other._caches)
            fork._loaded.update(other._loaded)
        fork._warns, fork._yields = False, True
        return fork

    def adopt(self, other: KernelLibrary) -> None:
        """Take over another library's kernels and toolchains."""
        with self._lock:
            self._loaded.update(other._loaded)
            self._recent.extend(other._recent)
            for options, toolchain in other._toolchains.items():
                self._toolchains[options] = toolchain
                self._caches[options] = other._caches[options]
            self.compiler_runs += other.compiler_runs

    def renew_lock(self) -> None:
        """Start with a free lock, in a child after a fork: no thread there will let go of the old one."""
        self._lock = threading.RLock()

    def clear(self) -> None:
        """Forget loaded kernels and compilers."""
        with self._lock:
            self._loaded.clear()
            self._recent.clear()
            self._toolchains.clear()
            self._caches.clear()

    def cache(self, options: CompilerOptions) -> KernelCache:
        """Return the content of the compile directory of `options`."""
        with self._lock:
            cache = self._caches.get(options)
            if cache is None:
                folder = CompileDirectory(options.directory)
                cache = self._caches[options] = KernelCache(folder, options.max_age, options.max_bytes)
            return cache

    def known_toolchain(self, options: CompilerOptions) -> Toolchain | None:
        """Return the toolchain for `options` where it is known without trying the compiler; None otherwise."""
        if (there := self._toolchains.get(options)) is not None:
            return there[1]  # whoever compiles holds the lock, and need not be waited for
        with self._lock:
            known = self._toolchains.get(options)
            if known is None:
                cache = self.cache(options)
                toolchain = known_toolchain(options, cache.folder)
                if toolchain is None:
                    return None
                known = self._toolchains[options] = cache.folder, toolchain
                if options.preload:
                    _preload(cache)
            return known[1]

    def lacks_compiler(self, options: CompilerOptions) -> bool:
        """Tell whether it has been found out, and said, that no compiler works."""
        return self._toolchains.get(options, (None, options))[1] is None

    def load(
        self, sources: Mapping[str, tuple[Linkage, str]], options: CompilerOptions
    ) -> dict[str, LoadedKernel] | None:
        """Return kernels by their symbols, where all of them are loaded or on disk; None otherwise.

        `sources` says of each how it is loaded, and the name of the object that holds it.
        """
        with self._lock:
            objects: dict[str, MappedCode | None] = {}
            kernels: dict[str, LoadedKernel] = {}
            for symbol, (linkage, name) in sources.items():
                kernel = self._loaded.get(symbol[1:])
                if kernel is None:
                    if name not in objects:
                        objects[name] = _mapped(self.cache(options), name)
                    kernel = _load_linked(objects[name], symbol, linkage)
                if kernel is None:
                    return None
                kernels[symbol] = self._loaded[symbol[1:]] = kernel
            self._recent.extend(kernels.values())
            return kernels

    def toolchain(
        self, options: CompilerOptions, sources: Sequence[KernelSource] = ()
    ) -> tuple[CompileDirectory, Toolchain | None]:
        """Give the compile directory and the toolchain for `options`; warn once where there is no compiler.

        Where the compiler must be tried first, that run compiles `sources`, too.
        """
        with self._lock:
            self.known_toolchain(options)  # nobody has to be waited for where it is on disk
            toolchain = self._toolchains.get(options)
            if toolchain is None:
                cache = self.cache(options)
                folder = cache.folder
                plain = not sources or options.warnings or options.keep_sources
                first = None if plain else _FirstKernels(sources, cache, self._one_by_one)

                def find() -> Toolchain | None:
                    # Others who start on the same empty directory wait for the result of the first of them.
                    with build_lock(folder, digest("toolchain"), options.wait, options.timeout):
                        return find_toolchain(options, folder, first)

                toolchain = (folder, with_room(folder, find))
                self._toolchains[options] = toolchain
                if first is not None and first.loaded:
                    self._loaded.update(first.loaded)
                    self._recent.extend(first.loaded.values())
                    self.compiler_runs += 1
                if toolchain[1] is None:
                    if self._warns:
                        _warn_no_compiler(options)
                elif options.preload:
                    _preload(self._caches[options])
            return toolchain

    def present(
        self, kernels: Sequence[Kernel], options: CompilerOptions
    ) -> tuple[dict[Kernel, LoadedKernel | None], list[Kernel]]:
        """Return which of `kernels` are there without the compiler, and the others, which have to be compiled."""
        toolchain = self.known_toolchain(options)
        if toolchain is None:
            missing = [kernel for kernel in kernels if SHARED_CODE and c_text.get(kernel) is not None]
            others = dict.fromkeys(kernels).keys() - set(missing)
            return {kernel: _code_of(kernel, None, {}) for kernel in others}, missing
        sources = {kernel: kernel_source(kernel) for kernel in kernels}
        units = _named(dict.fromkeys(source for source in sources.values() if source is not None), toolchain)
        held: dict[str, LoadedKernel] = {}
        with self._lock:
            self._missing(units.values(), self.cache(options), held)
            self._loaded.update(held)
            self._recent.extend(held.values())
        found = {source: held[item.key] for source, item in units.items() if item.key in held}
        missing = [kernel for kernel, source in sources.items() if source is not None and source not in found]
        there = {k: _code_of(k, source, found) for k, source in sources.items() if source is None or source in found}
        return there, missing

    def build(self, kernels: Sequence[Kernel], options: CompilerOptions) -> list[LoadedKernel | None]:
        """See `build`."""
        sources = [kernel_source(kernel) for kernel in self._one_by_one(kernels)]
        found: dict[KernelSource, LoadedKernel] = {}
        if any(source is not None for source in sources):
            with self._lock:
                found = self._build_sources([s for s in sources if s is not None], options)
        return [_code_of(kernel, source, found) for kernel, source in zip(kernels, sources, strict=True)]

    def _build_sources(
        self, sources: Sequence[KernelSource], options: CompilerOptions
    ) -> dict[KernelSource, LoadedKernel]:
        folder, toolchain = self.toolchain(options, sources)
        if toolchain is None:
            return {}
        wanted = _named(self._one_by_one(dict.fromkeys(sources)), toolchain)
        cache = self._caches[options]
        held: dict[str, LoadedKernel] = {}
        missing = self._missing(wanted.values(), cache, held)
        if missing:
            with build_lock(folder, digest(*sorted(missing)), options.wait, options.timeout):
                # Another process may have finished between our look and the lock.
                missing = self._missing(missing.values(), cache, held)
                if missing:
                    units = list(missing.values())
                    held.update(with_room(folder, lambda: self._compile(units, toolchain, cache, options)))
        self._loaded.update(held)
        self._recent.extend(held.values())
        return {source: held[item.key] for source, item in wanted.items()}

    def _one_by_one(self, items: Iterable[_T]) -> Iterator[_T]:
        """Give kernels whose text is written; in the background, others get the interpreter now and then."""
        begin = time.thread_time()
        for item in items:
            yield item
            if self._yields and time.thread_time() - begin > _HELD_SECONDS:
                # Not 0: a thread that is woken up needs a moment until it asks for the interpreter.
                time.sleep(_YIELD_SECONDS)
                begin = time.thread_time()

    def _missing(
        self, items: Iterable[_Wanted], cache: KernelCache, held: dict[str, LoadedKernel]
    ) -> dict[str, _Wanted]:
        """Put loaded and stored kernels into `held`; returns the rest."""
        missing = {}
        for item in items:
            kernel = self._loaded.get(item.key) or _load_cached(cache, item)
            if kernel is None:
                missing[item.key] = item
            else:
                held[item.key] = kernel
        return missing

    def _compile(
        self, items: Sequence[_Wanted], toolchain: Toolchain, cache: KernelCache, options: CompilerOptions
    ) -> dict[str, LoadedKernel]:
        text = _text(items, toolchain, self._one_by_one(items))
        output = cache.folder.temporary_file(".so")
        try:
            run = run_compiler(toolchain.command, toolchain.arguments, text, output)
            self.compiler_runs += 1
            if not run.ok:
                check_room(run.message, output)
                raise compile_error(toolchain.command, toolchain.arguments, text, run.message, cache.folder)
            if options.warnings and "warning:" in run.message:
                warn_user(f"compiling kernels: {run.message}", CompilerWarning)
            # Loaded before it is published: from then on other processes may remove it at any time.
            code = MappedCode(output)
            loaded = {item.key: _find(code, item) for item in items}
            name = os.path.basename(cache.store(output, list(loaded)))
            if options.keep_sources:
                cache.folder.write(text.encode(), "sources", name.removesuffix(".so") + ".c")
        finally:
            remove(output)
        return loaded


class _FirstKernels:
    """Kernels that are compiled by the run that tries the compiler."""

    def __init__(
        self, sources: Sequence[KernelSource], cache: KernelCache, each: Callable[[Iterable[Any]], Iterator[Any]]
    ) -> None:
        self._sources = sources
        self._cache = cache
        self._each = each
        self._items: list[_Wanted] = []
        self.loaded: dict[str, LoadedKernel] = {}

    def source(self, toolchain: Toolchain) -> str:
        """Give the text of the kernels, whose names depend on the toolchain."""
        self._items = list(_named(self._each(dict.fromkeys(self._sources)), toolchain).values())
        return _text(self._items, toolchain, self._each(self._items))

    def made(self, output: str) -> None:
        """Load the kernels, and keep the object."""
        code = MappedCode(output)
        loaded = {item.key: _find(code, item) for item in self._items}
        self._cache.store(output, list(loaded))
        self.loaded = loaded


def _named(sources: Iterable[KernelSource], toolchain: Toolchain) -> dict[KernelSource, _Wanted]:
    return {source: _Wanted(source, _key(source, toolchain)) for source in sources}


def _text(items: Sequence[_Wanted], toolchain: Toolchain, rendered: Iterable[_Wanted] | None = None) -> str:
    preamble = [part for item in items for part in item.source.preamble]
    texts = [item.source.render(item.symbol) for item in rendered or items]
    return file_text(texts, toolchain.vector_functions, preamble, own_forms=True)


def with_room(folder: CompileDirectory, action: Callable[[], _T]) -> _T:
    """Do something that writes to `folder`; where that fails, leave it for a temporary directory and try again."""
    for _ in range(_ATTEMPTS):
        try:
            return action()
        except FileNotFoundError:
            continue  # somebody has just emptied the directory; its parts are made again
        except OSError as error:
            if folder.temporary:
                raise
            folder.leave(error.strerror or str(error))
    return action()


def _preload(cache: KernelCache) -> None:
    for key in cache.entries():
        path = cache.find(key)
        if path is not None:
            with contextlib.suppress(OSError), loading:
                ctypes.CDLL(path)


def _key(source: KernelSource, toolchain: Toolchain) -> str:
    """Name a kernel by everything that its machine code depends on."""
    text = file_text([source.render("kernel")], toolchain.vector_functions, source.preamble, own_forms=True)
    return digest(text, toolchain.identity)


def _load_cached(cache: KernelCache, item: _Wanted) -> LoadedKernel | None:
    path = cache.find(item.key)
    if path is None:
        return None
    try:
        return _find(MappedCode(path), item)
    except (OSError, AttributeError):
        # A complete file that the loader refuses, or that lacks the symbol, is of no use: make a new one.
        return None


def _mapped(cache: KernelCache, name: str) -> MappedCode | None:
    path = cache.object(name)
    try:
        return None if path is None else MappedCode(path)
    except OSError:
        return None


def _load_linked(code: MappedCode | None, symbol: str, linkage: Linkage) -> LoadedKernel | None:
    if code is None or not all(special_address(name, count) for name, count in linkage.special):
        return None
    try:
        return _linked(code, symbol, linkage)
    except AttributeError:
        return None


def _find(code: MappedCode, item: _Wanted) -> LoadedKernel:
    source = item.source
    suffixes = tuple(suffix for suffix in ("_inner", "_outer") if source.has(suffix))
    return _linked(code, item.symbol, Linkage(suffixes, source.shared, tuple(source.special.items())))


def _linked(code: MappedCode, symbol: str, linkage: Linkage) -> LoadedKernel:
    set_shared_code(code.address, linkage.shared)
    set_special_functions(code.address, linkage.special)
    if "_inner" not in linkage.suffixes:
        return LoadedKernel(symbol, code.address(symbol), code=code, linkage=linkage)
    outer = code.address(symbol + "_outer") if "_outer" in linkage.suffixes else 0
    return LoadedKernel(symbol, code.address(symbol + "_inner"), outer, code, linkage)


def _warn_no_compiler(options: CompilerOptions) -> None:
    what = "no C compiler is set" if not options.command else f"the C compiler {options.command} does not work"
    warn_user(
        format_error(
            f"{what}: functions run in Python, which is much slower",
            hint="install gcc or clang, or set THEANO_FLAGS=cxx=<path of a compiler>",
        ),
        CompilerWarning,
    )


def kernel_source(kernel: Kernel) -> KernelSource | None:
    """Give the C text of a kernel; None for a kernel without generated code, or whose ops or dtypes have no C form.

    Nor is there any without the runtime, of which it calls shared code.
    """
    generate = c_text.get(kernel)
    if generate is None or not SHARED_CODE:
        return None
    try:
        source = generate(kernel)
    except NoNativeForm:
        return None
    # Functions that this SciPy lacks are left to the op's NumPy form.
    return source if all(special_address(name, count) for name, count in source.special.items()) else None


def _code_of(
    kernel: Kernel, source: KernelSource | None, unit: Mapping[KernelSource, LoadedKernel]
) -> LoadedKernel | None:
    if source is not None:
        return unit.get(source)
    return kernel.routine() if kernel.needs_code else LoadedKernel("", 0)


#: The kernels of this process.
library = KernelLibrary()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=library.renew_lock)


class BuildStandIn(Protocol):
    """Stands in for the compiler while a function is linked that does not wait for it."""

    def build(self, kernels: Sequence[Kernel], /) -> list[LoadedKernel | None]:
        """Return the machine code of kernels, None for missing ones."""

    def load(self, sources: Sequence[Any], /) -> list[Any] | None:
        """Return the machine code of ops' C code; None where it is not there."""


#: The deferred compiler at the moment.
stand_in: ContextVar[BuildStandIn | None] = ContextVar("stand_in", default=None)


def build(kernels: Sequence[Kernel], options: CompilerOptions | None = None) -> list[LoadedKernel | None]:
    """Load the machine code of `kernels`, compiling missing ones with at most one run of the compiler.

    Parameters
    ----------
    kernels : sequence of Kernel
        All kernels of a function; equal ones share their code.
    options : CompilerOptions, optional
        Compiler and directory; from the configuration by default.

    Returns
    -------
    list of LoadedKernel or None
        One for each kernel, in order. None where no compiler works (one warning is given) or where an op or dtype has
        no C form: the caller runs the node's `perform`.

    Raises
    ------
    CompileError
        If the compiler refuses the code or the user's arguments; the source is kept and named.

    Examples
    --------
    >>> from theano_linker_c.kernels import ElementwiseKernel
    >>> from theano_linker_c.scalar import tanh
    >>> kernel = ElementwiseKernel(tanh, ("float64",), ("float64",), ((False,),), 1)
    >>> len(build([kernel, kernel]))
    2
    """
    other = stand_in.get()
    if other is not None and options is None:
        return other.build(kernels)
    return library.build(kernels, CompilerOptions.from_config() if options is None else options)
