"""Helpers."""

from .._names import lazy_names
from . import pkl_utils as pkl_utils

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
