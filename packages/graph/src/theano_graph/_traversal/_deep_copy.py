"""Deep copies of graphs of any depth, and the order of ancestors that copies and pickles need."""

from __future__ import annotations

import copy
from collections.abc import Collection, Container
from typing import TYPE_CHECKING, Any

from .._expression._node_state import UNSET, new_node, slot_values
from ._postorder import nodes_in_order

if TYPE_CHECKING:
    from .._expression._nodes import Node


def deep_copy(node: Node, memo: dict[int, Any]) -> Any:
    """Return a deep copy of `node` and of all that it depends on, except what `memo` has copies of."""
    for ancestor in in_order(node, memo):
        if id(ancestor) not in memo:
            _copy_one(ancestor, memo)
    return memo[id(node)]


def _copy_one(node: Node, memo: dict[int, Any]) -> None:
    """Put a deep copy of `node` in `memo`, which has those of its parents; the outputs of an apply node go with it."""
    new = memo[id(node)] = new_node(type(node))
    for output in getattr(node, "outputs", ()):
        if id(output) not in memo:
            _copy_one(output, memo)
    for slot, value in slot_values(node):
        if slot in ("inputs", "outputs"):
            copied: Any = [memo[id(v)] for v in value]
        elif value is None or slot == "origin":
            copied = value  # origins never change
        else:
            known = memo.get(id(value), UNSET)
            copied = copy.deepcopy(value, memo) if known is UNSET else known
        setattr(new, slot, copied)
    attributes = getattr(node, "__dict__", None)
    if attributes:
        new.__dict__.update(copy.deepcopy(attributes, memo))


class _ByIdentity:
    """A container of nodes whose ``id`` is in another one."""

    def __init__(self, ids: Collection[int]) -> None:
        self._ids = ids

    def __contains__(self, node: object) -> bool:
        return id(node) in self._ids


def in_order(node: Node, without: Collection[int] = ()) -> list[Node]:
    """Return the ancestors of a node and the node, inputs first, without the outputs of apply nodes.

    The walk stops at nodes whose ``id`` is in `without`.
    """
    stop: Container[Any] = _ByIdentity(without) if without else ()
    last: Any = node if hasattr(node, "outputs") else getattr(node, "owner", None)
    order: list[Node] = []
    leaves: set[Node] = set()
    for applied in [] if last is None or last in stop else nodes_in_order([last], stop):
        for variable in applied.inputs:
            if variable.owner is None and variable not in leaves and variable not in stop:
                leaves.add(variable)
                order.append(variable)
        order.append(applied)
    return order if last is not None or node in stop else [node]
