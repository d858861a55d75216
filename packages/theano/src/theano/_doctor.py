"""The command ``theano-doctor``: the tools that Theano uses on this machine, and a cure for each gap."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import platform
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from theano_graph import TheanoError, config, record
from theano_linker_c.cache_tool import open_cache
from theano_linker_c.compiler import CompileDirectory, CompilerOptions, find_toolchain
from theano_linker_c.kernels import blas_address
from theano_linker_c.program import HAS_RUNTIME

from . import function, tensor
from ._names import devices
from ._nose import LAYERS
from ._old_flags import NEW_DEVICES, UNHEEDED, is_former, is_former_device
from ._version import __version__

_DESCRIPTION = """\
Tells which compiler, BLAS, threads, cache and devices Theano uses here, how it found them, and a cure for
each gap."""
_EPILOG = "The status is 0 if functions can be compiled and are right, and 1 if something is broken."
_OBSOLETE = "leave it out: it is obsolete, for it was for a former GPU back-end"
#: Distributions of the package index that bring a folder named theano, too.
FORMER_DISTRIBUTIONS = ("theano", "theano-pymc")
_MARKS = {"ok": " ok ", "note": "note", "bad": "BAD "}


def cpuCount() -> int:
    """Return the number of processors that this process may use, 1 where nobody knows.

    Examples
    --------
    >>> cpuCount() >= 1
    True
    """
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # systems that tell the number of all processors only
        return os.cpu_count() or 1


@record
class Finding:
    """One thing that was looked at.

    Parameters
    ----------
    subject, name, value : str
        The group, the name and the value of the finding.
    how : str
        Where the value comes from.
    state : {"ok", "note", "bad"}
        "note": works, yet could be better. "bad": something is broken.
    advice : str
        A cure; empty where all is well.
    """

    subject: str
    name: str
    value: str
    how: str = ""
    state: str = "ok"
    advice: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after the command's name; by default those of the process.

    Returns
    -------
    int
        0, or 1 if something is broken.
    """
    parser = argparse.ArgumentParser(prog="theano-doctor", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON, for programs")
    given = parser.parse_args(arguments)
    found = examine()
    healthy = all(finding.state != "bad" for finding in found)
    try:
        if given.json:
            print(json.dumps({"healthy": healthy, "findings": [asdict(finding) for finding in found]}, indent=2))
        else:
            _show(found)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader wants no more (`| head`). What is left in the buffer must not fail when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0 if healthy else 1


def examine() -> list[Finding]:
    """Look at everything.

    Returns
    -------
    list of Finding
        A check that fails is itself a finding.

    Examples
    --------
    >>> "compiler" in {finding.subject for finding in examine()}
    True
    """
    checks: tuple[Callable[[], Iterator[Finding]], ...] = (
        _versions, _flags, _compiler, _blas, _threads, _cache, _devices, _functions,
    )  # fmt: skip
    findings: list[Finding] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for check in checks:
            subject = check.__name__.strip("_")
            try:
                findings += check()
            except (TheanoError, OSError, ValueError, ArithmeticError) as error:
                advice = "the message names a cure; theano-nose --theano shows further faults"
                findings.append(Finding(subject, "error", f"{type(error).__name__}: {error}", "", "bad", advice))
    return findings


def _show(found: Sequence[Finding]) -> None:
    subject = ""
    for finding in found:
        if finding.subject != subject:
            subject = finding.subject
            print(subject)
        how = f"  ({finding.how})" if finding.how else ""
        print(f"  [{_MARKS[finding.state]}] {finding.name}: {finding.value}{how}")
        if finding.advice:
            print(f"         To do: {finding.advice}")


def _versions() -> Iterator[Finding]:
    yield Finding("versions", "Python", platform.python_version(), sys.executable)
    for name in ("numpy", "scipy", "theano-stack", *(f"theano-{layer.replace('_', '-')}" for layer in LAYERS)):
        try:
            yield Finding("versions", name, version(name))
        except PackageNotFoundError:
            yield Finding("versions", name, "taken from a folder, not installed", state="note")
    for name in FORMER_DISTRIBUTIONS:
        with contextlib.suppress(PackageNotFoundError):
            release = version(name)
            if release.startswith(("0.", "1.")):
                advice = f"pip uninstall {name}, then install theano-stack again: both write into the folder theano"
                yield Finding("versions", name, release, "another project", "bad", advice)


def _flags() -> Iterator[Finding]:
    for name in config.flag_names():
        source = config.source_of(name)
        if source != "the default":
            value: object = config
            for part in name.split("."):
                value = getattr(value, part)
            unheeded = UNHEEDED.get(name) if value != config.flag(name).kind.default() else None
            if name == "device" and is_former_device(str(value)):
                yield Finding("flags", name, repr(value), source, "note", f"{_OBSOLETE}; {NEW_DEVICES}")
            elif unheeded is None:
                yield Finding("flags", name, repr(value), source)
            elif is_former(name):
                yield Finding("flags", name, repr(value), source, "note", _OBSOLETE)
            else:
                yield Finding("flags", name, repr(value), source, "note", f"leave it out: it has no effect: {unheeded}")
    for line in config.unused_settings():
        name = line.partition(" (from ")[0]
        if is_former(name):
            yield Finding("flags", "obsolete flag", line, "", "note", _OBSOLETE)
        else:
            yield Finding("flags", "unknown flag", line, "", "note", "print(theano.config) lists all flags")
    if config.mode in ("DebugMode", "DEBUG_MODE"):
        yield Finding("flags", "mode", str(config.mode), "", "note", "this mode is slow; leave it out when all is well")


def _compiler() -> Iterator[Finding]:
    source = config.source_of("cxx")
    how = "the first compiler on PATH" if source == "the default" else source
    options = CompilerOptions.from_config()
    install = "install gcc (apt install g++, or conda install gxx), or set THEANO_FLAGS=cxx=<path of a compiler>"
    if not HAS_RUNTIME:
        advice = "install a wheel for this platform, or build theano-linker-c where there is a compiler"
        yield Finding("compiler", "runtime", "missing: functions run in Python", "", "note", advice)
    else:
        yield Finding("compiler", "runtime", "runs functions without Python", "built with theano-linker-c")
    if not options.command:
        yield Finding("compiler", "command", "none: functions run on NumPy", how, "note", install)
        return
    toolchain = find_toolchain(options, CompileDirectory(options.directory))
    if toolchain is None:
        yield Finding("compiler", "command", f"{options.command}: it does not work", how, "bad", install)
        return
    yield Finding("compiler", "command", toolchain.command, how)
    yield Finding("compiler", "arguments", " ".join(toolchain.arguments), "each tried; gcc.cxxflags adds to them")
    vector = ", ".join(toolchain.vector_functions)
    if vector:
        yield Finding("compiler", "vector functions", vector, "libmvec of the C library")
    else:
        advice = "gcc with glibc 2.35 or later has them; exp, tanh and the like are slower without"
        yield Finding("compiler", "vector functions", "none", "", "note", advice)


def _blas() -> Iterator[Finding]:
    flags = str(config.blas.ldflags)
    how = f"blas.ldflags={flags}, from {config.source_of('blas.ldflags')}" if flags else "the one that SciPy brings"
    _, address = blas_address("gemm", "float64")
    if not address:
        yield Finding("blas", "library", "none", how, "bad", "install SciPy again: pip install --force-reinstall scipy")
        return
    library = _library_at(address)
    yield Finding("blas", "library", library or "found, at an address that belongs to no file", how)
    yield from _routines_of(library)
    x = tensor.dmatrix("x")
    a = np.random.default_rng(1).normal(size=(64, 64))
    error = float(abs(function([x], tensor.dot(x, x))(a) - a @ a).max())
    advice = "" if error < 1e-9 else "leave blas.ldflags empty: this library computes something else"
    state = "bad" if advice else "ok"
    yield Finding("blas", "a product of 64 x 64 numbers", f"differs from NumPy's by {error:.1g}", "", state, advice)


class _Symbol(ctypes.Structure):
    """The loader's description of an address."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def _routines_of(library: str) -> Iterator[Finding]:
    """Tell for which processor the routines of an OpenBLAS were written."""
    loaded = ctypes.CDLL(library) if library else None
    for name in ("scipy_openblas_get_corename", "openblas_get_corename"):
        get = getattr(loaded, name, None)
        if get is not None:
            get.restype = ctypes.c_char_p
            core_type = os.environ.get("OPENBLAS_CORETYPE")
            core = os.fsdecode(get())
            if core_type:
                advice = "without this variable OpenBLAS takes this processor's own routines, which may be faster"
                yield Finding("blas", "routines", f"for {core}", f"OPENBLAS_CORETYPE={core_type}", "note", advice)
            else:
                yield Finding("blas", "routines", f"for {core}", "OpenBLAS chose them for this processor")
            return


def _library_at(address: int) -> str:
    find = getattr(ctypes.CDLL(None), "dladdr", None) if os.name == "posix" else None
    symbol = _Symbol()
    if find is None or not find(ctypes.c_void_p(address), ctypes.byref(symbol)) or not symbol.file:
        return ""
    return os.fsdecode(symbol.file)


def _threads() -> Iterator[Finding]:
    count, limit = cpuCount(), os.environ.get("OMP_NUM_THREADS", "")
    yield Finding("threads", "processors", str(count), "the limit of this process")
    if not config.openmp:
        yield Finding("threads", "long loops", "one thread", "openmp=False", "note", "set openmp=True to use them all")
    elif limit:
        state, advice = (
            ("note", "more threads than processors wait for each other") if _is_above(limit, count) else ("ok", "")
        )
        yield Finding("threads", "long loops", f"{limit} threads", "OMP_NUM_THREADS", state, advice)
    else:
        yield Finding("threads", "long loops", f"{count} threads", "OMP_NUM_THREADS is not set")


def _is_above(text: str, count: int) -> bool:
    return text.isdecimal() and int(text) > count


def _cache() -> Iterator[Finding]:
    how = config.source_of("base_compiledir")
    directory = CompilerOptions.from_config().directory
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        folder = CompileDirectory(directory)
    if folder.temporary:
        yield Finding(
            "cache", "directory", f"{directory}: cannot be used", how, "note", " ".join(str(told[0].message).split())
        )
        return
    cache = open_cache(directory)
    items = cache.objects()
    yield Finding("cache", "directory", directory, how)
    size = sum(item.bytes for item in items) / 2**20
    yield Finding("cache", "compiled code", f"{len(items)} objects, {size:.1f} of {cache.max_bytes / 2**20:.0f} MiB")


def _devices() -> Iterator[Finding]:
    device_name = str(config.device)
    devices_module = devices()
    # The flag itself has been told of, with those that are obsolete.
    former = is_former_device(device_name)
    device_name = "cpu" if former else device_name
    lost = device_name != "cpu" and not devices_module.moves_computation()
    advice = "theano.gpuarray._ops.get_context(None) says why; without it functions run on the CPU" if lost else ""
    yield Finding("devices", "device", device_name, config.source_of("device"), "bad" if lost else "ok", advice)
    for finding in devices_module.device_report():
        # Who computes on the CPU, or by another driver, lacks nothing.
        of_opencl = finding.name.startswith("OpenCL")
        advice = finding.advice if device_name.startswith("opencl" if of_opencl else "cuda") else ""
        yield Finding("devices", finding.name, finding.value, finding.how, "note" if advice else "ok", advice)


def _functions() -> Iterator[Finding]:
    x = tensor.dvector("x")
    value = np.linspace(-2.0, 2.0, 101)
    f = function([x], tensor.grad(tensor.tanh(x * 3).sum(), x))
    error = float(abs(f(value) - 3 / np.cosh(3 * value) ** 2).max())
    good = error < 1e-12
    native = HAS_RUNTIME and bool(CompilerOptions.from_config().command)
    advice = "" if good else "theano-nose --theano shows further faults; theano-cache clear empties the cache"
    where = "native code" if native else "Python"
    name = "a gradient of 101 elements"
    yield Finding("functions", name, f"wrong by {error:.1g}", where, "ok" if good else "bad", advice)


if __name__ == "__main__":
    sys.exit(main())
