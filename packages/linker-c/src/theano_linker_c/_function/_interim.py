"""A plain interpreter of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Constant, FunctionGraph


class InterimMachine:
    def __init__(self, fgraph: FunctionGraph, wiring: Any) -> None:
        self.fgraph, self.wiring, self.order = fgraph, wiring, fgraph.toposort()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        w = self.wiring
        if kwargs or len(args) != len(w.arguments):
            values = w.on_irregular(args, kwargs)
            if type(values) is not tuple:
                return values
        else:
            values = [w.on_input(i, v) for i, v in enumerate(args)]
        outputs = self.run(values)
        if w.finish is not None:
            return w.finish(outputs)
        return outputs[0] if w.single else outputs

    def run(self, values: Sequence[Any]) -> list[Any]:
        w = self.wiring
        state = {self.fgraph.inputs[i]: v for i, v in zip(w.arguments, values, strict=True)}
        state.update({self.fgraph.inputs[i]: cell[0] for i, cell in w.cells.items()})

        def get(v: Any) -> Any:
            return v.data if isinstance(v, Constant) else state[v]

        for node in self.order:
            storage: list[list[Any]] = [[None] for _ in node.outputs]
            node.op.perform(node, [get(v) for v in node.inputs], storage)
            state.update(zip(node.outputs, (s[0] for s in storage), strict=True))
        results = [get(v) for v in self.fgraph.outputs]
        for i, cell in w.updates:
            cell[0] = results[i]
        return results[: w.n_outputs]

    def clear(self) -> None:
        pass
