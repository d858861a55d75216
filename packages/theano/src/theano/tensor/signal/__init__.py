"""Convolution and pooling of images as signals, without channels."""

from ..._names import lazy_names
from . import pool as pool

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
