"""Walks over graphs: ancestors, topological orders, searches; a record of nodes under construction."""

from __future__ import annotations

import contextlib
import heapq
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSequence, Sequence, Set as AbstractSet
from functools import cmp_to_key
from threading import get_ident
from typing import Any, Literal, TypeVar, overload

from .._errors import GraphError, format_error
from .._expression._nodes import Apply, Variable
from .._expression._op import connection_pattern
from ._postorder import (
    NO_PLACE,
    label,
    node_of,
    nodes_in_order,
    places_of,
    postorder,
    sources_first,
    variable_of,
    variables_of,
)

NodeT = TypeVar("NodeT")
Orderings = Mapping[Apply, Sequence[Apply]]


def walk(starts: Iterable[NodeT], expand: Callable[[NodeT], Iterable[NodeT] | None]) -> Iterator[NodeT]:
    """Yield each node reachable from `starts` once, depth first, a node before its expansion.

    Parameters
    ----------
    starts : iterable
    expand : callable
        Gives the next nodes; None or empty ends a branch.
    """
    stack = list(starts)
    stack.reverse()
    seen: set[NodeT] = set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        following = expand(node)
        if following:
            stack.extend(reversed(list(following)))


def ancestors(outputs: Iterable[Variable], blockers: Iterable[Variable] | None = ()) -> list[Variable]:
    """Return the variables that contribute to `outputs`, these included, in depth-first order.

    Parameters
    ----------
    outputs : iterable of Variable
    blockers : iterable of Variable
        The walk stops at these; they are in the result when they are reached.
    """
    outputs = variables_of("outputs", outputs)
    stop = set(variables_of("blockers", blockers or ()))

    def expand(variable: Variable) -> Iterable[Variable] | None:
        if variable.owner is None or variable in stop:
            return None
        inputs: list[Variable] = variable.owner.inputs
        return inputs

    return list(walk(outputs, expand))


def graph_inputs(outputs: Iterable[Variable], blockers: Iterable[Variable] | None = ()) -> list[Variable]:
    """Return the variables without an owner, constants included, that contribute to `outputs`, in depth-first order."""
    return [v for v in ancestors(outputs, blockers) if v.owner is None]


def is_in_ancestors(variable: Variable, node: Apply) -> bool:
    """Tell whether `node` contributes to `variable`."""
    variable_of("the variable", variable)
    node_of("what to look for", node)

    def expand(v: Variable) -> Iterable[Variable] | None:
        return None if v.owner is None else v.owner.inputs

    return any(v.owner is node for v in walk([variable], expand))


def variables_between(inputs: Iterable[Variable], outputs: Iterable[Variable]) -> list[Variable]:
    """Return the variables between `inputs` and `outputs`: both of these, the ones on the way, and orphans."""
    inputs, outputs = variables_of("inputs", inputs), variables_of("outputs", outputs)
    result = dict.fromkeys(inputs)
    for node in toposort(inputs, outputs):
        result.update(dict.fromkeys(node.inputs))
        result.update(dict.fromkeys(node.outputs))
    result.update(dict.fromkeys(outputs))
    return list(result)


def orphans_between(inputs: Iterable[Variable], outputs: Iterable[Variable]) -> list[Variable]:
    """Return the variables without an owner that `outputs` depend on and that are not in `inputs`."""
    arguments = set(variables_of("inputs", inputs))
    return [v for v in graph_inputs(outputs, arguments) if v not in arguments]


def toposort(
    inputs: Iterable[Variable],
    outputs: Iterable[Variable],
    orderings: Orderings | None = None,
    clients: dict[Apply, list[Apply]] | None = None,
    *,
    last_input_first: bool = False,
) -> list[Apply]:
    """Return the nodes needed for `outputs` given `inputs`, each after the nodes that it depends on.

    Parameters
    ----------
    inputs, outputs : iterable of Variable
    orderings : mapping, optional
        Node -> list of nodes that must come before it for reasons other than data; those are in the result too.
    clients : dict, optional
        Filled with node -> the nodes that depend on it directly, for each node of the result that has some.
    last_input_first : bool
        Whether the ancestors of a node's last input come before those of the first one; for walks along data alone.

    Raises
    ------
    CycleError
        If no such order exists.
    TypeError
        If something is no variable or node, or `orderings` has sets, whose order is not the same each time.

    Notes
    -----
    The order depends on the graph alone, not on identities, so that it is the same in each process. Linear in edges.
    """
    # A set or mapping is used as it is: a growing graph asks again and again with all its variables.
    stop = inputs if isinstance(inputs, (AbstractSet, Mapping)) else set(variables_of("inputs", inputs))
    roots = [v.owner for v in variables_of("outputs", outputs) if v not in stop and v.owner is not None]
    if not orderings and clients is None:
        return nodes_in_order(roots, stop, last_input_first)
    before = checked_orderings(orderings)

    def dependencies(node: Apply) -> list[Apply]:
        result = dict.fromkeys(v.owner for v in node.inputs if v.owner is not None and v not in stop)
        result.update(dict.fromkeys(before.get(node, ())))
        return list(result)

    return postorder(roots, dependencies if clients is None else _noting(dependencies, clients))


def ordered_nodes(
    inputs: Iterable[Variable],
    outputs: Iterable[Variable],
    orderings: Orderings | None = None,
    clients: dict[Any, list[Any]] | None = None,
) -> list[Apply]:
    """Return the nodes needed for `outputs` given `inputs`, in the order of readiness.

    Parameters
    ----------
    inputs, outputs : iterable of Variable
    orderings : mapping, optional
        Node -> list of nodes that must come before it for reasons other than data.
    clients : dict, optional
        Filled with variable -> the nodes that read it, once for each place, and node -> its outputs that are needed.

    Raises
    ------
    CycleError
        If no such order exists.

    Notes
    -----
    The order of :func:`sources_first` over variables and nodes together.
    """
    stop = set(variables_of("inputs", inputs))
    before = checked_orderings(orderings)

    def dependencies(thing: Any) -> Iterable[Any] | None:
        if isinstance(thing, Apply):
            return [*thing.inputs, *before.get(thing, ())]
        return None if thing.owner is None or thing in stop else [thing.owner]

    order = sources_first(variables_of("outputs", outputs), dependencies, clients)
    return [thing for thing in order if isinstance(thing, Apply)]


def checked_orderings(orderings: Orderings | None) -> Orderings:
    """Return `orderings`, or an empty mapping for None; refuse sets and objects that are no nodes."""
    hint = "map apply nodes to lists of apply nodes"
    if orderings is None:
        return {}
    if not isinstance(orderings, Mapping):
        raise TypeError(format_error(f"orderings are a mapping, not {orderings!r}", hint=hint))
    for node, before in orderings.items():
        node_of("a key of the orderings", node)
        if isinstance(before, AbstractSet):
            raise TypeError(
                format_error(f"the orderings of {label(node)} are a set: its order changes from run to run", hint=hint)
            )
        for other in before:
            node_of(f"what must come before {label(node)}", other)
    return orderings


def _noting(
    dependencies: Callable[[NodeT], list[NodeT]], clients: dict[NodeT, list[NodeT]]
) -> Callable[[NodeT], list[NodeT]]:
    """Return a function like `dependencies` that also fills `clients`."""

    def noted(node: NodeT) -> list[NodeT]:
        result = dependencies(node)
        for dependency in result:
            clients.setdefault(dependency, []).append(node)
        return result

    return noted


def general_toposort(
    outputs: Iterable[NodeT],
    deps: Callable[[NodeT], Iterable[NodeT] | None] | None,
    debug_print: bool = False,
    compute_deps_cache: Callable[[NodeT], Iterable[NodeT] | None] | None = None,
    deps_cache: dict[NodeT, Any] | None = None,
    clients: dict[NodeT, list[NodeT]] | None = None,
) -> list[NodeT]:
    """Return all that can be reached from `outputs` through `deps`, dependencies first.

    Parameters
    ----------
    outputs : iterable
        Any hashable objects.
    deps : callable or None
        Gives the direct dependencies of one of them; a pure function with a deterministic order, called once for each.
        None if `compute_deps_cache` is given.
    debug_print : bool
        Whether to write a line about each object to the standard output, in the order of the result.
    compute_deps_cache : callable, optional
        In place of `deps`: a function like it that also keeps its results in `deps_cache`.
    deps_cache : dict, optional
        Goes with `compute_deps_cache`: object -> its dependencies. Present entries are used and not asked for.
    clients : dict, optional
        Filled with object -> its direct dependents.

    Raises
    ------
    CycleError
        If an object depends on itself.
    TypeError
        If there is neither `deps` nor `compute_deps_cache`, or one of the last and `deps_cache` without the other.

    Examples
    --------
    >>> general_toposort([3], lambda n: [n - 1] if n else [])
    [0, 1, 2, 3]
    """
    if isinstance(outputs, Variable):
        variables_of("outputs", outputs)
    dependencies = _dependencies(deps, compute_deps_cache, deps_cache)
    order = postorder(list(outputs), dependencies if clients is None else _noting(dependencies, clients))
    if debug_print:
        sys.stdout.writelines(f"{node}: after {list(map(str, dependencies(node)))}\n" for node in order)
    return order


def _dependencies(
    deps: Callable[[NodeT], Iterable[NodeT] | None] | None,
    compute: Callable[[NodeT], Iterable[NodeT] | None] | None,
    cache: dict[NodeT, Any] | None,
) -> Callable[[NodeT], list[NodeT]]:
    """Return the function that the arguments of :func:`general_toposort` ask for."""
    hint = "pass `deps`, a function, or both `compute_deps_cache`, a function, and `deps_cache`, a dict"
    if (compute is None) != (cache is None):
        raise TypeError(format_error("compute_deps_cache and deps_cache belong together: one is missing", hint=hint))
    if compute is not None and cache is not None:
        if not callable(compute) or not isinstance(cache, dict):
            raise TypeError(format_error("compute_deps_cache is a function and deps_cache a dict", hint=hint))
        memo, ask = cache, compute
        return lambda node: list((memo[node] if node in memo else ask(node)) or ())
    if not callable(deps):
        raise TypeError(format_error(f"the dependencies are given by a function, not by {deps!r}", hint=hint))
    callback = deps
    return lambda node: list(callback(node) or ())


def applys_between(inputs: Iterable[Variable], outputs: Iterable[Variable]) -> list[Apply]:
    """Return the nodes between `inputs` and `outputs` in topological order."""
    return toposort(inputs, outputs)


def view_roots(variable: Variable) -> list[Variable]:
    """Return the variables whose memory `variable` may be a view of, itself when it is no view."""
    variable_of("what to look at", variable)

    def expand(v: Variable) -> list[Variable]:
        if v.owner is None or v.index is None:
            return []
        return [v.owner.inputs[i] for i in v.owner.op.view_map.get(v.index, ())]

    return [v for v in walk([variable], expand) if not expand(v)]


# ---- Variables that a part of a program constructs


@contextlib.contextmanager
def nodes_constructed() -> Iterator[list[Variable]]:
    """Give a list that fills with the variables that the thread makes inside the block.

    Examples
    --------
    >>> from theano_graph import generic
    >>> with nodes_constructed() as made:
    ...     x = generic("x")
    >>> made == [x]
    True
    """
    results: list[Variable] = []
    thread = get_ident()

    def observer(variable: Variable) -> None:
        if get_ident() == thread:
            results.append(variable)

    Variable.construction_observers.append(observer)
    try:
        yield results
    finally:
        Variable.construction_observers.remove(observer)


# ---- Searches in either order, lists of nodes, orders by preference, and connections

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
        Gives the direct successors of one object, or None.
    mode : {"bfs", "dfs"}
        Breadth first or depth first.
    build_inv : bool
        Whether to return also the predecessors of each object.

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

    def entry(index: int) -> Any:
        return (*(key(order[index]) for key in keys), index) if keys else index

    ready = [entry(slot) for slot, count in enumerate(waits_for) if not count]
    heapq.heapify(ready)
    result = []
    while ready:
        first = heapq.heappop(ready)
        position = first[-1] if keys else first
        result.append(order[position])
        following = unblocks[position]
        for other in (following,) if isinstance(following, int) else following or ():
            waits_for[other] -= 1
            if not waits_for[other]:
                heapq.heappush(ready, entry(other))
    return result


def _waiting(order: Sequence[Apply]) -> tuple[list[int], list[list[int] | int | None]]:
    """Return, by places in `order`, how many nodes each one waits for, and which wait for it: none, one or a list."""
    waits_for: list[int] = []
    unblocks: list[list[int] | int | None] = [None] * len(order)
    with places_of(order) as place_of:
        for position, node in enumerate(order):
            # A node that the order has not is beyond the inputs; the order is topological.
            needed = {place_of(v.owner) for v in node.inputs if v.owner is not None}
            needed.discard(NO_PLACE)
            waits_for.append(len(needed))
            for other in needed:
                waiting = unblocks[other]
                if waiting is None:
                    unblocks[other] = position
                elif isinstance(waiting, int):
                    unblocks[other] = [waiting, position]
                else:
                    waiting.append(position)
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
