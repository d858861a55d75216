"""The clients of variables, the nodes of a graph as sets, and steps of changes that can be undone."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Set as AbstractSet
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from .._expression._nodes import Apply, Variable
from .._record import record

if TYPE_CHECKING:
    from ._feature_host import FeatureProtocol
    from ._graph_store import GraphStore


# ---- The graph that a node belongs to, and timing of callbacks


def timed(seconds: dict[str, float], name: str, callback: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls `callback` and adds the time it takes to ``seconds[name]``."""

    def call(*args: Any) -> Any:
        start = perf_counter()
        try:
            return callback(*args)
        finally:
            seconds[name] = seconds.get(name, 0.0) + perf_counter() - start

    return call


class Membership:
    """Says of a node that it belongs to a graph, or has left it, without keeping the graph alive."""

    __slots__ = ("graph",)

    def __init__(self, graph: GraphStore) -> None:
        self.graph = weakref.ref(graph)

    def is_current(self) -> bool:
        """Tell whether the graph exists, and nodes marked with this are in it."""
        graph = self.graph()
        return graph is not None and graph._here is self


# ---- Clients of variables, in as little memory as most variables need
#
# Nearly all variables are used in one place. Nothing is stored for a variable without clients, the client itself for
# one that
# has a single one, and a dictionary of one that has, or had, several: client -> the moment of its arrival, which orders
# them when one that was taken away comes back. The first of several has come at the moment 0.

#: A use of a variable: a node and the index among its inputs, or the word "output" and the index among the outputs.
Client = tuple["Apply | Literal['output']", int]
Uses = None | Client | dict[Client, int]
OUTPUT: Literal["output"] = "output"


def with_client(uses: Any, client: Client, moment: int) -> Uses:
    """Return `uses` with one client more; `moment` tells since when."""
    if uses is None:
        return client
    if uses.__class__ is tuple:
        return {uses: 0, client: moment}
    uses[client] = moment
    return uses  # type: ignore[no-any-return]  # a dictionary


def without_client(uses: Any, client: Client) -> tuple[Uses, int]:
    """Return `uses` without a client, and since when it was one; KeyError if it was none."""
    if uses.__class__ is dict:
        return uses, uses.pop(client)
    if uses != client:
        raise KeyError(client)
    return None, 0


def clients_in(uses: Any) -> list[Client]:
    """Return the clients in order of arrival."""
    if uses is None:
        return []
    return [uses] if uses.__class__ is tuple else list(uses)


def number_of(uses: Any) -> int:
    """Return how many clients there are."""
    if uses is None:
        return 0
    return 1 if uses.__class__ is tuple else len(uses)


def is_client(uses: Any, client: Client) -> bool:
    """Tell whether `client` is one of them."""
    if uses.__class__ is dict:
        return client in uses
    return bool(uses == client)


def by_arrival(uses: Any) -> Uses:
    """Return `uses` with the clients in order of arrival."""
    if uses.__class__ is dict:
        return dict(sorted(uses.items(), key=lambda item: item[1]))
    return uses  # type: ignore[no-any-return]  # one client or none


# ---- Nodes and variables as sets that cannot be changed, in order of arrival

ThingT = TypeVar("ThingT")


class _View(AbstractSet[ThingT]):
    """A set that follows its graph; the results of operations on sets are sets of their own."""

    __slots__ = ("_graph",)

    def __init__(self, graph: GraphStore) -> None:
        self._graph = graph

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> set[Any]:
        return set(it)

    def __repr__(self) -> str:
        return f"{{{', '.join(map(str, self))}}}"


class NodesView(_View[Apply]):
    """The apply nodes of a graph. A loop over them goes through the nodes present at its beginning."""

    __slots__ = ()

    def __contains__(self, node: object) -> bool:
        return isinstance(node, Apply) and node._membership is self._graph._here

    def __iter__(self) -> Iterator[Apply]:
        return iter(self._graph._arrived())

    def __len__(self) -> int:
        return len(self._graph)


class VariablesView(_View[Variable]):
    """The variables of a graph: inputs and constants, then the outputs of its nodes."""

    __slots__ = ()

    def __contains__(self, variable: object) -> bool:
        return isinstance(variable, Variable) and self._graph._has(variable)

    def __iter__(self) -> Iterator[Variable]:
        leaves = self._graph._leaves
        outputs = [output for node in self._graph._arrived() for output in node.outputs if output not in leaves]
        return iter([*leaves, *outputs])

    def __len__(self) -> int:
        return sum(1 for _ in self)


# ---- The journal of a change, from which a failed or interrupted change is undone
#
# A step is noted before it is taken, and a feature before its callback runs: an interrupt may come at any time.


@record
class Undo:
    """The reason that callbacks are given when a failed change is taken back.

    A feature that heard of a part of the change hears of its reversal in the same words: of an import by
    `on_prune`, of a removal by `on_import`, of a changed input by another change.

    Attributes
    ----------
    reason : object
        The reason of the change that failed.
    """

    reason: object

    def __str__(self) -> str:
        return f"undo of {self.reason}"


@record(frozen=False)
class LeafImported:
    """A variable without an owner came into the graph."""

    leaf: Variable


@record(frozen=False)
class Imported:
    """A node came into the graph, and some variables without an owner with it."""

    node: Apply
    leaves: list[Variable]
    membership: Any
    told: list[FeatureProtocol]


@record(frozen=False)
class Moved:
    """A client of `old` became one of `new`; it was one of `old` since the moment `since`."""

    user: Apply | Literal["output"]
    index: int
    old: Variable
    new: Variable
    since: int
    told: list[FeatureProtocol]


@record(frozen=False)
class LeafPruned:
    """A variable without an owner left the graph, with the record of its uses."""

    leaf: Variable
    uses: Any


@record(frozen=False)
class Pruned:
    """A node left the graph; its place is kept."""

    node: Apply
    client_since: list[int]
    told: list[FeatureProtocol]


Step = LeafImported | Imported | Moved | LeafPruned | Pruned
