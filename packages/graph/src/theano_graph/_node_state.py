"""The attributes of nodes, and copies and orders of nodes that pickling and copying need."""

from __future__ import annotations

import copy
import operator
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from ._nodes import Node

NodeT = TypeVar("NodeT", bound="Node")


#: Slots that say nothing of a node itself: copies and pickles leave them out.
_NOT_STATE = ("__weakref__", "__dict__", "_membership", "_position")
_UNSET = object()


class _Slots:
    """What is asked of a class of nodes again and again; one object each, so that pickles refer to it."""

    def __init__(self, cls: type) -> None:
        names: list[str] = []
        for base in cls.__mro__:
            own = base.__dict__.get("__slots__", ())
            names.extend(s for s in ((own,) if isinstance(own, str) else own) if s not in _NOT_STATE)
        self.names = tuple(names)
        self.values = operator.attrgetter(*names)
        self.arguments = (cls,)


_slots_of: dict[type, _Slots] = {}


def _slots(node: Node) -> _Slots:
    cls = type(node)
    found = _slots_of.get(cls)
    if found is None:
        found = _slots_of[cls] = _Slots(cls)
    return found


def new_arguments(node: Node) -> tuple[type]:
    """Return the arguments with which :func:`new_node` makes a node of the same class."""
    return _slots(node).arguments


def slot_state(node: Node) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Return the names and the values of the attributes that are set."""
    slots = _slots(node)
    try:
        return slots.names, slots.values(node)
    except AttributeError:
        state = {name: value for name in slots.names if (value := getattr(node, name, _UNSET)) is not _UNSET}
        return tuple(state), tuple(state.values())


def _slot_values(node: Node) -> Iterator[tuple[str, Any]]:
    return zip(*slot_state(node), strict=True)


def with_same_slots(node: NodeT) -> NodeT:
    """Return a new node of the same class with the same attributes and a tag of its own."""
    cls = type(node)
    new = cls.__new__(cls)
    for slot, value in _slot_values(node):
        setattr(new, slot, value)
    attributes = getattr(node, "__dict__", None)
    if attributes:
        new.__dict__.update(attributes)
    if node._tag is not None:
        new._tag = node._tag.copy()
    return new


def deep_copy(node: Node, memo: dict[int, Any]) -> None:
    """Put a deep copy of `node` in `memo`, which has those of its parents; the outputs of an apply node go with it."""
    cls = type(node)
    new = memo[id(node)] = cls.__new__(cls)
    for output in getattr(node, "outputs", ()):
        if id(output) not in memo:
            deep_copy(output, memo)
    for slot, value in _slot_values(node):
        if slot in ("inputs", "outputs"):
            copied: Any = [memo[id(v)] for v in value]
        elif value is None or slot == "origin":
            copied = value  # origins never change
        else:
            known = memo.get(id(value), _UNSET)
            copied = copy.deepcopy(value, memo) if known is _UNSET else known
        setattr(new, slot, copied)
    attributes = getattr(node, "__dict__", None)
    if attributes:
        new.__dict__.update(copy.deepcopy(attributes, memo))


def new_node(cls: type[Node]) -> Node:
    return cls.__new__(cls)


def in_order(node: Node, without: Collection[int] = ()) -> list[Node]:
    """Return the ancestors of a node and the node, inputs first; an apply node is followed by its outputs.

    The walk stops at nodes whose ``id`` is in `without`.
    """
    order: list[Node] = []
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(node, False)]
    while stack:
        current, expanded = stack.pop()
        if expanded:
            order.append(current)
            # Also those that nobody uses: a node refers to them.
            fresh = [output for output in getattr(current, "outputs", ()) if output not in seen]
            seen.update(fresh)
            order.extend(fresh)
        elif current not in seen:
            seen.add(current)
            stack.append((current, True))
            stack.extend((p, False) for p in reversed(current.get_parents()) if p not in seen and id(p) not in without)
    return order
