"""What the compiler at hand can do: found by trying once, and remembered on disk.

A record of the findings is kept in the compile directory under a key made of the compiler's path, size and date, the
user's arguments and the processor, so that a later process learns all it needs without starting a compiler.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import shutil
import struct
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from ._directory import CompileDirectory, digest
from ._driver import compile_error, run_compiler
from ._options import CompilerOptions

#: Arguments that generated code relies on: integers wrap, NaN and inf are exact, no rounding differs from Python.
BASE = ("-pipe", "-fwrapv", "-fno-strict-aliasing", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off")
#: Arguments that make code faster, each tried.
OPTIONAL = ("-march=native", "-fopenmp-simd", "-mprefer-vector-width=512")
_VECTOR_CANDIDATES = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "erf", "erfc"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("atan2", "pow"),
)
_TWO_ARGUMENTS = ("atan2", "pow")
#: Instruction sets for which gcc may ask for a vector function, with the lanes of a double; all must be there.
_VARIANTS = {"x86_64": (("b", 2), ("c", 4), ("d", 4), ("e", 8)), "aarch64": (("n", 2),)}
_RECORD_VERSION = "1"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler that works, with its arguments.

    Parameters
    ----------
    command : str
        Path of the compiler.
    arguments : tuple of str
        Everything but the source and the output.
    vector_functions : tuple of str
        Mathematical functions with a form that works on vectors.
    identity : str
        Hash of the compiler, its version, the arguments, the binary interface and the processor's features.
    """

    command: str
    arguments: tuple[str, ...]
    vector_functions: tuple[str, ...]
    identity: str


def find_toolchain(options: CompilerOptions, folder: CompileDirectory) -> Toolchain | None:
    """Find out what the compiler of `options` can do; None if there is no working compiler.

    Raises
    ------
    CompileError
        If the compiler works, but not with the user's arguments.
    """
    path = shutil.which(options.command) if options.command else None
    if path is None:
        return None
    path = os.path.abspath(path)
    key = _record_key(path, options)
    known = _read_record(folder, key)
    if known is not None:
        return known
    found = _probe(path, options, folder, key)
    if found is not None:
        record = json.dumps(asdict(found)).encode()
        folder.write(digest(record).encode() + b"\n" + record, "toolchains", key + ".json")
    return found


def _record_key(path: str, options: CompilerOptions) -> str:
    target = os.path.realpath(path)
    info = os.stat(target)
    marks = (_RECORD_VERSION, path, target, str(info.st_size), str(info.st_mtime_ns), str(options.optimize))
    return digest(
        *marks, str(options.debug), str(options.warnings), *options.extra, *BASE, *OPTIONAL, machine_identity()
    )


def machine_identity() -> str:
    """Say for which processor and binary interface code is made: two equal answers can share compiled code."""
    parts = [sys.platform, platform.machine(), sys.byteorder, str(struct.calcsize("P")), _libc_version()]
    try:
        # Features of one core; the first kilobytes hold the first core completely.
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            lines = file.read(16384).split("\n\n")[0].splitlines()
        names = ("flags", "Features", "model name", "cpu family", "model", "CPU part")
        parts += sorted(line for line in lines if line.split(":")[0].strip() in names)
    except OSError:
        parts.append(os.environ.get("PROCESSOR_IDENTIFIER", ""))
    return digest(*parts)


def _libc_version() -> str:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, ValueError, OSError):
        return ""


def _read_record(folder: CompileDirectory, key: str) -> Toolchain | None:
    data = folder.read("toolchains", key + ".json")
    if data is None:
        return None
    mark, _, record = data.partition(b"\n")
    if mark != digest(record).encode():
        return None
    fields = json.loads(record)
    return Toolchain(
        fields["command"], tuple(fields["arguments"]), tuple(fields["vector_functions"]), fields["identity"]
    )


def _probe(path: str, options: CompilerOptions, folder: CompileDirectory, key: str) -> Toolchain | None:
    base = [*BASE, *(("-O3",) if options.optimize else ()), *(("-DDEBUG",) if options.debug else ())]
    base += ["-Wall"] if options.warnings else ["-w"]
    plain = _try(path, base, _PROBE, folder)
    if plain is not None:
        return None
    refused = _try(path, [*base, *options.extra], _PROBE, folder)
    if refused is not None:
        raise compile_error(path, [*base, *options.extra], _PROBE, refused, folder)
    flags = _optional_flags(path, base, options, folder)
    names = available_vector_functions()
    if names and "-fopenmp-simd" in flags and _vectors_work(path, [*flags, "-lmvec", "-lm"], names, folder):
        libraries = ["-lmvec", "-lm"]
    else:
        names, libraries = (), ["-lm"]
    arguments = (*flags, *libraries)
    version = _version_text(path, folder)
    return Toolchain(path, arguments, names, digest(key, version, *arguments, *names))


def _optional_flags(path: str, base: Sequence[str], options: CompilerOptions, folder: CompileDirectory) -> list[str]:
    wanted = [flag for flag in OPTIONAL if options.optimize or flag == "-fopenmp-simd"]
    if _try(path, [*base, *wanted, *options.extra], _PROBE, folder) is None:
        return [*base, *wanted, *options.extra]
    good = [flag for flag in wanted if _try(path, [*base, flag, *options.extra], _PROBE, folder) is None]
    return [*base, *good, *options.extra]


_PROBE = """#include <stdint.h>
double theano_probe(const double *x, int64_t n) {
  double s = 0;
#pragma omp simd reduction(+: s)
  for (int64_t i = 0; i < n; i++) s += x[i];
  return s;
}
"""


def _try(path: str, arguments: Sequence[str], source: str, folder: CompileDirectory) -> str | None:
    """Compile `source`; None if that works, else the compiler's message."""
    output = folder.temporary_file(".so")
    try:
        run = run_compiler(path, [*arguments, "-lm"], source, output)
        return None if run.ok else run.message
    finally:
        _remove(output)


def available_vector_functions() -> tuple[str, ...]:
    """Ask the C library which mathematical functions it has for vectors, in all variants that code may call."""
    variants = _VARIANTS.get(platform.machine())
    if variants is None or not sys.platform.startswith("linux"):
        return ()
    try:
        library = ctypes.CDLL("libmvec.so.1")
    except OSError:
        return ()
    names = []
    for name in _VECTOR_CANDIDATES:
        arguments = "vv" if name in _TWO_ARGUMENTS else "v"
        for suffix, factor in (("", 1), ("f", 2)):
            symbols = [f"_ZGV{isa}N{lanes * factor}{arguments}_{name}{suffix}" for isa, lanes in variants]
            if all(hasattr(library, symbol) for symbol in symbols):
                names.append(name + suffix)
    return tuple(names)


def _vectors_work(path: str, arguments: Sequence[str], names: Sequence[str], folder: CompileDirectory) -> bool:
    """Compile a loop over each function in `names`, load it, and look at a value."""
    output = folder.temporary_file(".so")
    try:
        if not run_compiler(path, arguments, _vector_probe(names), output).ok:
            return False
        function = ctypes.CDLL(output).theano_probe
        values = (ctypes.c_double * 32)(*([0.5] * 32))
        function(ctypes.c_int64(32), values)
        return all(abs(value - 1.6487212707001282) < 1e-14 for value in values)
    except OSError:
        return False
    finally:
        _remove(output)


def _vector_probe(names: Sequence[str]) -> str:
    lines = ["#include <stdint.h>"]
    for name in names:
        scalar = "double" if name in _VECTOR_CANDIDATES else "float"
        two = name in _TWO_ARGUMENTS or name[:-1] in _TWO_ARGUMENTS
        parameters, call = (f"{scalar}, {scalar}", "x[i], x[i]") if two else (scalar, "x[i]")
        attribute = '__attribute__((simd("notinbranch"), const))'
        lines.append(f"{attribute} {scalar} {name}({parameters});")
        lines.append(f"void loop_{name}(int64_t n, {scalar} *x) {{")
        lines += ["#pragma omp simd", f"for (int64_t i = 0; i < n; i++) x[i] = {name}({call}); }}"]
    return "\n".join([*lines, "void theano_probe(int64_t n, double *x) { loop_exp(n, x); }", ""])


def _version_text(path: str, folder: CompileDirectory) -> str:
    """Give the compiler's own version text, by compiling it into an object."""
    output = folder.temporary_file(".so")
    try:
        if not run_compiler(path, ["-w"], "const char theano_version[256] = __VERSION__;\n", output).ok:
            return ""
        return bytes((ctypes.c_char * 256).in_dll(ctypes.CDLL(output), "theano_version")).rstrip(b"\0").decode()
    except (OSError, ValueError):
        return ""
    finally:
        _remove(output)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
