"""Profiles of compiled functions: times, counts and memory."""

from ..compiler._toolchain import Stopwatch as Stopwatch
from ._memory import Group as Group, MemoryRecord as MemoryRecord, NodeRecord as NodeRecord
from ._report import device_kind as device_kind, outside as outside, readable_time as readable_time
from ._stats import (
    ProfileStats as ProfileStats,
    as_profile as as_profile,
    printer as printer,
    timing as timing,
    total as total,
)

__all__ = [
    "Group",
    "MemoryRecord",
    "NodeRecord",
    "ProfileStats",
    "Stopwatch",
    "as_profile",
    "device_kind",
    "outside",
    "printer",
    "readable_time",
    "timing",
    "total",
]
