"""Entries that are put on disk in the background, after `function` has returned."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable

#: Seconds that the interpreter is left to the program before the background begins.
_GRACE = 0.1
#: Functions that wait at most: a program that builds more at once stores the first ones itself.
_MOST = 32
#: Seconds that the end of the program spends on waiting entries at most.
_LAST_SECONDS = 5.0


class Stores:
    """Functions that wait until they are put on disk.

    They are stored by a thread after a moment, by the next function that looks for one of them, or at the end of the
    program.
    """

    def __init__(self) -> None:
        self._at_exit = False
        #: Whether the end of the program is there: functions built by other actions at the end are stored at once.
        self._is_over = False
        self.renew()

    def renew(self) -> None:
        """Begin anew in a forked process: the parent stores the waiting entries."""
        self._waiting: dict[str, list[Callable[[], None]]] = {}
        # The handler of a signal, or a finalizer, may build a function while this thread holds it.
        self._lock = threading.RLock()
        #: Held while something is stored.
        self._turn = threading.RLock()
        self._thread: threading.Thread | None = None
        self._finalizer: object = None

    def add(self, sketch: str, store: Callable[[], None]) -> None:
        """Let `store` be called soon; it must not raise.

        Parameters
        ----------
        sketch : str
            The beginning of the function's name.
        store : callable
        """
        with self._lock:
            self._waiting.setdefault(sketch, []).append(store)
            is_full = len(self._waiting) > _MOST or self._is_over
            thread = None
            if self._thread is None and not self._is_over:
                thread = self._thread = threading.Thread(target=self._work, name="theano-store", daemon=True)
            self._register()
        if thread is not None:
            try:
                thread.start()
            except RuntimeError:  # no threads here, or no more of them
                is_full = True
                with self._lock:
                    self._thread = None
        if is_full:
            self.finish()

    def _register(self) -> None:
        """Let the end of the process store the waiting entries."""
        if not self._at_exit:
            self._at_exit = True
            atexit.register(self._end)
        # Processes that multiprocessing has made call its finalizers alone at their end.
        processes = sys.modules.get("multiprocessing.util")
        if processes is not None and self._finalizer is None:
            self._finalizer = processes.Finalize(None, self._end, exitpriority=0)

    def _end(self) -> None:
        self._is_over = True
        self.finish(seconds=_LAST_SECONDS)

    def holds(self, sketch: str) -> bool:
        """Tell whether a function waits, or is being stored, whose name begins so."""
        return sketch in self._waiting

    def finish(self, sketch: str | None = None, seconds: float | None = None) -> bool:
        """Store the waiting entries now.

        Parameters
        ----------
        sketch : str, optional
            The beginning of the names of functions; all by default.
        seconds : float, optional
            How long that may take, about.

        Returns
        -------
        bool
            Whether nothing waits any more.
        """
        last = None if seconds is None else time.monotonic() + seconds
        while (name := self._next(sketch)) is not None:
            left = -1 if last is None else last - time.monotonic()
            if (last is not None and left <= 0) or not self._turn.acquire(timeout=left):
                return False
            try:
                self._store_one(name)
            finally:
                self._turn.release()
        return True

    def _next(self, sketch: str | None) -> str | None:
        with self._lock:
            return next((name for name in list(self._waiting) if sketch in (None, name)), None)

    def _store_one(self, sketch: str) -> None:
        """Store the first function of a name, which is known to wait until that is over."""
        with self._lock:
            entries = self._waiting.get(sketch, [])
            store = entries[0] if entries else None
        try:
            if store is not None:
                store()
        finally:
            with self._lock:
                if store in entries:  # or it was stored meanwhile by the handler of a signal, in this thread
                    entries.remove(store)
                if not entries and self._waiting.get(sketch) is entries:
                    del self._waiting[sketch]

    def _work(self) -> None:
        time.sleep(_GRACE)
        while True:
            self.finish()
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return


#: Those of this process.
stores = Stores()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=stores.renew)


def finish_storing(seconds: float | None = None) -> bool:
    """Write now the entries that the cache of functions has put off; programs need not call this, their end does it.

    Parameters
    ----------
    seconds : float, optional
        How long that may take, about; by default as long as it takes.

    Returns
    -------
    bool
        Whether nothing waits any more.

    Examples
    --------
    >>> import theano_linker_c
    >>> theano_linker_c.finish_storing()
    True
    """
    return stores.finish(seconds=seconds)
