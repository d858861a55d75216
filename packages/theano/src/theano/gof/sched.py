"""Orders of nodes by preference: comparators, and sorting by several of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import Any, TypeVar

from theano_graph import Apply, FunctionGraph, GraphError, Variable, format_error

from ..compat import cmp
from ._walks import ancestors, list_of_nodes

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
