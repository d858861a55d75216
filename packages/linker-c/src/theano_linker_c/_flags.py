"""Configuration flags of the kernel compiler and its cache."""

from __future__ import annotations

import os
import platform
import shutil
import struct
import sys

from theano_graph import BoolFlag, IntFlag, StrFlag, add_flag, config

_COMPILERS = ("g++", "clang++", "gcc", "clang", "cc") if sys.platform != "darwin" else ("clang++", "g++", "clang", "cc")


def find_compiler() -> str:
    """Return the full path of the first compiler on the search path, or an empty string."""
    return next((path for path in map(shutil.which, _COMPILERS) if path), "")


def default_base_directory() -> str:
    """Return the directory under which compiled kernels of all platforms are kept."""
    local = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else None
    return os.path.join(local, "Theano") if local else os.path.join(os.path.expanduser("~"), ".theano")


def default_compile_directory() -> str:
    """Return the directory of this platform's kernels, from `base_compiledir` and `compiledir_format`."""
    # platform.uname() would start a process to name the processor; the machine's name says enough.
    machine = platform.machine() or "unknown"
    parts = {
        "platform": f"{platform.system()}-{platform.release()}-{machine}",
        "processor": machine,
        "hostname": platform.node(),
        "python_version": platform.python_version(),
        "python_bitwidth": str(struct.calcsize("P") * 8),
        "python_int_bitwidth": str(struct.calcsize("l") * 8),
    }
    return os.path.join(os.path.expanduser(str(config.base_compiledir)), str(config.compiledir_format) % parts)


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
    "Name of the platform's directory in base_compiledir. Keys: platform, processor, hostname, python_version, "
    "python_bitwidth, python_int_bitwidth.",
    StrFlag("compiledir_%(platform)s-%(processor)s-%(python_version)s-%(python_bitwidth)s"),
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
    "What a linker is told to link a BLAS library, as '-L/opt/blas -lopenblas': functions that are compiled from then "
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
    "Megabytes of compiled code that are kept on disk; above them, what was not used for longest is removed.",
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
    "Longest time in seconds between two looks whether another process has compiled what this one needs too.",
    IntFlag(5, lambda value: value > 0),
)
add_flag(
    "compile.timeout",
    "Seconds after which another process that compiles the same code is no longer waited for.",
    IntFlag(lambda: 24 * int(config.compile.wait), lambda value: value > 0),
)
