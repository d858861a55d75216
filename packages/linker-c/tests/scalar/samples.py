"""Sample values for the tests of scalar ops, and how far results may be apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano_graph import pullback, pushforward
from theano_linker_c.scalar import ScalarRecord

SPECIAL = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    float("inf"),
    float("-inf"),
    float("nan"),
    1e-30,
    -40.0,
    40.0,
)


def samples(record: ScalarRecord, dtype: str, seed: int = 0, size: int = 67) -> list[np.ndarray[Any, Any]]:
    """Give one array for each input of the record's op: special values in all pairs, then random ones."""
    rng = np.random.default_rng(seed)
    columns = []
    for position in range(record.nin):
        special = _special(dtype)
        count = len(special)
        # The first input runs slowly through the special values, the others fast: all pairs meet.
        grid = np.repeat(special, count) if position == 0 else np.tile(special, count)
        columns.append(np.concatenate([grid, _random(record, dtype, rng, size)]).astype(dtype))
    return columns


def _special(dtype: str) -> np.ndarray[Any, Any]:
    if dtype == "bool":
        return np.array([False, True])
    if dtype.startswith("float"):
        return np.array(SPECIAL, dtype=dtype)
    info = np.iinfo(dtype)
    return np.array(sorted({info.min, max(info.min, -2), max(info.min, -1), 0, 1, 2, 7, info.max}), dtype=dtype)


def _random(record: ScalarRecord, dtype: str, rng: np.random.Generator, size: int) -> np.ndarray[Any, Any]:
    if dtype == "bool":
        return rng.integers(0, 2, size).astype(bool)
    if dtype.startswith("float"):
        return rng.uniform(record.low, record.high, size).astype(dtype)
    return rng.integers(0 if dtype.startswith("u") else -9, 10, size).astype(dtype)


def largest_error(actual: Any, expected: Any) -> float:
    """Give the largest difference in units in the last place; inf where NaN, infinities or integers disagree."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if not np.issubdtype(actual.dtype, np.floating):
        return 0.0 if np.array_equal(actual, expected) else float("inf")
    expected = expected.astype(actual.dtype)
    odd = ~np.isfinite(actual) | ~np.isfinite(expected)
    if not np.array_equal(actual[odd], expected[odd], equal_nan=True):
        return float("inf")
    a, e = actual[~odd], expected[~odd]
    # Below the normal numbers a unit is that of the smallest normal one: flushing a subnormal is no error.
    unit = np.maximum(np.spacing(np.abs(e)), np.finfo(actual.dtype).tiny)
    with np.errstate(over="ignore"):
        return float(np.max(np.abs(a - e) / unit, initial=0.0))


def pull(node: Any, seeds: list[Any]) -> list[Any]:
    """Apply the pullback rule of the node's op."""
    return list(pullback.lookup(node.op)(node, seeds))


def push(node: Any, tangents: list[Any]) -> list[Any]:
    """Apply the pushforward rule of the node's op."""
    return list(pushforward.lookup(node.op)(node, tangents))
