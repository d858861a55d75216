"""Tiers of tests: what takes long is marked as slow."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def slow(test: T) -> T:
    """Mark a test, or a class of tests, as slow, and return it."""
    test.slow = True  # type: ignore[attr-defined]  # read by the runner
    return test
