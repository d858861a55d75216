"""The translation of a graph of PyTensor, node by node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pytensor.graph.basic import Constant

from theano_graph import Origin, UserFrame, origin_from

from ._foreign import Foreign
from ._table import NoRule, Site, find_rule
from ._types import engine_constant, engine_type, narrowed

#: As many frames of the user's program are kept with a node, the innermost ones.
_MOST_FRAMES = 4


@dataclass
class Translation:
    """The translation of one graph, with all graphs inside its nodes.

    Attributes
    ----------
    translated : Counter of str
        How many nodes of each op a rule translated.
    performed : dict of str to list
        For each op whose own `perform` runs, why, one entry a node.
    nodes : dict of Origin to Apply
        The node of PyTensor that made an origin of our nodes.
    donated : frozenset
        The inputs of the function whose memory its caller gives away, each read by one node alone.
    """

    translated: Counter[str] = field(default_factory=Counter)
    performed: dict[str, list[str]] = field(default_factory=dict)
    nodes: dict[int, tuple[Origin, Any]] = field(default_factory=dict)
    donated: frozenset[Any] = frozenset()

    def graph(self, fgraph: Any, inputs: Sequence[Any]) -> list[Any]:
        """Return our variables for the outputs of a function graph, given those for its inputs."""
        values: dict[Any, Any] = dict(zip(fgraph.inputs, inputs, strict=True))

        def value_of(variable: Any) -> Any:
            value = values.get(variable, values)
            if value is not values:
                return value
            if not isinstance(variable, Constant):
                raise TypeError(f"{variable} is neither computed nor an input of the graph of PyTensor")
            values[variable] = constant = engine_constant(variable)
            return constant

        for node in fgraph.toposort():
            results = self.node(node, [value_of(variable) for variable in node.inputs])
            values.update(zip(node.outputs, results, strict=True))
        return [value_of(variable) for variable in fgraph.outputs]

    def node(self, node: Any, inputs: Sequence[Any]) -> list[Any]:
        """Return our variables for the outputs of a node."""
        with origin_from(self._origin(node)):
            apply = find_rule(type(node.op))
            if apply is None:
                return self._perform(node, inputs, "there is no rule for it")
            try:
                results = apply(Site(node, inputs, self))
                listed = list(results) if isinstance(results, list | tuple) else [results]
                narrow = [narrowed(result, v.type) for result, v in zip(listed, node.outputs, strict=True)]
            except NoRule as error:
                return self._perform(node, inputs, str(error))
        self.translated[label(node.op)] += 1
        return narrow

    def explained(self, error: Exception) -> Exception:
        """Return an error of our function with the node of PyTensor that it comes from."""
        ours = getattr(error, "__op_instance__", None)
        entry = self.nodes.get(id(getattr(ours, "origin", None)))
        if entry is not None:
            node = entry[1]
            error.__op_instance__ = node  # type: ignore[attr-defined]  # names that PyTensor gives to any error
            error.__thunk_trace__ = getattr(node.outputs[0].tag, "trace", ())  # type: ignore[attr-defined]
            error.add_note(f"Apply node of PyTensor that caused the error: {node}")
        return error

    def _perform(self, node: Any, inputs: Sequence[Any], why: str) -> list[Any]:
        self.performed.setdefault(label(node.op), []).append(why)
        outputs = [engine_type(variable.type) for variable in node.outputs]
        results = Foreign(node, outputs)(*(value for value in inputs if value is not None), return_list=True)
        return list(results)

    def _origin(self, node: Any) -> Origin | None:
        """Return where the user's program made a node, so that our nodes and their errors tell it."""
        trace = next((part for part in getattr(node.outputs[0].tag, "trace", None) or () if part), None)
        if trace is None:
            return None
        origin = Origin(frames=tuple(UserFrame(*frame[:3]) for frame in reversed(trace[-_MOST_FRAMES:])))
        self.nodes[id(origin)] = (origin, node)
        return origin


def label(op: Any) -> str:
    """Return the name under which an op is counted: with the op inside, where it is a wrapper.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> label(pt.exp)
    'Elemwise{Exp}'
    """
    name = type(op).__name__
    inner = getattr(op, "scalar_op", None) or getattr(op, "core_op", None)
    return name if inner is None or name in ("Sum", "Prod", "Max", "Min") else f"{name}{{{type(inner).__name__}}}"
