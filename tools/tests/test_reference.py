"""Tests of the count of docstrings without parameters, results or an example."""

from __future__ import annotations

import unittest
from collections import Counter

import check_reference
from _documented import Entry, signature


def whole(x: int) -> int:
    """Do it.

    Parameters
    ----------
    x : int

    Returns
    -------
    int

    Examples
    --------
    >>> whole(1)
    1
    """
    return x


def bare(x: int) -> int:
    """Do it."""
    return x


class TestReference(unittest.TestCase):
    def test_parts(self) -> None:
        self.assertEqual(list(check_reference.lacks(Entry("m", "whole", whole))), [])
        self.assertEqual(list(check_reference.lacks(Entry("m", "bare", bare))), ["parameters", "results", "example"])
        self.assertEqual(list(check_reference.lacks(Entry("m", "number", 1))), [])
        self.assertEqual(list(check_reference.lacks(Entry("m", "Error", KeyError))), [])

    def test_counts_are_read_as_they_are_written(self) -> None:
        counts = {"loops": Counter(example=2, results=1), "shapes": Counter(results=3)}
        self.assertEqual(check_reference.stored(check_reference.text_of(counts)), counts)
        stored = check_reference.COUNTS.read_text(encoding="utf-8")
        self.assertEqual(check_reference.text_of(check_reference.stored(stored)), stored)

    def test_a_rise_is_named(self) -> None:
        before = {"loops": Counter(example=2)}
        rises = check_reference.rises({"loops": Counter(example=3), "shapes": Counter(results=1)}, before)
        self.assertEqual(rises, ["loops: 3 without example, 2 allowed", "shapes: 1 without results, 0 allowed"])
        self.assertEqual(check_reference.rises({"loops": Counter(example=1)}, before), [])

    def test_signature(self) -> None:
        self.assertEqual(signature(bare), "(x)")


if __name__ == "__main__":
    unittest.main()
