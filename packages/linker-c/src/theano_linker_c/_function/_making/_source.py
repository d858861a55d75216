"""The graph of a function as it was before it was rewritten."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Apply, Constant, FunctionGraph, Variable, toposort


class SourceGraph:
    """What a function graph was, remembered without a copy: rewriting changes the inputs of nodes and nothing else.

    Parameters
    ----------
    inputs, outputs : sequence of Variable
        The graph, before it changes.
    """

    def __init__(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self._steps: list[tuple[Apply, tuple[Variable, ...]]] = [
            (node, tuple(node.inputs)) for node in toposort(inputs, outputs)
        ]

    def build(self) -> FunctionGraph:
        """Return the graph, made of new nodes."""
        inputs, outputs = self._copy()
        return FunctionGraph(inputs, outputs, clone=False)

    def without_updates(self, n_outputs: int) -> SourceGraph:
        """Return the graph with its first outputs only."""
        twin = SourceGraph.__new__(SourceGraph)
        twin.inputs, twin.outputs, twin._steps = self.inputs, self.outputs[:n_outputs], self._steps
        return twin

    def _copy(self) -> tuple[list[Variable], list[Variable]]:
        memo: dict[Variable, Variable] = {v: v.clone() for v in self.inputs}

        def copy_of(variable: Variable) -> Variable:
            if variable not in memo:
                memo[variable] = variable.clone() if isinstance(variable, Constant) else variable
            return memo[variable]

        for node, inputs in self._steps:
            twin = node.clone_with_new_inputs([copy_of(v) for v in inputs], strict=False)
            for old, new in zip(node.outputs, twin.outputs, strict=True):
                memo.setdefault(old, new)
        return [memo[v] for v in self.inputs], [copy_of(v) for v in self.outputs]

    def __reduce__(self) -> tuple[Any, ...]:
        # The nodes have other inputs by now: what is saved is a copy as they were.
        return SourceGraph, self._copy()
