"""Helpers for tests of users' ops."""

from . import test_rop as test_rop, unittest_tools as unittest_tools
