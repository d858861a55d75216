"""What function graphs ask of the features that are attached to them, told without graphs and nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class FeatureProtocol(Protocol):
    """An object with some of the callbacks of :class:`theano_graph.Feature`, which says what each is told.

    These three stand for all: a graph looks each of the others up by its name, and calls those that are there.
    """

    @property
    def on_attach(self) -> Callable[..., Any]:
        """Called with the graph when the feature is attached."""

    @property
    def on_detach(self) -> Callable[..., Any]:
        """Called with the graph after the feature was removed."""

    @property
    def orderings(self) -> Callable[..., Any]:
        """Called with the graph for the nodes that must come before others."""
