"""A graph that can be changed: function graphs with clients, replacement and features."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakSet

from ._clone import clone_get_equiv
from ._diagram import ShownAsHtml
from ._errors import AlreadyThere, CycleError, GraphError, IncompatibleReplacementError, MissingInputError, compose
from ._nodes import Apply, Constant, Variable, describe
from ._pickling import Ancestors
from ._printable import PrintableGraph, printable_graph
from ._text import as_string
from ._walk import toposort

if TYPE_CHECKING:
    from ._features import Feature

#: What uses a variable: a node and the index among its inputs, or the word "output" and the index among the outputs.
Client = tuple["Apply | Literal['output']", int]
OUTPUT: Literal["output"] = "output"


class FunctionGraph(ShownAsHtml):
    """The graph between some inputs and outputs, with the clients of each variable, open to replacement.

    Parameters
    ----------
    inputs, outputs : sequence of Variable
        The graph must need no variables without an owner other than `inputs` and constants.
    features : iterable of Feature
        Attached in order once the graph is complete.
    clone : bool
        Whether to work on a copy (the default); :attr:`memo` then maps each original variable and node to its copy.
        Without a copy, the nodes belong to this graph from now on.

    Raises
    ------
    MissingInputError
        If the outputs need a variable that is neither an input nor a constant.
    GraphError
        If an input is given twice, or a node belongs to another graph already (only without `clone`).

    Invariants
    ----------
    ``node.inputs[i] is v`` if and only if ``(node, i)`` is in ``clients(v)``; every node leads to an output.
    :meth:`check_integrity` verifies both.
    """

    def __init__(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        features: Iterable[Feature] = (),
        clone: bool = True,
    ) -> None:
        _check_boundary(inputs, outputs)
        self.memo: dict[Any, Any] = {}
        if clone:
            self.memo = clone_get_equiv(inputs, outputs)
            inputs, outputs = [self.memo[v] for v in inputs], [self.memo[v] for v in outputs]
        self.inputs: list[Any] = list(inputs)
        self.outputs: list[Any] = list(outputs)
        self._input_set = set(self.inputs)
        self._nodes: dict[Apply, None] = {}
        self._clients: dict[Variable, dict[Client, None]] = {v: {} for v in self.inputs}
        self._features: list[Feature] = []
        # What nodes are marked with while they are here, and after they have left.
        self._here, self._left = _Membership(self), _Membership(self)
        self._left_leaves: WeakSet[Variable] = WeakSet()
        self._lent: dict[str, Callable[..., Any]] = {}
        # Callbacks by name, in order of attachment: the lists stay short and are walked at each change.
        self._callbacks: dict[str, list[Any]] = {}
        for i, output in enumerate(self.outputs):
            self._import(output, reason="init")
            self._clients[output][(OUTPUT, i)] = None
        for feature in features:
            self.attach_feature(feature)

    # ---- questions

    @property
    def apply_nodes(self) -> Any:
        """The nodes of the graph: a set-like view in the order of their arrival."""
        return self._nodes.keys()

    @property
    def variables(self) -> Any:
        """The variables of the graph: a set-like view."""
        return self._clients.keys()

    @property
    def features(self) -> tuple[Feature, ...]:
        """The attached features, in order."""
        return tuple(self._features)

    def clients(self, variable: Variable) -> list[Client]:
        """Return what uses `variable`: pairs of a node (or ``"output"``) and an index.

        Raises
        ------
        GraphError
            If the variable is not in this graph.
        """
        try:
            return list(self._clients[variable])
        except KeyError:
            raise GraphError(
                compose("a variable that is not in this graph has no clients", where=[describe(variable)])
            ) from None

    def has_clients(self, variable: Variable) -> bool:
        """Tell whether anything uses `variable`."""
        return bool(self._clients.get(variable))

    def toposort(self) -> list[Apply]:
        """Return all nodes, each after those it depends on, with the orderings of all features respected."""
        return toposort(self.inputs, self.outputs, self.orderings())

    def orderings(self) -> Mapping[Apply, Sequence[Apply]]:
        """Return, for some nodes, the nodes that must run before them for reasons other than data."""
        callbacks = self._callbacks.get("orderings")
        if not callbacks:
            return {}
        merged: dict[Apply, dict[Apply, None]] = {}
        for callback in callbacks:
            for node, before in callback(self).items():
                merged.setdefault(node, {}).update(dict.fromkeys(before))
        return {node: list(before) for node, before in merged.items()}

    # ---- changes

    def replace(self, old: Variable, new: Variable, reason: object = None) -> None:
        """Make everything that uses `old` use `new`.

        Parameters
        ----------
        old, new : Variable
        reason : object, optional
            Who wants this, for features and errors; a rewrite passes itself.

        Raises
        ------
        IncompatibleReplacementError
            If the type of `new` does not fit; the graph is as before.
        MissingInputError
            If `new` needs a variable that the graph does not have; the graph is as before.
        CycleError
            If `new` is made from `old`; the graph is as before.
        GraphError
            If `old` was never in the graph. One that has left it, for instance because an earlier replacement of
            the same step removed its last use, is ignored.
        """
        if old is new:
            return
        clients = self._clients.get(old)
        if clients is None:
            if self._has_left(old):
                return
            raise self._foreign(old, "be replaced")
        new = self._fitting(old, new, reason)
        if new is old:
            return
        is_new = new not in self._clients
        self._import(new, reason, replaces=old)
        if is_new and new.name is None and new.owner is not None:
            new.name = old.name
        for client in list(clients):
            self._move_client(client, old, new)
            for callback in self._callbacks.get("on_change_input", ()):
                callback(self, client[0], client[1], old, new, reason)
        self._prune(old, reason)

    def replace_all(self, pairs: Iterable[tuple[Variable, Variable]], reason: object = None) -> None:
        """Make several replacements, in order."""
        for old, new in pairs:
            self.replace(old, new, reason)

    def change_input(self, node: Apply | Literal["output"], i: int, new: Variable, reason: object = None) -> None:
        """Make input `i` of `node`, or output `i` of the graph when `node` is ``"output"``, be `new`.

        Raises
        ------
        IncompatibleReplacementError, MissingInputError
            As for :meth:`replace`.
        """
        if node != OUTPUT and node not in self._nodes:
            raise GraphError(compose(f"{node} is not a node of this graph", mend="pass one of `fgraph.apply_nodes`"))
        places = self.outputs if isinstance(node, str) else node.inputs
        if not 0 <= i < len(places):
            raise GraphError(compose(f"{node} has no place {i}: there are {len(places)}"))
        old = places[i]
        if old is new:
            return
        new = self._fitting(old, new, reason)
        self._import(new, reason)
        self._move_client((node, i), old, new)
        for callback in self._callbacks.get("on_change_input", ()):
            callback(self, node, i, old, new, reason)
        self._prune(old, reason)

    def add_input(self, variable: Variable) -> None:
        """Make `variable`, which must have no owner, one more input."""
        if variable.owner is not None:
            raise GraphError(compose("an input has no owner", where=[describe(variable)]))
        if variable not in self._input_set:
            self.inputs.append(variable)
            self._input_set.add(variable)
            self._clients.setdefault(variable, {})

    def _move_client(self, client: Client, old: Variable, new: Variable) -> None:
        user, i = client
        if isinstance(user, str):
            self.outputs[i] = new
        else:
            user.inputs[i] = new
        del self._clients[old][client]
        self._clients[new][client] = None

    def _has_left(self, variable: object) -> bool:
        if not isinstance(variable, Variable):
            return False
        return variable in self._left_leaves or getattr(variable.owner, "_membership", None) is self._left

    def _foreign(self, variable: object, verb: str) -> GraphError:
        if not isinstance(variable, Variable):
            return GraphError(compose(f"only a variable can {verb}, not {variable!r}"))
        mend = "pass one of `fgraph.variables`"
        if variable in self.memo:
            mend = "the graph works on copies: pass `fgraph.memo[variable]`, or make the graph with clone=False"
        return GraphError(
            compose(f"a variable that is not in this graph cannot {verb}", where=[describe(variable)], mend=mend)
        )

    def _fitting(self, old: Variable, new: object, reason: object) -> Variable:
        if not isinstance(new, Variable):
            raise TypeError(compose(f"only a variable can stand in a graph, not {new!r}", where=[describe(old)]))
        if old.type.is_super(new.type):
            return new
        try:
            return old.type.filter_variable(new)
        except TypeError as error:
            raise IncompatibleReplacementError(
                compose(
                    f"a variable of type {old.type} cannot be replaced by one of type {new.type}"
                    + (f" (wanted by {reason})" if reason is not None else ""),
                    where=[describe(old), describe(new)],
                    mend="let the replacement have the type of what it replaces, for instance through a cast",
                )
            ) from error

    def _import(self, variable: Variable, reason: object, replaces: Variable | None = None) -> None:
        """Take `variable` and the nodes that it needs into the graph; on failure nothing has changed."""
        if variable in self._clients:
            return
        new_nodes = toposort(self._clients, [variable])
        here = self._here
        for node in new_nodes:
            self._check_newcomer(node, replaces)
        for leaf in {v for node in new_nodes for v in node.inputs} | {variable}:
            if leaf.owner is None and leaf not in self._clients and not isinstance(leaf, Constant):
                raise self._missing(leaf, new_nodes, reason)
        if variable.owner is None:
            self._clients.setdefault(variable, {})
        on_import = self._callbacks.get("on_import", ())
        for node in new_nodes:
            self._nodes[node] = None
            node._membership = here
            for output in node.outputs:
                self._clients.setdefault(output, {})
            for i, v in enumerate(node.inputs):
                self._clients.setdefault(v, {})[(node, i)] = None
            for callback in on_import:
                callback(self, node, reason)

    def _check_newcomer(self, node: Apply, replaces: Variable | None) -> None:
        """Refuse a node of another graph, one whose outputs say something else, and one that would close a cycle."""
        membership = getattr(node, "_membership", None)
        if membership is not None and membership is not self._left and membership.holds(node):
            raise GraphError(
                compose(
                    f"{node.op} belongs to another function graph",
                    where=[describe(node.outputs[0])],
                    mend="copy it (clone=True, clone_graph), or `disown()` the other graph if it is not needed",
                )
            )
        for i, output in enumerate(node.outputs):
            if output.owner is not node or output.index != i:
                raise GraphError(
                    compose(
                        f"output {i} of {node.op} says that it is output {output.index} of another node",
                        where=[describe(output)],
                        mend="leave `owner` and `index` to Apply",
                    )
                )
        if replaces is not None and replaces in node.inputs:
            raise CycleError(
                compose(
                    f"`{replaces}` cannot be replaced by something made from it: the graph would have a cycle",
                    where=[describe(replaces), describe(node.outputs[0])],
                    mend="make the replacement from the inputs of what it replaces, or change the inputs one by one",
                )
            )

    def _missing(self, leaf: Variable, nodes: Sequence[Apply], reason: object) -> MissingInputError:
        where = [describe(leaf)]
        for node in nodes:
            if leaf in node.inputs:
                where.append(f"used by {node.op}" + (f" at {node.origin}" if node.origin is not None else ""))
                break
        what = f"the graph needs `{leaf}`, which is neither an input nor a constant"
        if reason not in (None, "init"):
            what += f" (brought in by {reason})"
        return MissingInputError(
            compose(what, where=where, mend="add it to the inputs, or give it a value (givens, a shared variable)")
        )

    def _prune(self, variable: Variable, reason: object) -> None:
        """Remove what nothing uses any more, starting from `variable`."""
        on_prune = self._callbacks.get("on_prune", ())
        stack = [variable]
        while stack:
            v = stack.pop()
            if self._clients.get(v) or v in self._input_set:
                continue
            node = v.owner
            if node is None:
                self._clients.pop(v, None)
                self._left_leaves.add(v)
                continue
            if node not in self._nodes or any(self._clients.get(o) for o in node.outputs):
                continue
            del self._nodes[node]
            node._membership = self._left
            for output in node.outputs:
                self._clients.pop(output, None)
            for i, parent in enumerate(node.inputs):
                self._clients[parent].pop((node, i), None)
                if not self._clients[parent]:
                    stack.append(parent)
            for callback in on_prune:
                callback(self, node, reason)

    # ---- features

    def attach_feature(self, feature: Feature) -> None:
        """Attach a feature: it is told of all changes from now on.

        A feature may raise :class:`AlreadyThere` in `on_attach` when an equivalent one is there; nothing is attached.

        Raises
        ------
        TypeError
            If it has none of the methods of a :class:`Feature`.
        GraphError
            If it lends the graph a method of a name that is taken.
        """
        if feature in self._features:
            return
        if isinstance(feature, type) or not any(hasattr(feature, name) for name in _CALLBACKS):
            raise TypeError(
                compose(f"{feature!r} is no feature", mend="pass an instance of a subclass of theano_graph.Feature")
            )
        attach = getattr(feature, "on_attach", None)
        if attach is not None:
            try:
                attach(self)
            except AlreadyThere:
                return
        self._check_lent(feature)
        self._features.append(feature)
        self._index_callbacks()

    def remove_feature(self, feature: Feature) -> None:
        """Detach a feature.

        Raises
        ------
        GraphError
            If it is not attached.
        """
        if feature not in self._features:
            raise GraphError(compose(f"feature {feature} is not attached to this graph"))
        self._features.remove(feature)
        self._index_callbacks()
        detach = getattr(feature, "on_detach", None)
        if detach is not None:
            detach(self)

    def _index_callbacks(self) -> None:
        self._callbacks = {}
        self._lent = {}
        for feature in self._features:
            for name, method in getattr(feature, "provides", {}).items():
                self._lent[name] = getattr(feature, method)
        for name in ("on_import", "on_prune", "on_change_input", "orderings"):
            found = [getattr(f, name) for f in self._features if _overrides(f, name)]
            if found:
                self._callbacks[name] = found

    def _check_lent(self, feature: Feature) -> None:
        for name in getattr(feature, "provides", {}):
            if name not in self._lent and not hasattr(type(self), name):
                continue
            lender = getattr(self._lent.get(name), "__self__", self)
            raise GraphError(
                compose(
                    f"{type(feature).__name__} lends the graph `{name}`, which {type(lender).__name__} offers already",
                    mend="remove that feature first, or do without this one",
                )
            )

    if not TYPE_CHECKING:  # so that a name that no feature lends is still found by the type checker

        def __getattr__(self, name: str) -> Any:
            lent = self.__dict__.get("_lent", {}).get(name)
            if lent is None:
                raise AttributeError(
                    compose(
                        f"a function graph has no attribute `{name}`",
                        mend="attach the feature that lends it, if there is one: History, ReplaceValidate, NodeFinder",
                    )
                )
            return partial(lent, self)

    def execute_callbacks(self, name: str, *args: Any) -> None:
        """Call the method `name` of each feature that has one."""
        for feature in self._features:
            callback = getattr(feature, name, None)
            if callback is not None:
                callback(self, *args)

    def collect_callbacks(self, name: str, *args: Any) -> dict[Feature, Any]:
        """Call the method `name` of each feature that has one; return what each gave."""
        return {f: getattr(f, name)(self, *args) for f in self._features if hasattr(f, name)}

    def disown(self) -> None:
        """Give all nodes free, for another graph without a copy; this one is empty afterwards, without features."""
        for feature in self.features:
            self.remove_feature(feature)
        for node in self._nodes:
            node._membership = None
        for content in (self._nodes, self._clients, self._input_set, self.inputs, self.outputs, self.memo):
            content.clear()

    # ---- copies and checks

    def clone(self) -> FunctionGraph:
        """Return a copy of this graph, without features."""
        return self.clone_get_equiv()[0]

    def clone_get_equiv(self, attach_features: bool = False) -> tuple[FunctionGraph, dict[Any, Any]]:
        """Return a copy and the mapping of original variables and nodes to their copies."""
        equiv = clone_get_equiv(self.inputs, self.outputs)
        features = self._features if attach_features else ()
        copy = FunctionGraph([equiv[v] for v in self.inputs], [equiv[v] for v in self.outputs], features, clone=False)
        return copy, equiv

    def check_integrity(self) -> None:
        """Verify the invariants of the class.

        Raises
        ------
        GraphError
            Naming the first node or variable that breaks one.
        """
        order = self.toposort()
        if set(order) != set(self._nodes):
            raise GraphError(compose("the nodes of the graph are not those that lead to its outputs"))
        uses: dict[Variable, set[Client]] = {v: set() for v in self._clients}
        for node in order:
            for i, v in enumerate(node.inputs):
                uses.setdefault(v, set()).add((node, i))
        for i, v in enumerate(self.outputs):
            uses.setdefault(v, set()).add((OUTPUT, i))
        for v, expected in uses.items():
            if v not in self._clients or set(self._clients[v]) != expected:
                raise GraphError(compose(f"the clients of `{v}` are not those of the graph", where=[describe(v)]))
            if v.owner is None and v not in self._input_set and not isinstance(v, Constant):
                raise self._missing(v, order, None)

    def __getstate__(self) -> dict[str, Any]:
        # Nodes first and in order, so that no pickler has to follow the depth of the graph.
        state = {"nodes": Ancestors(lambda: self._all_in_order()), **self.__dict__, "memo": {}}
        for name in ("_here", "_left", "_left_leaves", "_callbacks", "_lent"):
            del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        del state["nodes"]
        self.__dict__.update(state)
        self._here, self._left = _Membership(self), _Membership(self)
        self._left_leaves = WeakSet()
        for node in self._nodes:
            node._membership = self._here
        self._index_callbacks()

    def _all_in_order(self) -> list[Any]:
        order: dict[Any, None] = {}
        for node in toposort(self.inputs, self.outputs):
            order.update(dict.fromkeys(node.inputs))
            order[node] = None
            order.update(dict.fromkeys(node.outputs))
        return list(order)

    def __len__(self) -> int:
        return len(self._nodes)

    def __str__(self) -> str:
        return f"[{', '.join(as_string(self.inputs, self.outputs))}]"

    def __repr__(self) -> str:
        return str(self)


_CALLBACKS = (
    "on_attach",
    "on_detach",
    "on_import",
    "on_prune",
    "on_change_input",
    "orderings",
    "validate",
)


class _Membership:
    """Says of a node that it belongs to a graph, or has left it, without keeping the graph alive."""

    __slots__ = ("graph",)

    def __init__(self, graph: FunctionGraph) -> None:
        self.graph = weakref.ref(graph)

    def holds(self, node: Apply) -> bool:
        """Tell whether the graph exists and has the node."""
        graph = self.graph()
        return graph is not None and node in graph.apply_nodes


def _overrides(feature: Feature, name: str) -> bool:
    method = getattr(type(feature), name, None)
    if name in vars(feature):
        return True
    return method is not None and not getattr(method, "__is_default__", False)


def _check_boundary(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> None:
    seen: set[Variable] = set()
    for kind, variables in (("input", inputs), ("output", outputs)):
        for i, variable in enumerate(variables):
            if not isinstance(variable, Variable):
                raise TypeError(compose(f"{kind} {i} of a function graph is no variable: {variable!r}"))
    for variable in inputs:
        if variable in seen:
            raise GraphError(
                compose("an input is given twice", where=[describe(variable)], mend="list each input once")
            )
        seen.add(variable)


@printable_graph.register(FunctionGraph)
def _printable(obj: FunctionGraph) -> PrintableGraph:
    return PrintableGraph(obj.outputs, obj.toposort(), inputs=obj.inputs)
