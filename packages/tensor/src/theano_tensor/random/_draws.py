"""Draws that a generator of NumPy has no method for, or not in the form that is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, format_error

from .._core._dtypes import Array
from ..shape import shape_i
from ._function import ADDED_LENGTHS

Shape = tuple[int, ...] | None
#: By how much probabilities may fail to add up to 1, which rounding to a narrower dtype explains.
_SLACK = 1e-5


def random_integers_helper(random_state: Any, low: Array, high: Array, size: Shape) -> Any:
    """Draw integers from `low` to `high`, both of them included; the bounds may be arrays.

    Parameters
    ----------
    random_state : numpy.random.RandomState or numpy.random.Generator
    low, high : int or ndarray of int
    size : tuple of int, or None
        None stands for the common shape of the bounds.

    Raises
    ------
    ValueError
        If a lower bound is above the upper one.
    """
    first, last = np.asarray(low), np.asarray(high)
    if (first > last).any():
        raise ValueError(
            format_error(
                "random_integers: a lower bound is above the upper one",
                context=[f"low: {low!r}", f"high: {high!r}"],
                hint="both bounds are included, so low must be at most high",
            )
        )
    if size is not None:
        # NumPy's integers may ignore a size that the bounds do not fit; ValueError here.
        for bound in (first, last):
            np.broadcast_to(bound, size)
    if isinstance(random_state, np.random.Generator):
        return random_state.integers(low, high, size=size, endpoint=True)
    if first.ndim == 0 and last.ndim == 0:
        # Python ints, since the largest int64 has no successor.
        return random_state.randint(int(first), int(last) + 1, size=size, dtype=np.int64)
    return random_state.randint(first.astype("int64"), last.astype("int64") + 1, size=size, dtype=np.int64)


def permutation_helper(random_state: Any, n: Array, size: Shape) -> Any:
    """Draw permutations of the integers from 0 up to, and without, `n`: one for each position in `size`.

    Returns
    -------
    ndarray of int64
        Of shape ``(*size, n)``.

    Raises
    ------
    ValueError
        If `n` is negative.
    """
    length = int(n)
    if length < 0:
        raise ValueError(
            format_error(
                f"permutation: n={length} is negative", hint="n is the number of integers to permute, from 0 up"
            )
        )
    shape = size or ()
    permutations = np.empty((*shape, length), dtype="int64")
    for index in np.ndindex(*shape):
        permutations[index] = random_state.permutation(length)
    return permutations


def multinomial_helper(random_state: Any, n: Array, pvals: Array, size: Shape) -> Any:
    """Draw counts of categories in `n` trials; `n` and the leading dimensions of `pvals` broadcast to `size`.

    Parameters
    ----------
    random_state : numpy.random.RandomState or numpy.random.Generator
    n : int or ndarray of int
    pvals : ndarray of float
        Probabilities of the categories along the last dimension.
    size : tuple of int, or None

    Returns
    -------
    ndarray of int64
        Of shape ``(*size, k)`` for k categories.

    Raises
    ------
    ValueError
        If probabilities are negative or add up to more than 1.
    """
    trials, chances = np.asarray(n), _chances(pvals)
    if trials.ndim == 0 and chances.ndim == 1:
        return random_state.multinomial(int(trials), chances, size=size)
    shape = np.broadcast_shapes(trials.shape, chances.shape[:-1]) if size is None else size
    trials = np.broadcast_to(trials, shape)
    chances = np.broadcast_to(chances, (*shape, chances.shape[-1]))
    counts = np.empty(chances.shape, dtype="int64")
    for index in np.ndindex(*shape):
        counts[index] = random_state.multinomial(int(trials[index]), chances[index])
    return counts


def _chances(pvals: Array) -> Any:
    """Return probabilities as float64, without the excess over 1 that rounding explains."""
    chances = np.asarray(pvals, dtype="float64")
    total = chances.sum(axis=-1, keepdims=True)
    return np.where((total > 1) & (total < 1 + _SLACK), chances / np.where(total > 0, total, 1), chances)


def choice_helper(random_state: Any, a: Array, replace: Array, *rest: Array) -> Any:
    """Draw from the integers below `a`, or from a vector; `rest` holds the probabilities, if any, and the size."""
    *chances, size = rest
    pool = np.asarray(a)
    if pool.ndim == 0:
        pool = int(pool)  # type: ignore[assignment]  # NumPy takes either
    p = None
    if chances and np.size(chances[0]):
        p = np.asarray(chances[0], dtype="float64")
        total = p.sum()
        p = p / total if 0 < abs(total - 1) < _SLACK else p
    return random_state.choice(pool, size=size, replace=bool(replace), p=p)


def _length_of_permutation(node: Apply, input_shapes: Sequence[Any]) -> Any:
    return node.inputs[2]


def _number_of_categories(node: Apply, input_shapes: Sequence[Any]) -> Any:
    return shape_i(node.inputs[3], node.inputs[3].type.ndim - 1)


ADDED_LENGTHS[permutation_helper] = _length_of_permutation
ADDED_LENGTHS[multinomial_helper] = _number_of_categories
