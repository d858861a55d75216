"""A directory that was looked at once, and is used by its descriptor from then on."""

from __future__ import annotations

import os
import sys

from ._trust import keyed, make_secret, read_secret, same

_BY_DESCRIPTOR = sys.platform == "linux" and os.path.isdir("/proc/self/fd")
_OPEN = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)


class Place:
    """A directory, opened: exchanging its path afterwards does not change the files read and written.

    Parameters
    ----------
    path : str
        A directory that has been checked.

    Raises
    ------
    OSError
        If it cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._handle = os.open(path, _OPEN) if _BY_DESCRIPTOR else -1
        self._mark = self._look()
        self._secret: bytes | None = None

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the descriptor, unless the program has closed it and it may be another file's by now."""
        handle = self.__dict__.get("_handle", -1)
        if handle >= 0:
            if self._mark is not None and self._identity() == self._mark:
                os.close(handle)
            self._handle, self._mark = -1, None

    def _identity(self) -> tuple[int, int] | None:
        try:
            info = os.fstat(self._handle)
        except OSError:
            return None
        return info.st_dev, info.st_ino

    def _look(self) -> tuple[int, int] | None:
        if self._handle < 0:
            return None
        try:
            info = os.fstat(self._handle)
        except OSError:
            return None
        return (info.st_dev, info.st_ino) if info.st_nlink else None

    @property
    def open(self) -> bool:
        """Whether the descriptor still is this directory: programs that become services close open files."""
        return self._handle < 0 or (self._mark is not None and self._look() == self._mark)

    @property
    def current(self) -> bool:
        """Whether the path still leads to this directory."""
        if not self.open:
            return False
        try:
            info = os.stat(self.path)
        except OSError:
            return False
        return self._mark is None or (info.st_dev, info.st_ino) == self._mark

    @property
    def root(self) -> str:
        """The path by which the directory is reached."""
        return f"/proc/self/fd/{self._handle}" if self._handle >= 0 else self.path

    def file(self, *names: str) -> str:
        """Return the path of a file in the directory, reached through the descriptor."""
        return os.path.join(self.root, *names)

    def sign(self, *parts: str | bytes) -> str | None:
        """Return a digest that only this user can make, for files of this process; None where that cannot be."""
        if self._secret is None:
            self._secret = make_secret(self.root)
        return None if self._secret is None else keyed(self._secret, *parts)

    def signed(self, mark: object, *parts: str | bytes) -> bool:
        """Tell whether a digest is the one that this user has made of `parts`.

        Files of the superuser in a directory where nobody else can write need none: other users cannot read the
        secret there.
        """
        if self._secret is None:
            self._secret = read_secret(self.root)
        if self._secret is None:
            return self._of_superuser()
        return isinstance(mark, str) and same(mark, keyed(self._secret, *parts))

    def _of_superuser(self) -> bool:
        if not hasattr(os, "geteuid") or os.geteuid() == 0:
            return False
        try:
            return os.stat(self.root).st_uid == 0
        except OSError:
            return False
