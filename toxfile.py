"""What tox needs to know of the machine: where uv is, and where pyenv keeps its interpreters."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "tools"))

from _house import find_uv, pyenv_path

os.environ["UV_BIN"] = find_uv()
os.environ["PATH"] = pyenv_path(os.environ.get("PATH", ""))
# Only interpreters that the machine has: none is downloaded.
os.environ["UV_PYTHON_DOWNLOADS"] = "never"
