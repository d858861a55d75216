"""Hold the C code of linker-c and gpuarray to its format, to warnings, to cppcheck, and to tests under sanitizers.

    python tools/check_c.py [FOLDER]    build in FOLDER (by default a temporary one)

Needs gcc, Python's headers and, in the environment that runs it, clang-format, NumPy and the `testing` layer with the
tests' requirements. cppcheck is a program of the system, which .ci/run installs: where it is not there, that is said.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from _house import ROOT


@dataclass(frozen=True)
class Extension:
    """An extension module in C.

    Parameters
    ----------
    layer : str
        The folder of `packages`.
    module : str
        Its import name.
    sanitized : tuple of tuple of str
        Tests that are run under sanitizers, each group behind the folder of `tests` that it is imported from.
    """

    layer: str
    module: str
    sanitized: tuple[tuple[str, ...], ...]

    @property
    def source(self) -> Path:
        """The folder of the package."""
        return ROOT / "packages" / self.layer

    @property
    def code(self) -> Path:
        """The folder of the C code."""
        return self.source / "src" / self.module.split(".")[0] / "c"


#: Of linker-c some tests of each part of the runtime, and of generated kernels.
EXTENSIONS = (
    Extension(
        "linker-c",
        "theano_linker_c._runtime",
        (
            (".", "kernels.test_kernel_reduction", "kernels.test_kernel_multi_output", "kernels.test_kernel_argmax"),
            ("program", "test_program_reductions", "test_program_indexing", "test_program_shapes", "test_program_loop"),
        ),
    ),
    Extension("gpuarray", "theano_gpuarray._device", ((".", "runtime"),)),
)
#: As setup.py builds, so that nothing is warned of that is meant; `-O2` finds more than a look at the text.
WARNINGS = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-fwrapv", "-fno-strict-aliasing")
#: Arrays are bytes that are read as other types; cppcheck sees no header of Python, so it gets macros that return.
CPPCHECK = (
    *("--quiet", "--enable=warning,performance,portability", "--std=c11", "--error-exitcode=1", "--inline-suppr"),
    *("--suppress=invalidPointerCast", "-DPy_RETURN_NONE=return Py_None", "-j2"),
)
#: Columns of a line.
WIDTH = 120
#: Slow tests run under sanitizers in `nox -s sanitize`.
QUICK = ("--plugin", "nose2.plugins.attrib", "-A", "!slow")
SANITIZER = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"


def run(command: Sequence[str], folder: Path = ROOT, **environment: str) -> bool:
    """Run a command; say which it was where it fails."""
    done = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, check=False)
    if done.returncode:
        print(f"check_c: failed: {' '.join(command[:6])} ...", flush=True)
    return done.returncode == 0


def check_format(files: Sequence[str]) -> bool:
    """See that clang-format has nothing to change."""
    return run([str(Path(sysconfig.get_path("scripts"), "clang-format")), "--dry-run", "--Werror", *files])


def check_width(files: Sequence[str]) -> bool:
    """See that no line is too long: clang-format leaves comments as they are."""
    hits = [
        f"{name}:{number}"
        for name in files
        for number, line in enumerate(Path(name).read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > WIDTH
    ]
    for hit in hits:
        print(f"check_c: {hit}: longer than {WIDTH} columns. Hint: wrap the comment", flush=True)
    return not hits


def check_warnings(code: Path, files: Sequence[str]) -> bool:
    """Compile each file with warnings as errors."""
    import numpy as np  # noqa: PLC0415  (only this step needs it)

    system = [f"-isystem{sysconfig.get_path('include')}", f"-isystem{np.get_include()}", f"-I{code}"]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return all(pool.map(lambda x: run(["gcc", *WARNINGS, *system, "-c", x, "-o", os.devnull]), files))


def check_cppcheck(code: Path, files: Sequence[str]) -> bool:
    """Let cppcheck look at all files."""
    if shutil.which("cppcheck") is None:
        print("check_c: cppcheck is not installed, so it was not run. Hint: apt-get install cppcheck", flush=True)
        return True
    return run(["cppcheck", *CPPCHECK, f"-I{code}", *files])


def sanitizer_settings(built: Path) -> Mapping[str, str]:
    """Return the environment in which a runtime that was built with sanitizers is found, and its reports are errors."""
    asks = ("-print-file-name=libasan.so", "-print-file-name=libubsan.so")
    libraries = [subprocess.run(["gcc", ask], check=True, capture_output=True, text=True).stdout for ask in asks]
    return {
        "LD_PRELOAD": ":".join(path.strip() for path in libraries),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": str(built / "src"),
        "THEANO_FLAGS": f"gcc.cxxflags={SANITIZER},base_compiledir={built / 'kernels'}",
        "THEANO_TESTS": "quick",
    }


def check_sanitized(item: Extension, folder: Path) -> bool:
    """Build a runtime with sanitizers in `folder`, and run tests on it whose kernels are built in the same way."""
    built = folder / item.layer
    shutil.rmtree(built, ignore_errors=True)
    shutil.copytree(item.source, built, ignore=shutil.ignore_patterns("tests", "*.so", "build", "__pycache__"))
    flags = f"{SANITIZER} -g1"
    build = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace", "--parallel", "2"]
    if not run(build, built, CFLAGS=flags, THEANO_CFLAGS="-O1", LDFLAGS=SANITIZER, THEANO_REQUIRE_EXTENSION="1"):
        return False
    settings = sanitizer_settings(built)
    seen = "import sys, importlib; sys.exit(not importlib.import_module(sys.argv[1]).__file__.startswith(sys.argv[2]))"
    good = run([sys.executable, "-c", seen, item.module, str(built)], item.source, **settings)
    for where, *modules in item.sanitized:
        tests = ["-s", str(item.source / "tests" / where), *QUICK, *modules]
        command = [sys.executable, "-m", "nose2", *tests]
        good &= run(command, item.source, **settings)
    return good


def check(item: Extension, folder: Path) -> bool:
    """Run all checks of an extension."""
    units = sorted(map(str, item.code.rglob("*.c")))
    texts = sorted([*units, *map(str, item.code.rglob("*.h"))])
    good = [
        check_format(texts),
        check_width(texts),
        check_warnings(item.code, units),
        check_cppcheck(item.code, units),
        check_sanitized(item, folder),
    ]
    return all(good)


def main() -> int:
    """Run all checks; the exit status is 1 where one of them fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    operand = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) if operand is None else operand.resolve()
        good = [check(item, folder) for item in EXTENSIONS]
    return int(not all(good))


if __name__ == "__main__":
    sys.exit(main())
