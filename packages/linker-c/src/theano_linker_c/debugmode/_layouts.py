"""Memory of many kinds for the results of ops."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Buffers = list[Any]

#: The kinds that can be asked for.
LAYOUTS = ("initial", "previous", "c_contiguous", "f_contiguous", "strided", "wrong_size")
#: The fill of memory before an op writes there; an op that reads it gets wrong results.
FILL = -1234567.0
#: Steps between the elements of 'strided' memory, in elements.
STEPS = (-2, -1, 1, 2)
#: How many combinations of steps are tried at most.
MOST_COMBINATIONS = 64


def chosen_layouts(text: str) -> list[str]:
    """Return the kinds that the flag `DebugMode.check_preallocated_output` names."""
    names = [name for name in text.split(":") if name]
    return list(LAYOUTS) if "ALL" in names else names


def buffers_for(layout: str, results: Sequence[Any], ndim: int) -> Iterator[tuple[str, Buffers]]:
    """Yield memory of a kind, with a name for it: for each result something to put it into, None where there is none.

    Parameters
    ----------
    layout : str
        One of "c_contiguous", "f_contiguous", "strided" and "wrong_size".
    results : sequence
        The values to put there.
    ndim : int
        For 'strided', how many of the innermost axes take all combinations.
    """
    if not any(isinstance(value, np.ndarray) for value in results):
        return
    if layout == "c_contiguous":
        yield layout, [_new(value, value.shape, "C") if _fits(value) else None for value in results]
    elif layout == "f_contiguous":
        if any(_fits(value) and value.ndim > 1 for value in results):
            yield layout, [_new(value, value.shape, "F") if _fits(value) else None for value in results]
    elif layout == "strided":
        yield from _strided(results, ndim)
    elif layout == "wrong_size":
        yield from _wrong_size(results)


def _fits(value: Any) -> bool:
    return type(value) is np.ndarray and not value.dtype.hasobject


def _new(like: Any, shape: Sequence[int], order: Any) -> Any:
    buffer = np.empty(shape, like.dtype, order)
    with np.errstate(all="ignore"):
        buffer[...] = np.asarray(FILL).astype(like.dtype)
    return buffer


def _strided(results: Sequence[Any], ndim: int) -> Iterator[tuple[str, Buffers]]:
    most = min(max((value.ndim for value in results if _fits(value)), default=0), ndim)
    combinations = [steps for steps in itertools.product(STEPS, repeat=most) if any(step != 1 for step in steps)]
    for steps in combinations[:MOST_COMBINATIONS]:
        yield f"strided{steps}", [_with_steps(value, steps) if _fits(value) else None for value in results]


def _with_steps(value: Any, steps: Sequence[int]) -> Any:
    inner = steps[len(steps) - min(value.ndim, len(steps)) :]
    all_steps = (1,) * (value.ndim - len(inner)) + tuple(inner)
    base = _new(value, [n * abs(step) for n, step in zip(value.shape, all_steps, strict=True)], "C")
    return base[tuple(slice(None, None, step) for step in all_steps)]


def _wrong_size(results: Sequence[Any]) -> Iterator[tuple[str, Buffers]]:
    most = max((value.ndim for value in results if _fits(value)), default=0)
    for changes in itertools.product((-1, 0, 1), repeat=min(most, 4)):
        if any(changes):
            yield f"wrong_size{changes}", [_of_size(value, changes) if _fits(value) else None for value in results]


def _of_size(value: Any, changes: Sequence[int]) -> Any:
    inner = changes[len(changes) - min(value.ndim, len(changes)) :]
    added = (0,) * (value.ndim - len(inner)) + tuple(inner)
    return _new(value, [max(0, n + more) for n, more in zip(value.shape, added, strict=True)], "C")
