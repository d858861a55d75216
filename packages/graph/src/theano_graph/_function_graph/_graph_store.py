"""The contents of a function graph, and the steps of its changes, each of which can be undone."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakSet

from .._expression._nodes import Apply, Variable
from ._clients import (
    OUTPUT,
    Client,
    Imported,
    LeafImported,
    LeafPruned,
    Membership,
    Moved,
    Pruned,
    Step,
    Undo,
    Uses,
    by_arrival,
    number_of,
    with_client,
    without_client,
)
from ._feature_host import FeatureHost

if TYPE_CHECKING:
    from ._feature_host import FeatureProtocol

#: Attributes that pickles tell in their own way.
OF_THE_STORE = (
    "_nodes",
    "_uses",
    "_number_left",
    "_leaves",
    "_is_cut",
    "_moment",
    "_depth",
    "_here",
    "_left",
    "_left_leaves",
)
#: Nodes that have left keep their places until there are more of them than others, and more than this.
_FEW_LEFT = 64


class GraphStore(FeatureHost):
    """Base of function graphs: nodes and clients, and the single steps that change them.

    A node of the graph says so itself (`_membership`), and where its record lies (`_place`): there is no dictionary of
    all nodes or variables, which would lie in no cache.
    """

    inputs: list[Any]
    outputs: list[Any]
    _input_set: set[Any]

    def __init__(self) -> None:
        super().__init__()
        self._forget_all()
        #: How many inputs of nodes, and outputs of the graph, have become another variable so far.
        self.changes = 0
        #: Derived facts about the present graph, each under a key of its author: the next change empties it.
        self.derived: dict[Any, Any] = {}

    def _forget_all(self) -> None:
        """Hold nothing."""
        # Nodes in the order of their arrival, None for one that has left, and the uses of their outputs: for a node of
        # one output the uses of that, for others a list of them.
        self._nodes: list[Apply | None] = []
        self._uses: list[Any] = []
        self._number_left = 0
        # The uses of inputs, and of other variables without an owner.
        self._leaves: dict[Variable, Uses] = {}
        # Whether some input has an owner, which may be in the graph as well.
        self._is_cut = False
        self._moment = 0
        self._depth = 0  # of changes that are going on: callbacks may make some
        # The marks of nodes while they are here, and after they have left.
        self._here, self._left = Membership(self), Membership(self)
        self._left_leaves: WeakSet[Variable] = WeakSet()

    def __len__(self) -> int:
        return len(self._nodes) - self._number_left

    def _arrived(self) -> list[Apply]:
        """Return the nodes in the order of their arrival."""
        return [node for node in self._nodes if node is not None]

    def _release(self) -> None:
        """Let the nodes belong to nobody."""
        for node in self._nodes:
            if node is not None:
                node._membership = None
        for variable in self._leaves:
            if getattr(variable, "_membership", None) is self._here:
                variable._membership = None

    # ---- uses of a variable

    def _has(self, variable: Variable) -> bool:
        owner = variable.owner
        if owner is not None and owner._membership is self._here:
            return True
        return (owner is None or self._is_cut) and variable in self._leaves

    def _record(self, variable: Variable) -> tuple[Any, Any]:
        """Return where the uses of a variable of the graph are: a list or dictionary, and the place in it."""
        owner = variable.owner
        if owner is None or (self._is_cut and variable in self._leaves):
            return self._leaves, variable
        uses, position = self._uses, owner._place
        record = uses[position]
        return (record, variable.index) if record.__class__ is list else (uses, position)

    def _uses_of(self, variable: Any) -> Uses:
        """Return the uses of a variable of the graph."""
        owner = variable.owner
        if owner is None or (self._is_cut and variable in self._leaves):
            return self._leaves[variable]
        record = self._uses[owner._place]
        return record[variable.index] if record.__class__ is list else record  # type: ignore[no-any-return]

    def _add_client(self, variable: Variable, client: Client, since: int | None = None) -> None:
        records, position = self._record(variable)
        if records[position] is None:
            records[position] = client
            return
        if since is None:
            self._moment = since = self._moment + 1
        records[position] = with_client(records[position], client, since)

    def _remove_client(self, variable: Variable, client: Client) -> int:
        """Return since when it was a client."""
        records, position = self._record(variable)
        uses = records[position]
        if uses == client:  # the only one, nearly always
            records[position] = None
            return 0
        records[position], since = without_client(uses, client)
        return since

    def _count_clients(self) -> int:
        """Return how many clients all variables have."""
        count = sum(map(number_of, self._leaves.values()))
        for uses in self._uses:
            count += sum(map(number_of, uses)) if uses.__class__ is list else number_of(uses)
        return count

    # ---- pickles

    def _ordered_uses(self) -> list[tuple[Variable, list[Client]]]:
        """Return the clients of the variables that have several, whose order is not that of the nodes."""
        several = [(v, uses) for v, uses in self._leaves.items() if uses.__class__ is dict]
        for node in self._arrived():
            uses = self._uses[node._place]
            items = uses if uses.__class__ is list else [uses]
            several += [(v, u) for v, u in zip(node.outputs, items, strict=True) if u.__class__ is dict]
        return [(v, list(uses)) for v, uses in several if len(uses) > 1]

    def _restore(self, leaves: Iterable[Variable], nodes: Sequence[Apply]) -> None:
        """Take in nodes in any order."""
        for leaf in leaves:
            self._add_leaf(leaf)
        for node in nodes:
            self._place_node(node)
        for node in nodes:
            self._connect(node)

    def _reorder_uses(self, several: Iterable[tuple[Variable, list[Client]]]) -> None:
        for variable, clients in several:
            records, position = self._record(variable)
            records[position] = dict(zip(clients, range(len(clients)), strict=True))
            self._moment = max(self._moment, len(clients))

    # ---- steps

    def _move(self, user: Apply | Literal["output"], i: int, old: Variable, new: Variable, since: int | None) -> int:
        """Let a client of `old` be one of `new`; return since when it was a client of `old`."""
        if isinstance(user, str):
            self.outputs[i] = new
        else:
            user.inputs[i] = new
        client = (user, i)
        was_since = self._remove_client(old, client)
        self._add_client(new, client, since)
        self.changes += 1
        if self.derived:
            self.derived.clear()
        return was_since

    def _place_node(self, node: Apply) -> None:
        """Give a node a place, before it becomes a client."""
        node._membership = self._here
        node._place = len(self._nodes)
        self._nodes.append(node)
        self._uses.append(None if len(node.outputs) == 1 else [None] * len(node.outputs))

    def _connect(self, node: Apply) -> list[Variable]:
        """Make a node that has a place a client of its inputs; return the inputs that came with it."""
        leaves: list[Variable] = []
        seen = self._leaves
        uses = self._uses
        for i, v in enumerate(node.inputs):
            owner = v.owner
            if owner is None:
                if v not in seen:
                    self._add_leaf(v)
                    leaves.append(v)
            elif not self._is_cut and uses[owner._place] is None:  # nearly always
                uses[owner._place] = (node, i)
                continue
            self._add_client(v, (node, i))
        return leaves

    def _add_leaf(self, variable: Variable) -> None:
        self._leaves[variable] = None
        variable._membership = self._here

    def _enter(self, variable: Variable, nodes: Sequence[Apply], reason: object, steps: list[Step]) -> None:
        """Take in `variable` and the nodes that it needs."""
        if variable.owner is None and variable not in self._leaves:
            self._add_leaf(variable)
            steps.append(LeafImported(variable))
        on_import = self._callbacks.get("on_import", ())
        for node in nodes:
            # A step is noted before it is taken: an interrupt may come in the middle of it.
            step = Imported(node, [], node._membership, [])
            steps.append(step)
            self._place_node(node)
            step.leaves = self._connect(node)
            for feature, callback in on_import:
                step.told.append(feature)
                try:
                    callback(self, node, reason)
                except Exception:
                    step.told.pop()
                    raise

    def _hand_over(
        self, clients: Iterable[Client], old: Variable, new: Variable, reason: object, steps: list[Step]
    ) -> None:
        """Let clients of `old` be clients of `new`."""
        on_change = self._callbacks.get("on_change_input", ())
        for user, i in clients:
            step = Moved(user, i, old, new, 0, [])
            steps.append(step)
            step.since = self._move(user, i, old, new, None)
            for feature, callback in on_change:
                step.told.append(feature)
                try:
                    callback(self, user, i, old, new, reason)
                except Exception:
                    step.told.pop()
                    raise

    def _prune(self, variable: Variable, reason: object, steps: list[Step]) -> None:
        """Remove the nodes without uses, starting from `variable`."""
        on_prune = self._callbacks.get("on_prune", ())
        stack = [variable]
        while stack:
            v = stack.pop()
            node = v.owner
            if node is None:
                self._prune_leaf(v, steps)
                continue
            if node._membership is not self._here or self._is_used(node) or (self._is_cut and v in self._input_set):
                continue
            step = Pruned(node, [], [])
            steps.append(step)
            self._take_out(node, self._left)
            for i, parent in enumerate(node.inputs):
                records, position = self._record(parent)
                uses, since = without_client(records[position], (node, i))
                records[position] = uses
                step.client_since.append(since)
                if not uses:
                    stack.append(parent)
            for feature, callback in on_prune:
                step.told.append(feature)
                try:
                    callback(self, node, reason)
                except Exception:
                    step.told.pop()
                    raise

    def _prune_leaf(self, variable: Variable, steps: list[Step]) -> None:
        """Remove a variable without an owner, unless something uses it."""
        if variable in self._input_set or self._leaves.get(variable):
            return
        if variable in self._leaves:
            steps.append(LeafPruned(variable, self._leaves.pop(variable)))
        self._left_leaves.add(variable)

    def _is_used(self, node: Apply) -> bool:
        """Tell whether something uses an output of a node of the graph, other than one that is an input as well."""
        uses = self._uses[node._place]
        if not self._is_cut:
            return any(uses) if uses.__class__ is list else bool(uses)
        return any(self._uses_of(o) for o in node.outputs if o not in self._leaves)

    def _take_out(self, node: Apply, membership: Any) -> None:
        """Leave the place of a node empty."""
        node._membership = membership
        self._nodes[node._place] = None
        self._number_left += 1

    def _compact(self) -> None:
        """Give away the places of nodes that have left, once they are many."""
        if self._number_left <= _FEW_LEFT or self._number_left * 2 <= len(self._nodes) or self._depth:
            return
        nodes = self._arrived()
        self._uses = [self._uses[node._place] for node in nodes]
        for position, node in enumerate(nodes):
            node._place = position
        self._nodes[:] = nodes
        self._number_left = 0

    # ---- taking back

    def _undo(self, steps: list[Step], reason: object, error: BaseException) -> None:
        """Take back the steps of a change that failed with `error`, the last one first."""
        touched: dict[Variable, None] = {}
        while steps:
            step = steps[-1]
            match step:
                case Moved(user, i, old, new, since, _):
                    self._move(user, i, new, old, since)
                    touched[old] = None
                case Imported():
                    self._expel(step)
                case Pruned():
                    self._readmit(step)
                    touched.update(dict.fromkeys(step.node.inputs))
                case LeafImported(leaf):
                    self._forget([leaf])
                case LeafPruned(leaf, uses):
                    self._leaves[leaf] = uses
            self._tell_back(step, reason, error)
            steps.pop()
        for v in touched:
            if self._has(v):
                records, position = self._record(v)
                records[position] = by_arrival(records[position])

    def _recover(self, steps: list[Step], reason: object, error: BaseException) -> None:
        """Take back the steps of a change that was interrupted, wherever that was, even while they were taken back.

        Unlike :meth:`_undo` this relies on nothing but the steps and the nodes: the uses are computed
        anew. Variables with several clients get them in the order in which nodes arrived. A feature that was being told
        of a step, and may know of it or not, hears that it was undone; its error then is noted on `error`.
        """
        self._take_back(steps)
        self._connect_anew({step.node for step in steps if isinstance(step, Imported)})
        self.derived.clear()
        for step in reversed(steps):
            self._tell_back(step, reason, error)

    def _take_back(self, steps: Sequence[Step]) -> None:
        """Take steps back as far as nodes know of them."""
        for step in reversed(steps):
            match step:
                case Moved(user, i, old, _, _, _):
                    (self.outputs if isinstance(user, str) else user.inputs)[i] = old
                case Imported():
                    step.node._membership = step.membership
                case Pruned():
                    step.node._membership = self._here
                    self._nodes[step.node._place] = step.node

    def _connect_anew(self, expelled: Container[Apply]) -> None:
        """Compute all uses anew, without some nodes."""
        nodes = [node for node in self._nodes if node is not None and node not in expelled]
        inputs = [v for v in self._leaves if v in self._input_set]
        self._nodes, self._uses, self._leaves, self._number_left = [], [], {}, 0
        for v in dict.fromkeys([*inputs, *self.inputs]):
            self._add_leaf(v)
        for node in nodes:
            self._place_node(node)
        for node in nodes:
            self._connect(node)
        for i, output in enumerate(self.outputs):
            if output.owner is None and output not in self._leaves:
                self._add_leaf(output)
            self._add_client(output, (OUTPUT, i))

    def _expel(self, step: Imported) -> None:
        node = step.node
        for i, v in enumerate(node.inputs):
            self._remove_client(v, (node, i))
        self._take_out(node, step.membership)
        if node._place == len(self._nodes) - 1:
            self._nodes.pop()
            self._uses.pop()
            self._number_left -= 1
        self._forget(step.leaves)

    def _readmit(self, step: Pruned) -> None:
        node = step.node
        self._nodes[node._place] = node
        self._number_left -= 1
        node._membership = self._here
        for i, (v, since) in enumerate(zip(node.inputs, step.client_since, strict=True)):
            self._add_client(v, (node, i), since)

    def _forget(self, leaves: Iterable[Variable]) -> None:
        for leaf in leaves:
            if not number_of(self._leaves.get(leaf)):
                self._leaves.pop(leaf, None)

    def _tell_back(self, step: Step, reason: object, error: BaseException) -> None:
        """Tell the features that know of a step that it was taken back."""
        match step:
            case Moved(user, i, old, new, _, recipients):
                self._tell("on_change_input", recipients, error, user, i, new, old, Undo(reason))
            case Imported():
                self._tell("on_prune", step.told, error, step.node, Undo(reason))
            case Pruned():
                self._tell("on_import", step.told, error, step.node, Undo(reason))

    def _tell(self, name: str, recipients: list[FeatureProtocol], error: BaseException, *args: Any) -> None:
        """Call the opposite callback of the features that heard of the step; their errors are noted on `error`."""
        for feature, callback in reversed(self._callbacks.get(name, ())):
            if any(feature is other for other in recipients):
                recipients[:] = [other for other in recipients if other is not feature]
                try:
                    callback(self, *args)
                except Exception as second:  # noqa: BLE001  # the first error goes on; this one is a note on it
                    error.add_note(f"{type(feature).__name__}.{name} failed while this was undone: {second}")
