"""Positions of the nodes of a function graph, which tell quickly that a change closes no cycle.

Each node has a number that is greater than those of the nodes it depends on. A variable whose node comes before all
users of another one cannot depend on them: most replacements are cleared by comparing two numbers. Where the numbers do
not tell, only the part of the graph that lies between them is walked, and what was walked gets smaller numbers, so that
the same question is cheap the next time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from .._errors import CycleError, format_error
from .._expression._nodes import Apply, Variable, describe
from ._membership import Membership
from ._uses import Client

#: Distance of neighbours in a fresh numbering: that many halvings of a gap fit before the nodes are numbered anew.
SPACING = 1 << 64


def number(nodes: Iterable[Apply], start: int = 0) -> None:
    """Give nodes that are in topological order fresh positions, all above `start`."""
    for node in nodes:
        start += SPACING
        node._position = start


def is_before(node: Apply, clients: Iterable[Client]) -> bool:
    """Tell whether the positions alone show that a node does not depend on clients, all in one graph with it."""
    position = node._position
    for user, _ in clients:  # noqa: SIM110  # asked at each change, and a generator costs twice as much
        if not isinstance(user, str) and user._position <= position:
            return False
    return True


def before_users(new: Variable, users: Collection[Apply], here: Membership, old: Variable) -> bool:
    """Give the nodes of `new` positions before those of `users`, which are going to use it.

    Parameters
    ----------
    new : Variable
    users : collection of Apply
        Nodes of the graph, or on their way into it.
    here : Membership
        What the nodes of the graph are marked with; others that `new` needs are on their way into it and have no
        position yet.
    old : Variable
        What `new` replaces; named in errors.

    Returns
    -------
    bool
        False if there was no room between two positions: the graph must be numbered afresh, and this called again.

    Raises
    ------
    CycleError
        If `new` depends on one of the users. Positions are as before.
    """
    root = new.owner
    if root is None:
        return True
    limit: int | None = None
    for user in users:
        if user._membership is here and (limit is None or user._position < limit):
            limit = user._position
    if root._membership is here and (limit is None or root._position < limit):
        return True
    behind = _behind(root, users, here, limit, old)
    moved = set(behind)
    feeding = (v.owner for node in behind for v in node.inputs)
    low = max((node._position for node in feeding if node is not None and node not in moved), default=0)
    if limit is None:
        number(behind, low)
        return True
    step = (limit - low) // (len(behind) + 1)
    if not step:
        return False
    for i, node in enumerate(behind):
        node._position = low + step * (i + 1)
    return True


def _behind(root: Apply, users: Collection[Apply], here: Membership, limit: int | None, old: Variable) -> list[Apply]:
    """Return what `root` depends on, itself included, without the nodes of the graph below `limit`; inputs first."""
    order: list[Apply] = []
    seen: set[Apply] = set()
    path: list[Apply] = []
    stack: list[tuple[Apply, bool]] = [(root, False)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            order.append(path.pop())
            continue
        if node in seen:
            continue
        seen.add(node)
        path.append(node)
        if node in users:
            raise _cycle(path, old)
        stack.append((node, True))
        for variable in node.inputs:
            owner = variable.owner
            if owner is None or owner in seen:
                continue
            if owner._membership is here and (limit is None or owner._position < limit):
                continue
            stack.append((owner, False))
    return order


def _cycle(path: Sequence[Apply], old: Variable) -> CycleError:
    """Return the error for a replacement of `old` by the result of the first node, which needs the last one."""
    names = [str(node.op) for node in reversed(path)]
    if len(names) > 8:
        names[4:-4] = [f"... {len(names) - 8} more ..."]
    return CycleError(
        format_error(
            f"`{old}` cannot be replaced by something made from it: the graph would have a cycle",
            context=[f"the cycle: {' -> '.join([*names, names[0]])}", describe(old), describe(path[0].outputs[0])],
            hint="make the replacement from the inputs of what it replaces, or change the inputs one by one",
        )
    )
