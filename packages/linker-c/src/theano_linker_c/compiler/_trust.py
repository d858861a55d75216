"""Whether the files of a directory are this user's own: owners, permissions, and a secret that nobody else can read."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import stat
from typing import NamedTuple

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
