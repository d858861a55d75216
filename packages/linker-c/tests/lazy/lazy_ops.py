"""Lazy ops in both forms, and ops that count how often they run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from small_arrays import Python

from theano_graph import Apply, Op
from theano_linker_c.program import Branch, lazy_form


class Choose(Op):
    """``condition ? chosen : otherwise`` for groups of inputs, described as a branch."""

    __props__ = ("n_outputs",)

    def __init__(self, n_outputs: int = 1) -> None:
        self.n_outputs = n_outputs
        self.view_map = {k: [1 + k, 1 + n_outputs + k] for k in range(n_outputs)}

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [x.type() for x in inputs[1 : 1 + self.n_outputs]])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        first = 1 if inputs[0] else 1 + self.n_outputs
        for k in range(self.n_outputs):
            output_storage[k][0] = inputs[first + k]


@lazy_form.register(Choose)
def _branch(node: Apply) -> Branch:
    op: Any = node.op
    n = op.n_outputs
    return Branch(0, tuple(range(1, 1 + n)), tuple(range(1 + n, 1 + 2 * n)))


class ChooseByThunk(Op):
    """The same for one output, by a thunk of the documented form."""

    __props__ = ()
    view_map = {0: [1, 2]}

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [inputs[1].type()])

    def make_thunk(
        self, node: Apply, storage_map: Any, compute_map: Any, no_recycling: Any, impl: str | None = None
    ) -> Callable[[], list[int]]:
        condition, out = node.inputs[0], node.outputs[0]

        def thunk() -> list[int]:
            if not compute_map[condition][0]:
                return [0]
            expected = 1 if storage_map[condition][0] else 2
            if not compute_map[node.inputs[expected]][0]:
                return [expected]
            storage_map[out][0] = storage_map[node.inputs[expected]][0]
            compute_map[out][0] = 1
            return []

        thunk.lazy = True  # type: ignore[attr-defined]
        return thunk


class Runs:
    """Makes ops that count how often they run, by name."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()

    def op(self, name: str, compute: Callable[..., Any] = lambda v: v + 1) -> Python:
        """Return an op of the given name."""

        def counted(*values: Any) -> Any:
            self.count[name] += 1
            return compute(*values)

        counted.__name__ = name
        return Python(counted)
