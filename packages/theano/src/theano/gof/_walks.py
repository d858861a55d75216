"""Walks over graphs, and orders of their nodes."""

from __future__ import annotations

import sys
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, MutableSequence
from typing import Any, TypeVar

from theano_graph import (
    Apply,
    FunctionGraph,
    GraphError,
    Variable,
    ancestors as _ancestors,
    applys_between,
    format_error,
    ordered_nodes,
    orphans_between,
    sources_first,
    toposort,
    walk as _walk,
)

from .._compat import cmp

# ---- Walks over graphs with the orders and results that programs for Theano 1.0 rely on

NodeT = TypeVar("NodeT", bound=Hashable)


def walk(
    nodes: Iterable[NodeT],
    expand: Callable[[NodeT], Iterable[NodeT] | None],
    bfs: bool = True,
    return_children: bool = False,
    hash_fn: Callable[[NodeT], Hashable] = id,
) -> Iterator[Any]:
    """Yield each object reachable from `nodes` once, an object before those it expands to.

    Parameters
    ----------
    nodes : iterable
        Where to begin.
    expand : callable
        Returns the direct successors of an object, or None.
    bfs : bool
        Breadth first; else depth first from the last of `nodes` and of each result of `expand`.
    return_children : bool
        Whether to yield pairs of an object and the result of `expand` for it.
    hash_fn : callable
        Things of equal results are one thing.

    Examples
    --------
    >>> list(walk([4], lambda n: [n - 1, n - 2] if n > 1 else None, bfs=False, return_children=True))
    [(4, [3, 2]), (2, [1, 0]), (0, None), (1, None), (3, [2, 1])]
    """
    waiting = deque(nodes)
    take = waiting.popleft if bfs else waiting.pop
    seen: set[Hashable] = set()
    while waiting:
        node = take()
        key = hash_fn(node)
        if key in seen:
            continue
        seen.add(key)
        following = expand(node)
        yield (node, following) if return_children else node
        if following:
            waiting.extend(following)


def stack_search(
    start: deque[NodeT] | MutableSequence[NodeT],
    expand: Callable[[NodeT], Iterable[NodeT] | None],
    mode: str = "bfs",
    build_inv: bool = False,
) -> Any:
    """Visit everything that can be reached from `start`, each thing once; `start` is empty afterwards.

    Parameters
    ----------
    start : deque
        Where to begin.
    expand : callable
        Returns the direct successors of an object, or None.
    mode : {"bfs", "dfs"}
        Breadth first, or depth first from the last of `start` and of each result of `expand`.
    build_inv : bool
        Whether to return also the predecessors of each object.

    Returns
    -------
    list, or pair of list and dict
        The things in the order of the visit; with `build_inv` also thing -> those whose `expand` named it.

    Raises
    ------
    GraphError
        If `mode` is another word; a ValueError.

    Examples
    --------
    >>> stack_search(deque([4]), lambda n: [n - 1, n - 2] if n > 1 else None, "dfs")
    [4, 2, 0, 1, 3]
    """
    if mode not in ("bfs", "dfs"):
        raise GraphError(format_error(f"there is no search mode {mode!r}", hint='pass "bfs" or "dfs"'))
    waiting = deque(start)
    start.clear()
    take = waiting.popleft if mode == "bfs" else waiting.pop
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
        waiting.extend(following)
    return (list(seen), came_from) if build_inv else list(seen)


def _checked(role: str, given: Any) -> list[Variable]:
    """Return variables as a list; refuse a single one."""
    if isinstance(given, Variable):
        raise TypeError(format_error(f"{role} are a list of variables, not one variable", hint=f"pass [{given}]"))
    return list(given)


def ancestors(variable_list: Iterable[Variable], blockers: Iterable[Variable] | None = None) -> list[Variable]:
    """Return the variables that contribute to some, these included: depth first, from the last of the list on.

    Parameters
    ----------
    variable_list : iterable of Variable
    blockers : iterable of Variable, optional
        The walk stops at these; they are in the result when they are reached.
    """
    return _ancestors(_checked("the variables", variable_list)[::-1], blockers)


def inputs(variable_list: Iterable[Variable], blockers: Iterable[Variable] | None = None) -> list[Variable]:
    """Return the variables without an owner that contribute to some, constants too, in the order of `ancestors`."""
    return [variable for variable in ancestors(variable_list, blockers) if variable.owner is None]


def variables_and_orphans(i: Iterable[Variable], o: Iterable[Variable]) -> tuple[list[Variable], list[Variable]]:
    """Return the variables that `o` are computed from, up to `i`, and those without an owner that are not in `i`.

    Both are in depth-first order, from the last of `o` on; all outputs of a node are in the first list.
    """
    input_set = frozenset(_checked("the inputs", i))

    def expand(variable: Variable) -> Iterable[Variable]:
        node = None if variable in input_set else variable.owner
        return () if node is None else (*node.inputs, *node.outputs)

    variables = list(_walk(_checked("the outputs", o)[::-1], expand))
    return variables, [v for v in variables if v.owner is None and v not in input_set]


def variables(i: Iterable[Variable], o: Iterable[Variable]) -> list[Variable]:
    """Return the variables that `o` are computed from, up to `i`; see :func:`variables_and_orphans`."""
    return variables_and_orphans(i, o)[0]


def orphans(i: Iterable[Variable], o: Iterable[Variable]) -> list[Variable]:
    """Return the variables without an owner that `o` depend on and that are not in `i`."""
    return orphans_between(_checked("the inputs", i), _checked("the outputs", o)[::-1])


def ops(i: Iterable[Variable], o: Iterable[Variable]) -> set[Apply]:
    """Return the set of the nodes between `i` and `o`, without the owners of `i`."""
    return set(applys_between(i, o))


def general_toposort(
    outputs: Iterable[NodeT],
    deps: Callable[[NodeT], Iterable[NodeT] | None] | None,
    debug_print: bool = False,
    compute_deps_cache: Callable[[NodeT], Iterable[NodeT] | None] | None = None,
    deps_cache: dict[NodeT, Any] | None = None,
    clients: dict[NodeT, list[NodeT]] | None = None,
) -> list[NodeT]:
    """Return all objects reachable from `outputs` through `deps`: each after its dependencies.

    Parameters
    ----------
    outputs : iterable
        Any hashable objects.
    deps : callable or None
        Gives the direct dependencies of one of them as a list, or None; called once for each.
    debug_print : bool
        Whether to write a line about each object to the standard output, in the order of the result.
    compute_deps_cache : callable, optional
        In place of `deps`: a function like it that also keeps its results in `deps_cache`.
    deps_cache : dict, optional
        Goes with `compute_deps_cache`: object -> its dependencies.
    clients : dict, optional
        Filled with object -> its direct dependents, once for each time that they name it.

    Raises
    ------
    CycleError
        If an object depends on itself; a ValueError.
    TypeError
        If `deps` gives a set, whose order is not the same each time, or there is no function to ask.
    """
    ask = deps if compute_deps_cache is None else compute_deps_cache
    if not callable(ask) or (compute_deps_cache is not None and deps_cache is None):
        raise TypeError(
            format_error(
                "general_toposort has no function that gives dependencies",
                hint="pass `deps`, or both `compute_deps_cache` and the dict `deps_cache`",
            )
        )
    function = ask

    def dependencies(node: NodeT) -> Iterable[NodeT] | None:
        sources = function(node)
        if sources and isinstance(sources, (set, frozenset)):
            raise TypeError(
                format_error(
                    f"the dependencies of {node} are a set: its order changes from run to run", hint="give a list"
                )
            )
        return sources

    order = sources_first(outputs, dependencies, clients)
    if debug_print:
        sys.stdout.writelines(f"{node}: after {list(map(str, dependencies(node) or ()))}\n" for node in order)
    return order


def io_toposort(
    inputs: Iterable[Variable],
    outputs: Iterable[Variable],
    orderings: Any = None,
    clients: dict[Any, list[Any]] | None = None,
) -> list[Apply]:
    """Return the nodes needed for `outputs` given `inputs`, each after the nodes that it depends on.

    Parameters
    ----------
    inputs, outputs : iterable of Variable
    orderings : mapping, optional
        Node -> list of nodes that must come before it for reasons other than data.
    clients : dict, optional
        Filled with variable -> the nodes that read it, and node -> its outputs that are needed.

    Raises
    ------
    CycleError
        If no such order exists; a ValueError.

    Notes
    -----
    The needs of the last input of a node come before those of the first. With `orderings` or `clients`, all that
    could run first comes first.
    """
    if not orderings and clients is None:
        return toposort(inputs, outputs, last_input_first=True)
    return ordered_nodes(inputs, outputs, orderings, clients)


def list_of_nodes(inputs: Iterable[Variable], outputs: Iterable[Variable]) -> list[Apply]:
    """Return the nodes between `inputs` and `outputs`, the ones nearest to the outputs first."""
    stop = frozenset(_checked("the inputs", inputs))
    starts = deque(v.owner for v in _checked("the outputs", outputs) if v.owner is not None)
    nodes: list[Apply] = stack_search(
        starts,
        lambda node: [
            v.owner for v in node.inputs if v.owner is not None and not any(out in stop for out in v.owner.outputs)
        ],
    )
    return nodes


# ---- Orders of nodes by preference: comparators, and sorting by several of them

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")
Comparator = Callable[[Any, Any], float]


def memodict(f: Callable[[KeyT], ValueT]) -> Callable[[KeyT], ValueT]:
    """Return a function of one argument that computes each value once.

    Examples
    --------
    >>> from theano.gof import sched
    >>> asked = []
    >>> twice = sched.memodict(lambda n: asked.append(n) or 2 * n)
    >>> twice(3), twice(3), asked
    (6, 6, [3])
    """

    class Kept(dict[KeyT, ValueT]):
        def __missing__(self, key: KeyT) -> ValueT:
            value = self[key] = f(key)
            return value

    return Kept().__getitem__


def make_depends() -> Callable[[tuple[Apply, Apply]], bool]:
    """Return a function that tells of a pair of nodes whether the first depends on the second."""

    def needed_by(node: Apply) -> frozenset[Apply]:
        return frozenset(v.owner for v in ancestors(node.inputs) if v.owner is not None)

    needs = memodict(needed_by)
    return lambda pair: pair[1] in needs(pair[0])


def make_dependence_cmp() -> Comparator:
    """Return a comparator of nodes: 1 where the first depends on the second, -1 the other way round, else 0."""
    depends = make_depends()

    def dependence(a: Apply, b: Apply) -> int:
        return 1 if depends((a, b)) else -1 if depends((b, a)) else 0

    return dependence


def reverse_dict(d: Mapping[KeyT, Iterable[Any]]) -> dict[Any, tuple[KeyT, ...]]:
    """Return, for each thing that values of `d` contain, the keys of those values.

    Examples
    --------
    >>> from theano.gof import sched
    >>> sched.reverse_dict({"a": (1, 2), "b": (2, 3), "c": ()})
    {1: ('a',), 2: ('a', 'b'), 3: ('b',)}
    """
    inverse: defaultdict[Any, list[KeyT]] = defaultdict(list)
    for key, values in d.items():
        for value in values:
            inverse[value].append(key)
    return {value: tuple(keys) for value, keys in inverse.items()}


def _toposort(edges: Mapping[Any, Collection[Any]]) -> list[Any]:
    """Return keys and values of `edges`, each key before the values that it maps to.

    Raises
    ------
    GraphError
        If that is impossible; a ValueError.
    """
    missing = {value: len(set(keys)) for value, keys in reverse_dict(edges).items()}
    order = [key for key in edges if key not in missing]
    for key in order:  # grows on the way
        for value in dict.fromkeys(edges.get(key, ())):
            missing[value] -= 1
            if not missing[value]:
                order.append(value)
    if any(missing.values()):
        raise GraphError(format_error("no order has each key before its values: there are cycles", hint="drop an edge"))
    return order


def posort(l: Iterable[Any], *cmps: Comparator) -> list[Any]:  # noqa: E741  # the historical name
    """Sort by several comparators, earlier ones first, as far as they do not contradict each other.

    Parameters
    ----------
    l : iterable
        Hashable things.
    *cmps : callable
        Each takes two of them, and returns a negative number where the first should come before the second.

    Examples
    --------
    >>> from theano.gof import sched
    >>> sched.posort("bca", lambda a, b: ord(a) - ord(b))
    ['a', 'b', 'c']
    """
    things = list(l)
    before: dict[Any, set[Any]] = {thing: set() for thing in things}
    after: dict[Any, set[Any]] = {thing: set() for thing in things}
    for compare in cmps:
        for a in things:
            for b in things:
                if compare(a, b) < 0 and b not in before[a] and b not in after[a]:
                    first, last = {a, *before[a]}, {b, *after[b]}
                    for thing in first:
                        after[thing] |= last
                    for thing in last:
                        before[thing] |= first
    return _toposort(after)


def sort_apply_nodes(inputs: Iterable[Variable], outputs: Iterable[Variable], cmps: Iterable[Comparator]) -> list[Any]:
    """Sort the nodes between `inputs` and `outputs` by comparators; see :func:`posort`.

    Data dependencies are respected if :func:`make_dependence_cmp` is the first of them.
    """
    return posort(list_of_nodes(inputs, outputs), *cmps)


def sort_schedule_fn(*cmps: Comparator) -> Callable[[FunctionGraph], list[Apply]]:
    """Return a schedule, a function of a graph that gives its nodes in order, which follows comparators."""
    preferences = (make_dependence_cmp(), *cmps)

    def schedule(fgraph: FunctionGraph) -> list[Apply]:
        return sort_apply_nodes(fgraph.inputs, fgraph.outputs, preferences)

    return schedule


def key_to_cmp(key: Callable[[Any], Any]) -> Comparator:
    """Return a comparator of the results of `key`."""
    return lambda a, b: cmp(key(a), key(b))
