"""A private directory for compiled code: files appear in it whole or not at all, and processes wait for each other."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import platform
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from theano_graph import TheanoError, format_error, warn_user

from ._trust import Place, Problem, refusal

if TYPE_CHECKING:
    from filelock import FileLock


# ---- Errors and warnings of the compiler driver


class CompileError(TheanoError, RuntimeError):
    """The compiler refused generated or user-written code, or the arguments it was given."""


class CompilerWarning(UserWarning):
    """No compiler can be used, or the directory of compiled code cannot: work goes on, slower."""


# ---- A private directory for compiled code, and files that appear in it whole or not at all

_ABANDONED = 60 * 60 * 24
_CHOOSE = "or keep it elsewhere with THEANO_FLAGS=base_compiledir=<directory>"
#: So often it is tried to write to a directory that is not there any more: another process may just have removed it.
_TRIES = 10


def digest(*parts: str | bytes) -> str:
    """Give a hash of `parts` as 40 hexadecimal digits; the borders between parts count."""
    state = hashlib.blake2b(digest_size=20)
    for part in parts:
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


class CompileDirectory:
    """A directory that only its owner can write to.

    If `wanted` cannot be made or written, or others could put code in it, a warning says so and a temporary directory
    takes its place, which goes away with the process. Trusted files in it are still read.

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
        self._place: Place | None = None
        self._warm: Place | None = None
        problem = _problem(wanted)
        if problem is not None:
            self.leave(*problem)

    def leave(self, problem: str, hint: str = "make room or give yourself the right to write there") -> None:
        """Go on in a temporary directory, with a warning that says why.

        Parameters
        ----------
        problem : str
            The fault of the directory.
        hint : str
            A cure for the user.
        """
        left = self.path
        self._warm = _trusted(left)
        self._place = None
        self.path = tempfile.mkdtemp(prefix="theano-kernels-")
        self.temporary = True
        self._cleanup = weakref.finalize(self, _remove_own, self.path, os.getpid())
        lost = "missing code is" if self._warm else "it is"
        warn_user(
            format_error(
                f"compiled code cannot be kept in {left}: {problem}; {lost} compiled again in every process",
                hint=f"{hint}, {_CHOOSE}.",
            ),
            CompilerWarning,
        )

    @property
    def place(self) -> Place:
        """The directory, opened; made and looked at again where it is gone."""
        if self._place is None or self._place.path != self.path or not self._place.current:
            if self._place is not None:
                self._place.close()
            make_private(self.path)
            refused = refusal(self.path)
            if refused is not None and not self.temporary:
                raise PermissionError(errno.EACCES, refused.what, self.path)
            self._place = Place(self.path)
        return self._place

    def places(self) -> list[Place]:
        """Return the opened directories to look for code in: this one, and one that can only be read."""
        places = [] if self._warm is None or not self._warm.open else [self._warm]
        with contextlib.suppress(OSError):
            places.insert(0, self.place)
        return places

    def file(self, *names: str) -> str:
        """Return the path of a file in the directory, for people and compilers."""
        return os.path.join(self.path, *names)

    def temporary_file(self, suffix: str) -> str:
        """Make an empty file with a name of its own, on the same file system."""
        folder = self.file("tmp")
        make_private(folder)
        handle, path = tempfile.mkstemp(prefix=f"{process_mark()}-", suffix=suffix, dir=folder)
        os.close(handle)
        return path

    def publish(self, temporary: str, *names: str) -> str:
        """Give a finished temporary file its final name, in one step: nobody sees half a file."""
        target = self.place.file(*names)
        make_private(os.path.dirname(target))
        os.replace(temporary, target)
        return self.file(*names)

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

    def write_signed(self, data: bytes, *names: str) -> str:
        """Write a file in one step, with a digest before it that only this user can make."""
        mark = self.place.sign(data) or digest(data)
        return self.write(mark.encode() + b"\n" + data, *names)

    def read_signed(self, *names: str) -> bytes | None:
        """Read a file of `write_signed`; None if there is none, or if its signature is wrong."""
        return next((data for folder in self.places() if (data := read_signed(folder, *names)) is not None), None)

    def read(self, *names: str) -> bytes | None:
        """Read a file; None if there is none or it cannot be read."""
        return next((data for folder in self.places() if (data := _read(folder.file(*names))) is not None), None)

    def entries(self, name: str) -> list[os.DirEntry[str]]:
        """List a folder of the directory; empty where there is none."""
        try:
            with os.scandir(self.file(name)) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError:
            return []

    def sweep(self) -> int:
        """Remove the temporary files of killed processes; gives their number.

        A process of another machine, or of another container, is taken for killed after a day.
        """
        limit = time.time() - _ABANDONED
        removed = 0
        for entry in self.entries("tmp"):
            try:
                if abandoned(entry.name) or entry.stat().st_mtime < limit:
                    removed += remove(entry.path)
            except OSError:
                continue
        return removed


def read_signed(folder: Place, *names: str) -> bytes | None:
    """Read a file of `CompileDirectory.write_signed` in one place; None if its signature is wrong."""
    mark, _, data = (_read(folder.file(*names)) or b"").partition(b"\n")
    return data if data and folder.signed(mark.decode("latin-1"), data) else None


def process_mark() -> str:
    """Return a text that names this process among all that may share a directory."""
    return f"{_host_mark()}-{os.getpid()}"


def _host_mark() -> str:
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = ""
    return digest(platform.node(), space)[:12]


def abandoned(name: str) -> bool:
    """Tell whether the process of this machine that a temporary file is named after is gone."""
    host, _, remainder = name.partition("-")
    number = remainder.partition("-")[0]
    if host != _host_mark() or not number.isdecimal() or not hasattr(os, "kill"):
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _trusted(path: str) -> Place | None:
    """Open a directory to read from, if it is there and nobody else can have put code into it."""
    try:
        return Place(path) if refusal(path) is None else None
    except OSError:
        return None


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


def _problem(path: str) -> Problem | None:
    """Say why `path` cannot hold code that this user will run, and how to correct it; None if it can."""
    problem = None
    for _ in range(_TRIES):
        try:
            make_private(path)
            refused = refusal(path)
            if refused is not None:
                return refused
            handle, name = tempfile.mkstemp(dir=path, prefix=".probe-")
            os.close(handle)
            os.unlink(name)
        except OSError as error:
            problem = Problem(error.strerror or str(error), "make the directory writable for you")
            if not isinstance(error, FileNotFoundError):
                break
        else:
            return None
    return problem


# ---- Processes that need the same code wait for the one that compiles it
#
# Nothing depends on these locks: code is published in one step, so that without them only work would be done twice. The
# system lets go of a lock when its holder dies, so none is left behind by a killed process.

_BUCKETS = 64
_FIRST_PAUSE = 0.005


class LockStatus:
    """Whether processes wait for each other at all."""

    def __init__(self) -> None:
        self.enabled = True


status = LockStatus()


def set_lock_status(use_lock: bool) -> None:
    """Say whether processes that need the same code wait for the one that compiles it.

    Parameters
    ----------
    use_lock : bool
        True by default. False is safe too: then each compiles it.

    Examples
    --------
    >>> from theano_linker_c.compiler import set_lock_status
    >>> set_lock_status(True)
    """
    status.enabled = bool(use_lock)


@contextmanager
def build_lock(folder: CompileDirectory, key: str, pause: float, timeout: float) -> Iterator[bool]:
    """Hold the lock for `key`; goes on without it after `timeout` seconds or where locks do not work.

    Parameters
    ----------
    folder : CompileDirectory
    key : str
        Hexadecimal digits.
    pause : float
        Longest time between two attempts, in seconds; the first ones follow quickly.
    timeout : float
        Seconds after which nobody is waited for any more.

    Yields
    ------
    bool
        Whether there was somebody to wait for, who may have compiled the same code.
    """
    if not status.enabled or folder.temporary:
        yield False
        return
    lock, waited = _acquire(folder, key, pause, timeout)
    try:
        yield waited
    finally:
        if lock is not None:
            lock.release()


def _acquire(folder: CompileDirectory, key: str, pause: float, timeout: float) -> tuple[FileLock | None, bool]:
    deadline = time.monotonic() + timeout
    step, waited = _FIRST_PAUSE, False
    try:
        make_private(folder.file("locks"))
        # Not at the top of the module: it is a tenth of the time of `import theano`, and a warm cache never needs it.
        filelock = import_module("filelock")
        lock: FileLock = filelock.FileLock(
            folder.file("locks", f"{int(key[:8], 16) % _BUCKETS:02d}.lock"), timeout=0, mode=0o600
        )
        while True:
            try:
                lock.acquire()
            except filelock.Timeout:
                waited = True
            else:
                return lock, waited
            left = deadline - time.monotonic()
            if left <= 0:
                return None, True
            time.sleep(min(step, pause, left))
            step *= 2
    except (OSError, NotImplementedError):
        # A file system without locks, or a directory that has just gone: work goes on, at most done twice.
        return None, waited
