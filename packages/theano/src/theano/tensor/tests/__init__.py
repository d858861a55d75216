"""Helpers for the tests of tensor ops."""
