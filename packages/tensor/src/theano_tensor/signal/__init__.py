"""Convolution and pooling of images as signals, without channels."""

from . import _ops as _ops, conv as conv, pool as pool

__all__ = ["conv", "pool"]
