"""Machine code in memory, and the abilities of the compiler at hand: tried once, and remembered on disk."""

from __future__ import annotations

import _ctypes
import ctypes
import errno
import json
import os
import platform
import shutil
import struct
import sys
import weakref
from collections.abc import Sequence
from dataclasses import asdict
from time import perf_counter
from types import TracebackType
from typing import Protocol

from theano_graph import record

from ._directory import CompileDirectory, digest, remove
from ._driver import CompilerOptions, check_room, compile_error, run_compiler

# ---- Seconds that an activity has taken


class Stopwatch:
    """Adds up the seconds spent inside ``with`` blocks; a block inside another one counts once.

    Attributes
    ----------
    seconds : float

    Examples
    --------
    >>> watch = Stopwatch()
    >>> with watch, watch:
    ...     pass
    >>> watch.seconds < 1
    True
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._begin = 0.0
        self._depth = 0

    def __enter__(self) -> None:
        if self._depth == 0:
            self._begin = perf_counter()
        self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += perf_counter() - self._begin


loading = Stopwatch()
"""The time spent on loading machine code into the process."""


# ---- Machine code in memory

_CLOSE = getattr(_ctypes, "dlclose", None) or getattr(_ctypes, "FreeLibrary", None)


class MappedCode:
    """A shared object that is loaded, and unloaded when nothing refers to it any more.

    Whoever keeps an address of its code must keep this too.

    Parameters
    ----------
    path : str
        The file. It may be removed once it is loaded.

    Attributes
    ----------
    library : ctypes.CDLL
        The loaded library.

    Raises
    ------
    OSError
        If the file cannot be loaded.
    """

    __slots__ = ("__weakref__", "library")

    def __init__(self, path: str) -> None:
        with loading:
            self.library = ctypes.CDLL(path)
        # At the end of the process the system unloads everything, when no code runs any more.
        weakref.finalize(self, _unload, self.library._handle).atexit = False

    def address(self, symbol: str) -> int:
        """Give the address of a function.

        Raises
        ------
        AttributeError
            If there is none of this name.
        """
        return ctypes.cast(getattr(self.library, symbol), ctypes.c_void_p).value or 0


def _unload(handle: int) -> None:
    if _CLOSE is not None:
        _CLOSE(handle)


# ---- The abilities of the compiler at hand: tried once, and remembered on disk
#
# A record of the findings is kept in the compile directory under a key made of the compiler's path, size and date, the
# user's arguments and the processor, so that a later process learns all it needs without starting a compiler.

#: Arguments that generated code relies on: integers wrap, NaN and inf are exact, no rounding differs from Python.
BASE = ("-pipe", "-fwrapv", "-fno-strict-aliasing", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off")
#: Passes that cost a tenth of the time and find nothing to do in generated loops.
_LEAN = (
    *("-fno-ipa-modref", "-fno-ipa-pure-const", "-fno-tree-dominator-opts"),
    *("-fno-tree-dse", "-fno-dse", "-fno-tree-slsr"),
)
#: Without them gcc leaves the upper halves of vector registers in use at the end of a kernel: on many processors that
#: makes code for short vectors, as the mathematical functions of the C library for numbers, ten times slower.
_CLEAN_REGISTERS = ("-fexpensive-optimizations",)
#: Arguments that make code or the compiler faster; each group is tried.
_TUNING = (("-march=native",), ("-mprefer-vector-width=512",), ("-falign-loops=32",), _CLEAN_REGISTERS, _LEAN)
OPTIONAL = (*_TUNING, ("-fopenmp-simd",), ("-nostartfiles",), ("-nodefaultlibs",))
#: For gcc with vector functions: the library, and no joining of sine and cosine into one call that no vector has.
_VECTORS = (*(f"-fno-builtin-{name}" for name in ("sin", "sinf", "cos", "cosf")), "-lmvec")
#: Loops that matter say so themselves; gcc vectorises them at this level too, in half the time of the next.
OPTIMIZE = "-O1"
_CLANG_OPTIMIZE = "-O2"
_VECTOR_CANDIDATES = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "erf", "erfc"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("atan2", "pow"),
)
_TWO_ARGUMENTS = ("atan2", "pow")
#: Instruction sets for which gcc may ask for a vector function, with the lanes of a double; all must be there.
_VARIANTS = {"x86_64": (("b", 2), ("c", 4), ("d", 4), ("e", 8)), "aarch64": (("n", 2),)}
_RECORD_VERSION = "3"


@record
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
        Hash of the compiler (its file), the arguments, the binary interface and the processor's features.
    """

    command: str
    arguments: tuple[str, ...]
    vector_functions: tuple[str, ...]
    identity: str


class FirstUse(Protocol):
    """Code that is wanted as soon as there is a compiler: the run that tries the compiler makes it, too."""

    def source(self, toolchain: Toolchain) -> str:
        """Give the C text, for the toolchain that is likely to be found."""

    def made(self, output: str) -> None:
        """Take the object with the code: `toolchain` was right; the file goes away afterwards."""


def find_toolchain(
    options: CompilerOptions, folder: CompileDirectory, first: FirstUse | None = None
) -> Toolchain | None:
    """Try the compiler of `options`; None if there is no working compiler.

    Parameters
    ----------
    options : CompilerOptions
    folder : CompileDirectory
        Keeps the result.
    first : FirstUse, optional
        Code to compile along, where the compiler has to be tried and does all that is hoped for.

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
    toolchain = _probe(path, options, folder, key, first)
    if toolchain is not None:
        record = json.dumps(asdict(toolchain)).encode()
        folder.write_signed(record, "toolchains", key + ".json")
    return toolchain


def known_toolchain(options: CompilerOptions, folder: CompileDirectory) -> Toolchain | None:
    """Return the known abilities of the compiler of `options`; None where it has to be tried."""
    path = shutil.which(options.command) if options.command else None
    return None if path is None else _read_record(folder, _record_key(os.path.abspath(path), options))


def _record_key(path: str, options: CompilerOptions) -> str:
    target = os.path.realpath(path)
    info = os.stat(target)
    marks = (_RECORD_VERSION, path, target, str(info.st_size), str(info.st_mtime_ns), str(options.optimize))
    flags = (*BASE, *(flag for group in OPTIONAL for flag in group), *_VECTORS)
    return digest(*marks, str(options.debug), str(options.warnings), *options.extra, *flags, machine_identity())


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
    record = folder.read_signed("toolchains", key + ".json")
    if record is None:
        return None
    fields = json.loads(record)
    return Toolchain(
        fields["command"], tuple(fields["arguments"]), tuple(fields["vector_functions"]), fields["identity"]
    )


def _probe(
    path: str, options: CompilerOptions, folder: CompileDirectory, key: str, first: FirstUse | None
) -> Toolchain | None:
    """Find the best arguments that work: usually all of them, at the first attempt."""
    base = [*BASE, *((OPTIMIZE,) if options.optimize else ()), *(("-DDEBUG",) if options.debug else ())]
    base += ["-Wall"] if options.warnings else ["-w"]
    groups = [group for group in OPTIONAL if options.optimize or group not in _TUNING]
    optional = [flag for group in groups for flag in group]
    names = available_vector_functions()
    best = [*base, *optional, *options.extra, *(_VECTORS if names else ()), "-lm"]
    likely = Toolchain(path, tuple(best), names, digest(key, *best, *names))
    trial = _try(path, best, bool(names), folder, likely, first)
    if trial.version is None and first is not None:
        trial = _try(path, best, bool(names), folder)
    if trial.version is None:
        if _try(path, [*base, "-lm"], False, folder).version is None:
            return None
        plain = _try(path, [*base, *options.extra, "-lm"], False, folder)
        if plain.version is None:
            raise compile_error(path, [*base, *options.extra], _probe_source(False), plain.message, folder)
        good = [g for g in groups if _try(path, [*base, *g, *options.extra, "-lm"], False, folder).version is not None]
        best = [*base, *(flag for group in good for flag in group), *options.extra]
        vectors = ("-fopenmp-simd",) in good and _try(path, [*best, *_VECTORS, "-lm"], True, folder).version is not None
        names = names if vectors else ()
        best += [*_VECTORS, "-lm"] if vectors else ["-lm"]
        trial = _try(path, best, vectors, folder)
    if trial.is_clang:
        best, names = _clang_arguments(path, best, bool(names), folder), ()
    return Toolchain(path, tuple(best), names, digest(key, *best, *names))


def _clang_arguments(path: str, arguments: Sequence[str], library: bool, folder: CompileDirectory) -> list[str]:
    """Adapt gcc's arguments: clang vectorises from the second level on, and knows vector functions by their library."""
    best = [_CLANG_OPTIMIZE if a == OPTIMIZE else a for a in arguments if a not in _VECTORS]
    if library:
        flags = [*best, "-fveclib=libmvec", "-lmvec"]
        if _try(path, flags, False, folder).version is not None:
            return flags
    return best


@record
class _Trial:
    """The result of compiling the probe: the compiler's version, or None and its message."""

    version: str | None
    message: str = ""

    @property
    def is_clang(self) -> bool:
        return "clang" in (self.version or "").lower()


def _try(
    path: str,
    arguments: Sequence[str],
    vectors: bool,
    folder: CompileDirectory,
    likely: Toolchain | None = None,
    first: FirstUse | None = None,
) -> _Trial:
    """Compile the probe, load it, and check its values; the code of `first` comes along for `likely`."""
    output = folder.temporary_file(".so")
    try:
        text = _probe_source(vectors) + (first.source(likely) if first is not None and likely is not None else "")
        run = run_compiler(path, arguments, text, output)
        if not run.ok:
            check_room(run.message, output)
            return _Trial(None, run.message)
        trial = _look(output)
        if first is not None and trial.version is not None and not trial.is_clang:
            try:
                first.made(output)
            except OSError:
                if os.path.exists(output):
                    raise  # else another process has emptied the directory: the code is compiled again
        return trial
    finally:
        remove(output)


def _look(output: str) -> _Trial:
    try:
        code = MappedCode(output)
    except OSError as error:
        if "failed to map segment" in str(error):
            raise OSError(errno.ENOEXEC, "nothing in it can be run (it is mounted with noexec)", output) from error
        return _Trial(None, str(error))
    try:
        values = (ctypes.c_double * 32)(*([0.5] * 32))
        code.library.theano_probe(ctypes.c_int64(32), values)
        if any(abs(value - 1.6487212707001282) > 1e-14 for value in values):
            return _Trial(None, "the probe computes wrong values")
        version = bytes((ctypes.c_char * 256).in_dll(code.library, "theano_version"))
        return _Trial(version.rstrip(b"\0").decode("utf-8", "replace"))
    except (ValueError, AttributeError) as error:
        return _Trial(None, str(error))


def _probe_source(vectors: bool) -> str:
    """Write a file with a vectorised loop over exp, and the compiler's version."""
    attribute = '__attribute__((simd("notinbranch"), const)) ' if vectors else ""
    return f"""#include <stdint.h>
{attribute}double exp(double);
#ifdef __clang__
const char theano_version[256] = "clang " __VERSION__;
#else
const char theano_version[256] = __VERSION__;
#endif
void theano_probe(int64_t n, double *x) {{
  n &= -8;
#pragma omp simd
  for (int64_t i = 0; i < n; i++) x[i] = exp(x[i]);
}}
"""


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
