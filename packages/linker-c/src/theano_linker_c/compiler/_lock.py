"""Processes that need the same code wait for the one that compiles it.

Nothing depends on these locks: code is published in one step, so that without them only work would be done twice. The
system lets go of a lock when its holder dies, so none is left behind by a killed process.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from ._directory import CompileDirectory, make_private

if TYPE_CHECKING:
    from filelock import FileLock

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
