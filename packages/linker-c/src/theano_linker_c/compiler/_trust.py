"""Directories that only this user can write to: owners, permissions, a secret; a directory used by its descriptor."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import stat
import sys
from typing import NamedTuple

# ---- Whether the files of a directory are this user's own: owners, permissions, and a secret that nobody else can read

SECRET = "secret"
_SECRET_BYTES = 32
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
#: Folders whose contents are run or decide what runs.
_FOLDERS = ("objects", "index", "toolchains", "tmp")


class Problem(NamedTuple):
    """Why a directory cannot be used, and a cure for the user."""

    what: str
    hint: str


def refusal(path: str) -> Problem | None:
    """Say why code in a directory may be somebody else's; None if it is this user's, or the superuser's.

    As OpenSSH does with its files, the directory and all that lead to it have to belong to this user or to the
    superuser, and nobody else may be able to write there; directories with the sticky bit, such as the one for
    temporary files, may lead to it. Symbolic links are followed first.
    """
    if not hasattr(os, "geteuid"):
        return None
    real = os.path.realpath(path)
    info = os.stat(real)
    if info.st_uid not in (0, os.geteuid()):
        hint = f"take it away or give it to you (chown {path})"
        return Problem(f"it belongs to another user (number {info.st_uid})", hint)
    if info.st_mode & _OTHERS_WRITE:
        hint = f"empty it with `theano-cache purge`; if you trust all that is in it, `chmod 700 {path}` will do"
        return Problem("others can write to it, so that the code in it may be theirs", hint)
    return _refusal_of_folders(real) or _refusal_above(real)


def _refusal_of_folders(path: str) -> Problem | None:
    for name in _FOLDERS:
        folder = os.path.join(path, name)
        try:
            info = os.lstat(folder)
        except OSError:
            continue
        hint = "empty it with `theano-cache purge`"
        if not stat.S_ISDIR(info.st_mode):
            return Problem(f"{folder} is no directory", hint)
        if info.st_uid not in (0, os.geteuid()) or info.st_mode & _OTHERS_WRITE:
            return Problem(f"others can write to {folder}, so that the code in it may be theirs", hint)
    return None


def _refusal_above(path: str) -> Problem | None:
    while (parent := os.path.dirname(path)) != path:
        path = parent
        info = os.stat(path)
        if info.st_uid not in (0, os.geteuid()):
            hint = "choose a place below directories of yours"
            return Problem(f"{path} belongs to another user (number {info.st_uid}), who could exchange it", hint)
        if info.st_mode & _OTHERS_WRITE and not info.st_mode & stat.S_ISVTX:
            who = "everybody" if info.st_mode & stat.S_IWOTH else "its group"
            rights = "go-w" if info.st_mode & stat.S_IWOTH else "g-w"
            return Problem(f"{who} can write to {path} and so exchange it", f"`chmod {rights} {path}`")
    return None


def read_secret(anchor: str) -> bytes | None:
    """Return the secret of a directory; None where there is none that this user alone can read."""
    try:
        handle = os.open(os.path.join(anchor, SECRET), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        info = os.fstat(handle)
        is_private = not hasattr(os, "geteuid") or (info.st_uid == os.geteuid() and not info.st_mode & 0o077)
        data = file.read(_SECRET_BYTES + 1) if is_private and stat.S_ISREG(info.st_mode) else b""
    return data if len(data) == _SECRET_BYTES else None


def make_secret(anchor: str) -> bytes | None:
    """Return the secret of a directory, made now if there is none; None where it cannot be written."""
    secret = read_secret(anchor)
    if secret is not None:
        return secret
    path = os.path.join(anchor, f".{SECRET}-{os.getpid()}-{secrets.token_hex(4)}")
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(_SECRET_BYTES))
        target = os.path.join(anchor, SECRET)
        try:
            # A link appears whole and never replaces a file that another process has just written.
            os.link(path, target)
        except FileExistsError:
            if read_secret(anchor) is None:  # it is another's, or damaged
                os.replace(path, target)
        except OSError:  # a file system without links
            os.replace(path, target)
    except OSError:
        return None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
    return read_secret(anchor)


def keyed(secret: bytes, *parts: str | bytes) -> str:
    """Return a digest of `parts` that only who knows the secret can make."""
    state = hashlib.blake2b(digest_size=20, key=secret)
    for part in parts:
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


def same(first: str, second: str) -> bool:
    """Compare two digests in a time that does not tell where they differ."""
    return hmac.compare_digest(first.encode("utf-8", "replace"), second.encode("utf-8", "replace"))


# ---- A directory that was looked at once, and is used by its descriptor from then on

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
