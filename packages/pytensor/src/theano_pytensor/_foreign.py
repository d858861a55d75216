"""An op that computes by the `perform` of a node of PyTensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from pytensor.scalar.basic import ScalarType
from pytensor.tensor.type_other import NoneTypeT

from theano_graph import Apply, Op, Type, Variable


class Foreign(Op):
    """The function of a node of PyTensor, by its own `perform`.

    Parameters
    ----------
    source : pytensor.graph.basic.Apply
        The node. An op that overwrites its inputs gets copies of them.
    kinds : sequence of Type
        Our types of its outputs.

    Notes
    -----
    Ops are equal where they have the same node.
    """

    def __init__(self, source: Any, kinds: Sequence[Type]) -> None:
        self.source, self.kinds = source, tuple(kinds)
        self.absent = tuple(isinstance(variable.type, NoneTypeT) for variable in source.inputs)
        self.numbers = frozenset(k for k, variable in enumerate(source.inputs) if isinstance(variable.type, ScalarType))
        # Without it, ops for stacks ask the compiler for the op inside.
        source.op.prepare_node(source, None, None, "py")
        destroyed = getattr(source.op, "destroy_map", None) or {}
        self.overwritten = frozenset(index for indices in destroyed.values() for index in indices)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Foreign) and self.source is other.source

    def __hash__(self) -> int:
        return hash((type(self), id(self.source)))

    def __str__(self) -> str:
        return f"{self.source.op} (by PyTensor)"

    def make_node(self, *inputs: Variable) -> Apply[Self]:
        """Apply to our variables for the inputs of the node, those of type None left out."""
        return Apply(self, list(inputs), [kind.make_variable() for kind in self.kinds])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute by the op of PyTensor."""
        values, present = [], iter(inputs)
        for index, absent in enumerate(self.absent):
            value: Any = None if absent else next(present)
            if index in self.numbers:
                # Scalars of PyTensor are numbers of NumPy, ours arrays of dimension 0.
                value = value[()]
            values.append(_copied(value) if index in self.overwritten else value)
        cells: list[list[Any]] = [[None] for _ in output_storage]
        self.source.op.perform(self.source, values, cells)
        for target, cell, variable in zip(output_storage, cells, self.source.outputs, strict=True):
            value = cell[0]
            dense = isinstance(value, np.ndarray | np.generic | bool | int | float) and hasattr(variable.type, "dtype")
            target[0] = np.asarray(value, dtype=variable.type.dtype) if dense else value


def _copied(value: Any) -> Any:
    """Copy an input that an op of PyTensor overwrites: our variables do not say so."""
    return value.copy() if hasattr(value, "copy") else value
