"""The compiler driver: finding a C compiler, running it, and the directory of its results."""

from ._directory import (
    CompileDirectory as CompileDirectory,
    CompileError as CompileError,
    CompilerWarning as CompilerWarning,
    build_lock as build_lock,
    digest as digest,
    make_private as make_private,
    read_signed as read_signed,
    remove as remove,
    set_lock_status as set_lock_status,
)
from ._driver import (
    BackgroundRuns as BackgroundRuns,
    CompilerOptions as CompilerOptions,
    CompilerRun as CompilerRun,
    c_compiler as c_compiler,
    check_room as check_room,
    compile_error as compile_error,
    in_background as in_background,
    run_compiler as run_compiler,
    while_compiling as while_compiling,
)
from ._toolchain import (
    FirstUse as FirstUse,
    MappedCode as MappedCode,
    Toolchain as Toolchain,
    available_vector_functions as available_vector_functions,
    find_toolchain as find_toolchain,
    known_toolchain as known_toolchain,
    machine_identity as machine_identity,
)
from ._trust import Place as Place

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
