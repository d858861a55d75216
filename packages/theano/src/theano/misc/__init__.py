"""Helpers."""

from . import cpucount as cpucount, doubleop as doubleop, pkl_utils as pkl_utils, safe_asarray as safe_asarray
