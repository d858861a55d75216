"""Two tiers of tests: a test is quick unless it is declared slow.

The environment variable ``THEANO_TESTS`` names the tier that runs: ``quick``, or ``all``, which it is where nothing is
said. nose2 leaves slow tests out by its plugin of attributes (``-A '!slow'``). ``THEANO_ATTACK=long`` asks for sweeps
in their long form.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterable, Iterator
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


def is_long() -> bool:
    """Tell whether sweeps run in their long form.

    Returns
    -------
    bool
    """
    return os.environ.get("THEANO_ATTACK") == "long"


def each_value(*lists: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield combinations of values in which each value is met; in the long form of a sweep, all combinations.

    Where a case costs a compilation, all combinations take too long for a test that runs often.

    Parameters
    ----------
    *lists : iterables
        The values of each place.

    Yields
    ------
    tuple
        One value of each list. There are as many tuples as the longest list has values.

    Examples
    --------
    >>> from theano_testing.tiers import each_value
    >>> cases = list(each_value(["int8", "float32", "float64"], [0, 1]))
    >>> len(cases), {axis for _, axis in cases}
    (3, {0, 1})
    """
    values = [list(some) for some in lists]
    if is_long():
        yield from itertools.product(*values)
        return
    count = max(map(len, values))
    columns = [[some[k % len(some)] for k in range(count)] for some in values]
    # The order is the same in each run, but no list follows another one.
    generator = random.Random(0)
    for column in columns[1:]:
        generator.shuffle(column)
    yield from zip(*columns, strict=True)
