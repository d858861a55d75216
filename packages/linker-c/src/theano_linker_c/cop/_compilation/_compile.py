"""Compiling user-written code: the compiler, its arguments, and the language."""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from functools import cache

import numpy as np

from theano_graph import Apply, format_error

from ...compiler import CompileDirectory, CompileError, CompilerOptions, CompilerRun, Toolchain, digest, run_compiler
from ._node_code import Arguments

#: Arguments of kernels that do not suit code with loops and libraries of its own.
_NOT_FOR_USERS = re.compile(r"-nostartfiles|-nodefaultlibs|-O[0-3sgz]?|-Ofast")


@cache
def python_include() -> str | None:
    """Return the folder of Python's headers, or None if they are not installed."""
    for name in ("include", "platinclude"):
        folder = sysconfig.get_path(name)
        if folder and os.path.exists(os.path.join(folder, "Python.h")):
            return folder
    return None


@cache
def abi_identity() -> str:
    """Return the dependencies of compiled code besides its source and the compiler: Python and NumPy."""
    return digest(str(sysconfig.get_config_var("SOABI")), sys.version, np.__version__, np.get_include())


def cpp_compiler(command: str) -> str:
    """Return the C++ compiler that belongs to a C compiler: g++ for gcc, clang++ for clang, versions kept.

    Where it is not found the C compiler itself serves, told the language; only the linking may then miss a library.
    """
    folder, name = os.path.split(command)
    if "++" in name:
        return command
    for pattern, replacement in ((r"\bgcc\b", "g++"), (r"\bclang\b", "clang++"), (r"^cc$", "c++")):
        changed = re.sub(pattern, replacement, name)
        candidate = os.path.join(folder, changed) if folder else changed
        if changed != name and shutil.which(candidate):
            return candidate
    return command


def compiler_arguments(toolchain: Toolchain, arguments: Arguments, options: CompilerOptions, cpp: bool) -> list[str]:
    """Return the arguments of the compiler for code of ops; the user's come last, and count."""
    plain = [a for a in toolchain.arguments if a in options.extra or not _NOT_FOR_USERS.fullmatch(a)]
    flags = [f"-I{folder}" for folder in (python_include(), np.get_include()) if folder]
    flags += ["-fvisibility=hidden", *(f"-I{folder}" for folder in arguments.header_dirs)]
    flags += [f"-L{folder}" for folder in arguments.lib_dirs]
    if sys.platform != "win32":
        flags += [f"-Wl,-rpath,{folder}" for folder in arguments.lib_dirs]
    if sys.platform == "darwin":
        flags += ["-undefined", "dynamic_lookup"]  # Python's symbols are there when the code is loaded
    libraries = [f"-l{name}" for name in arguments.libraries]
    # Ops ask for levels of optimisation, too, which the flag takes away as well.
    added = [a for a in arguments.added if options.optimize or not a.startswith("-O")]
    everything = ["-O2" if options.optimize else "-g", *plain, *flags, *added, *libraries]
    if cpp and "++" not in os.path.basename(cpp_compiler(toolchain.command)):
        everything.append("-lstdc++")
    return [argument for argument in everything if argument not in arguments.removed]


def compile_unit(
    text: str, toolchain: Toolchain, arguments: Arguments, options: CompilerOptions, output: str, cpp: bool
) -> CompilerRun:
    """Run the compiler once for one file."""
    command = arguments.compiler if arguments.compiler and shutil.which(arguments.compiler) else None
    command = command or (cpp_compiler(toolchain.command) if cpp else toolchain.command)
    flags = compiler_arguments(toolchain, arguments, options, cpp)
    return run_compiler(command, flags, text, output, language="c++" if cpp else "c")


def refused(
    nodes: Sequence[Apply], text: str, messages: Sequence[tuple[str, str]], folder: CompileDirectory
) -> CompileError:
    """Keep the source, and return the error that names the ops whose code it is.

    Parameters
    ----------
    nodes : sequence of Apply
    text : str
        The file that the compiler refused last.
    messages : sequence of (str, str)
        Language and message of each try.
    folder : CompileDirectory
    """
    language = messages[-1][0]
    try:
        suffix = ".cpp" if language == "C++" else ".c"
        path = folder.write(text.encode(), "failed", digest(text)[:16] + suffix)
    except OSError as error:
        path = f"could not be kept ({error.strerror})"
    where = [f"{node.op}" + (f" applied at {node.origin}" if node.origin is not None else "") for node in nodes[:8]]
    where.append(f"source: {path}")
    for name, message in messages:
        errors = [line for line in message.splitlines() if "error" in line] or message.splitlines()
        where += [f"as {name}: {line}" for line in errors[:6]]
    names = ", ".join(dict.fromkeys(str(node.op) for node in nodes[:8]))
    return CompileError(
        format_error(
            f"the C code of {names} does not compile",
            context=where,
            hint="correct the op's C code; lines count from the beginning of the text of a method, as in"
            " `DoubleOp.c_code:3`, or of the source named above; without C code its `perform` is run",
        )
    )
