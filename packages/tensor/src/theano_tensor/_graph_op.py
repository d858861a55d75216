"""The common part of ops that hold a graph: the graph, its compiled form, copies and pickles, shapes, connections."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar

from theano_graph import Apply, FunctionGraph, Op, Variable, equal_computations, io_connection_pattern
from theano_linker_c import Function, function

from ._core._refused import inner
from .shape import shape_i

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
