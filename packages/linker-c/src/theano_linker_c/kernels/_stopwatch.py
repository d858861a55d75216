"""Seconds that an activity has taken."""

from __future__ import annotations

from time import perf_counter
from types import TracebackType


class Stopwatch:
    """Adds up the seconds spent inside ``with`` blocks.

    Attributes
    ----------
    seconds : float
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._begin = 0.0

    def __enter__(self) -> None:
        self._begin = perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seconds += perf_counter() - self._begin


loading = Stopwatch()
"""The time spent on loading machine code into the process."""
