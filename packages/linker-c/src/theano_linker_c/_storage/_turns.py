"""Calls of several threads, one after the other."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary


class PlainTurns:
    """Lets one thread in at a time; one that is in may enter again. After a fork the child finds nobody in.

    Parameters
    ----------
    storage : list, optional
        The one-element list whose updates these are.

    Attributes
    ----------
    number : int
        Those with lower numbers are taken first.

    Examples
    --------
    >>> turns = PlainTurns()
    >>> with turns, turns:
    ...     print("in")
    in
    """

    _numbers = itertools.count()

    def __init__(self, storage: list[Any] | None = None) -> None:
        self._storage = storage
        self._lock = threading.RLock()
        self._process = os.getpid()
        self.number = next(self._numbers)

    def __enter__(self) -> PlainTurns:
        if self._process != os.getpid():
            # Whoever was in when the process was forked does not exist here.
            self._lock, self._process = threading.RLock(), os.getpid()
        self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()


if TYPE_CHECKING:
    from theano_linker_c._runtime import Turns
else:
    try:
        from theano_linker_c._runtime import Turns
    except ImportError:
        # Without the runtime all machines are in Python, and so are the turns that they share.
        Turns = PlainTurns

#: Those in use, by the address of the storage, which they keep alive.
_of_storage: WeakValueDictionary[int, Turns] = WeakValueDictionary()
_making = threading.Lock()


def turns_of(storage: list[Any]) -> Turns:
    """Return the turns that belong to the storage of a variable; they are the same for all who update it.

    Parameters
    ----------
    storage : list
        Its one-element list.
    """
    with _making:
        found = _of_storage.get(id(storage))
        if found is None:
            found = _of_storage[id(storage)] = Turns(storage)
        return found


def turns_if_used(storage: list[Any]) -> AbstractContextManager[Any]:
    """Return the turns of a storage that some function updates, or else what waits for nobody."""
    return _of_storage.get(id(storage)) or nullcontext()


class AllTurns:
    """Several turns at once, taken in the order of their numbers, so that no two threads wait for each other.

    Parameters
    ----------
    turns : sequence of Turns
    """

    def __init__(self, turns: Sequence[Turns]) -> None:
        self._turns = sorted(turns, key=lambda each: each.number)

    def __enter__(self) -> None:
        with ExitStack() as stack:
            for each in self._turns:
                stack.enter_context(each)
            stack.pop_all()

    def __exit__(self, *_: object) -> None:
        for each in reversed(self._turns):
            each.__exit__(None, None, None)
