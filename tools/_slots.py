"""As many slots as there are processors: a process that computes on all of them at once holds one."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from _house import ROOT

CORES = len(os.sched_getaffinity(0))
SLOTS = ROOT / ".tox" / "slots"


@contextmanager
def one_slot() -> Iterator[None]:
    """Wait for a free slot and hold it; one whose holder was killed is free again."""
    SLOTS.mkdir(parents=True, exist_ok=True)
    files = [open(SLOTS / str(number), "w") for number in range(CORES)]  # noqa: SIM115  (closed below)
    try:
        while not any(is_locked(file.fileno()) for file in files):
            time.sleep(0.02)
        yield
    finally:
        for file in files:
            file.close()


def is_locked(descriptor: int) -> bool:
    """Lock a file unless another process has it; return whether it is locked."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
