"""Seconds that an activity has taken."""

from __future__ import annotations

from time import perf_counter
from types import TracebackType


class Stopwatch:
    """Adds up the seconds spent inside ``with`` blocks; a block inside another one counts once.

    Attributes
    ----------
    seconds : float

    Examples
    --------
    >>> watch = Stopwatch()
    >>> with watch, watch:
    ...     pass
    >>> watch.seconds < 1
    True
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._begin = 0.0
        self._depth = 0

    def __enter__(self) -> None:
        if self._depth == 0:
            self._begin = perf_counter()
        self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += perf_counter() - self._begin


loading = Stopwatch()
"""The time spent on loading machine code into the process."""
