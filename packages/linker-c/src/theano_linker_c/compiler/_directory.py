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

    If `wanted` cannot be made or written, or belongs to somebody else, a warning is given and a temporary directory
    takes its place, which goes away with the process.
    """

    def __init__(self, wanted: str) -> None:
        self.temporary = False
        problem = _problem(wanted)
        if problem is None:
            self.path = wanted
            return
        self.path = tempfile.mkdtemp(prefix="theano-kernels-")
        self.temporary = True
        self._cleanup = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
        warnings.warn(
            compose(
                f"compiled code cannot be kept in {wanted}: {problem}; it is compiled again in every process",
                mend="make the directory writable for you alone, or set THEANO_FLAGS=base_compiledir=<directory>",
            ),
            CompilerWarning,
            stacklevel=4,
        )

    def file(self, *names: str) -> str:
        """Give the path of a file in the directory."""
        return os.path.join(self.path, *names)

    def temporary_file(self, suffix: str) -> str:
        """Make an empty file with a name of its own, on the same file system."""
        folder = self.file("tmp")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        handle, path = tempfile.mkstemp(suffix=suffix, dir=folder)
        os.close(handle)
        return path

    def publish(self, temporary: str, *names: str) -> str:
        """Give a finished temporary file its final name, in one step: nobody sees half a file."""
        target = self.file(*names)
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        os.replace(temporary, target)
        return target

    def write(self, data: bytes, *names: str) -> str:
        """Write a file in one step."""
        temporary = self.temporary_file(".part")
        with open(temporary, "wb") as file:
            file.write(data)
        return self.publish(temporary, *names)

    def read(self, *names: str) -> bytes | None:
        """Read a file; None if there is none or it cannot be read."""
        try:
            with open(self.file(*names), "rb") as file:
                return file.read()
        except OSError:
            return None

    def sweep(self) -> None:
        """Remove temporary files that a killed process left behind a day ago or earlier."""
        limit = time.time() - _ABANDONED
        try:
            entries = list(os.scandir(self.file("tmp")))
        except OSError:
            return
        for entry in entries:
            try:
                if entry.stat().st_mtime < limit:
                    os.unlink(entry.path)
            except OSError:
                continue


def _problem(path: str) -> str | None:
    """Say why `path` cannot hold code that this user will run; None if it can."""
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        info = os.stat(path)
    except OSError as error:
        return error.strerror or str(error)
    if hasattr(os, "geteuid"):
        if info.st_uid != os.geteuid():
            return "it belongs to another user"
        if stat.S_IMODE(info.st_mode) & 0o022:
            try:
                os.chmod(path, 0o700)
            except OSError as error:
                return f"others can write to it ({error.strerror})"
    try:
        handle, name = tempfile.mkstemp(dir=path, prefix=".probe-")
        os.close(handle)
        os.unlink(name)
    except OSError as error:
        return error.strerror or str(error)
    return None
