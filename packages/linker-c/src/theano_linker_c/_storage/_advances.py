"""Which nodes move random states on, for functions that are made without the updates that do it."""

from __future__ import annotations

import weakref
from collections.abc import Iterable

from theano_graph import Apply, Variable, toposort

from ._shared import SharedVariable

_nodes: weakref.WeakKeyDictionary[SharedVariable, list[weakref.ref[Apply]]] = weakref.WeakKeyDictionary()


def note_advance(shared: SharedVariable, node: Apply) -> None:
    """Note that a node, such as a loop, works out the state that a shared variable has after it.

    Parameters
    ----------
    shared : SharedVariable
        One with a default update, which is that of a single draw.
    node : Apply
        Not kept alive.
    """
    advances = _nodes.get(shared, [])
    _nodes[shared] = [*(ref for ref in advances if ref() is not None), weakref.ref(node)]


def left_behind(
    states: Iterable[SharedVariable], expressions: Iterable[Variable]
) -> list[tuple[SharedVariable, Apply]]:
    """Return which of some shared variables a node of some expressions moves on, with that node."""
    noted = [(s, node) for s in states for ref in _nodes.get(s, ()) if (node := ref()) is not None]
    if not noted:
        return []
    there = set(toposort([], list(expressions)))
    return [(s, node) for s, node in noted if node in there]
