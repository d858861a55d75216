"""Loops that keep few of their steps."""

from theano_scan import scan_checkpoints as scan_checkpoints
from theano_tensor import Join as Join

from .._lazy import lazy_names

__all__ = ["Join", "scan_checkpoints"]

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
