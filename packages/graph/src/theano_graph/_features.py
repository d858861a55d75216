"""Features: extensions of a function graph that are told of its changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ._errors import AlreadyThere, InconsistencyError
from ._nodes import Apply, Variable

if TYPE_CHECKING:
    from ._fgraph import FunctionGraph

MethodT = TypeVar("MethodT", bound=Callable[..., Any])


def _default(method: MethodT) -> MethodT:
    """Mark a callback that does nothing, so that a graph need not call it."""
    method.__is_default__ = True  # type: ignore[attr-defined]
    return method


class Feature:
    """Base of features; override the callbacks of interest."""

    @_default
    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Called when the feature is attached, with the graph as it is; may raise :class:`AlreadyThere` to cancel."""

    @_default
    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Called after the feature was removed."""

    @_default
    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Called after `node` came into the graph; not for the nodes that are there at attachment."""

    @_default
    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Called after `node` left the graph."""

    @_default
    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object,
    ) -> None:
        """Called after input `i` of `node`, or output `i` of the graph, changed from `old` to `new`."""

    @_default
    def orderings(self, fgraph: FunctionGraph) -> Mapping[Apply, Sequence[Apply]]:
        """Return, for some nodes, which nodes must come before them."""
        return {}


class Bookkeeper(Feature):
    """A feature that treats the nodes present at attachment like imported ones, and at removal like pruned ones."""

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Call `on_import` for each node."""
        for node in fgraph.toposort():
            self.on_import(fgraph, node, "on_attach")

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Call `on_prune` for each node."""
        for node in fgraph.toposort():
            self.on_prune(fgraph, node, "on_detach")


class History(Feature):
    """Remembers the replacements in a graph so that they can be undone.

    Examples
    --------
    ``mark = history.checkpoint(fgraph)``; after some replacements, ``history.revert(fgraph, mark)`` restores the graph.
    """

    def __init__(self) -> None:
        self._changes: list[tuple[Apply | Literal["output"], int, Variable]] = []
        self._reverting = False

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Refuse a second history."""
        if any(isinstance(f, History) for f in fgraph.features):
            raise AlreadyThere("a History is attached already")

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object,
    ) -> None:
        """Remember the old input."""
        if not self._reverting:
            self._changes.append((node, i, old))

    def checkpoint(self, fgraph: FunctionGraph) -> int:
        """Return a mark for :meth:`revert`."""
        return len(self._changes)

    def revert(self, fgraph: FunctionGraph, mark: int) -> None:
        """Undo all changes since `mark`, the last one first."""
        self._reverting = True
        try:
            while len(self._changes) > mark:
                node, i, old = self._changes.pop()
                current = fgraph.outputs[i] if isinstance(node, str) else node.inputs[i]
                if current is not old and (isinstance(node, str) or node in fgraph.apply_nodes):
                    fgraph.change_input(node, i, old, reason="revert")
        finally:
            self._reverting = False


class ReplaceValidate(History):
    """Replacement with validation: changes that another feature refuses are undone.

    A feature refuses through a method ``validate(fgraph)`` that raises :class:`InconsistencyError`.
    """

    def validate_all(self, fgraph: FunctionGraph) -> None:
        """Let every feature with a `validate` method check the graph."""
        for feature in fgraph.features:
            check = getattr(feature, "validate", None)
            if check is not None:
                check(fgraph)

    def replace_all_validate(
        self, fgraph: FunctionGraph, pairs: Iterable[tuple[Variable, Variable]], reason: object = None
    ) -> None:
        """Make all replacements, or none.

        Raises
        ------
        InconsistencyError
            If a feature refuses the result; the graph is as before.
        """
        mark = self.checkpoint(fgraph)
        try:
            fgraph.replace_all(pairs, reason)
            self.validate_all(fgraph)
        except (InconsistencyError, TypeError, ValueError):
            self.revert(fgraph, mark)
            raise


class NodeFinder(Bookkeeper):
    """Finds the nodes of an op without a walk."""

    def __init__(self) -> None:
        self._nodes: dict[Any, dict[Apply, None]] = {}

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Add the node to those of its op."""
        self._nodes.setdefault(node.op, {})[node] = None

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Forget the node."""
        nodes = self._nodes[node.op]
        del nodes[node]
        if not nodes:
            del self._nodes[node.op]

    def nodes_of(self, op: Any) -> list[Apply]:
        """Return the nodes with an op equal to `op`, in order of arrival."""
        return list(self._nodes.get(op, ()))
