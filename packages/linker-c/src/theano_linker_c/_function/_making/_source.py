"""The graph of a function as it was before it was rewritten."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from theano_graph import Apply, Constant, FunctionGraph, Op, Variable, toposort


class SourceGraph:
    """The original of a function graph, remembered without a copy.

    Rewriting changes the inputs of nodes, and a machine's overwriting is written into the graph as in-place forms of
    ops (`Decisions`); nothing else changes.

    Parameters
    ----------
    inputs, outputs : sequence of Variable
        The graph, before it changes.
    order : sequence of Apply, optional
        Its nodes in topological order, where they are known.
    changes : bool
        False: it will not change, so that there is time to look at it.
    """

    def __init__(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        order: Sequence[Apply] | None = None,
        *,
        changes: bool = True,
    ) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self._known: list[tuple[Apply, Op, tuple[Variable, ...]]] | None = None
        if changes:
            self._known = self._noted(toposort(inputs, outputs) if order is None else order)

    @staticmethod
    def _noted(order: Iterable[Apply]) -> list[tuple[Apply, Op, tuple[Variable, ...]]]:
        return [(node, node.op, tuple(node.inputs)) for node in order]

    @property
    def _steps(self) -> list[tuple[Apply, Op, tuple[Variable, ...]]]:
        if self._known is None:
            self._known = self._noted(toposort(self.inputs, self.outputs))
        return self._known

    def build(self) -> FunctionGraph:
        """Return the graph, made of new nodes."""
        inputs, outputs = self._copy()
        return FunctionGraph(inputs, outputs, clone=False)

    def without_updates(self, n_outputs: int) -> SourceGraph:
        """Return the graph with its first outputs only."""
        twin = SourceGraph.__new__(SourceGraph)
        twin.inputs, twin.outputs, twin._known = self.inputs, self.outputs[:n_outputs], self._steps
        return twin

    def twin(self) -> tuple[list[Variable], list[Variable]]:
        """Return the inputs, and the outputs made of new nodes: the original, with the same leaves."""
        return list(self.inputs), self._copied({v: v for v in self.inputs}, lambda leaf: leaf)

    def _copy(self) -> tuple[list[Variable], list[Variable]]:
        memo: dict[Variable, Variable] = {v: v.clone() for v in self.inputs}
        outputs = self._copied(memo, lambda leaf: leaf.clone() if isinstance(leaf, Constant) else leaf)
        return [memo[v] for v in self.inputs], outputs

    def _copied(self, memo: dict[Variable, Variable], leaf_of: Callable[[Variable], Variable]) -> list[Variable]:
        def copy_of(variable: Variable) -> Variable:
            if variable not in memo:
                memo[variable] = leaf_of(variable)
            return memo[variable]

        for node, op, inputs in self._steps:
            twin = node.clone_with_new_inputs([copy_of(v) for v in inputs], strict=False)
            twin.op = op
            for old, new in zip(node.outputs, twin.outputs, strict=True):
                memo.setdefault(old, new)
        return [copy_of(v) for v in self.outputs]

    def __reduce__(self) -> tuple[Any, ...]:
        # The nodes have other inputs and ops by now: the saved form is a copy of the original.
        return SourceGraph, self._copy()
