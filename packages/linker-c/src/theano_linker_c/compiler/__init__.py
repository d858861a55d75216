"""The compiler driver: finding a C compiler, running it, and the directory of its results."""

from ._directory import (
    CompileDirectory as CompileDirectory,
    digest as digest,
    make_private as make_private,
    read_signed as read_signed,
    remove as remove,
)
from ._driver import (
    BackgroundRuns as BackgroundRuns,
    CompilerRun as CompilerRun,
    check_room as check_room,
    compile_error as compile_error,
    in_background as in_background,
    run_compiler as run_compiler,
)
from ._errors import CompileError as CompileError, CompilerWarning as CompilerWarning
from ._lock import build_lock as build_lock, set_lock_status as set_lock_status
from ._mapped import MappedCode as MappedCode
from ._meanwhile import while_compiling as while_compiling
from ._options import CompilerOptions as CompilerOptions, c_compiler as c_compiler
from ._place import Place as Place
from ._toolchain import (
    FirstUse as FirstUse,
    Toolchain as Toolchain,
    available_vector_functions as available_vector_functions,
    find_toolchain as find_toolchain,
    known_toolchain as known_toolchain,
    machine_identity as machine_identity,
)

__all__ = [
    "BackgroundRuns",
    "CompileDirectory",
    "CompileError",
    "CompilerOptions",
    "CompilerRun",
    "CompilerWarning",
    "FirstUse",
    "MappedCode",
    "Place",
    "Toolchain",
    "available_vector_functions",
    "build_lock",
    "c_compiler",
    "check_room",
    "compile_error",
    "digest",
    "find_toolchain",
    "in_background",
    "known_toolchain",
    "machine_identity",
    "make_private",
    "read_signed",
    "remove",
    "run_compiler",
    "set_lock_status",
    "while_compiling",
]
