"""Builds the stand-in for the libraries of CUDA, and runs programs that use it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from theano_testing_workshop.cuda import build

FOLDER = Path(__file__).parent


def fake_library(*flags: str) -> str:
    """Compile the stand-in, with those for the other libraries, and return its path."""
    return build(*flags, *sorted(map(str, (FOLDER / "fakes").glob("*.c"))))


def run(arguments: Sequence[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process that may open the stand-in."""
    settings = {**os.environ, "THEANO_TEST_FAKE": fake_library(), **environment}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=settings, cwd=FOLDER, check=False, timeout=600
    )
