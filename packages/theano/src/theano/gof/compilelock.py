"""The locks by which processes wait for each other's compilations.

Compiling needs no lock, since code appears in the directory whole; these are for programs that share something else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from theano_graph import config
from theano_linker_c.compiler import CompileDirectory, build_lock

_KEY = "0" * 8
_held: list[AbstractContextManager[Any]] = []


def _folder(lock_dir: str | None) -> CompileDirectory:
    path = lock_dir or os.path.join(str(config.compiledir), "lock_dir")
    return CompileDirectory(os.path.abspath(os.path.expanduser(path)))


@contextmanager
def lock_ctx(lock_dir: str | None = None, keep_lock: bool = False, **kw: Any) -> Iterator[None]:
    """Hold the lock of a directory for a block.

    Parameters
    ----------
    lock_dir : str, optional
        By default one inside the directory of compiled code.
    keep_lock : bool
        Taken for compatibility.
    **kw
        ``timeout`` and ``max_wait``: seconds, as the flags ``compile.timeout`` and ``compile.wait`` by default.

    Examples
    --------
    >>> from theano.gof import compilelock
    >>> with compilelock.lock_ctx():
    ...     print("alone")
    alone
    """
    timeout, wait = kw.get("timeout") or config.compile.timeout, kw.get("max_wait") or config.compile.wait
    if _held:  # this process has it
        yield
        return
    with build_lock(_folder(lock_dir), _KEY, float(wait), float(timeout)):
        mark = ExitStack()
        _held.append(mark)
        try:
            yield
        finally:
            if mark in _held:
                _held.remove(mark)


def get_lock(lock_dir: str | None = None, **kw: Any) -> None:
    """Take the lock of a directory until `release_lock`; waits for the process that has it.

    Parameters
    ----------
    lock_dir : str, optional
        By default one inside the directory of compiled code.
    **kw
        As for `lock_ctx`.
    """
    holder = lock_ctx(lock_dir, **kw)
    holder.__enter__()
    _held.append(holder)


def release_lock() -> None:
    """Release the lock of the latest `get_lock`."""
    if _held:
        _held.pop().__exit__(None, None, None)


def force_unlock() -> None:
    """Release all locks of this process; the system has freed those of dead processes."""
    while _held:
        release_lock()
