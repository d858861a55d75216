"""A private directory for compiled code, and files that appear in it whole or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import time
import warnings
import weakref

from theano_graph import compose

from ._errors import CompilerWarning

_ABANDONED = 60 * 60 * 24
_CHOOSE = "or keep it elsewhere with THEANO_FLAGS=base_compiledir=<directory>"


def digest(*parts: str | bytes) -> str:
    """Give a hash of `parts` as 40 hexadecimal digits; the borders between parts count."""
    state = hashlib.blake2b(digest_size=20)
    for part in parts:
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


class CompileDirectory:
    """A directory that only its owner can use.

    If `wanted` cannot be made or written, or others could put code in it, a warning says so and a temporary directory
    takes its place, which goes away with the process.

    Parameters
    ----------
    wanted : str
        Path; missing levels are made, for the owner alone.

    Attributes
    ----------
    path : str
        The directory in use.
    temporary : bool
        Whether that is a temporary one.
    """

    def __init__(self, wanted: str) -> None:
        self.temporary = False
        self.path = wanted
        problem = _problem(wanted)
        if problem is not None:
            self.leave(*problem)

    def leave(self, problem: str, mend: str = "make room or give yourself the right to write there") -> None:
        """Go on in a temporary directory, with a warning that says why.

        Parameters
        ----------
        problem : str
            What is wrong with the directory.
        mend : str
            What the user can do about it.
        """
        left = self.path
        self.path = tempfile.mkdtemp(prefix="theano-kernels-")
        self.temporary = True
        self._cleanup = weakref.finalize(self, _remove_own, self.path, os.getpid())
        warnings.warn(
            compose(
                f"compiled code cannot be kept in {left}: {problem}; it is compiled again in every process",
                mend=f"{mend}, {_CHOOSE}.",
            ),
            CompilerWarning,
            stacklevel=2,
        )

    def file(self, *names: str) -> str:
        """Give the path of a file in the directory."""
        return os.path.join(self.path, *names)

    def temporary_file(self, suffix: str) -> str:
        """Make an empty file with a name of its own, on the same file system."""
        folder = self.file("tmp")
        make_private(folder)
        handle, path = tempfile.mkstemp(suffix=suffix, dir=folder)
        os.close(handle)
        return path

    def publish(self, temporary: str, *names: str) -> str:
        """Give a finished temporary file its final name, in one step: nobody sees half a file."""
        target = self.file(*names)
        make_private(os.path.dirname(target))
        os.replace(temporary, target)
        return target

    def write(self, data: bytes, *names: str) -> str:
        """Write a file in one step."""
        temporary = self.temporary_file(".part")
        try:
            with open(temporary, "wb") as file:
                file.write(data)
            return self.publish(temporary, *names)
        except OSError:
            remove(temporary)
            raise

    def read(self, *names: str) -> bytes | None:
        """Read a file; None if there is none or it cannot be read."""
        try:
            with open(self.file(*names), "rb") as file:
                return file.read()
        except OSError:
            return None

    def entries(self, name: str) -> list[os.DirEntry[str]]:
        """List a folder of the directory; empty where there is none."""
        try:
            with os.scandir(self.file(name)) as found:
                return sorted(found, key=lambda entry: entry.name)
        except OSError:
            return []

    def sweep(self) -> int:
        """Remove temporary files that a killed process left behind a day ago or earlier; gives their number."""
        limit = time.time() - _ABANDONED
        removed = 0
        for entry in self.entries("tmp"):
            try:
                if entry.stat().st_mtime < limit:
                    removed += remove(entry.path)
            except OSError:
                continue
        return removed


def _remove_own(path: str, process: int) -> None:
    """Remove a temporary directory, in the process that made it: a fork of it may end earlier."""
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)


def remove(path: str) -> bool:
    """Remove a file; False where it is gone already or cannot be removed."""
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


def make_private(path: str) -> None:
    """Make a directory and the missing ones above it, each for its owner alone."""
    missing = []
    while path and not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for folder in reversed(missing):
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            if not os.path.isdir(folder):
                raise


def _problem(path: str) -> tuple[str, str] | None:
    """Say why `path` cannot hold code that this user will run, and how to mend it; None if it can."""
    try:
        make_private(path)
        refused = _refusal(path)
        if refused is not None:
            return refused
        handle, name = tempfile.mkstemp(dir=path, prefix=".probe-")
        os.close(handle)
        os.unlink(name)
    except OSError as error:
        return error.strerror or str(error), "make the directory writable for you"
    return None


def _refusal(path: str) -> tuple[str, str] | None:
    """Say why code in `path` may be somebody else's."""
    if not hasattr(os, "geteuid"):
        return None
    info = os.stat(path)
    if info.st_uid != os.geteuid():
        return f"it belongs to another user (number {info.st_uid})", f"take it away or give it to you (chown {path})"
    if stat.S_IMODE(info.st_mode) & 0o022:
        mend = f"empty it with `theano-cache purge`; if you trust all that is in it, `chmod 700 {path}` will do"
        return "others can write to it, so that the code in it may be theirs", mend
    parent = os.path.dirname(os.path.abspath(path))
    mode = os.stat(parent).st_mode
    if mode & 0o002 and not mode & stat.S_ISVTX:
        return f"everybody can write to {parent} and so exchange it", f"`chmod o-w {parent}`"
    return None
