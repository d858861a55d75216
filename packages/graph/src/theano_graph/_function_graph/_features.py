"""Features: extensions of a function graph whose callbacks run at its changes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TextIO, TypeVar

from .._errors import AlreadyThere, GraphError, InconsistencyError, ReplacementKeptError, format_error, warn_user
from .._expression._nodes import Apply, Variable, describe
from ._clients import Undo

if TYPE_CHECKING:
    from ._fgraph import FunctionGraph

MethodT = TypeVar("MethodT", bound=Callable[..., Any])


def _default(method: MethodT) -> MethodT:
    """Mark a callback that does nothing, so that a graph need not call it."""
    method.__is_default__ = True  # type: ignore[attr-defined]
    return method


class Feature:
    """Base of features; override the callbacks of interest.

    A feature may lend methods to the graph: `provides` maps the name of a method of the graph to that of a method of
    the feature, which gets the graph as its first argument. ``fgraph.checkpoint()`` works while a :class:`History` is
    attached.
    """

    #: Name on the graph -> name of the feature's method.
    provides: ClassVar[Mapping[str, str]] = {}
    #: Whether it only remembers facts that it could find out again: a graph that is kept on disk goes without it.
    only_remembers: ClassVar[bool] = False

    def clone(self) -> Feature:
        """Return the feature that a copy of the graph gets: this one; features that remember nodes give a fresh one."""
        return self

    @_default
    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Called when the feature is attached, with the graph as it is; may raise :class:`AlreadyThere` to cancel."""

    @_default
    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Called after the feature was removed; it should take away its additions to the graph."""

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
        reason: object = None,
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
    The graph offers the same: ``fgraph.checkpoint()``, ``fgraph.revert(mark)``.
    """

    provides = {"checkpoint": "checkpoint", "revert": "revert"}

    def __init__(self) -> None:
        self._changes: list[tuple[Apply | Literal["output"], int, Variable]] = []
        self._reverting = False

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Refuse a second history."""
        if any(isinstance(f, type(self)) for f in fgraph.features):
            raise AlreadyThere(f"a {type(self).__name__} is attached already")

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object = None,
    ) -> None:
        """Remember the old input."""
        if self._reverting:
            return
        if not isinstance(reason, Undo):
            self._changes.append((node, i, old))
        elif self._changes:
            self._changes.pop()

    def clone(self) -> Feature:
        """Return a history without a past."""
        return type(self)()

    def checkpoint(self, fgraph: FunctionGraph | None = None) -> int:
        """Return a mark for :meth:`revert`."""
        return len(self._changes)

    def revert(self, fgraph: FunctionGraph, checkpoint: int) -> None:
        """Undo all changes since `checkpoint`, the last one first.

        Raises
        ------
        GraphError
            If `checkpoint` is no mark, or one of a moment that has been undone.
        """
        if not isinstance(checkpoint, int) or not 0 <= checkpoint <= len(self._changes):
            raise GraphError(
                format_error(
                    f"{checkpoint!r} marks no moment of the {len(self._changes)} changes that are remembered",
                    hint="pass the result of `checkpoint`; marks of later moments end when an earlier one is restored",
                )
            )
        self._reverting = True
        try:
            while len(self._changes) > checkpoint:
                node, i, old = self._changes[-1]
                current = fgraph.outputs[i] if isinstance(node, str) else node.inputs[i]
                if current is not old and (isinstance(node, str) or node in fgraph.apply_nodes):
                    fgraph.change_input(node, i, old, reason="revert")
                self._changes.pop()
        finally:
            self._reverting = False


class Validator(Feature):
    """Lets the features of a graph check it: ``fgraph.validate()`` and ``fgraph.consistent()``.

    A feature refuses a graph through a method ``validate(fgraph)`` that raises :class:`InconsistencyError`.
    """

    provides = {"validate": "validate_all", "consistent": "is_consistent"}

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Refuse a second validator."""
        if any(isinstance(f, type(self)) for f in fgraph.features):
            raise AlreadyThere(f"a {type(self).__name__} is attached already")

    def validate_all(self, fgraph: FunctionGraph) -> None:
        """Let every feature with a `validate` method check the graph.

        Raises
        ------
        InconsistencyError
            From the first feature that refuses it.
        """
        start = perf_counter()
        try:
            for feature in fgraph.features:
                check = getattr(feature, "validate", None)
                if check is not None:
                    check(fgraph)
        finally:
            seconds = fgraph.callback_seconds
            if seconds is not None:
                seconds["validate"] = seconds.get("validate", 0.0) + perf_counter() - start

    def is_consistent(self, fgraph: FunctionGraph) -> bool:
        """Tell whether no feature refuses the graph."""
        try:
            self.validate_all(fgraph)
        except InconsistencyError:
            return False
        return True


class ReplaceValidate(History, Validator):
    """Replacement with validation: changes that another feature refuses are undone.

    The graph offers ``fgraph.replace_validate(old, new, reason)``, ``fgraph.replace_all_validate(pairs, reason)`` and
    ``fgraph.replace_all_validate_remove(pairs, remove, reason)``, and the features :class:`History` and
    :class:`Validator`.
    """

    provides = {
        **History.provides,
        **Validator.provides,
        "replace_validate": "replace_validate",
        "replace_all_validate": "replace_all_validate",
        "replace_all_validate_remove": "replace_all_validate_remove",
    }

    def replace_validate(self, fgraph: FunctionGraph, var: Variable, new_var: Variable, reason: object = None) -> None:
        """Replace `var` by `new_var`, unless a feature refuses the result; see :meth:`replace_all_validate`."""
        self.replace_all_validate(fgraph, [(var, new_var)], reason)

    def replace_all_validate_remove(
        self,
        fgraph: FunctionGraph,
        pairs: Iterable[tuple[Variable, Variable]],
        remove: Iterable[Apply],
        reason: object = None,
        warn: bool = True,
    ) -> None:
        """Make all replacements, or none if one of the nodes in `remove` is still there afterwards.

        Parameters
        ----------
        fgraph : FunctionGraph
        pairs : iterable of pairs of Variable
        remove : iterable of Apply
            The nodes that the replacements should make unnecessary.
        reason : object, optional
        warn : bool
            Whether to warn as well.

        Raises
        ------
        ReplacementKeptError
            If a node is still there; the graph is as before.
        InconsistencyError
            If a feature refuses the result; the graph is as before.
        """
        mark = self.checkpoint(fgraph)
        self.replace_all_validate(fgraph, pairs, reason)
        selection = [node for node in remove if node in fgraph.apply_nodes]
        if not selection:
            return
        self.revert(fgraph, mark)
        text = format_error(
            f"a replacement{'' if reason is None else f' by {reason}'} did not remove {selection[0].op}",
            context=[describe(selection[0].outputs[0])],
            hint="replace every variable that still uses it",
        )
        if warn:
            warn_user(text)
        raise ReplacementKeptError(text)

    def replace_all_validate(
        self, fgraph: FunctionGraph, pairs: Iterable[tuple[Variable, Variable]], reason: object = None
    ) -> None:
        """Make all replacements, or none.

        Raises
        ------
        InconsistencyError
            If a feature refuses the result.
        Exception
            Any error of one of the replacements or of a feature. In each case the graph is as before.
        """
        mark = self.checkpoint(fgraph)
        try:
            fgraph.replace_all(pairs, reason)
            self.validate_all(fgraph)
        except Exception:
            self.revert(fgraph, mark)
            raise
        except BaseException as interrupt:
            try:
                self.revert(fgraph, mark)
            except Exception as error:  # noqa: BLE001  # nothing hides the interrupt
                interrupt.add_note(f"the replacements could not be undone: {error}")
            raise


class NodeFinder(Bookkeeper):
    """Finds the nodes of an op without a walk; the graph offers ``fgraph.get_nodes(op)``."""

    provides = {"get_nodes": "get_nodes"}

    def __init__(self) -> None:
        self._nodes: dict[Any, dict[Apply, None]] = {}

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Look at the nodes that are there; refuse a second finder."""
        if any(isinstance(f, type(self)) for f in fgraph.features):
            raise AlreadyThere(f"a {type(self).__name__} is attached already")
        super().on_attach(fgraph)

    def clone(self) -> Feature:
        """Return a finder that knows no nodes yet."""
        return type(self)()

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

    def get_nodes(self, fgraph: FunctionGraph, op: Any) -> list[Apply]:
        """Return the nodes of `fgraph` with an op equal to `op`."""
        return self.nodes_of(op)


class PrintListener(Feature):
    """Writes a line about each change of a graph.

    Parameters
    ----------
    active : bool
        Whether to write; may be set later.
    file : text file, optional
        The standard output by default.
    """

    def __init__(self, active: bool = True, file: TextIO | None = None) -> None:
        self.active = active
        self.file = file

    def _write(self, text: str) -> None:
        if self.active:
            (sys.stdout if self.file is None else self.file).write(f"-- {text}\n")

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Tell of the graph."""
        self._write(f"attaching to: {fgraph}")

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Tell of the graph."""
        self._write(f"detaching from: {fgraph}")

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Tell of the node and the reason."""
        self._write(f"importing: {node}, reason: {reason}")

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Tell of the node and the reason."""
        self._write(f"pruning: {node}, reason: {reason}")

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object = None,
    ) -> None:
        """Report the change."""
        user = "the graph, output" if isinstance(node, str) else f"{node.op}, input"
        self._write(f"changing: {user} {i} from {old} to {new}, reason: {reason}")


class NoOutputFromInplace(Feature):
    """Refuses graphs in which some outputs are made by overwriting an operand.

    Parameters
    ----------
    first_output_idx, last_output_idx : int
        The outputs concerned, as in a slice; all by default.
    """

    def __init__(self, first_output_idx: int = 0, last_output_idx: int | None = None) -> None:
        self.first_output_idx = first_output_idx
        self.last_output_idx = last_output_idx

    def validate(self, fgraph: FunctionGraph) -> None:
        """Check the graph.

        Raises
        ------
        InconsistencyError
            Naming the first output that is made in place.
        """
        for output in fgraph.outputs[self.first_output_idx : self.last_output_idx]:
            if output.owner is not None and output.owner.op.destroy_map.get(output.index):
                raise InconsistencyError(
                    format_error(
                        f"{output.owner.op} would make an output of the graph by overwriting its operand",
                        context=[describe(output)],
                        hint="use the form of the op that does not work in place",
                    )
                )
