"""Arguments that may be overwritten, and sharers of their memory or state; `c/machine/donation.c` is its twin."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np

_PARTS = ("data", "indices", "indptr")


def own_value(value: Any, others: Iterable[Any]) -> Any:
    """Return a value that may be overwritten: itself, or a copy if one of the others would see it."""
    if not any(_shares(value, other) for other in others):
        return value
    return value.copy(order="K") if isinstance(value, np.ndarray) else copy.deepcopy(value)


def _arrays(value: Any) -> list[Any]:
    """List the arrays that a value holds: itself, those in a list, or those of a sparse matrix."""
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, list):
        return [array for item in value for array in _arrays(item)]
    parts = (getattr(value, name, None) for name in _PARTS)
    return [part for part in parts if isinstance(part, np.ndarray)]


def _shares(value: Any, other: Any) -> bool:
    if value is None or isinstance(value, (np.generic, int, float, complex)):
        return False
    if value is other:
        return True
    mine = _arrays(value)
    if mine:
        theirs = _arrays(other)
        return any(np.may_share_memory(x, y) for x in mine for y in theirs)
    source = getattr(value, "_bit_generator", None)
    return source is not None and source is getattr(other, "_bit_generator", None)
