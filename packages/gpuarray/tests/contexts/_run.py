"""Runs programs in processes of their own: flags of devices count once, at the start."""

from __future__ import annotations

import os
import subprocess
import sys


def run(code: str, flags: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program with THEANO_FLAGS and other variables."""
    settings = {**os.environ, "THEANO_FLAGS": flags, "THEANORC": os.devnull, **environment}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=settings, check=False, timeout=600
    )
