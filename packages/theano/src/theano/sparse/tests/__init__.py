"""Helpers for the tests of sparse ops."""
