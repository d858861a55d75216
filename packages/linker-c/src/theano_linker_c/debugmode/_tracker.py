"""A record of rewriting: replaced variables, and the order of events."""

from __future__ import annotations

from typing import Any, Literal

from theano_graph import Apply, Constant, Feature, FunctionGraph, Variable, record
from theano_optimize import Exactness, RewriteInfo

from ._errors import name_of, snapshot


@record
class Replacement:
    """One variable that took the place of another.

    Attributes
    ----------
    old, new : Variable
    reason : str
        Name of the rewrite.
    before, after : str
        Their expressions at that time.
    stabilizes : bool
        Whether the rewrite says that it makes values more accurate.
    """

    old: Variable
    new: Variable
    reason: str
    before: str
    after: str
    stabilizes: bool


class ReplacementTracker(Feature):
    """Keeps all variables that a graph ever had, and which replaced which.

    Attributes
    ----------
    replacements : list of Replacement
        In the order in which they happened.
    variables : dict of Variable to None
        All variables ever, as keys.
    unrewritten : FunctionGraph or None
        The graph before rewriting, as a copy; None where no rewrite has made it more stable.
    """

    def __init__(self) -> None:
        self.unrewritten: FunctionGraph | None = None
        self.replacements: list[Replacement] = []
        self.variables: dict[Variable, None] = {}
        self._seen: set[tuple[Variable, Variable]] = set()
        self._texts: dict[Variable, str] = {}

    def clone(self) -> ReplacementTracker:
        """Return a tracker for a copy of the graph, which knows of nothing."""
        return ReplacementTracker()

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Note the variables that are there."""
        self.variables.update(dict.fromkeys(fgraph.outputs))
        for node in fgraph.toposort():
            self._note(node)

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Note the variables of a node."""
        self._note(node)

    def _note(self, node: Apply) -> None:
        self.variables.update(dict.fromkeys((*node.inputs, *node.outputs)))
        # The expressions as they are now: parts of a rewrite's match may have changed when it is asked for it.
        self._texts.update((v, snapshot(v)) for v in node.outputs)

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object = None,
    ) -> None:
        """Note a replacement."""
        self.variables.update({old: None, new: None})
        if (old, new) not in self._seen:
            self._seen.add((old, new))
            before = self._texts.get(old) or snapshot(old)
            info = getattr(reason, "info", None)
            stabilizes = isinstance(info, RewriteInfo) and info.exactness is Exactness.STABILIZING
            # Rewrites themselves are no part of pickles.
            self.replacements.append(Replacement(old, new, name_of(reason), before, snapshot(new), stabilizes))


class EventLog(Feature):
    """Records the events of a graph without naming any object, so that two graphs can be compared.

    Variables are numbered in the order in which they come up.

    Attributes
    ----------
    events : list of tuple
    """

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self._numbers: dict[Variable, int] = {}

    def _number(self, variable: Variable) -> Any:
        if isinstance(variable, Constant):
            return "constant", str(variable.type), str(variable)
        return self._numbers.setdefault(variable, len(self._numbers))

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Number the present nodes."""
        for variable in fgraph.inputs:
            self._number(variable)
        for node in fgraph.toposort():
            for variable in (*node.inputs, *node.outputs):
                self._number(variable)

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Write down a node."""
        inputs = tuple(self._number(v) for v in node.inputs)
        outputs = tuple(self._number(v) for v in node.outputs)
        self.events.append(("import", str(node.op), inputs, outputs, name_of(reason)))

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object = None,
    ) -> None:
        """Write down a replacement."""
        user = "output" if isinstance(node, str) else tuple(self._number(v) for v in node.outputs)
        self.events.append(("change", user, i, self._number(old), self._number(new), name_of(reason)))
