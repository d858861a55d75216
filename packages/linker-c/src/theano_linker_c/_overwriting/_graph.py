"""Nodes that overwrite an input: run after all other readers, and never on memory that is not theirs.

The :class:`~theano_optimize.DestroyHandler` decides which overwriting is legal; where it refuses a node, the node gets
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from theano_graph import Apply, FunctionGraph
from theano_optimize import DestroyHandler, Supervisor, destroyed_inputs

from ..ops import deep_copy_op


def supervise(fgraph: FunctionGraph, mutable: Collection[int]) -> None:
    """Have rewriting keep its hands off all inputs but those with the numbers in `mutable`."""
    if not any(isinstance(f, Supervisor) for f in fgraph.features):
        fgraph.attach_feature(Supervisor(v for i, v in enumerate(fgraph.inputs) if i not in mutable))


def protect_overwritten(fgraph: FunctionGraph, mutable: Collection[int]) -> None:
    """Insert copies where a node would overwrite a forbidden value, and order the others after their readers.

    Parameters
    ----------
    fgraph : FunctionGraph
        Nothing happens, at the cost of one look at each node, where no node overwrites an input.
    mutable : collection of int
        Numbers of the inputs of `fgraph` that may be overwritten.
    """
    nodes = [node for node in fgraph.apply_nodes if node.op.destroy_map]
    if not nodes:
        return
    supervise(fgraph, mutable)
    handler = _handler(fgraph)
    for node in nodes:
        while refused := handler.refused_inputs(fgraph, node):
            _copy_inputs(fgraph, node, refused[:1])
    for node in nodes:
        if handler.conflict(fgraph, node) is not None:
            _copy_inputs(fgraph, node, destroyed_inputs(node))
    _part_choices(fgraph, handler)


def _part_choices(fgraph: FunctionGraph, handler: DestroyHandler) -> None:
    """Give copies to nodes whose output may be a view of one input or of another, where one of these is overwritten.

    The handler follows the first input of such a view only; the others are copied, so that they are no part of it.
    """
    for node in [node for node in fgraph.toposort() if node.op.view_map]:
        for sources in node.op.view_map.values():
            others = list(dict.fromkeys(i for i in sources if i != sources[0]))
            if others and handler.has_destroyers(fgraph, [node.inputs[i] for i in sources]):
                _copy_inputs(fgraph, node, others)


def _handler(fgraph: FunctionGraph) -> DestroyHandler:
    handler = next((f for f in fgraph.features if isinstance(f, DestroyHandler)), None)
    if handler is None:
        handler = DestroyHandler()
        fgraph.attach_feature(handler)
    return handler


def _copy_inputs(fgraph: FunctionGraph, node: Apply, indices: Iterable[int]) -> None:
    for index in indices:
        fgraph.change_input(node, index, deep_copy_op(node.inputs[index]), reason="protect_overwritten")
