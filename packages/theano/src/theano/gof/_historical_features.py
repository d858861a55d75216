"""Features that programs for Theano 1.0 find in `theano.gof`, and that nothing here needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theano_graph import Apply, Feature, FunctionGraph, Variable


class PreserveVariableAttributes(Feature):
    """Gives a replacement the name and the NanGuardMode mark of its original; graphs do that by themselves."""

    __module__ = "theano.gof.toolbox"

    def on_change_input(
        self, fgraph: FunctionGraph, node: Any, i: int, old: Variable, new: Variable, reason: object = None
    ) -> None:
        """Hand over the name, and the mark."""
        if old.name is not None and new.name is None:
            new.name = old.name
        if getattr(old.tag, "nan_guard_mode_check", False) and not getattr(new.tag, "nan_guard_mode_check", False):
            new.tag.nan_guard_mode_check = old.tag.nan_guard_mode_check


class PreserveNames(Feature):
    """Gives a replacement the name of its original; graphs do that by themselves."""

    __module__ = "theano.gof.toolbox"

    def on_change_input(
        self, fgraph: FunctionGraph, node: Any, i: int, old: Variable, new: Variable, reason: object = None
    ) -> None:
        """Hand over the name."""
        if old.name is not None and new.name is None:
            new.name = old.name


class ChangeTracker(Feature):
    """Remembers whether a graph has changed, and counts the nodes that came into it.

    The graph has it as its attribute `change_tracker`.

    Attributes
    ----------
    changed : bool
        Whether anything has changed since the last :meth:`reset`.
    nb_imported : int
    """

    __module__ = "theano.gof.opt"

    def __init__(self) -> None:
        self.changed = False
        self.nb_imported = 0

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Count a node."""
        self.nb_imported += 1
        self.changed = True

    def on_change_input(
        self, fgraph: FunctionGraph, node: Any, i: int, old: Variable, new: Variable, reason: object = None
    ) -> None:
        """Remember a change."""
        self.changed = True

    def reset(self) -> None:
        """Forget that there were changes."""
        self.changed = False

    def on_attach(self, fgraph: Any) -> None:
        """Let the graph know its tracker."""
        fgraph.change_tracker = self

    def on_detach(self, fgraph: Any) -> None:
        """Take the tracker from the graph."""
        del fgraph.change_tracker


class Updater(Feature):
    """Calls functions at changes of a graph.

    Parameters
    ----------
    importer, pruner : callable or None
        Called with a node that came in, or left.
    chin : callable or None
        Called with a node, the number of its input that changed, the old and new variable, and the reason.
    name : str, optional
    """

    __module__ = "theano.gof.opt"

    def __init__(
        self,
        importer: Callable[[Apply], Any] | None,
        pruner: Callable[[Apply], Any] | None,
        chin: Callable[..., Any] | None,
        name: str | None = None,
    ) -> None:
        self.importer = importer
        self.pruner = pruner
        self.chin = chin
        self.name = name

    def __str__(self) -> str:
        return f"Updater{{{self.name}}}"

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Tell of a node that came in."""
        if self.importer is not None:
            self.importer(node)

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Tell of a node that left."""
        if self.pruner is not None:
            self.pruner(node)

    def on_change_input(
        self, fgraph: FunctionGraph, node: Any, i: int, old: Variable, new: Variable, reason: object = None
    ) -> None:
        """Tell of an input that changed."""
        if self.chin is not None:
            self.chin(node, i, old, new, reason)

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Forget the functions."""
        self.importer = self.pruner = self.chin = None
