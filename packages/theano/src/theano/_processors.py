"""The number of processors."""

import os


def cpuCount() -> int:
    """Return the number of processors that this process may use, 1 where nobody knows.

    Examples
    --------
    >>> cpuCount() >= 1
    True
    """
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # systems that tell the number of all processors only
        return os.cpu_count() or 1
