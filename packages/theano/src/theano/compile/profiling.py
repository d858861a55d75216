"""Profiles of compiled functions."""

from theano_graph import config as config
from theano_linker_c.profiling import ProfileStats as ProfileStats

from ._historical import (
    ScanProfileStats as ScanProfileStats,
    print_global_stats as print_global_stats,
    register_profiler_printer as register_profiler_printer,
)
