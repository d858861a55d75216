"""Configuration flags of the kernel compiler and its cache."""

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

from theano_graph import BoolFlag, ConfigError, IntFlag, StrFlag, add_flag, config, format_error

from .._version import __version__

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
