"""What function graphs ask of the features that are attached to them, told without graphs and nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol


class FeatureProtocol(Protocol):
    """The callbacks of a feature; :class:`theano_graph.Feature` says what each is told."""

    provides: ClassVar[Mapping[str, str]]

    def clone(self) -> Any:
        """Return the feature that a copy of the graph gets."""

    def on_attach(self, fgraph: Any) -> None:
        """Called when the feature is attached."""

    def on_detach(self, fgraph: Any) -> None:
        """Called after the feature was removed."""

    def on_import(self, fgraph: Any, node: Any, reason: object) -> None:
        """Called after `node` came into the graph."""

    def on_prune(self, fgraph: Any, node: Any, reason: object) -> None:
        """Called after `node` left the graph."""

    def on_change_input(self, fgraph: Any, node: Any, i: int, old: Any, new: Any, reason: object = None) -> None:
        """Called after an input of `node`, or an output of the graph, changed."""

    def orderings(self, fgraph: Any) -> Mapping[Any, Any]:
        """Return, for some nodes, which nodes must come before them."""
