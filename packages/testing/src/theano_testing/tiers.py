"""Two tiers of tests: a test is quick unless it is declared slow.

The environment variable ``THEANO_TESTS`` names the tier that runs: ``quick``, or ``all``, which it is where nothing is
said. nose2 leaves slow tests out by its plugin of attributes (``-A '!slow'``).
"""

from __future__ import annotations

import os
from typing import Any, TypeVar

T = TypeVar("T")

QUICK_SHARE = 10
"""One of so many examples of a property is tried in the quick tier."""

FEWEST = 5
"""Examples of a property that are tried in the quick tier at least."""


def is_quick() -> bool:
    """Tell whether only the quick tier runs.

    Returns
    -------
    bool
    """
    return os.environ.get("THEANO_TESTS", "all") == "quick"


def slow(test: T) -> T:
    """Declare a test, or all tests of a class, slow.

    Long chains, sweeps, stress, random graphs, attacks and killed processes are slow; so is a test that takes more than
    about two seconds.

    Parameters
    ----------
    test : callable or type
        A test method, or a class of tests.

    Returns
    -------
    callable or type
        The same object, with an attribute ``slow``.

    Examples
    --------
    >>> import unittest
    >>> from theano_testing.tiers import slow
    >>> class TestChains(unittest.TestCase):
    ...     @slow
    ...     def test_a_million_nodes(self): ...
    >>> TestChains.test_a_million_nodes.slow
    True
    """
    declared: Any = test
    declared.slow = True
    return test


def examples(count: int) -> int:
    """Return how many examples of a property are tried: `count`, or a tenth of them in the quick tier.

    Parameters
    ----------
    count : int
        The number of examples in the slow tier.

    Returns
    -------
    int
        `count`, or in the quick tier a tenth of it, at least 5 (but never more than `count`).

    Examples
    --------
    With hypothesis: ``@settings(max_examples=examples(150), deadline=None)``.
    """
    return min(count, max(FEWEST, count // QUICK_SHARE)) if is_quick() else count
