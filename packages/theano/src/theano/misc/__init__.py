"""Helpers."""

from . import (
    cpucount as cpucount,
    doubleop as doubleop,
    may_share_memory as may_share_memory,
    ordered_set as ordered_set,
    pkl_utils as pkl_utils,
    safe_asarray as safe_asarray,
    strutil as strutil,
    windows as windows,
)
