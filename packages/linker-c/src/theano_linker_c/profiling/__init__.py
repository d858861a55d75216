"""Profiles of compiled functions: times, counts and memory."""

from ..compiler._toolchain import Stopwatch as Stopwatch
from ._at_exit import as_profile as as_profile, printer as printer
from ._memory import MemoryRecord as MemoryRecord
from ._outside import device_kind as device_kind, outside as outside
from ._records import Group as Group, NodeRecord as NodeRecord
from ._report import readable_time as readable_time
from ._stats import ProfileStats as ProfileStats, timing as timing, total as total

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
