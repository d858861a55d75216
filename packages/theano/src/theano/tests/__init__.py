"""Helpers for the tests of those who write ops."""

from . import test_rop as test_rop, unittest_tools as unittest_tools
