"""Ops that view and overwrite for the tests of destroy and view legality, and a checker that walks the whole graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Apply, Constant, FunctionGraph, Generic, Op, Variable

OBJECT = Generic()


class Memory(Op):
    """An op with any number of inputs and outputs and given maps, equal to another one with the same."""

    __props__ = ("kind", "nout", "views", "destroys", "same", "aliased")

    def __init__(
        self,
        kind: str,
        views: tuple[tuple[int, tuple[int, ...]], ...] = (),
        destroys: tuple[tuple[int, tuple[int, ...]], ...] = (),
        nout: int = 1,
        same: tuple[tuple[int, int], ...] = (),
        aliased: tuple[tuple[int, int], ...] = (),
    ) -> None:
        self.kind, self.views, self.destroys, self.nout = kind, views, destroys, nout
        self.same, self.aliased = same, aliased
        self.view_map = {o: list(i) for o, i in views}
        self.destroy_map = {o: list(i) for o, i in destroys}
        self.destroyhandler_tolerate_same = list(same)
        self.destroyhandler_tolerate_aliased = list(aliased)

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [OBJECT() for _ in range(self.nout)])

    def __str__(self) -> str:
        return self.kind


pure = Memory("pure")
view = Memory("view", views=((0, (0,)),))
overwrite = Memory("overwrite", destroys=((0, (0,)),))
overwrite_tolerant = Memory("overwrite_tolerant", destroys=((0, (0,)),), same=((0, 1),))


def variables(count: int) -> list[Variable]:
    return [OBJECT(f"x{i}") for i in range(count)]


def source(variable: Variable) -> Variable | None:
    """Return the input that a variable of a single-output op is a view of."""
    node = variable.owner
    if node is None or node.op.destroy_map.get(variable.index) or not node.op.view_map.get(variable.index):
        return None
    result: Variable = node.inputs[node.op.view_map[variable.index][0]]
    return result


def root(variable: Variable) -> Variable:
    while True:
        following = source(variable)
        if following is None:
            return variable
        variable = following


def is_legal(fgraph: FunctionGraph, protected: Sequence[Variable] = ()) -> bool:
    """Tell whether a graph of single-output ops is legal, by walks over all of it."""
    nodes = list(fgraph.apply_nodes)
    refused = {root(v) for v in (*fgraph.outputs, *protected)}
    before: dict[Apply, set[Apply]] = {n: {v.owner for v in n.inputs if v.owner is not None} for n in nodes}
    overwritten: set[Variable] = set()
    for node in nodes:
        destroyed = {i for inputs in node.op.destroy_map.values() for i in inputs}
        for top in {root(node.inputs[i]) for i in destroyed}:
            if top in overwritten or top in refused or isinstance(top, Constant):
                return False
            overwritten.add(top)
            before[node] |= {n for n in nodes if n is not node and any(root(v) is top for v in n.inputs)}
        for i in destroyed:
            for j, other in enumerate(node.inputs):
                if i == j or root(other) is not root(node.inputs[i]) or (i, j) in node.op.aliased:
                    continue
                if (i, j) not in node.op.same or other is not node.inputs[i]:
                    return False
    return not has_cycle(before)


def has_cycle(before: dict[Apply, set[Apply]]) -> bool:
    left = {node: set(others) for node, others in before.items()}
    while left:
        ready = [node for node, others in left.items() if not others]
        if not ready:
            return True
        for node in ready:
            del left[node]
        for others in left.values():
            others.difference_update(ready)
    return False
