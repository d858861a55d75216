"""Helpers for the tests of those who write ops."""

from . import unittest_tools as unittest_tools
