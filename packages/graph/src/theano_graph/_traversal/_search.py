"""More questions about graphs: searches in either order, lists of nodes, orders by preference, and connections."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, MutableSequence, Sequence
from functools import cmp_to_key
from typing import Any, Literal, TypeVar, overload

from .._errors import GraphError, format_error
from .._expression._nodes import Apply, Variable
from .._expression._op import connection_pattern
from ._check import variables_of
from ._postorder import NO_PLACE, places_of
from ._walk import orphans_between, toposort, variables_between

NodeT = TypeVar("NodeT")
Comparator = Callable[[Apply, Apply], int]


@overload
def stack_search(
    start: deque[NodeT] | MutableSequence[NodeT],
    expand: Callable[[NodeT], Iterable[NodeT] | None],
    mode: str = "bfs",
    build_inv: Literal[False] = False,
) -> list[NodeT]: ...
@overload
def stack_search(
    start: deque[NodeT] | MutableSequence[NodeT],
    expand: Callable[[NodeT], Iterable[NodeT] | None],
    mode: str = "bfs",
    *,
    build_inv: Literal[True],
) -> tuple[list[NodeT], dict[NodeT, list[NodeT]]]: ...
def stack_search(
    start: deque[NodeT] | MutableSequence[NodeT],
    expand: Callable[[NodeT], Iterable[NodeT] | None],
    mode: str = "bfs",
    build_inv: bool = False,
) -> list[NodeT] | tuple[list[NodeT], dict[NodeT, list[NodeT]]]:
    """Visit everything that can be reached from `start`, each thing once.

    Parameters
    ----------
    start : deque or list
        Where to begin; empty afterwards.
    expand : callable
        Gives what can be reached from one thing directly, or None.
    mode : {"bfs", "dfs"}
        Breadth first or depth first.
    build_inv : bool
        Whether to return also what led to each thing.

    Returns
    -------
    list, or pair of list and dict
        The things in the order of the visit; with `build_inv` also thing -> those whose `expand` named it.

    Raises
    ------
    GraphError
        If `mode` is another word.

    Examples
    --------
    >>> stack_search([4], lambda n: [n - 1, n - 2] if n > 1 else None)
    [4, 3, 2, 1, 0]
    """
    if mode not in ("bfs", "dfs"):
        raise GraphError(format_error(f"there is no search mode {mode!r}", hint='pass "bfs" or "dfs"'))
    if not isinstance(start, (deque, MutableSequence)):
        raise TypeError(format_error(f"a search starts from a deque or list, not {start!r}", hint="pass deque([...])"))
    waiting = deque(start)
    start.clear()
    take = waiting.popleft if mode == "bfs" else waiting.pop
    if mode == "dfs":
        waiting.reverse()
    seen: dict[NodeT, None] = {}
    came_from: dict[NodeT, list[NodeT]] = {}
    while waiting:
        node = take()
        if node in seen:
            continue
        seen[node] = None
        following = list(expand(node) or ())
        if build_inv:
            for successor in following:
                came_from.setdefault(successor, []).append(node)
        waiting.extend(following if mode == "bfs" else reversed(following))
    return (list(seen), came_from) if build_inv else list(seen)


def variables_and_orphans(
    inputs: Iterable[Variable], outputs: Iterable[Variable]
) -> tuple[list[Variable], list[Variable]]:
    """Return the variables between `inputs` and `outputs`, and those among them without an owner that are no input."""
    inputs, outputs = variables_of("inputs", inputs), variables_of("outputs", outputs)
    return variables_between(inputs, outputs), orphans_between(inputs, outputs)


def list_of_nodes(inputs: Iterable[Variable], outputs: Iterable[Variable]) -> list[Apply]:
    """Return the nodes between `inputs` and `outputs`, the ones nearest to the outputs first."""
    stop = set(variables_of("inputs", inputs))
    ends = variables_of("outputs", outputs)
    starts = deque(dict.fromkeys(v.owner for v in ends if v.owner is not None and v not in stop))
    return stack_search(starts, lambda n: [v.owner for v in n.inputs if v.owner is not None and v not in stop])


def sort_apply_nodes(
    inputs: Iterable[Variable], outputs: Iterable[Variable], comparators: Sequence[Comparator] = ()
) -> list[Apply]:
    """Return the nodes between `inputs` and `outputs` in a topological order that respects preferences.

    Parameters
    ----------
    inputs, outputs : iterable of Variable
    comparators : sequence of callable
        Each takes two nodes and returns a negative number if the first should run earlier, a positive one if later, and
        0 if it does not matter. Among nodes that could run next the first comparator decides, then the second, and so
        on. They should be consistent, as for sorting.

    Notes
    -----
    Data dependencies always win. Ties are broken by :func:`toposort`'s order; n log n in nodes.
    """
    comparators = list(comparators)
    for compare in comparators:
        if not callable(compare):
            raise TypeError(
                format_error(
                    f"a comparator is a function of two nodes, not {compare!r}", hint="return -1, 0 or 1 from it"
                )
            )
    order = toposort(inputs, outputs)
    waits_for, unblocks = _waiting(order)
    keys = [cmp_to_key(compare) for compare in comparators]

    def entry(place: int) -> Any:
        return (*(key(order[place]) for key in keys), place) if keys else place

    ready = [entry(place) for place, count in enumerate(waits_for) if not count]
    heapq.heapify(ready)
    found = []
    while ready:
        first = heapq.heappop(ready)
        place = first[-1] if keys else first
        found.append(order[place])
        following = unblocks[place]
        for other in (following,) if isinstance(following, int) else following or ():
            waits_for[other] -= 1
            if not waits_for[other]:
                heapq.heappush(ready, entry(other))
    return found


def _waiting(order: Sequence[Apply]) -> tuple[list[int], list[list[int] | int | None]]:
    """Return, by places in `order`, how many nodes each one waits for, and which wait for it: none, one or a list."""
    waits_for: list[int] = []
    unblocks: list[list[int] | int | None] = [None] * len(order)
    with places_of(order) as place_of:
        for place, node in enumerate(order):
            # A node that the order has not is beyond the inputs; the order is topological.
            needed = {place_of(v.owner) for v in node.inputs if v.owner is not None}
            needed.discard(NO_PLACE)
            waits_for.append(len(needed))
            for other in needed:
                waiting = unblocks[other]
                if waiting is None:
                    unblocks[other] = place
                elif isinstance(waiting, int):
                    unblocks[other] = [waiting, place]
                else:
                    waiting.append(place)
    return waits_for, unblocks


def io_connection_pattern(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> list[list[bool]]:
    """Return, for each input, which outputs depend on it differentiably.

    Parameters
    ----------
    inputs, outputs : sequence of Variable

    Returns
    -------
    list of lists of bool
        ``pattern[i][o]`` tells whether output `o` is connected to input `i` through the connection patterns of the ops
        between them.
    """
    inputs, outputs = variables_of("inputs", inputs), variables_of("outputs", outputs)
    # The inputs that a variable is connected to are the set bits of one number.
    bits = {variable: 1 << i for i, variable in enumerate(inputs)}
    for node in toposort(inputs, outputs):
        sources = [bits.get(v, 0) for v in node.inputs]
        if not any(sources):
            continue
        pattern = connection_pattern(node)
        for o, output in enumerate(node.outputs):
            if output in bits:
                continue
            connected = 0
            for row, source in zip(pattern, sources, strict=True):
                if row[o]:
                    connected |= source
            bits[output] = connected
    return [[bool(bits.get(output, 0) >> i & 1) for output in outputs] for i in range(len(inputs))]
