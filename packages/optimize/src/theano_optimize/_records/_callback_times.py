"""Measuring what the features of a graph take, without a cost where nobody asks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

from theano_graph import Feature, FunctionGraph

from ._profile import RewriteDetails

#: Callbacks of features, and the measurement that their time counts for.
_MEASURED = {
    "on_import": "callback_seconds",
    "on_prune": "callback_seconds",
    "on_change_input": "callback_seconds",
    "validate": "validate_seconds",
}


class _Reindex(Feature):
    """Attached and removed to make a graph look up the callbacks of its features anew."""


@contextlib.contextmanager
def timed_callbacks(fgraph: FunctionGraph, details: RewriteDetails) -> Iterator[None]:
    """Add what the features that `fgraph` has now take in callbacks and checks meanwhile to `details`."""
    replaced: list[tuple[Any, str, Any]] = []
    for feature in fgraph.features:
        own = getattr(feature, "__dict__", None)
        for name, measurement in _MEASURED.items():
            callback = getattr(feature, name, None)
            if own is not None and callback is not None and not getattr(callback, "__is_default__", False):
                replaced.append((feature, name, own.get(name)))
                own[name] = _timed(callback, details, measurement)
    _look_up_again(fgraph)
    try:
        yield
    finally:
        for feature, name, before in replaced:
            if before is None:
                del vars(feature)[name]
            else:
                vars(feature)[name] = before
        _look_up_again(fgraph)


def _look_up_again(fgraph: FunctionGraph) -> None:
    marker = _Reindex()
    fgraph.attach_feature(marker)
    fgraph.remove_feature(marker)


def _timed(callback: Callable[..., Any], details: RewriteDetails, measurement: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        start = perf_counter()
        try:
            return callback(*args, **kwargs)
        finally:
            setattr(details, measurement, getattr(details, measurement) + perf_counter() - start)

    return call
