"""Builds the stand-in, and runs programs and tests that use it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import unittest
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar, cast

from theano_testing.gpuarray import CONTEXT_VARIABLE

_Case = TypeVar("_Case", bound=unittest.TestCase)
_FOLDER = Path(__file__).resolve().parent
#: Folder of ``fake.h``, for stand-ins of further libraries.
HEADERS = str(_FOLDER / "c")
_FLAGS = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC")
#: Names by which libraries are looked for.
_NAMES = ("libcuda.so.1", "libnvrtc.so.12", "libcublas.so.12")
_kept: list[TemporaryDirectory[str]] = []


def has_compilers() -> bool:
    """Tell whether the compilers that the stand-in needs are there."""
    return sys.platform == "linux" and shutil.which("gcc") is not None and shutil.which("g++") is not None


def needs_compilers(case: type[_Case]) -> type[_Case]:
    """Decorate a class of tests that use the stand-in: without compilers they are no tests, and a line says so.

    Parameters
    ----------
    case : type
        A subclass of ``unittest.TestCase``.

    Returns
    -------
    type
        The class; or, where gcc or g++ is missing, one without tests.
    """
    if has_compilers():
        return case
    print(f"{case.__name__} is left out: the stand-in for CUDA needs gcc and g++", flush=True)
    return cast(type[_Case], type(case.__name__, (), {}))


@cache
def build(*arguments: str) -> str:
    """Compile the stand-in and return the path of the library, which lasts as long as the process.

    Parameters
    ----------
    *arguments : str
        Options of gcc, and files of C with stand-ins of further libraries.
    """
    _kept.append(TemporaryDirectory(prefix="theano-cuda-"))
    path = Path(_kept[-1].name) / "libfake.so"
    sources = sorted(map(str, (_FOLDER / "c").glob("*.c")))
    places = [f"-I{HEADERS}", f'-DPYTHON="{sys.executable}"', f'-DCOMPILER="{_FOLDER / "_compiler.py"}"']
    command = ["gcc", *_FLAGS, *places, *arguments, *sources, "-lm", "-ldl", "-lpthread", "-o", str(path)]
    subprocess.run(command, check=True)
    return str(path)


def link_libraries(folder: Path, library: str | Path) -> None:
    """Put the names of CUDA's libraries into a folder, as links to the stand-in."""
    for name in _NAMES:
        os.symlink(library, folder / name)


@cache
def libraries() -> str:
    """Return a folder with the stand-in under the names of CUDA's libraries, which lasts as long as the process."""
    folder = Path(build()).parent
    link_libraries(folder, build())
    return str(folder)


def run_on_cuda(
    arguments: Sequence[str], *, flags: str = "", seconds: float = 600, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run Python in a process in which devices of CUDA are those of the stand-in, and tests run on them.

    Parameters
    ----------
    arguments : sequence of str
        The arguments of Python.
    flags : str
        Flags beside ``gpuarray.library_path``, as in ``THEANO_FLAGS``.
    seconds : float
        How long it may take.
    **environment : str
        Further variables, as ``THEANO_FAKE_SEED``.
    """
    requested = [os.environ.get("THEANO_FLAGS", ""), f"gpuarray.library_path={libraries()}", flags]
    settings = {
        **os.environ,
        CONTEXT_VARIABLE: "cuda0",
        "THEANO_FLAGS": ",".join(flag for flag in requested if flag),
        **environment,
    }
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=settings, check=False, timeout=seconds
    )


def check_on_cuda(folder: str | Path, *modules: str, seed: int = 1, at_least: int = 1) -> int:
    """Run modules of tests with nose2 in a process in which devices of CUDA are those of the stand-in.

    Parameters
    ----------
    folder : str or Path
        Where nose2 starts, as with its option ``-s``.
    *modules : str
        Names of modules, classes or tests; all tests of the folder without any.
    seed : int
        Chooses the order of work within the limits of streams and events.
    at_least : int
        How many tests have to run, so that a module whose tests are left out does not pass for one that was tested.

    Returns
    -------
    int
        How many tests have run.

    Raises
    ------
    AssertionError
        If a test fails, with the output of the process, or if fewer tests than `at_least` have run.
    subprocess.TimeoutExpired
        If they take longer than ten minutes.

    Examples
    --------
    ::

        @needs_compilers
        class TestOnCuda(unittest.TestCase):
            def test_kernels(self) -> None:
                check_on_cuda(Path(__file__).parent, "test_kernels", seed=2, at_least=10)
    """
    command = ["-X", "faulthandler", "-m", "nose2", "-s", str(folder), *modules]
    done = run_on_cuda(command, THEANO_FAKE_SEED=str(seed))
    what = ", ".join(modules) or f"the tests of {folder}"
    ran = re.search(r"^Ran (\d+) tests? in", done.stderr, re.MULTILINE)
    if done.returncode or ran is None:
        raise AssertionError(f"on the stand-in for CUDA {what} ended with {done.returncode}:\n{done.stderr}")
    if (count := int(ran[1])) < at_least:
        raise AssertionError(f"on the stand-in for CUDA {what} ran {count} tests, where at least {at_least} are wanted")
    return count


__all__ = [
    "HEADERS",
    "build",
    "check_on_cuda",
    "has_compilers",
    "libraries",
    "link_libraries",
    "needs_compilers",
    "run_on_cuda",
]
