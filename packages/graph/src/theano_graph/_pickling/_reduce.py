"""What nodes reduce to when they are pickled; registers itself with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._expression._node_state import is_plain, new_node
from .._expression._pickling_hook import pickling_hook
from .._traversal._deep_copy import deep_copy, in_order
from ._store import NodeStore, store_asked_for
from ._tables import is_own_output, new_apply, output_of, signature

if TYPE_CHECKING:
    from .._expression._nodes import Apply, Variable


def reduce_variable(variable: Variable) -> tuple[Any, ...] | None:
    """Return an output of a node as its node and its number; None for other variables."""
    owner = variable.owner
    if owner is None or not (is_plain(type(variable)) and is_plain(type(owner)) and is_own_output(variable)):
        return None
    return (output_of, (owner, variable.index))


def reduce_apply(node: Apply, with_attributes: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return what makes a node, with all its ancestors before it unless they are being written already."""
    store = store_asked_for(node)
    made_from = signature(node)
    if made_from is not None:
        if store is not None:
            store.take(node, made_from)
            return (new_apply, made_from)
        store = NodeStore(lambda: in_order(node), node)
        return (new_apply, made_from, store.stages())
    reduced = with_attributes()
    if store is None and reduced[0] is new_node:
        ancestors = NodeStore(lambda: in_order(node)[:-1])
        return (new_node, (type(node), ancestors.stages()), *reduced[2:])
    return reduced


pickling_hook.reduce_variable = reduce_variable
pickling_hook.reduce_apply = reduce_apply
pickling_hook.deep_copy = deep_copy
