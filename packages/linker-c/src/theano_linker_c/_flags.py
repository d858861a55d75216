"""Configuration flags of this layer: the kernel compiler and its cache, C code of ops, and modes."""

from __future__ import annotations

import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from theano_graph import BoolFlag, ConfigError, EnumFlag, FlagKind, IntFlag, StrFlag, add_flag, config, format_error

from ._version import __version__

# ---- Configuration flags of C code that ops bring along

add_flag(
    "cmodule.warn_no_version",
    "Warn when C code of an op cannot be kept on disk, since the op or a type has no c_code_cache_version.",
    BoolFlag(False),
)


# ---- Configuration flags of the kernel compiler and its cache

_COMPILERS = ("g++", "clang++", "gcc", "clang", "cc") if sys.platform != "darwin" else ("clang++", "g++", "clang", "cc")


def find_compiler() -> str:
    """Return the full path of the first compiler on the search path, or an empty string."""
    return next((path for path in map(shutil.which, _COMPILERS) if path), "")


def default_base_directory() -> str:
    """Return the directory under which compiled kernels of all platforms are kept.

    Where there is no home directory it is one of this user in the system's directory for temporary files.
    """
    local = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else None
    if local:
        return os.path.join(local, "Theano")
    home = os.path.expanduser("~")
    if os.path.isabs(home):
        return os.path.join(home, ".theano")
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    return os.path.join(tempfile.gettempdir(), f"theano-{user}")


#: The values of the keys in the flag `compiledir_format`.
DIRECTORY_KEYS: dict[str, Callable[[], object]] = {
    "device": lambda: "cpu",
    "gxx_version": lambda: compiler_version(str(config.cxx)),
    "hostname": platform.node,
    "numpy_version": lambda: np.__version__,
    # platform.uname() would start a process to name the processor; the machine's name says enough.
    "platform": lambda: f"{platform.system()}-{platform.release()}-{platform.machine() or 'unknown'}",
    "processor": lambda: platform.machine() or "unknown",
    "python_bitwidth": lambda: struct.calcsize("P") * 8,
    "python_int_bitwidth": lambda: struct.calcsize("l") * 8,
    "python_version": platform.python_version,
    "short_platform": lambda: f"{platform.system()}-{platform.machine() or 'unknown'}",
    "theano_version": lambda: __version__,
}


_DIRECTORY_KEY = re.compile(r"%%|%\((\w+)\)s")


class _DirectoryNames(Mapping[str, object]):
    """The keys of `compiledir_format`, each worked out when it is asked for."""

    def __getitem__(self, key: str) -> object:
        return DIRECTORY_KEYS[key]()

    def __iter__(self) -> Iterator[str]:
        return iter(DIRECTORY_KEYS)

    def __len__(self) -> int:
        return len(DIRECTORY_KEYS)


class DirectoryFormatFlag(StrFlag):
    """A format string whose keys are those of `DIRECTORY_KEYS`."""

    allowed = "a name with keys among " + ", ".join(f"%({key})s" for key in DIRECTORY_KEYS)

    def parse(self, value: Any) -> str:
        """Return `value`, which must be such a format string."""
        text = super().parse(value)
        if "%" in _DIRECTORY_KEY.sub(lambda text: "" if text[1] in (None, *DIRECTORY_KEYS) else "%", text):
            raise ValueError(value)
        return text


def compiler_version(command: str) -> str:
    """Return the version that a compiler tells of itself; empty where there is none."""
    if not command:
        return ""
    try:
        process = subprocess.run([command, "-dumpversion"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return process.stdout.strip()


def absolute_directory(flag: str, path: str) -> str:
    """Return the absolute form of a directory that a flag names.

    Raises
    ------
    ConfigError
        If the path is relative, and the working directory is gone.
    """
    path = os.path.expanduser(path)
    try:
        return os.path.abspath(path)
    except OSError as error:
        raise ConfigError(
            format_error(
                f"{flag}={path} is relative, and the working directory cannot be told: {error.strerror}",
                hint="change to a directory that exists, or give an absolute path",
            )
        ) from error


def default_compile_directory() -> str:
    """Return the directory of this platform's kernels, from `base_compiledir` and `compiledir_format`."""
    base = absolute_directory("base_compiledir", str(config.base_compiledir))
    return os.path.join(base, str(config.compiledir_format) % _DirectoryNames())


add_flag(
    "cxx",
    "The compiler for kernels; empty: nothing is compiled. For g++ and clang++ the C compiler beside it is used for C.",
    StrFlag(find_compiler),
)
add_flag("gcc.cxxflags", "Further arguments for the compiler, separated as in a shell.", StrFlag(""))
add_flag(
    "base_compiledir",
    "Directory that holds the directories of compiled kernels of each platform.",
    StrFlag(default_base_directory),
    fixed=True,
)
add_flag(
    "compiledir_format",
    "Name of the platform's directory in base_compiledir. Keys: " + ", ".join(DIRECTORY_KEYS) + ".",
    DirectoryFormatFlag("compiledir_%(platform)s-%(processor)s-%(python_version)s-%(python_bitwidth)s"),
    fixed=True,
)
add_flag(
    "openmp",
    "Let several threads share long kernels; how many is said by the environment variable OMP_NUM_THREADS.",
    BoolFlag(True),
)
add_flag(
    "openmp_elemwise_minsize",
    "Number of elements from which a cheap elementwise operation, such as an addition, is shared between threads; "
    "operations that cost more are shared from proportionally fewer elements on.",
    IntFlag(200000, lambda value: value >= 0),
)
add_flag(
    "blas.ldflags",
    "The linker's arguments for a BLAS library, as '-L/opt/blas -lopenblas': functions that are compiled from then "
    "on take their matrix products from it. Empty: the BLAS that SciPy brings along. LAPACK is SciPy's in any case.",
    StrFlag(""),
)
add_flag("compiledir", "Directory of the compiled kernels.", StrFlag(default_compile_directory), fixed=True)
add_flag(
    "cmodule.remove_gxx_opt",
    "Leave out the -O arguments of the compiler, for debugging compiled code.",
    BoolFlag(False),
)
add_flag("cmodule.compilation_warning", "Print the compiler's warnings.", BoolFlag(False))
add_flag("cmodule.debug", "Define the macro DEBUG in compiled code.", BoolFlag(False))
add_flag(
    "cmodule.age_thresh_use",
    "Seconds after which compiled code is no longer taken from the cache; seven days later it is removed.",
    IntFlag(60 * 60 * 24 * 24),
)
add_flag(
    "cmodule.max_cache_size",
    "Megabytes of compiled code to keep on disk; above them, the least recently used files are removed.",
    IntFlag(512, lambda value: value > 0),
)
add_flag(
    "cmodule.preload_cache",
    "Load all compiled code of the cache when the first function is compiled, not each piece when it is needed.",
    BoolFlag(False),
)
add_flag(
    "nocleanup",
    "Keep the C source of all compiled code, in the folder 'sources' of the compile directory, and of all failures.",
    BoolFlag(False),
)
add_flag(
    "compile.wait",
    "Longest time in seconds between two looks whether another process has compiled the same code.",
    IntFlag(5, lambda value: value > 0),
)
add_flag(
    "compile.timeout",
    "Seconds after which another process that compiles the same code is no longer waited for.",
    IntFlag(lambda: 24 * int(config.compile.wait), lambda value: value > 0),
)


# ---- Flags that say how functions are compiled; read by `function` and by the modes, at the call

#: The value of `function_cache` with which only functions are cached that take long to rewrite.
LARGE = "large"


class FunctionCacheFlag(FlagKind["bool | str"]):
    """Which functions are cached on disk: all, none, or those of large graphs."""

    allowed = f"True, False or {LARGE!r}"
    #: The type of its values, as programs write it.
    value_type = "bool | str"

    def parse(self, value: Any) -> bool | str:
        """Return the truth value that `value` spells, or the word for large graphs."""
        return LARGE if value == LARGE else BoolFlag(False).parse(value)


add_flag(
    "mode",
    "Mode used where `function` is given none: 'Mode' (the flags `linker` and `optimizer`), 'FAST_RUN', 'FAST_COMPILE' "
    "or another registered name.",
    StrFlag("Mode"),
)
add_flag(
    "linker",
    "The linker of the default mode: 'cvm' (native code) or 'py' (Python); 'vm', 'c', 'c|py' and forms "
    "with '_nogc' are known too.",
    StrFlag("cvm"),
)
add_flag(
    "optimizer",
    "Which rewrites the default mode applies: 'fast_run', 'fast_compile', 'merge', 'o1' to 'o4', 'unsafe', 'stabilize' "
    "or 'None'.",
    StrFlag("fast_run"),
)
add_flag("allow_gc", "Free intermediate results as soon as they are no longer needed.", BoolFlag(True))
add_flag(
    "function_cache",
    "Which functions are kept on disk, beside their kernels, so that no other process has to rewrite them again: all "
    "(True), none (False), or those of large graphs.",
    FunctionCacheFlag(LARGE),
)
add_flag(
    "tiered",
    "Let functions start before their kernels are compiled: calls run in Python until native code is there.",
    BoolFlag(False),
)
add_flag(
    "on_unused_input",
    "The reaction of `function` to an input that nothing uses.",
    EnumFlag("raise", "warn", "ignore"),
)
add_flag(
    "reoptimize_unpickled_function",
    "Rewrite the graph of a function again when it is unpickled; otherwise the rewritten graph that was saved is used.",
    BoolFlag(False),
)
add_flag(
    "exception_verbosity",
    "The detail of errors of running functions: 'high' adds the graph above the failing node, and stored values.",
    EnumFlag("low", "high"),
)
add_flag(
    "profile_optimizer",
    "Measure the time of each rewrite when a function is compiled, for the detailed part of its profile.",
    BoolFlag(False),
)
