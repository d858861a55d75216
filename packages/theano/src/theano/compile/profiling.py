"""Profiles of compiled functions."""

from theano_linker_c.profiling import ProfileStats as ProfileStats
