"""Loops that keep few of their steps."""

from theano_scan import scan_checkpoints as scan_checkpoints
from theano_tensor import Join as Join

__all__ = ["Join", "scan_checkpoints"]
