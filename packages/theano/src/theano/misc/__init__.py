"""Helpers."""

from . import pkl_utils as pkl_utils
