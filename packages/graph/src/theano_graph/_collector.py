"""Keeping Python's cyclic collector out of work that makes many objects, of which nearly all stay."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Pauses:
    """The pauses that are going on, in all threads, and whether the last one to end starts the collector again.

    A pause may end that has not quite begun: an interrupt may come at any time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._going_on: set[object] = set()
        self._resume = False

    def begin(self, pause: object) -> None:
        with self._lock:
            if not self._going_on:
                self._resume = gc.isenabled()
            self._going_on.add(pause)
            gc.disable()

    def end(self, pause: object) -> None:
        with self._lock:
            if self._going_on <= {pause} and self._resume:
                gc.enable()
            self._going_on.discard(pause)

    def leave_to_parent(self) -> None:
        """End all pauses, in a child after a fork: the threads that paused are not there."""
        self._lock = threading.Lock()
        if self._going_on and self._resume:
            gc.enable()
        self._going_on = set()


#: How many objects may be frozen though no program asked for it: Python 3.12 freezes some hundreds.
_FROZEN_AT_START = 1000
_pauses = _Pauses()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pauses.leave_to_parent)


@contextmanager
def collector_paused(lasting: bool = False) -> Iterator[None]:
    """Let the cyclic collector rest meanwhile.

    Parameters
    ----------
    lasting : bool
        Whether the new objects stay for good, as modules do. They count as old then, which spares the
        collector the walk over it that else follows at once.

    Notes
    -----
    Graphs are made of cycles that live: each full collection in between walks over all of them, and over everything
    that has been imported, and finds next to nothing. A collector that was off stays off. Pauses of several threads
    may overlap; the last that ends lets the collector go on.

    Examples
    --------
    >>> import gc
    >>> with collector_paused():
    ...     gc.isenabled()
    False
    """
    pause = object()
    try:
        _pauses.begin(pause)
        yield
        if lasting and gc.get_freeze_count() <= _FROZEN_AT_START:  # objects frozen by a program stay so
            gc.freeze()
            gc.unfreeze()
    finally:
        try:
            _pauses.end(pause)
        except BaseException:  # an interrupt in the middle of it
            _pauses.end(pause)
            raise
