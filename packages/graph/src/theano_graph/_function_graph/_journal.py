"""What a change of a function graph has done so far, so that it can be undone when it fails or is interrupted.

A step is noted before it is taken, and a feature before it is told of the step: an interrupt may come at any time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from .._expression._nodes import Apply, Variable
from .._record import record

if TYPE_CHECKING:
    from ._feature_protocol import FeatureProtocol


@record
class Undo:
    """The reason that callbacks are given when a failed change is taken back.

    A feature that was told of a part of the change is told of its reversal in the same words: of an import by
    `on_prune`, of a removal by `on_import`, of a changed input by another change.

    Attributes
    ----------
    reason : object
        The reason of the change that failed.
    """

    reason: object

    def __str__(self) -> str:
        return f"undo of {self.reason}"


@record(frozen=False)
class LeafImported:
    """A variable without an owner came into the graph."""

    leaf: Variable


@record(frozen=False)
class Imported:
    """A node came into the graph, and some variables without an owner with it."""

    node: Apply
    leaves: list[Variable]
    membership: Any
    told: list[FeatureProtocol]


@record(frozen=False)
class Moved:
    """A client of `old` became one of `new`; it was one of `old` since the moment `since`."""

    user: Apply | Literal["output"]
    index: int
    old: Variable
    new: Variable
    since: int
    told: list[FeatureProtocol]


@record(frozen=False)
class LeafPruned:
    """A variable without an owner left the graph, and what was known of its uses."""

    leaf: Variable
    uses: Any


@record(frozen=False)
class Pruned:
    """A node left the graph; its place is kept."""

    node: Apply
    client_since: list[int]
    told: list[FeatureProtocol]


Step = LeafImported | Imported | Moved | LeafPruned | Pruned
