"""Calls of several threads, one after the other."""

from __future__ import annotations

import os
import threading


class Turns:
    """Lets one thread in at a time; one that is in may enter again. After a fork the child finds nobody in.

    Examples
    --------
    >>> turns = Turns()
    >>> with turns, turns:
    ...     print("in")
    in
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._process = os.getpid()

    def __enter__(self) -> None:
        if self._process != os.getpid():
            # Whoever was in when the process was forked does not exist here.
            self._lock, self._process = threading.RLock(), os.getpid()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
