"""Helpers for tests of users' ops."""

from .._names import lazy_names
from . import unittest_tools as unittest_tools

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
