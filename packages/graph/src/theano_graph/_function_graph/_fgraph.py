"""A graph that can be changed: function graphs with clients, replacement and features."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from .._errors import GraphError, format_error
from .._expression._node_state import ShownAsHtml
from .._expression._nodes import Apply, Constant, Variable, describe
from .._pickles import NodeStore
from .._printing._debugprint import as_string
from .._printing._printable import PrintableGraph, printable_graph
from .._traversal._clone import clone_get_equiv
from .._traversal._postorder import nodes_in_order
from .._traversal._walk import ordered_nodes, toposort
from ._checks import (
    before_users,
    check_boundary,
    check_newcomer,
    check_nodes,
    check_position,
    check_updates,
    fitting,
    foreign,
    is_before,
    missing,
    number,
    wrong_clients,
)
from ._clients import OUTPUT, Client, NodesView, Step, Uses, VariablesView, clients_in, is_client, number_of
from ._graph_store import OF_THE_STORE, GraphStore

if TYPE_CHECKING:
    from ._feature_host import FeatureProtocol


class FunctionGraph(GraphStore, ShownAsHtml):
    """The graph between some inputs and outputs, with the clients of each variable, open to replacement.

    Parameters
    ----------
    inputs, outputs : sequence of Variable
        The graph must need no variables without an owner other than `inputs` and constants.
    features : iterable of Feature, optional
        Attached in order once the graph is complete.
    clone : bool
        Whether to work on a copy (the default); :attr:`memo` then maps each original variable and node to its copy.
        Without a copy, the nodes belong to this graph from now on.
    update_mapping : mapping, optional
        Index of an output -> index of the input that takes its value after a call; shown by the printers.

    Raises
    ------
    MissingInputError
        If the outputs need a variable that is neither an input nor a constant.
    GraphError
        If an input is given twice, an index of `update_mapping` names nothing, or a node belongs to another graph
        already (only without `clone`).

    Invariants
    ----------
    ``node.inputs[i] is v`` if and only if ``(node, i)`` is in ``clients(v)``; every node leads to an output; no node
    depends on itself. :meth:`check_integrity` verifies these. A node belongs to one living graph at most. A change that
    raises leaves the graph as it was: the same nodes, inputs and clients in the same order, and features that were told
    of a part of it hear of its reversal, with an :class:`Undo` as the reason.
    """

    #: Name of the function that the graph is of.
    name: str | None = None

    def __init__(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        features: Iterable[FeatureProtocol] | None = None,
        clone: bool = True,
        update_mapping: Mapping[int, int] | None = None,
    ) -> None:
        super().__init__()
        inputs, outputs = check_boundary(inputs, outputs)
        if features is not None and not isinstance(features, Iterable):
            raise TypeError(format_error(f"features are a list, not {features!r}", hint=f"pass [{features!r}]"))
        self.update_mapping = check_updates(update_mapping, len(inputs), len(outputs))
        self.memo: dict[Any, Any] = {}
        if clone:
            self.memo = clone_get_equiv(inputs, outputs)
            inputs, outputs = [self.memo[v] for v in inputs], [self.memo[v] for v in outputs]
        self.inputs: list[Any] = inputs
        self.outputs: list[Any] = outputs
        self._input_set = set(self.inputs)
        self._is_cut = any(v.owner is not None for v in self.inputs)
        for v in self.inputs:
            self._add_leaf(v)
        try:
            self._fill()
            for feature in features or ():
                self.attach_feature(feature)
        except BaseException:
            self._release()
            raise

    def _fill(self) -> None:
        """Take in the ancestors of the outputs; the order of arrival is topological."""
        leaves = self._leaves
        targets = [v for v in self.outputs if v not in leaves]
        nodes = nodes_in_order([v.owner for v in targets if v.owner is not None], leaves)
        coming = iter(nodes)
        for i, output in enumerate(self.outputs):
            if output in leaves:
                pass
            elif output.owner is None:
                if not isinstance(output, Constant):
                    raise missing(output, [], "init")
                self._add_leaf(output)
            else:
                while output.owner._membership is not self._here:
                    node = next(coming)
                    check_newcomer(node, self._left)
                    self._place_node(node)
                    for v in self._connect(node):
                        if not isinstance(v, Constant):
                            raise missing(v, nodes, "init")
            self._add_client(output, (OUTPUT, i))
        self._is_numbered = False
        # A variable without an owner may take the place of another until then: that leaves the order as it is.
        self._has_arrived_in_order = True

    def _number(self) -> None:
        """Give the nodes of a graph their positions, unless they have them."""
        if not self._is_numbered:
            number(self._arrived() if self._has_arrived_in_order else toposort(self.inputs, self.outputs))
            self._is_numbered = True

    # ---- questions

    @property
    def apply_nodes(self) -> Any:
        """The nodes of the graph: a set-like view in the order of their arrival."""
        return NodesView(self)

    @property
    def variables(self) -> Any:
        """The variables of the graph: a set-like view."""
        return VariablesView(self)

    def clients(self, variable: Variable) -> list[Client]:
        """Return the uses of `variable`: pairs of a node (or ``"output"``) and an index.

        Raises
        ------
        GraphError
            If the variable is not in this graph.
        """
        return clients_in(self._clients_of(variable))

    def has_clients(self, variable: Variable) -> bool:
        """Tell whether anything uses `variable`; False for one that is not in the graph. Makes no list."""
        return isinstance(variable, Variable) and self._has(variable) and bool(self._uses_of(variable))

    def n_clients(self, variable: Variable) -> int:
        """Return how many places use `variable`, without making a list.

        Raises
        ------
        GraphError
            If the variable is not in this graph.
        """
        return number_of(self._clients_of(variable))

    def sole_client(self, variable: Variable) -> Apply | None:
        """Return the node that alone uses `variable`, in one place; None where several do, nothing, or an output.

        Raises
        ------
        GraphError
            If the variable is not in this graph.
        """
        uses: Any = self._clients_of(variable)
        if uses.__class__ is dict:
            if len(uses) != 1:
                return None
            (uses,) = uses
        return None if uses is None or isinstance(uses[0], str) else uses[0]

    def _clients_of(self, variable: Any) -> Uses:
        if not isinstance(variable, Variable):
            raise foreign(self, variable, "have clients")
        owner = variable.owner
        if owner is not None and owner._membership is self._here and not self._is_cut:
            uses: Any = self._uses[owner._place]
            return uses[variable.index] if uses.__class__ is list else uses  # type: ignore[no-any-return, index]
        if self._has(variable):
            return self._uses_of(variable)
        raise foreign(self, variable, "have clients")

    def toposort(self) -> list[Apply]:
        """Return all nodes, each after those it depends on, with the orderings of all features respected.

        Raises
        ------
        CycleError
            If the orderings contradict each other or the data.

        Notes
        -----
        The order in which Theano has always shown nodes: the ancestors of a node's last input come before those of the
        first one needs; where features order nodes, all that could run first comes first.
        """
        before = self.orderings()
        if before:
            return ordered_nodes(self.inputs, self.outputs, before)
        return self.data_order()

    def data_order(self) -> list[Apply]:
        """Return all nodes, each after the nodes whose results it reads, without the orderings of features."""
        order = self.derived.get("toposort")
        if order is None:
            order = self.derived["toposort"] = toposort(self.inputs, self.outputs, last_input_first=True)
        return list(order)

    def orderings(self) -> Mapping[Apply, Sequence[Apply]]:
        """Return, for some nodes, the nodes that must run before them for reasons other than data."""
        callbacks = self._callbacks.get("orderings")
        if not callbacks:
            return {}
        merged: dict[Apply, dict[Apply, None]] = {}
        for _, callback in callbacks:
            for node, before in callback(self).items():
                merged.setdefault(node, {}).update(dict.fromkeys(before))
        return {node: list(before) for node, before in merged.items()}

    # ---- changes

    def replace(self, var: Variable, new_var: Variable, reason: object = None, verbose: bool | None = None) -> None:
        """Make everything that uses `var` use `new_var`.

        A new variable takes over the name of `var` where it has none, and the mark ``tag.nan_guard_mode_check``.

        Parameters
        ----------
        var, new_var : Variable
        reason : object, optional
            Who wants this, for features and errors; a rewrite passes itself.
        verbose : bool, optional
            Whether to write a line about it to the standard output.

        Raises
        ------
        IncompatibleReplacementError
            If the type of `new_var` does not fit.
        MissingInputError
            If `new_var` needs a variable that the graph does not have.
        CycleError
            If `new_var` depends on something that uses `var`; the text names the nodes of the cycle.
        GraphError
            If `var` was never in the graph. One that has left it, for instance because an earlier replacement of
            the same step removed its last use, is ignored.
        Exception
            Any error of a feature. In each case the graph is as before.

        Notes
        -----
        The search for a cycle costs two comparisons for most replacements and never walks further than to the nodes
        before the first user of `var`.
        """
        if var is new_var:
            return
        if not isinstance(var, Variable) or not self._has(var):
            if self._has_left(var):
                return
            raise foreign(self, var, "be replaced")
        new_var = fitting(var, new_var, reason)
        clients = clients_in(self._uses_of(var))
        if new_var is var or not clients:
            return
        if verbose:
            sys.stdout.write(f"{reason}: {var} -> {new_var}\n")
        is_new = not self._has(new_var)
        self._change(var, new_var, clients, reason, everywhere=True)
        if is_new and new_var.owner is not None:
            if new_var.name is None:
                new_var.name = var.name
            if var.has_tag() and hasattr(var.tag, "nan_guard_mode_check"):
                new_var.tag.nan_guard_mode_check = var.tag.nan_guard_mode_check

    def replace_all(self, pairs: Iterable[tuple[Variable, Variable]], reason: object = None) -> None:
        """Make several replacements, in order.

        The first that fails ends it; those before it stay. ``ReplaceValidate`` makes all or none.
        """
        if not isinstance(pairs, Iterable):
            raise TypeError(
                format_error(
                    f"replacements are pairs of variables, not {pairs!r}", hint="pass a list of pairs (old, new)"
                )
            )
        for pair in list(pairs):
            try:
                old, new = pair
            except (TypeError, ValueError):
                raise TypeError(
                    format_error(
                        f"a replacement is a pair of variables, not {pair!r}",
                        hint="pass pairs (old, new), for instance `mapping.items()`",
                    )
                ) from None
            self.replace(old, new, reason)

    def change_input(self, node: Apply | Literal["output"], i: int, new: Variable, reason: object = None) -> None:
        """Make input `i` of `node`, or output `i` of the graph when `node` is ``"output"``, be `new`.

        Raises
        ------
        GraphError
            If the node or the place does not exist.
        IncompatibleReplacementError, MissingInputError, CycleError
            As for :meth:`replace`.
        """
        if node != OUTPUT and node not in self.apply_nodes:
            raise GraphError(
                format_error(f"{node} is not a node of this graph", hint="pass one of `fgraph.apply_nodes`")
            )
        places = self.outputs if isinstance(node, str) else node.inputs
        if not isinstance(i, int) or not 0 <= i < len(places):
            raise GraphError(
                format_error(
                    f"{node} has no place {i!r}: there are {len(places)}", hint="count from 0, without negatives"
                )
            )
        old = places[i]
        if old is new:
            return
        self._change(old, fitting(old, new, reason), [(node, i)], reason)

    def add_input(self, variable: Variable) -> None:
        """Make `variable`, which must have no owner, one more input."""
        if not isinstance(variable, Variable):
            raise TypeError(
                format_error(f"an input is a variable, not {variable!r}", hint="make one: Type.make_variable()")
            )
        if variable.owner is not None:
            raise GraphError(
                format_error(
                    "an input has no owner",
                    context=[describe(variable)],
                    hint=f"pass a fresh variable: `{variable}.clone()`, and replace the old one by it",
                )
            )
        if variable not in self._input_set:
            self.inputs.append(variable)
            self._input_set.add(variable)
            if variable not in self._leaves:
                self._add_leaf(variable)

    def _change(
        self, old: Variable, new: Variable, clients: Sequence[Client], reason: object, everywhere: bool = False
    ) -> None:
        """Let `clients` of `old`, all of them if `everywhere`, use `new`; on failure all is as before."""
        self._compact()
        newcomers = self._newcomers(new, reason)
        owner = new.owner
        if owner is not None:  # a variable without an owner depends on nothing
            self._number()
        if owner is not None and not (owner._membership is self._here and is_before(owner, clients)):
            users = {user for user, _ in clients if not isinstance(user, str)}
            if everywhere:
                users.update(node for node in newcomers if old in node.inputs)
            if not before_users(new, users, self._here, old):
                number(toposort(self.inputs, self.outputs))
                before_users(new, users, self._here, old)
        steps: list[Step] = []
        self._depth += 1
        try:
            if newcomers or new.owner is None:
                self._enter(new, newcomers, reason, steps)
            self._hand_over(clients, old, new, reason, steps)
            self._prune(old, reason, steps)
        except Exception as error:
            try:
                self._undo(steps, reason, error)
            except BaseException as second:
                if not isinstance(second, Exception):
                    self._recover(steps, reason, second)
                raise
            raise
        except BaseException as error:  # an interrupt, between any two lines
            self._recover(steps, reason, error)
            raise
        finally:
            self._depth -= 1

    def _recover(self, steps: list[Step], reason: object, error: BaseException) -> None:
        super()._recover(steps, reason, error)
        self._is_numbered = self._has_arrived_in_order = False

    def _has_left(self, variable: object) -> bool:
        if not isinstance(variable, Variable):
            return False
        return variable in self._left_leaves or getattr(variable.owner, "_membership", None) is self._left

    def _newcomers(self, variable: Variable, reason: object) -> list[Apply]:
        """Return the nodes that `variable` needs and the graph does not have, inputs first; refuse invalid ones."""
        if self._has(variable):
            return []
        owner = variable.owner
        if owner is None:
            if not isinstance(variable, Constant):
                raise missing(variable, [], reason)
            return []
        nodes = [owner]
        if not all(v.owner is None or self._has(v) for v in owner.inputs):
            nodes = toposort(self.variables, [variable])
        for node in nodes:
            check_newcomer(node, self._left)
            for v in node.inputs:
                if v.owner is None and not isinstance(v, Constant) and v not in self._leaves:
                    raise missing(v, nodes, reason)
        return nodes

    # ---- the end of a graph, copies and checks

    def disown(self) -> None:
        """Give all nodes free, for another graph without a copy; this one is empty afterwards, without features."""
        for feature in self.features:
            self.remove_feature(feature)
        self._release()
        for content in (self._input_set, self.inputs, self.outputs, self.memo, self.derived):
            content.clear()
        self._forget_all()
        self.update_mapping = None

    def clone(self, check_integrity: bool = True) -> FunctionGraph:
        """Return a copy of this graph; see :meth:`clone_get_equiv`."""
        return self.clone_get_equiv(check_integrity)[0]

    def clone_get_equiv(
        self, check_integrity: bool = True, attach_feature: bool = True
    ) -> tuple[FunctionGraph, dict[Any, Any]]:
        """Return a copy and the mapping of original variables and nodes to their copies.

        Parameters
        ----------
        check_integrity : bool
            Whether to verify the invariants of this graph first.
        attach_feature : bool
            Whether the copy gets the features of this graph: the :meth:`Feature.clone` of each.

        Raises
        ------
        GraphError
            If an invariant is broken.
        """
        if check_integrity:
            self.check_integrity()
        equiv = clone_get_equiv(self.inputs, self.outputs)
        copy = FunctionGraph(
            [equiv[v] for v in self.inputs],
            [equiv[v] for v in self.outputs],
            [_copied(feature) for feature in self._features] if attach_feature else (),
            clone=False,
            update_mapping=self.update_mapping,
        )
        return copy, equiv

    def check_integrity(self) -> None:
        """Verify the invariants of the class.

        Raises
        ------
        GraphError
            Naming the first node or variable that breaks one.
        """
        self._number()
        order = toposort(self.inputs, self.outputs)
        check_nodes(self._arrived(), order, self._here)
        n_clients = 0
        for node in order:
            for i, v in enumerate(node.inputs):
                self._check_client(v, (node, i))
                check_position(node, v, self._input_set)
            n_clients += len(node.inputs)
        for i, v in enumerate(self.outputs):
            self._check_client(v, (OUTPUT, i))
        if n_clients + len(self.outputs) != self._count_clients():
            raise self._stray_client()
        for v in self._leaves:
            if v.owner is None and v not in self._input_set and not isinstance(v, Constant):
                raise missing(v, order, None)

    def _stray_client(self) -> GraphError:
        """Return the error for a client that uses something else by now."""
        for variable in self.variables:
            for user, i in self.clients(variable):
                used = self.outputs if isinstance(user, str) else user.inputs if user in self.apply_nodes else []
                if i >= len(used) or used[i] is not variable:
                    return wrong_clients(variable)
        return wrong_clients(self.outputs[0])

    def _check_client(self, variable: Variable, client: Client) -> None:
        if not self._has(variable) or not is_client(self._uses_of(variable), client):
            raise wrong_clients(variable)

    def __copy__(self) -> FunctionGraph:
        return self.clone()

    def __getstate__(self) -> dict[str, Any]:
        # Nodes first and in order, so that no pickler has to follow the depth of the graph.
        state = {"nodes": NodeStore(self._all_in_order).stages(), **self.__dict__, "memo": {}, "derived": {}}
        for name in (*OF_THE_STORE, "_callbacks", "_lent", "_seconds"):
            del state[name]
        state["content"] = (list(self._leaves), self._arrived(), self._ordered_uses())
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        del state["nodes"]
        leaves, nodes, uses = state.pop("content")
        self._forget_all()
        self.__dict__.update(state)
        self._seconds = None
        self._is_numbered = self._has_arrived_in_order = False
        self._is_cut = any(v.owner is not None for v in leaves)
        self._restore(leaves, nodes)
        for i, output in enumerate(self.outputs):
            self._add_client(output, (OUTPUT, i))
        self._reorder_uses(uses)
        self._index_callbacks()

    def contents(self) -> tuple[list[Variable], list[Apply], list[tuple[Variable, list[Client]]]]:
        """Return leaves and nodes in the order of their arrival, and the clients of variables that have several."""
        return list(self._leaves), self._arrived(), self._ordered_uses()

    @classmethod
    def from_contents(
        cls,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        contents: tuple[list[Variable], list[Apply], list[tuple[Variable, list[Client]]]],
    ) -> FunctionGraph:
        """Return a graph with these :meth:`contents`, whose nodes belong to no graph; nothing is checked."""
        graph: FunctionGraph = cls.__new__(cls)
        graph.__setstate__(
            {
                "nodes": None,
                "content": contents,
                "inputs": list(inputs),
                "outputs": list(outputs),
                "_input_set": set(inputs),
                "_features": [],
                "changes": 0,
                "derived": {},
                "memo": {},
                "update_mapping": None,
            }
        )
        return graph

    def _all_in_order(self) -> list[Any]:
        order: list[Any] = list(self.inputs)
        seen = set(order)
        for node in toposort(self.inputs, self.outputs):
            fresh = [v for v in node.inputs if v.owner is None and v not in seen]
            seen.update(fresh)
            order += fresh
            order.append(node)
        return order

    def __str__(self) -> str:
        return f"[{', '.join(as_string(self.inputs, self.outputs))}]"

    def __repr__(self) -> str:
        return str(self)


def _copied(feature: Any) -> Any:
    """Return the feature that a copy of its graph gets; one without `clone` is shared."""
    clone = getattr(feature, "clone", None)
    return feature if clone is None else clone()


@printable_graph.register(FunctionGraph)
def _printable(obj: FunctionGraph) -> PrintableGraph:
    updates = {obj.outputs[o]: obj.inputs[i] for o, i in (obj.update_mapping or {}).items()}
    return PrintableGraph(obj.outputs, obj.toposort(), inputs=obj.inputs, updates=updates)
