"""C files that are compiled and loaded, and kept in the cache of compiled kernels."""

from __future__ import annotations

import os
import re
import threading
import weakref

from theano_graph import format_error

from .._cache import KernelCache
from ..compiler import (
    CompileDirectory,
    CompileError,
    CompilerOptions,
    MappedCode,
    Toolchain,
    build_lock,
    check_room,
    compile_error,
    digest,
    remove,
    run_compiler,
)
from ..kernels import library, with_room

__all__ = ["CodeLibrary", "code_library"]

#: Arguments of kernels, which ask for their own optimisation and call no library, that do not suit whole files.
_FOR_KERNELS = re.compile(r"-nostartfiles|-nodefaultlibs|-O\w*|-fno-(?:ipa|tree|dse).*")


class CodeLibrary:
    """Files of C that this process has loaded.

    Attributes
    ----------
    compiler_runs : int
        Runs of the compiler since the library was made.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._loaded: weakref.WeakValueDictionary[str, MappedCode] = weakref.WeakValueDictionary()
        self.compiler_runs = 0

    def renew_lock(self) -> None:
        """Start with a free lock, in a child after a fork."""
        self._lock = threading.RLock()

    def load(self, text: str, options: CompilerOptions | None = None, quick: bool = False) -> MappedCode:
        """Compile a file, unless that has been done before, and load it; `quick` asks for less effort.

        Raises
        ------
        CompileError
            If there is no compiler.
        """
        options = CompilerOptions.from_config() if options is None else options
        folder, toolchain = library.toolchain(options)
        if toolchain is None:
            raise CompileError(
                format_error(
                    "C code cannot be compiled: no C compiler works",
                    hint="install gcc or clang, or set THEANO_FLAGS=cxx=<path of a compiler>",
                )
            )
        arguments = _arguments(toolchain, options, quick)
        key = digest(text, toolchain.identity, *arguments)
        cache = KernelCache(folder, options.max_age, options.max_bytes)
        with self._lock:
            code = self._loaded.get(key) or _cached(cache, key)
            if code is None:
                with build_lock(folder, key, options.wait, options.timeout):
                    # Another process may have finished between our look and the lock.
                    code = _cached(cache, key) or with_room(
                        folder, lambda: self._compile(text, key, toolchain.command, arguments, cache, folder)
                    )
            self._loaded[key] = code
            return code

    def _compile(
        self, text: str, key: str, command: str, arguments: list[str], cache: KernelCache, folder: CompileDirectory
    ) -> MappedCode:
        output = folder.temporary_file(".so")
        try:
            run = run_compiler(command, arguments, text, output)
            self.compiler_runs += 1
            if not run.ok:
                check_room(run.message, output)
                raise compile_error(command, arguments, text, run.message, folder)
            # Loaded before it is published: from then on other processes may remove it at any time.
            code = MappedCode(output)
            path = cache.store(output, [key])
            if CompilerOptions.from_config().keep_sources:
                folder.write(text.encode(), "sources", os.path.basename(path).removesuffix(".so") + ".c")
        finally:
            remove(output)
        return code


def _arguments(toolchain: Toolchain, options: CompilerOptions, quick: bool) -> list[str]:
    arguments = [a for a in toolchain.arguments if a in options.extra or not _FOR_KERNELS.fullmatch(a)]
    level = "-O1" if quick else "-O3"
    return [level if options.optimize else "-O0", "-fvisibility=hidden", *arguments]


def _cached(cache: KernelCache, key: str) -> MappedCode | None:
    path = cache.find(key)
    if path is None:
        return None
    try:
        return MappedCode(path)
    except OSError:
        return None


#: The files of this process.
code_library = CodeLibrary()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=code_library.renew_lock)
