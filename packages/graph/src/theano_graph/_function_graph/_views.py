"""What a function graph shows of its nodes and variables: sets that cannot be changed, in order of arrival."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set as AbstractSet
from typing import TYPE_CHECKING, Any, TypeVar

from .._expression._nodes import Apply, Variable

if TYPE_CHECKING:
    from ._graph_store import GraphStore

ThingT = TypeVar("ThingT")


class _View(AbstractSet[ThingT]):
    """A set that follows its graph; what operations on sets give is a set of its own."""

    __slots__ = ("_graph",)

    def __init__(self, graph: GraphStore) -> None:
        self._graph = graph

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> set[Any]:
        return set(it)

    def __repr__(self) -> str:
        return f"{{{', '.join(map(str, self))}}}"


class NodesView(_View[Apply]):
    """The apply nodes of a graph. To go through them is to go through those that are there at the beginning."""

    __slots__ = ()

    def __contains__(self, node: object) -> bool:
        return isinstance(node, Apply) and node._membership is self._graph._here

    def __iter__(self) -> Iterator[Apply]:
        return iter(self._graph._arrived())

    def __len__(self) -> int:
        return len(self._graph)


class VariablesView(_View[Variable]):
    """The variables of a graph: inputs and constants, then what its nodes compute."""

    __slots__ = ()

    def __contains__(self, variable: object) -> bool:
        return isinstance(variable, Variable) and self._graph._has(variable)

    def __iter__(self) -> Iterator[Variable]:
        leaves = self._graph._leaves
        outputs = [output for node in self._graph._arrived() for output in node.outputs if output not in leaves]
        return iter([*leaves, *outputs])

    def __len__(self) -> int:
        return sum(1 for _ in self)
