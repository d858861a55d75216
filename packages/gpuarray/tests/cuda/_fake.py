"""Builds the stand-in for the libraries of CUDA, and runs programs that use it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

FOLDER = Path(__file__).parent
_kept: list[TemporaryDirectory[str]] = []


@cache
def fake_library(*flags: str) -> str:
    """Compile the stand-in and return its path."""
    _kept.append(TemporaryDirectory())
    path = Path(_kept[-1].name) / "libfake.so"
    sources = sorted(map(str, (FOLDER / "fakes").glob("*.c")))
    command = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", *flags]
    places = [f'-DPYTHON="{sys.executable}"', f'-DCOMPILER="{FOLDER / "fakes" / "compile.py"}"']
    libraries = ["-lm", "-ldl", "-lpthread"]
    subprocess.run([*command, *places, *sources, *libraries, "-o", str(path)], check=True)
    return str(path)


def run(arguments: Sequence[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process that may open the stand-in."""
    settings = {**os.environ, "THEANO_TEST_FAKE": fake_library(), **environment}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=settings, cwd=FOLDER, check=False, timeout=300
    )
