"""Compilers, the directory of compiled code and its lock, by their documented names."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from typing import Any

import numpy as np

from theano_graph import config
from theano_linker_c.cache_tool import main, open_cache
from theano_linker_c.compiler import CompileDirectory, build_lock

# ---- The compiler as programs for Theano 1.0 ask for it: which flags it takes, and whether a program compiles and runs


class Compiler:
    """Questions to a compiler for C or C++."""

    __module__ = "theano.gof._compilers"

    @classmethod
    def _try_compile_tmp(
        cls,
        src_code: str,
        tmp_prefix: str = "",
        flags: Sequence[str] = (),
        try_run: bool = False,
        output: bool = False,
        compiler: str | None = None,
        comp_args: bool = True,
    ) -> Any:
        command = str(config.cxx) if compiler is None else compiler
        if not command:
            return False
        arguments = cls.compile_args() if comp_args else []
        with tempfile.TemporaryDirectory(prefix=tmp_prefix) as folder:
            source, program = os.path.join(folder, "program.c"), os.path.join(folder, "program")
            with open(source, "w", encoding="utf-8") as file:
                file.write(src_code)
            line = [command, *arguments, source, "-o", program, *flags]
            out, err, failed = _run(line)
            compiled, ran = not failed, False
            if compiled and try_run:
                out, err, failed = _run([program])
                ran = not failed
        answer = (compiled, ran) if try_run else (compiled,)
        if output:
            return (*answer, out, err)
        return answer if try_run else compiled

    @staticmethod
    def compile_args(march_flags: bool = True) -> list[str]:
        """Return the arguments that the flag ``gcc.cxxflags`` asks for."""
        return str(config.gcc.cxxflags).split()

    @classmethod
    def _try_flags(
        cls,
        flag_list: Sequence[str],
        preambule: str = "",
        body: str = "",
        try_run: bool = False,
        output: bool = False,
        compiler: str | None = None,
        comp_args: bool = True,
    ) -> Any:
        code = f"{preambule}\nint main(int argc, char** argv)\n{{\n{body}\nreturn 0;\n}}\n"
        return cls._try_compile_tmp(code, "try_flags_", flag_list, try_run, output, compiler, comp_args)


class GCC_compiler(Compiler):
    """Questions to the compiler that the flag ``cxx`` names.

    Examples
    --------
    >>> GCC_compiler.try_flags(["-O2"]) in (True, False)
    True
    """

    __module__ = "theano.gof._compilers"
    #: Whether the compiler knows AMD's library of mathematical functions.
    supports_amdlibm = True

    @staticmethod
    def version_str() -> str:
        """Return the command and the version of the compiler."""
        return f"{config.cxx} {gcc_version()}"

    @classmethod
    def try_compile_tmp(
        cls,
        src_code: str,
        tmp_prefix: str = "",
        flags: Sequence[str] = (),
        try_run: bool = False,
        output: bool = False,
        comp_args: bool = True,
    ) -> Any:
        """Tell whether a program compiles, and with `try_run` also whether it runs.

        Parameters
        ----------
        src_code : str
        tmp_prefix : str
            How the name of a folder for it begins.
        flags : sequence of str
        try_run : bool
        output : bool
            Whether the answer includes the output of the compiler, or the program.
        comp_args : bool
            Whether the flag ``gcc.cxxflags`` counts.
        """
        return cls._try_compile_tmp(src_code, tmp_prefix, flags, try_run, output, None, comp_args)

    @classmethod
    def try_flags(
        cls,
        flag_list: Sequence[str],
        preambule: str = "",
        body: str = "",
        try_run: bool = False,
        output: bool = False,
        comp_args: bool = True,
    ) -> Any:
        """Tell whether the compiler takes some flags, for a program of which `body` is the main function."""
        return cls._try_flags(flag_list, preambule, body, try_run, output, None, comp_args)


def _run(command: Sequence[str]) -> tuple[bytes, bytes, int]:
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        return b"", str(error).encode(), 1
    return done.stdout, done.stderr, done.returncode


# ---- The directory of compiled code, and the compiler


def get_lib_extension() -> str:
    """Return the suffix of shared libraries that Python loads, without its dot."""
    return str(sysconfig.get_config_var("SHLIB_SUFFIX") or ".so").lstrip(".")


def get_gcc_shared_library_arg() -> str:
    """Return the argument by which compilers make shared libraries."""
    return "-dynamiclib" if sys.platform == "darwin" else "-shared"


@cache
def _version_of(compiler: str) -> str:
    if not compiler:
        return ""
    done = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def gcc_version() -> str:
    """Return the version of the compiler that the flag ``cxx`` names, as it tells itself; empty without one."""
    return _version_of(str(config.cxx))


def std_include_dirs() -> list[str]:
    """Return the directories of the headers that C code of ops may include: Python's and NumPy's."""
    paths = sysconfig.get_paths()
    return [*dict.fromkeys((paths["include"], paths["platinclude"])), np.get_include()]


def dlimport_workdir(basedir: str | None = None) -> str:
    """Return the directory of compiled code: `basedir`, or the value of the flag `compiledir`."""
    return str(config.compiledir) if basedir is None else basedir


class ModuleCache:
    """The compiled code that is kept in a directory.

    Parameters
    ----------
    dirname : str, optional
        By default the value of the flag ``compiledir``.

    Attributes
    ----------
    dirname : str
    """

    def __init__(self, dirname: str | None = None, **kwargs: Any) -> None:
        self._cache = open_cache(dirname)
        self.dirname = self._cache.folder.path

    def __len__(self) -> int:
        return len(self._cache.objects())

    def clear(self, **kwargs: Any) -> int:
        """Remove everything; return how many objects that were."""
        return self._cache.clear()

    def clear_old(self, **kwargs: Any) -> int:
        """Remove objects that are too old or above the limit of size; return their number."""
        return self._cache.clean()


def get_module_cache(dirname: str | None = None, init_args: Any = None) -> ModuleCache:
    """Return the cache of compiled code in a directory; `init_args` is taken for compatibility.

    Examples
    --------
    >>> import theano
    >>> from theano.gof import cmodule
    >>> cmodule.get_module_cache().dirname == str(theano.config.compiledir)
    True
    """
    return ModuleCache(dirname)


# ---- The directory of compiled code, by the program that looks after it


def print_compiledir_content() -> None:
    """Print the content of the cache of compiled code."""
    main(["list"])


def cleanup() -> None:
    """Remove compiled code that is damaged, too old, or above the limit of size."""
    main(["cleanup"])


# ---- The locks by which processes wait for each other's compilations
#
# Compiling needs no lock, since code appears in the directory whole; these are for programs that share something else.

_KEY = "0" * 8
_held: list[AbstractContextManager[Any]] = []


def _folder(lock_dir: str | None) -> CompileDirectory:
    path = lock_dir or os.path.join(str(config.compiledir), "lock_dir")
    return CompileDirectory(os.path.abspath(os.path.expanduser(path)))


@contextmanager
def lock_ctx(lock_dir: str | None = None, keep_lock: bool = False, **kw: Any) -> Iterator[None]:
    """Hold the lock of a directory for a block.

    Parameters
    ----------
    lock_dir : str, optional
        By default one inside the directory of compiled code.
    keep_lock : bool
        Taken for compatibility.
    **kw
        ``timeout`` and ``max_wait``: seconds, as the flags ``compile.timeout`` and ``compile.wait`` by default.

    Examples
    --------
    >>> from theano.gof import compilelock
    >>> with compilelock.lock_ctx():
    ...     print("alone")
    alone
    """
    timeout, wait = kw.get("timeout") or config.compile.timeout, kw.get("max_wait") or config.compile.wait
    if _held:  # this process has it
        yield
        return
    with build_lock(_folder(lock_dir), _KEY, float(wait), float(timeout)):
        mark = ExitStack()
        _held.append(mark)
        try:
            yield
        finally:
            if mark in _held:
                _held.remove(mark)


def get_lock(lock_dir: str | None = None, **kw: Any) -> None:
    """Take the lock of a directory until `release_lock`; waits for the process that has it.

    Parameters
    ----------
    lock_dir : str, optional
        By default one inside the directory of compiled code.
    **kw
        As for `lock_ctx`.
    """
    holder = lock_ctx(lock_dir, **kw)
    holder.__enter__()
    _held.append(holder)


def release_lock() -> None:
    """Release the lock of the latest `get_lock`."""
    if _held:
        _held.pop().__exit__(None, None, None)


def force_unlock() -> None:
    """Release all locks of this process; the system has freed those of dead processes."""
    while _held:
        release_lock()
