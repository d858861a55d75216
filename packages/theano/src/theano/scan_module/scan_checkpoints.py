"""Loops that keep few of their steps."""

from theano_scan import scan_checkpoints as scan_checkpoints

__all__ = ["scan_checkpoints"]
