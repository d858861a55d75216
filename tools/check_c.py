"""Hold the C code of linker-c to its format, to warnings, to cppcheck, and to a few tests under sanitizers.

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
from pathlib import Path

from _house import ROOT

SOURCE = ROOT / "packages" / "linker-c"
CODE = SOURCE / "src" / "theano_linker_c" / "c"
#: As setup.py builds, so that nothing is warned of that is meant; `-O2` finds more than a look at the text.
WARNINGS = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-fwrapv", "-fno-strict-aliasing")
#: Arrays are bytes that are read as other types; cppcheck sees no header of Python, so macros that return are told.
CPPCHECK = (
    *("--quiet", "--enable=warning,performance,portability", "--std=c11", "--error-exitcode=1", "--inline-suppr"),
    *("--suppress=invalidPointerCast", "-DPy_RETURN_NONE=return Py_None", "-j2"),
)
#: Columns of a line.
WIDTH = 120
SANITIZER = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
#: Tests of linker-c, by folder of import: some of each part of the runtime, and of generated kernels.
SANITIZED = (
    (".", "kernels.test_kernel_reduction", "kernels.test_kernel_multi_output", "kernels.test_kernel_argmax"),
    ("program", "test_program_reductions", "test_program_indexing", "test_program_shapes", "test_program_loop"),
)


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
    found = [
        f"{name}:{number}"
        for name in files
        for number, line in enumerate(Path(name).read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > WIDTH
    ]
    for place in found:
        print(f"check_c: {place}: longer than {WIDTH} columns. To mend: wrap the comment", flush=True)
    return not found


def check_warnings(files: Sequence[str]) -> bool:
    """Compile each file with warnings as errors."""
    import numpy as np  # noqa: PLC0415  (only this step needs it)

    system = [f"-isystem{sysconfig.get_path('include')}", f"-isystem{np.get_include()}", f"-I{CODE}"]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return all(pool.map(lambda x: run(["gcc", *WARNINGS, *system, "-c", x, "-o", os.devnull]), files))


def check_cppcheck(files: Sequence[str]) -> bool:
    """Let cppcheck look at all files."""
    if shutil.which("cppcheck") is None:
        print("check_c: cppcheck is not installed, so it was not run. To mend: apt-get install cppcheck", flush=True)
        return True
    return run(["cppcheck", *CPPCHECK, f"-I{CODE}", *files])


def sanitizer_settings(built: Path) -> Mapping[str, str]:
    """Return the environment in which a runtime that was built with sanitizers is found, and its reports are errors."""
    asks = ("-print-file-name=libasan.so", "-print-file-name=libubsan.so")
    found = [subprocess.run(["gcc", ask], check=True, capture_output=True, text=True).stdout for ask in asks]
    return {
        "LD_PRELOAD": ":".join(path.strip() for path in found),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": str(built / "src"),
        "THEANO_FLAGS": f"gcc.cxxflags={SANITIZER},base_compiledir={built / 'kernels'}",
    }


def check_sanitized(folder: Path) -> bool:
    """Build the runtime with sanitizers in `folder`, and run tests on it whose kernels are built in the same way."""
    built = folder / "linker-c"
    shutil.rmtree(built, ignore_errors=True)
    shutil.copytree(SOURCE, built, ignore=shutil.ignore_patterns("tests", "*.so", "build", "__pycache__"))
    flags = f"{SANITIZER} -g -O1"
    build = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace", "--parallel", "2"]
    if not run(build, built, CFLAGS=flags, LDFLAGS=SANITIZER, THEANO_REQUIRE_EXTENSION="1"):
        return False
    settings = sanitizer_settings(built)
    seen = "import sys, theano_linker_c._runtime as r; sys.exit(not r.__file__.startswith(sys.argv[1]))"
    good = run([sys.executable, "-c", seen, str(built)], SOURCE, **settings)
    for where, *modules in SANITIZED:
        command = [sys.executable, "-m", "nose2", "-s", str(SOURCE / "tests" / where), *modules]
        good &= run(command, SOURCE, **settings)
    return good


def main() -> int:
    """Run all checks; the exit status is 1 where one of them fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    given = parser.parse_args().folder
    units = sorted(map(str, CODE.rglob("*.c")))
    texts = sorted([*units, *map(str, CODE.rglob("*.h"))])
    good = [check_format(texts), check_width(texts), check_warnings(units), check_cppcheck(units)]
    with tempfile.TemporaryDirectory() as scratch:
        good.append(check_sanitized(Path(scratch) if given is None else given.resolve()))
    return int(not all(good))


if __name__ == "__main__":
    sys.exit(main())
