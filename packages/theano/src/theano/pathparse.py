"""The folders in which the system looks for programs."""

from __future__ import annotations

import os
from typing import ClassVar


class PathParser:
    """Adds folders to the environment variable ``PATH`` of this process.

    Parameters
    ----------
    *paths : str
        Folders to add at once.

    Examples
    --------
    >>> import os
    >>> before = os.environ["PATH"]
    >>> PathParser().add("/a/folder")
    >>> "/a/folder" in os.environ["PATH"].split(os.pathsep)
    True
    >>> os.environ["PATH"] = before
    """

    paths: ClassVar[set[str]] = set()

    def __init__(self, *paths: str) -> None:
        for path in [*os.environ.get("PATH", "").split(os.pathsep), *paths]:
            self._add(path)
        self._update()

    def add(self, path: str) -> None:
        """Add a folder."""
        self._add(path)
        self._update()

    def _add(self, path: str) -> None:
        folder = path.strip()
        if folder:
            self.paths.add(os.path.abspath(folder.lower() if os.name == "nt" else folder))

    def _update(self) -> None:
        os.environ["PATH"] = os.pathsep.join(sorted(self.paths))
