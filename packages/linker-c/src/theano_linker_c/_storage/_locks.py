"""Locks that serialise calls which update a shared variable."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary


class PlainUpdateLock:
    """A reentrant lock, which is free in the child after a fork.

    Parameters
    ----------
    storage : list, optional
        The one-element list whose updates the lock serialises.

    Attributes
    ----------
    number : int
        Locks with lower numbers are acquired first.

    Examples
    --------
    >>> locks = PlainUpdateLock()
    >>> with locks, locks:
    ...     print("in")
    in
    """

    _numbers = itertools.count()

    def __init__(self, storage: list[Any] | None = None) -> None:
        self._storage = storage
        self._lock = threading.RLock()
        self._process = os.getpid()
        self.number = next(self._numbers)

    def __enter__(self) -> PlainUpdateLock:
        if self._process != os.getpid():
            # The thread that held it exists in the parent alone.
            self._lock, self._process = threading.RLock(), os.getpid()
        self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()


if TYPE_CHECKING:
    from theano_linker_c._runtime import UpdateLock
else:
    try:
        from theano_linker_c._runtime import UpdateLock
    except ImportError:
        # Without the runtime all machines are in Python, and so are their locks.
        UpdateLock = PlainUpdateLock

#: Locks in use, by the address of the storage, which they keep alive.
_of_storage: WeakValueDictionary[int, UpdateLock] = WeakValueDictionary()
_making = threading.Lock()


def update_lock_of(storage: list[Any]) -> UpdateLock:
    """Return the lock of the storage of a variable: the same one for all functions that update it.

    Parameters
    ----------
    storage : list
        Its one-element list.
    """
    with _making:
        lock = _of_storage.get(id(storage))
        if lock is None:
            lock = _of_storage[id(storage)] = UpdateLock(storage)
        return lock


def update_lock_if_used(storage: list[Any]) -> AbstractContextManager[Any]:
    """Return the lock of a storage that some function updates, or else a context that does nothing."""
    return _of_storage.get(id(storage)) or nullcontext()


class UpdateLocks:
    """Several locks, acquired in the order of their numbers, which rules out deadlocks between them.

    Parameters
    ----------
    locks : sequence of UpdateLock
    """

    def __init__(self, locks: Sequence[UpdateLock]) -> None:
        self._locks = sorted(locks, key=lambda each: each.number)

    def __enter__(self) -> None:
        with ExitStack() as stack:
            for each in self._locks:
                stack.enter_context(each)
            stack.pop_all()

    def __exit__(self, *_: object) -> None:
        for each in reversed(self._locks):
            each.__exit__(None, None, None)
