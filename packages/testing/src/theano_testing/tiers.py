"""Which tests run only where there is time for them."""

from __future__ import annotations

from typing import TypeVar

TestT = TypeVar("TestT")


def slow(test: TestT) -> TestT:
    """Mark a test, or a class of tests, that takes longer than about two seconds."""
    test.slow = True  # type: ignore[attr-defined]  # an attribute that tests do not declare
    return test
