"""The feature that keeps nodes from overwriting memory with later readers, and the one that names memory of others."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

from theano_graph import (
    AlreadyThere,
    Apply,
    Constant,
    Feature,
    FunctionGraph,
    InconsistencyError,
    Variable,
    describe,
    format_error,
    toposort,
)

from ._acyclic import Sequencer
from ._versions import Versions, destroyed_inputs, tolerated, viewed_inputs, views_several


class Supervisor(Feature):
    """Names variables that no node of the graph may overwrite, such as inputs that belong to the caller.

    It is the :class:`DestroyHandler` of the graph that refuses; views of the variables are protected as well. Outputs
    and constants need no supervisor.

    Parameters
    ----------
    protected : iterable of Variable

    Examples
    --------
    >>> from theano_graph import FunctionGraph, Generic
    >>> x = Generic()("x")
    >>> fgraph = FunctionGraph([x], [x], features=[Supervisor([x]), DestroyHandler()], clone=False)
    >>> fast_inplace_check(fgraph, [x])
    []
    """

    def __init__(self, protected: Iterable[Variable]) -> None:
        self.protected = tuple(protected)
        self._leaves = frozenset(v for v in self.protected if v.owner is None)
        self._computed = tuple(v for v in self.protected if v.owner is not None)

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Have everything checked that has been overwritten so far."""
        handler = find_handler(fgraph)
        if handler is not None:
            handler.recheck(fgraph)

    def protects(self, handler: DestroyHandler, fgraph: FunctionGraph, root: Variable) -> bool:
        """Tell whether a protected variable lies in the version with the given root."""
        return root in self._leaves or any(handler.root_of(fgraph, v) is root for v in self._computed)


class DestroyHandler(Feature):
    """Keeps track of overwriting nodes (`destroy_map`) through all views (`view_map`), and refuses unsafe ones.

    A variable and its views lie in one *version* of a piece of memory; the output of a node that overwrites it starts
    the next. A version may be overwritten

    - by one node only,
    - that reads nothing else in it, unless its op tolerates that (``destroyhandler_tolerate_same``,
      ``destroyhandler_tolerate_aliased``: lists of pairs of an overwritten input and another one),
    - if no constant, no output of the graph, no variable with a true ``tag.indestructible``, and nothing that a
      :class:`Supervisor` protects lies in it,
    - and if all other readers of the version can run before, at all times.

    An output is a view of one input at most.

    ``fgraph.validate()`` checks the changes since the last time, so that ``fgraph.replace_validate`` costs no walk
    over the graph; and ``fgraph.toposort()`` puts readers before the node that overwrites. Nothing is worked out before
    the first question, so that a handler costs nothing on a graph in which nobody tries to work in place.

    The graph offers ``fgraph.destroyers(variable)`` (the nodes that overwrite the version of a variable),
    ``fgraph.has_destroyers(variables)`` and ``fgraph.destroy_conflict(node)``.

    Examples
    --------
    >>> from theano_graph import FunctionGraph, Generic, Op
    >>> class Overwrite(Op):
    ...     __props__ = ()
    ...     itypes = otypes = (Generic(),)
    ...     destroy_map = {0: [0]}
    >>> x = Generic()("x")
    >>> fgraph = FunctionGraph([x], [Overwrite()(x)], features=[DestroyHandler()], clone=False)
    >>> fgraph.has_destroyers([x])
    True
    """

    provides = {
        "destroyers": "destroyers",
        "has_destroyers": "has_destroyers",
        "destroy_conflict": "conflict",
    }

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._graph: weakref.ref[FunctionGraph] | None = None
        self._versions: Versions | None = None
        self._plain: Callable[[], AbstractContextManager[None]] = nullcontext
        self._sequencer: Sequencer | None = None
        self._odd_views: dict[Apply, None] = {}
        #: The versions in which these may lie, with one of them each; None until somebody asks.
        self._odd_roots: dict[Variable, Apply] | None = None
        self._odd_unchecked = False

    @property
    def is_settled(self) -> bool:
        """Whether somebody has asked, so that the handler knows the overwriting nodes."""
        return self._versions is not None

    def settle_later(self, plain: Callable[[], AbstractContextManager[None]]) -> None:
        """Know later the facts that a question would have brought while the graph was as inside of `plain`.

        A graph that shows afterwards which inputs its machine overwrites does not ask for another order because of
        that.
        """
        self._plain = plain

    # ---- callbacks of the graph

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Refuse a second handler, and a second graph."""
        if find_handler(fgraph) is not None or self._graph is not None:
            raise AlreadyThere("a DestroyHandler is attached already")
        self._graph = weakref.ref(fgraph)

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Forget the graph."""
        self._forget()

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Take in a node."""
        if self._versions is None or self._sequencer is None:
            return
        self._versions.add_node(node)
        self._sequencer.add_node(node)
        if node.op.view_map and views_several(node):
            self._odd_views[node] = None
            self._odd_moved()

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Let go of a node."""
        if self._versions is None or self._sequencer is None:
            return
        self._versions.remove_node(node)
        self._sequencer.remove_node(node)
        if node in self._odd_views:
            del self._odd_views[node]
            self._odd_roots = None

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object = None,
    ) -> None:
        """Follow a replacement."""
        if self._versions is None or self._sequencer is None:
            return
        self._versions.change_input(fgraph, node, i, old, new)
        self._sequencer.takes_over(old, new)
        if not isinstance(node, str):
            self._sequencer.change_input(node, old, new)
        if self._odd_views:
            self._odd_moved()

    def _odd_moved(self) -> None:
        """Have the versions looked at, at the next check, in which views of several inputs may lie."""
        self._odd_roots = None
        self._odd_unchecked = True

    def _odd(self, versions: Versions) -> Mapping[Variable, Apply]:
        """Return the versions in which views of several inputs may lie, with one of these views each."""
        if self._odd_roots is None:
            self._odd_roots = {
                versions.root_of(v): node for node in self._odd_views for v in (*node.outputs, *viewed_inputs(node))
            }
        return self._odd_roots

    def orderings(self, fgraph: FunctionGraph) -> Mapping[Apply, Sequence[Apply]]:
        """Return, for each overwriting node, the other readers of the overwritten memory."""
        if self._versions is None:
            with self._plain():
                if not any(node.op.destroy_map for node in fgraph.apply_nodes):
                    return {}
        versions = self._known(fgraph)[0]
        result: dict[Apply, list[Apply]] = {}
        for node in versions.destroyers:
            before: dict[Apply, None] = {}
            for root in versions.destroyed_by(node):
                before.update(dict.fromkeys(versions.readers(fgraph, root)))
            before.pop(node, None)
            if before:
                result[node] = list(before)
        return result

    # ---- questions

    def root_of(self, fgraph: FunctionGraph, variable: Variable) -> Variable:
        """Return the variable that `variable` is a view of, through views of views; itself where it is none."""
        return self._known(fgraph)[0].root_of(variable)

    def destroyers(self, fgraph: FunctionGraph, variable: Variable) -> list[Apply]:
        """Return the nodes that overwrite `variable`, directly or through a view."""
        versions = self._known(fgraph)[0]
        return list(versions.destroyers_of(versions.root_of(variable)))

    def has_destroyers(self, fgraph: FunctionGraph, variables: Iterable[Variable]) -> bool:
        """Tell whether a node overwrites one of `variables`, directly or through a view."""
        versions = self._known(fgraph)[0]
        return any(versions.destroyers_of(versions.root_of(v)) for v in variables)

    def may_be_overwritten(self, fgraph: FunctionGraph, variable: Variable, node: Apply | None = None) -> bool:
        """Tell whether a new node could overwrite `variable` as far as its own place and inputs allow.

        Costs a few look-ups. False for memory of others, and for memory that another node than `node`, which the new
        one is to replace, overwrites already.
        """
        versions = self._known(fgraph)[0]
        root = versions.root_of(variable)
        return (
            not any(d is not node for d in versions.destroyers_of(root)) and self._owner(fgraph, versions, root) is None
        )

    # ---- checks

    def recheck(self, fgraph: FunctionGraph) -> None:
        """Have the next :meth:`validate` look at everything that is overwritten."""
        if self._versions is not None:
            self._versions.unchecked.update(dict.fromkeys(self._versions.destroyed_roots))

    def validate(self, fgraph: FunctionGraph) -> None:
        """Check the changes since the last call.

        Raises
        ------
        InconsistencyError
            If something is overwritten that is still needed or belongs to others.
        """
        versions, sequencer = self._known(fgraph)
        if self._odd_unchecked:
            self._odd_unchecked = False
            versions.unchecked.update((root, None) for root in self._odd(versions) if versions.destroyers_of(root))
        while versions.unchecked:
            root = next(iter(versions.unchecked))
            self._check_version(fgraph, versions, root)
            # New readers may have come in through views that moved: the order has to be looked at as well.
            sequencer.unchecked.update(versions.destroyers_of(root))
            del versions.unchecked[root]
        while sequencer.unchecked:
            node = next(iter(sequencer.unchecked))
            _check_order(fgraph, sequencer, node)
            del sequencer.unchecked[node]
        sequencer.settled()

    def refused_inputs(self, fgraph: FunctionGraph, node: Apply) -> list[int]:
        """Return the numbers of the inputs that `node` must not overwrite wherever it runs; empty if there are none.

        Another node that overwrites the same, an owner, or another input in the same memory are reasons; that other
        readers cannot run first is none, see :meth:`conflict`.
        """
        versions = self._known(fgraph)[0]
        refused = []
        for i in destroyed_inputs(node):
            root = versions.root_of(node.inputs[i])
            try:
                self._check_version(fgraph, versions, root)
            except InconsistencyError:
                refused.append(i)
        return refused

    def conflict(self, fgraph: FunctionGraph, node: Apply) -> InconsistencyError | None:
        """Return why `node` must not overwrite its inputs, or None where it may."""
        versions, sequencer = self._known(fgraph)
        try:
            for root in versions.destroyed_by(node):
                self._check_version(fgraph, versions, root)
            for other in list(sequencer.unchecked):
                if other is not node and sequencer.settle(fgraph, other) is None:
                    del sequencer.unchecked[other]
            _check_order(fgraph, sequencer, node)
        except InconsistencyError as error:
            return error
        return None

    def _check_version(self, fgraph: FunctionGraph, versions: Versions, root: Variable) -> None:
        nodes = list(versions.destroyers_of(root))
        if not nodes:
            return
        if len(nodes) > 1:
            where = [describe(root), *(str(node.op) for node in nodes[:2])]
            raise _refused(nodes[1], f"would overwrite `{root}`, which another node overwrites already", where)
        owner = self._owner(fgraph, versions, root)
        if owner is not None:
            raise _refused(nodes[0], f"would overwrite `{root}`, {owner}", [describe(root)])
        _check_other_inputs(versions, nodes[0], root)

    def _owner(self, fgraph: FunctionGraph, versions: Versions, root: Variable) -> str | None:
        """Say why nobody may overwrite a version, or return None."""
        if isinstance(root, Constant):
            return "a constant"
        if getattr(root.tag, "indestructible", False):
            return "which is marked as indestructible"
        if versions.is_output(root):
            return "an output of the graph"
        for feature in fgraph.features:
            if isinstance(feature, Supervisor) and feature.protects(self, fgraph, root):
                return "which is protected"
        view = self._odd(versions).get(root) if self._odd_views else None
        if view is not None:
            return f"and `{view.op}`, a view of several inputs, may have a result that lies there"
        return None

    def _known(self, fgraph: FunctionGraph) -> tuple[Versions, Sequencer]:
        """Return the facts about the graph, computed now if that has not been done yet."""
        if self._versions is None or self._sequencer is None:
            with self._plain():
                self._versions, self._sequencer = self._settle(fgraph)
        return self._versions, self._sequencer

    def _settle(self, fgraph: FunctionGraph) -> tuple[Versions, Sequencer]:
        self._graph = weakref.ref(fgraph)
        # By data alone: the orderings may contradict each other so far.
        nodes = toposort(fgraph.inputs, fgraph.outputs)
        versions = Versions()
        for node in nodes:
            versions.add_node(node)
            if node.op.view_map and views_several(node):
                self._odd_views[node] = None
        for output in fgraph.outputs:
            versions.add_output(output)
        sequencer = Sequencer(nodes, versions)
        sequencer.unchecked.update(versions.destroyers)
        return versions, sequencer

    def logical_state(self, fgraph: FunctionGraph) -> dict[str, object]:
        """Return the facts about versions, to compare with those of another handler."""
        return self._known(fgraph)[0].logical_state()

    def __getstate__(self) -> dict[str, Any]:
        # Worked out anew when needed.
        # Not empty: the oldest protocols of pickle call `__setstate__` for a state that is true only.
        return {"_versions": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._forget()


def _check_other_inputs(versions: Versions, node: Apply, root: Variable) -> None:
    """Refuse a node that overwrites a version and reads it by another input as well, unless its op tolerates that."""
    inside = [i for i, v in enumerate(node.inputs) if versions.root_of(v) is root]
    if len(inside) == 1:
        return
    for destroyed in destroyed_inputs(node):
        if destroyed not in inside:
            continue
        for other in inside:
            if other != destroyed and not tolerated(node, destroyed, other):
                what = f"would overwrite input {destroyed} while input {other} lies in the same memory"
                raise _refused(node, what, [describe(node.inputs[destroyed]), describe(node.inputs[other])])


def _check_order(fgraph: FunctionGraph, sequencer: Sequencer, node: Apply) -> None:
    culprit = sequencer.settle(fgraph, node)
    if culprit is not None:
        what = "would have to run before and after another node: it overwrites what is read later"
        raise _refused(culprit, what, [describe(node.outputs[0])] if node.outputs else [])


def _graph_of(variables: Iterable[Variable]) -> FunctionGraph | None:
    for variable in variables:
        result = getattr(variable if variable.owner is None else variable.owner, "fgraph", None)
        if isinstance(result, FunctionGraph):
            return result
    return None


def _refused(node: Apply, what: str, where: list[str], hint: str | None = None) -> InconsistencyError:
    hint = hint or "use the form of the op that makes a new result, or give this node a copy"
    location = f"{node.op}" + (f" made at {node.origin}" if node.origin is not None else "")
    return InconsistencyError(format_error(f"{node.op} {what}", context=[location, *where], hint=hint))


def find_handler(fgraph: FunctionGraph) -> DestroyHandler | None:
    """Return the handler of a graph, or None."""
    for feature in fgraph.features:
        if isinstance(feature, DestroyHandler):
            return feature
    return None


def require_handler(fgraph: FunctionGraph) -> DestroyHandler:
    """Return the handler of a graph, attached now if there was none."""
    handler = find_handler(fgraph)
    if handler is None:
        handler = DestroyHandler()
        fgraph.attach_feature(handler)
    return handler


def fast_inplace_check(
    fgraph: FunctionGraph | Iterable[Variable], inputs: Iterable[Variable] | None = None
) -> list[Variable]:
    """Return the `inputs` that a new node could overwrite; see DestroyHandler for the conditions.

    A pre-check for rewrites that put in-place forms in: it costs no walk and changes nothing, and it does not find
    that the readers of a variable cannot all run before the new node.

    Parameters
    ----------
    fgraph : FunctionGraph
        With a :class:`DestroyHandler`; may be left out where the variables know their graph.
    inputs : iterable of Variable

    Raises
    ------
    TypeError
        If the graph is left out and the variables do not know it.
    """
    if inputs is None:
        inputs = list(fgraph)  # type: ignore[arg-type]  # the short form: the variables alone
        if not inputs:
            return []
        value = _graph_of(inputs)
        if value is None:
            raise TypeError(
                format_error(
                    "fast_inplace_check cannot tell the graph of these variables", hint="pass (fgraph, variables)"
                )
            )
        fgraph = value
    assert isinstance(fgraph, FunctionGraph)
    handler = require_handler(fgraph)
    return [v for v in inputs if handler.may_be_overwritten(fgraph, v)]
