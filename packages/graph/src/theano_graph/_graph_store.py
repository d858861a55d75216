"""What a function graph holds, and the steps of which changes consist, each of which can be taken back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakSet

from ._feature_host import FeatureHost
from ._journal import Imported, LeafImported, LeafPruned, Moved, Pruned, Step, Undo
from ._membership import Membership
from ._nodes import Apply, Variable

if TYPE_CHECKING:
    from ._features import Feature

#: What uses a variable: a node and the index among its inputs, or the word "output" and the index among the outputs.
Client = tuple["Apply | Literal['output']", int]
OUTPUT: Literal["output"] = "output"


class GraphStore(FeatureHost):
    """Base of function graphs: nodes and clients, and the single steps that change them."""

    inputs: list[Any]
    outputs: list[Any]
    _input_set: set[Any]

    def __init__(self) -> None:
        super().__init__()
        # Nodes and clients with the moment of their arrival, so that what was taken out can come back to its place.
        self._nodes: dict[Apply, int] = {}
        self._clients: dict[Variable, dict[Client, int]] = {}
        self._moment = 0
        #: How many inputs of nodes, and outputs of the graph, have become another variable so far.
        self.changes = 0
        #: What somebody has worked out of the graph as it is, under a key of his own: the next change empties it.
        self.derived: dict[Any, Any] = {}

    def _mark_members(self) -> None:
        """Mark all that is here as belonging to this graph."""
        # What nodes are marked with while they are here, and after they have left.
        self._here, self._left = Membership(self), Membership(self)
        self._left_leaves: WeakSet[Variable] = WeakSet()
        for member in (*self._nodes, *(v for v in self._clients if v.owner is None)):
            member._membership = self._here

    def _release(self) -> None:
        """Let the nodes belong to nobody."""
        for node in self._nodes:
            node._membership = None
        for variable in self._clients:
            if getattr(variable, "_membership", None) is self._here:
                variable._membership = None

    def _next_moment(self) -> int:
        self._moment += 1
        return self._moment

    def _move(self, user: Apply | Literal["output"], i: int, old: Variable, new: Variable, moment: int) -> int:
        """Let a client of `old` be one of `new`; return since when it was a client of `old`."""
        if isinstance(user, str):
            self.outputs[i] = new
        else:
            user.inputs[i] = new
        since = self._clients[old].pop((user, i))
        self._clients[new][(user, i)] = moment
        self.changes += 1
        if self.derived:
            self.derived.clear()
        return since

    def _enter(self, variable: Variable, nodes: Sequence[Apply], reason: object, steps: list[Step] | None) -> None:
        """Take in `variable` and the nodes that it needs."""
        here = self._here
        clients = self._clients
        if variable.owner is None and variable not in clients:
            clients[variable] = {}
            variable._membership = here
            if steps is not None:
                steps.append(LeafImported(variable))
        on_import = self._callbacks.get("on_import", ())
        for node in nodes:
            self._nodes[node] = self._moment = moment = self._moment + 1
            membership = getattr(node, "_membership", None)
            node._membership = here
            for output in node.outputs:
                if output not in clients:
                    clients[output] = {}
            leaves: list[Variable] = []
            for i, v in enumerate(node.inputs):
                if v.owner is None and v not in clients:
                    clients[v] = {}
                    v._membership = here
                    leaves.append(v)
                clients[v][(node, i)] = moment
            if steps is None:
                continue
            step = Imported(node, leaves, membership)
            steps.append(step)
            for feature, callback in on_import:
                callback(self, node, reason)
                step.told.append(feature)

    def _prune(self, variable: Variable, reason: object, steps: list[Step]) -> None:
        """Remove what nothing uses any more, starting from `variable`."""
        on_prune = self._callbacks.get("on_prune", ())
        stack = [variable]
        while stack:
            v = stack.pop()
            if self._clients.get(v) or v in self._input_set:
                continue
            node = v.owner
            if node is None:
                if self._clients.pop(v, None) is not None:
                    steps.append(LeafPruned(v))
                self._left_leaves.add(v)
                continue
            if node not in self._nodes or any(self._clients.get(o) for o in node.outputs):
                continue
            step = Pruned(node, self._nodes.pop(node))
            steps.append(step)
            node._membership = self._left
            for output in node.outputs:
                self._clients.pop(output, None)
            for i, parent in enumerate(node.inputs):
                step.client_since.append(self._clients[parent].pop((node, i)))
                if not self._clients[parent]:
                    stack.append(parent)
            for feature, callback in on_prune:
                callback(self, node, reason)
                step.told.append(feature)

    # ---- taking back

    def _undo(self, steps: list[Step], reason: object, error: BaseException) -> None:
        """Take back the steps of a change that failed with `error`, the last one first."""
        touched: dict[Variable, None] = {}
        for step in reversed(steps):
            match step:
                case Moved(user, i, old, new, since, told):
                    self._move(user, i, new, old, since)
                    touched[old] = None
                    self._tell("on_change_input", told, error, user, i, new, old, Undo(reason))
                case Imported():
                    self._expel(step)
                    self._tell("on_prune", step.told, error, step.node, Undo(reason))
                case Pruned():
                    self._readmit(step)
                    touched.update(dict.fromkeys(step.node.inputs))
                    self._tell("on_import", step.told, error, step.node, Undo(reason))
                case LeafImported(leaf):
                    self._forget([leaf])
                case LeafPruned(leaf):
                    self._clients[leaf] = {}
        if any(isinstance(step, Pruned) for step in steps):
            self._nodes = dict(sorted(self._nodes.items(), key=lambda item: item[1]))
        for v in touched:
            if v in self._clients:
                self._clients[v] = dict(sorted(self._clients[v].items(), key=_arrival))

    def _expel(self, step: Imported) -> None:
        del self._nodes[step.node]
        step.node._membership = step.membership
        for i, v in enumerate(step.node.inputs):
            del self._clients[v][(step.node, i)]
        self._forget([*step.node.outputs, *step.leaves])

    def _readmit(self, step: Pruned) -> None:
        self._nodes[step.node] = step.since
        step.node._membership = self._here
        self._clients.update((output, {}) for output in step.node.outputs)
        for i, (v, since) in enumerate(zip(step.node.inputs, step.client_since, strict=True)):
            self._clients[v][(step.node, i)] = since

    def _forget(self, variables: Iterable[Variable]) -> None:
        for variable in variables:
            if not self._clients.get(variable):
                self._clients.pop(variable, None)

    def _tell(self, name: str, told: Sequence[Feature], error: BaseException, *args: Any) -> None:
        """Call the opposite callback of the features that had been told; what they raise is noted on `error`."""
        for feature, callback in reversed(self._callbacks.get(name, ())):
            if any(feature is known for known in told):
                try:
                    callback(self, *args)
                except Exception as second:  # noqa: BLE001  # the first error goes on; this one is told with it
                    error.add_note(f"{type(feature).__name__}.{name} failed while this was undone: {second}")


def _arrival(item: tuple[Client, int]) -> tuple[int, int]:
    """Return what clients are ordered by: a node that came with several inputs became a client in their order."""
    (_, index), moment = item
    return moment, index
