"""A loop over rows: one inner graph for each number from 0 up, results stacked or summed. It carries Jacobians.

The loop is closed under differentiation: its pullback and its pushforward are loops again, so any order of
derivatives can be taken.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, describe, format_error, shape_rule
from theano_linker_c import Mode

from ..._core._convert import as_tensor_variable
from ..._core._type import TensorType, tensor_type
from ..._core._typing import TensorLike
from ..._graph_op import ComparedGraphOp

STACK, SUM = "stack", "sum"


class MapRows(ComparedGraphOp):
    """Evaluate a graph for ``i = 0 ... n - 1``; each output is stacked along a new first dimension, or summed.

    The inputs of the inner graph are the number ``i`` (int64), a row of each sequence, and the constants, which are
    the same for each ``i``. A node's inputs are ``n``, the sequences and the constants.

    Parameters
    ----------
    inputs, outputs : sequence of Tensor
        The inner graph; it is copied.
    sequences : int
        How many of the inputs after the first are rows.
    kinds : sequence of {'stack', 'sum'}
        For each output, the treatment of its values.
    likes : sequence of int
        For each output, the number of the inner input whose shape it has; it gives the shape when there
        are no rows.

    Attributes
    ----------
    fgraph : FunctionGraph
        The inner graph.

    Invariants
    ----------
    Ops are equal if their inner graphs compute the same in the same way. The compiled form is not pickled.
    """

    def __init__(
        self,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        sequences: int,
        kinds: Sequence[str],
        likes: Sequence[int],
    ) -> None:
        super().__init__(inputs, outputs, {"mode": Mode("cvm", "fast_run")})
        self.sequences = sequences
        self.kinds = tuple(kinds)
        self.likes = tuple(likes)

    def make_node(self, *inputs: TensorLike) -> Apply[Self]:
        """Apply the loop to the number of rows, the sequences and the constants.

        Raises
        ------
        TypeError
            If the number or a type of the inputs does not fit the inner graph.
        """
        inner = self.fgraph.inputs
        if len(inputs) != len(inner):
            raise TypeError(
                format_error(f"{self} takes {len(inner)} inputs, got {len(inputs)}", hint="pass one for each")
            )
        operands: list[Any] = [as_tensor_variable(x) for x in inputs]
        for k, (x, inner_type) in enumerate(zip(operands, inner, strict=True)):
            if 1 <= k <= self.sequences:
                if x.type.dtype != inner_type.type.dtype or x.type.shape[1:] != inner_type.type.shape:
                    operands[k] = _rows_of(inner_type.type).narrow_variable(x)
            elif k:
                operands[k] = inner_type.type.narrow_variable(x)
        n = operands[0]
        if n.type.ndim or not n.type.dtype.startswith(("int", "uint")):
            raise TypeError(
                format_error(
                    "the number of rows is no integer", context=[describe(n)], hint="pass a length, such as x.shape[0]"
                )
            )
        length = int(n.data) if hasattr(n, "data") else None
        outputs = []
        for kind, output in zip(self.kinds, self.fgraph.outputs, strict=True):
            shape = output.type.shape if kind == SUM else (length, *output.type.shape)
            outputs.append(tensor_type(output.type.dtype, shape).make_variable())
        return Apply(self, operands, outputs)

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Run the inner graph, compiled at the first use, once for each row."""
        n, sequences, constants = int(inputs[0]), inputs[1 : 1 + self.sequences], inputs[1 + self.sequences :]
        for k, sequence in enumerate(sequences):
            if len(sequence) < n:
                raise ValueError(
                    format_error(
                        f"sequence {k} has {len(sequence)} rows, not {n}", hint="give it one row for each step"
                    )
                )
        results = self._empty(n, inputs)
        if n:
            self._run(n, sequences, constants, results)
        for storage, result in zip(output_storage, results, strict=True):
            storage[0] = result

    def _run(self, n: int, sequences: Sequence[Any], constants: Sequence[Any], results: Sequence[Any]) -> None:
        step, index = self.runner(), np.zeros((), "int64")
        stores = [_store(kind, result) for kind, result in zip(self.kinds, results, strict=True)]
        shapes = [result.shape[kind == STACK :] for kind, result in zip(self.kinds, results, strict=True)]
        rows: list[Any] = []
        for i in range(n):
            index[()] = i
            if sequences:
                rows = [s[i, ...] for s in sequences]
            for value, shape, store in zip(step([index, *rows, *constants]), shapes, stores, strict=True):
                if value.shape != shape:
                    raise ValueError(_shape_text(self, i, value.shape, shape))
                store(i, value)

    def _empty(self, n: int, inputs: Sequence[Any]) -> list[Any]:
        results = []
        for kind, like, output in zip(self.kinds, self.likes, self.fgraph.outputs, strict=True):
            shape = inputs[like].shape[1 if like <= self.sequences else 0 :]
            dtype = output.type.dtype
            results.append(np.zeros(shape, dtype) if kind == SUM else np.empty((n, *shape), dtype))
        return results

    def settings(self) -> Hashable:
        """Return the number of sequences, and the treatment of the outputs."""
        return self.sequences, self.kinds, self.likes

    def connection_pattern(self, node: Apply[Self]) -> list[list[bool]]:
        """Nothing depends differentiably on the number of rows."""
        return [[False] * len(node.outputs), *self.inner_pattern()[1:]]

    def __str__(self) -> str:
        return f"MapRows{{{', '.join(self.kinds)}}}"


def _store(kind: str, result: Any) -> Callable[[int, Any], object]:
    """Return a function that puts the value for one row where it belongs."""
    if kind == STACK:
        store: Callable[[int, Any], object] = result.__setitem__
        return store
    return lambda i, value: np.add(result, value, out=result)


def _rows_of(row: TensorType) -> TensorType:
    return tensor_type(row.dtype, (None, *row.shape))


def _shape_text(op: MapRows, row: int, got: Sequence[int], wanted: Sequence[int]) -> str:
    return format_error(
        f"{op}: row {row} has shape {tuple(got)}, not {tuple(wanted)}",
        hint="all rows have one shape, and a gradient has that of its variable; check the rules of the ops on the way",
    )


@shape_rule.register(MapRows)
def _shape(node: Apply[MapRows], input_shapes: list[Any]) -> list[Any]:
    op = node.op
    shapes = []
    for kind, like in zip(op.kinds, op.likes, strict=True):
        row = tuple(input_shapes[like][1 if like <= op.sequences else 0 :])
        shapes.append(row if kind == SUM else (node.inputs[0], *row))
    return shapes
