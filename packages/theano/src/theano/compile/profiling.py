"""Profiles of compiled functions."""

from theano_graph import config as config
from theano_linker_c.profiling import ProfileStats as ProfileStats

from .._lazy import lazy_names
from ._historical import (
    ScanProfileStats as ScanProfileStats,
    print_global_stats as print_global_stats,
    register_profiler_printer as register_profiler_printer,
)

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
