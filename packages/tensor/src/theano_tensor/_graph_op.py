"""Ops that hold a graph: their common part, and the loop over rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from theano_graph import (
    Apply,
    FunctionGraph,
    Op,
    Variable,
    describe,
    equal_computations,
    format_error,
    io_connection_pattern,
    shape_rule,
)
from theano_linker_c import Function, Mode, function

from ._core._convert import as_tensor_variable
from ._core._dtypes import TensorLike
from ._core._ops import inner
from ._core._type import TensorType, tensor_type
from .shape import shape_i

# ---- The common part of ops that hold a graph: the graph, its compiled form, copies and pickles, shapes, connections

Runner = Callable[[list[Any]], Sequence[Any]]


def compiles_inner_graph() -> bool:
    """Tell whether the function that is being compiled is that of an op with a graph of its own."""
    return inner.get()


class GraphOp(Op):
    """Base of ops that compute by a graph of their own.

    Parameters
    ----------
    inputs, outputs : sequence of Variable
        The graph, which is copied. All that the outputs need has to be among the inputs, or constant.
    options : dict, optional
        Arguments of :func:`theano_linker_c.function` for the function inside.

    Attributes
    ----------
    fgraph : FunctionGraph
        The graph inside. Printers show it, merging goes into it and changes it in place; its values stay the
        same, so that a form that has been compiled stays right.

    Invariants
    ----------
    The graph is compiled once, when it is first run, by whichever thread comes first. Neither pickles nor copies
    have the compiled form. An op equals only itself; see :class:`ComparedGraphOp` for ops that compare by graph.

    Examples
    --------
    >>> from theano_tensor import dvector, exp
    >>> x = dvector("x")
    >>> op = GraphOp([x], [exp(x) + 1])
    >>> [float(v) for v in op.runner()([[0.0]])[0]]
    [2.0]
    """

    __props__: ClassVar[tuple[str, ...] | None] = None

    def __init__(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], options: dict[str, Any] | None = None
    ) -> None:
        self.fgraph = FunctionGraph(list(inputs), list(outputs))
        self.options = {"on_unused_input": "ignore", **(options or {})}
        self._lock = threading.Lock()
        self._function: Function | None = None

    # ---- running

    def compiled(self) -> Function:
        """Return the function inside, compiled on first use."""
        with self._lock:
            if self._function is None:
                token = inner.set(True)
                try:
                    self._function = function(list(self.fgraph.inputs), list(self.fgraph.outputs), **self.options)
                finally:
                    inner.reset(token)
            return self._function

    def runner(self) -> Runner:
        """Return a function from a list of input values to a list of output values, without Python in between.

        Values have to be of the types of the inputs: nothing is converted.
        """
        run: Runner = self.compiled().machine.run
        return run

    def free_buffers(self) -> None:
        """Let go of memory that the function inside keeps for its next call."""
        if self._function is not None:
            self._function.free()

    # ---- the graph elsewhere

    def inlined(self, inputs: Sequence[Variable]) -> list[Variable]:
        """Return the outputs of the graph, computed from other variables."""
        memo: dict[Variable, Variable] = dict(zip(self.fgraph.inputs, inputs, strict=True))
        for node in self.fgraph.toposort():  # also nodes on constants alone: the nodes inside stay there
            copy = node.clone_with_new_inputs([memo.get(v, v) for v in node.inputs])
            memo.update(zip(node.outputs, copy.outputs, strict=True))
        return [memo.get(v, v) for v in self.fgraph.outputs]

    def inner_pattern(self) -> list[list[bool]]:
        """Tell for each input of the graph which outputs depend differentiably on it."""
        pattern: list[list[bool]] = io_connection_pattern(list(self.fgraph.inputs), list(self.fgraph.outputs))
        return pattern

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Tell which outputs depend on which inputs: as in the graph."""
        return self.inner_pattern()

    def inner_shapes(self, inputs: Sequence[Variable]) -> list[tuple[Any, ...] | None]:
        """Return the shapes of the outputs for inputs of the graph, as expressions, None for values without shape.

        Rewriting traces them back to the shapes of the inputs.
        """
        outputs = self.inlined(inputs)
        shapes = [getattr(v.type, "shape", None) for v in outputs]
        pairs = zip(outputs, shapes, strict=True)
        return [None if shape is None else tuple(shape_i(v, i) for i in range(len(shape))) for v, shape in pairs]

    # ---- copies and pickles

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None, "_function": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()


class ComparedGraphOp(GraphOp):
    """Base of ops that are equal if their graphs compute the same in the same way, and their settings are equal."""

    def settings(self) -> Hashable:
        """Return the attributes besides the graph that distinguish ops of this class."""
        return ()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or not isinstance(other, ComparedGraphOp) or self._key() != other._key():
            return False
        mine, theirs = self.fgraph, other.fgraph
        return equal_computations(mine.outputs, theirs.outputs, mine.inputs, theirs.inputs)

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        types = tuple(v.type for v in (*self.fgraph.inputs, *self.fgraph.outputs))
        return type(self), self.settings(), types


# ---- A loop over rows: one inner graph for each number from 0 up, results stacked or summed. It carries Jacobians
#
# The loop is closed under differentiation: its pullback and its pushforward are loops again, so any order of
# derivatives can be taken.

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
