"""The folders in which the system looks for programs."""

from __future__ import annotations

import os
import sys
from typing import ClassVar


class PathParser:
    """Adds folders to the environment variable ``PATH`` of this process, which it sorts.

    Parameters
    ----------
    *paths : str

    Attributes
    ----------
    paths : set of str
        The folders, those of all objects together.
    """

    paths: ClassVar[set[str]] = set()

    def __init__(self, *paths: str) -> None:
        for path in (*os.environ.get("PATH", "").split(os.pathsep), *paths):
            self._note(path)
        self._update()

    def add(self, path: str) -> None:
        """Add one folder."""
        self._note(path)
        self._update()

    def _note(self, path: str) -> None:
        path = path.strip()
        if path:
            self.paths.add(os.path.abspath(path.lower() if sys.platform == "win32" else path))

    def _update(self) -> None:
        os.environ["PATH"] = os.pathsep.join(sorted(self.paths))
