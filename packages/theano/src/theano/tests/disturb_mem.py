"""Objects whose number depends on the time, so that addresses of later objects differ from run to run."""

from __future__ import annotations

from datetime import datetime

_kept: list[list[int]] = []


def disturb_mem() -> None:
    """Make between none and a million objects, and keep them until the next call."""
    microseconds = datetime.now().microsecond
    length, count = divmod(microseconds, 1000)
    _kept[:] = [[0] * length for _ in range(count)]
