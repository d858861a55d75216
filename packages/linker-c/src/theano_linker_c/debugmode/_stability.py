"""Whether rewriting does the same each time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from theano_graph import FunctionGraph, format_error

from ._errors import StochasticOrder
from ._tracker import EventLog

SHOWN = 3


def check_stability(fgraph: FunctionGraph, rewrite: Callable[[FunctionGraph], Any], patience: int) -> None:
    """Rewrite copies of a graph and compare the events.

    Parameters
    ----------
    fgraph : FunctionGraph
        Left as it is.
    rewrite : callable
    patience : int
        How many copies are rewritten.

    Raises
    ------
    StochasticOrder
        If something else happened in one of them; the text shows the first difference.
    """
    first: list[tuple[Any, ...]] | None = None
    for attempt in range(patience):
        copy = fgraph.clone()
        log = EventLog()
        copy.attach_feature(log)
        rewrite(copy)
        if first is None:
            first = log.events
        elif log.events != first:
            raise StochasticOrder(_text(first, log.events, attempt))


def _text(first: Sequence[tuple[Any, ...]], other: Sequence[tuple[Any, ...]], attempt: int) -> str:
    pairs = zip(first, other, strict=False)
    same = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(first), len(other)))
    return format_error(
        "rewriting the same graph again did not do the same in the same order",
        context=[
            f"the first {same} events are equal; {len(first)} events in attempt 0, {len(other)} in attempt {attempt}",
            *(f"attempt 0, event {same + k}: {event}" for k, event in enumerate(first[same : same + SHOWN])),
            *(f"attempt {attempt}, event {same + k}: {event}" for k, event in enumerate(other[same : same + SHOWN])),
        ],
        hint="let no rewrite depend on the order of a set, on id() or on chance.",
    )
