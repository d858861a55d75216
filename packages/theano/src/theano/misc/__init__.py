"""Helpers."""

from .._names import lazy_names
from . import (
    doubleop as doubleop,
    may_share_memory as may_share_memory,
    ordered_set as ordered_set,
    pkl_utils as pkl_utils,
    safe_asarray as safe_asarray,
    strutil as strutil,
    windows as windows,
)

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
