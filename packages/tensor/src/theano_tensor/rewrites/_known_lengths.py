"""Lengths that rewriting has worked out already, so that no length is traced back to the inputs twice."""

from __future__ import annotations

from typing import Any, Literal

from theano_graph import AlreadyThere, Apply, Feature, FunctionGraph, Variable

from ..shape import ShapeI, shape_i

Key = tuple[Variable, int]


class KnownLengths(Feature):
    """For variables of one graph, the variables that hold the lengths of their dimensions.

    A replacement of such a variable holds the length from then on. Without this table a chain in which each link asks
    for a length would take a number of steps that grows with the square of its own length.
    """

    only_remembers = True

    def __init__(self) -> None:
        self._length: dict[Key, Variable] = {}
        self._keys: dict[Variable, list[Key]] = {}
        self._attached = False

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Refuse a second graph: the variables belong to the first."""
        if self._attached:
            raise AlreadyThere("these lengths belong to another graph")
        self._attached = True

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object = None,
    ) -> None:
        """Follow a replacement."""
        keys = self._keys.pop(old, None)
        if keys is not None:
            self._keys.setdefault(new, []).extend(keys)
            for key in keys:
                self._length[key] = new

    def note(self, variable: Variable, i: int, length: Variable) -> None:
        """Remember that `length` holds the length of dimension `i` of `variable`."""
        old = self._length.get((variable, i))
        if old is not None:
            self._keys[old].remove((variable, i))
        self._length[variable, i] = length
        self._keys.setdefault(length, []).append((variable, i))

    def length(self, fgraph: FunctionGraph, variable: Variable, i: int) -> Variable:
        """Return a variable for the length of dimension `i`: a known one that is in the graph, or a new one."""
        length_known = self._length.get((variable, i))
        if length_known is not None and length_known in fgraph.variables:
            return length_known
        return shape_i(variable, i)


def known_lengths(fgraph: FunctionGraph) -> KnownLengths:
    """Return the table of a graph, attached if there is none."""
    for feature in fgraph.features:
        if isinstance(feature, KnownLengths):
            return feature
    table = KnownLengths()
    fgraph.attach_feature(table)
    return table


def is_traced_length(fgraph: FunctionGraph, owner: Apply, x: Variable, axis: int) -> bool:
    """Tell whether a node reads the length of a dimension of x, off x or off an ancestor of x."""
    if owner.inputs[0] is x and owner.op == ShapeI(axis):
        return True
    shapes: Any = getattr(fgraph, "shape_feature", None)
    traced = None if shapes is None or x not in fgraph.variables else shapes.get_shape(x, axis).owner
    return traced is not None and traced.op == owner.op and traced.inputs[0] is owner.inputs[0]
