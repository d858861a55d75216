"""Nodes that overwrite an input: run after all other readers, and never on memory that is not theirs.

A variable and its views form one *version* of a piece of memory; the output of a node that overwrites it starts the
next. A version may be overwritten once, after all its readers have run, and only if it is not an output itself and not
memory of the caller, of a constant or of a shared variable. Where one of these fails, the node gets a copy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from theano_graph import Apply, Constant, CycleError, Feature, FunctionGraph, Variable, view_roots

from .ops import deep_copy_op


class ReadersFirst(Feature):
    """Orders the readers of a piece of memory before the node that overwrites it."""

    def orderings(self, fgraph: FunctionGraph) -> Mapping[Apply, Sequence[Apply]]:
        """Return, for each node that overwrites an input, the other readers of that input and its views."""
        found: dict[Apply, list[Apply]] = {}
        for node in destroyers(fgraph):
            before: dict[Apply, None] = {}
            for index in destroyed_inputs(node):
                for variable in _version(fgraph, node.inputs[index]):
                    before.update((c, None) for c, _ in fgraph.clients(variable) if isinstance(c, Apply))
            before.pop(node, None)
            found[node] = list(before)
        return found


def destroyers(fgraph: FunctionGraph) -> list[Apply]:
    """Return the nodes of `fgraph` that overwrite an input, in the order in which they came in."""
    return [node for node in fgraph.apply_nodes if node.op.destroy_map]


def destroyed_inputs(node: Apply) -> list[int]:
    """Return the numbers of the inputs that `node` overwrites."""
    return sorted({i for inputs in node.op.destroy_map.values() for i in inputs})


def _views_of(fgraph: FunctionGraph, variable: Variable) -> Iterator[Variable]:
    for client, i in fgraph.clients(variable):
        if isinstance(client, Apply) and client.op.view_map:
            for output, sources in client.op.view_map.items():
                if i in sources:
                    yield client.outputs[output]


def _version(fgraph: FunctionGraph, variable: Variable) -> list[Variable]:
    """Return the variables that hold the same version of the same memory as `variable`."""
    found: dict[Variable, None] = {}
    stack = list(view_roots(variable))
    while stack:
        v = stack.pop()
        if v not in found:
            found[v] = None
            stack.extend(_views_of(fgraph, v))
    return list(found)


def protect_overwritten(fgraph: FunctionGraph, mutable: Collection[int]) -> None:
    """Insert copies where a node would overwrite what it must not, and order the others after their readers.

    Parameters
    ----------
    fgraph : FunctionGraph
        Nothing happens, at the cost of one look at each node, where no node overwrites an input.
    mutable : collection of int
        Numbers of the inputs of `fgraph` that may be overwritten.
    """
    nodes = destroyers(fgraph)
    if not nodes:
        return
    if not any(isinstance(f, ReadersFirst) for f in fgraph.features):
        fgraph.attach_feature(ReadersFirst())
    fixed = {v for i, v in enumerate(fgraph.inputs) if i not in mutable}
    for node in nodes:
        for index in destroyed_inputs(node):
            if _may_not_overwrite(fgraph, node, index, fixed):
                _copy_input(fgraph, node, index)
    _break_cycles(fgraph)


def _may_not_overwrite(fgraph: FunctionGraph, node: Apply, index: int, fixed: set[Variable]) -> bool:
    version = _version(fgraph, node.inputs[index])
    for variable in version:
        if variable in fixed or isinstance(variable, Constant):
            return True
        for client, i in fgraph.clients(variable):
            if not isinstance(client, Apply):
                return True
            if (client is not node or i != index) and client.op.destroy_map and i in destroyed_inputs(client):
                return True
            if client is node and i != index:
                return True
    return False


def _copy_input(fgraph: FunctionGraph, node: Apply, index: int) -> None:
    fgraph.change_input(node, index, deep_copy_op(node.inputs[index]), reason="protect_overwritten")


def _break_cycles(fgraph: FunctionGraph) -> None:
    """Give copies to nodes that would have to run before what they depend on, until an order exists."""
    for node in destroyers(fgraph):
        try:
            fgraph.toposort()
            return
        except CycleError:
            for index in destroyed_inputs(node):
                _copy_input(fgraph, node, index)
