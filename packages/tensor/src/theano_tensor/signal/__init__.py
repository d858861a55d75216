"""Convolution and pooling of images as signals, without channels."""

from . import _native as _native, conv as conv, pool as pool

__all__ = ["conv", "pool"]
