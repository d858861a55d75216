"""Simpler forms of loops."""

from theano_scan import foldl as foldl, foldr as foldr, map as map, reduce as reduce, scan as scan

__all__ = ["foldl", "foldr", "map", "reduce", "scan"]
