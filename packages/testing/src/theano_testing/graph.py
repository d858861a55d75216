"""Graphs for tests: toy ops that compute with integers, random graphs, an interpreter, assertions."""

from __future__ import annotations

import random
import unittest
from collections.abc import Mapping, Sequence
from typing import Any

from theano_graph import (
    Apply,
    Constant,
    FunctionGraph,
    Op,
    SingletonType,
    Variable,
    as_string,
    equal_computations,
    format_error,
    toposort,
)

from ._seeds import fetch_seed

#: Toy values are integers below this prime, so that no sum or product grows.
MODULUS = 1_000_003


class ToyType(SingletonType):
    """The type of integers modulo :data:`MODULUS`."""

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> int:
        """Return an int; TypeError for all else."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(format_error(f"{value!r} is no integer", hint="pass an int"))
        return value % MODULUS


#: The one toy type.
toy = ToyType()


class ToyOp(Op):
    """A function of toy values with any number of inputs: a sum of ``(weight + i) * x_i``, different for each name.

    Parameters
    ----------
    name : str
    nout : int
        Output k adds k to the value.
    """

    __props__ = ("name", "nout")

    def __init__(self, name: str, nout: int = 1) -> None:
        self.name = name
        self.nout = nout

    def make_node(self, *inputs: Any) -> Apply:
        """Apply to toy variables or ints."""
        return Apply(self, [toy.filter_variable(x) for x in inputs], [toy() for _ in range(self.nout)])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Compute."""
        weight = sum(map(ord, self.name))
        total = sum((weight + i) * x for i, x in enumerate(inputs))
        for k, storage in enumerate(output_storage):
            storage[0] = (total + k) % MODULUS


def chain(length: int, op: Op | None = None) -> tuple[Variable, Variable]:
    """Return the input and the output of a chain of `length` applications of an op with one input."""
    op = ToyOp("step") if op is None else op
    start: Variable = toy("x")
    end = start
    for _ in range(length):
        end = op.make_node(end).outputs[0]
    return start, end


def random_graph(
    n_inputs: int = 3, n_nodes: int = 20, n_outputs: int = 2, max_nin: int = 3, seed: int | None = None
) -> tuple[list[Variable], list[Variable]]:
    """Return the inputs and outputs of a random graph of toy ops.

    Parameters
    ----------
    n_inputs, n_nodes, n_outputs : int
        The outputs are among the last nodes; not all nodes need lead to one.
    max_nin : int
        Each node has 1 to `max_nin` inputs; equal subgraphs and constants occur.
    seed : int, optional
        By default that of :func:`fetch_seed`.
    """
    rng = random.Random(fetch_seed(seed))
    inputs: list[Variable] = [toy(f"x{i}") for i in range(n_inputs)]
    pool: list[Variable] = [*inputs, toy.make_constant(1), toy.make_constant(rng.randrange(MODULUS))]
    for _ in range(n_nodes):
        op = ToyOp(rng.choice("abcd"), rng.choice((1, 1, 1, 2)))
        pool.extend(op.make_node(*rng.choices(pool, k=rng.randint(1, max_nin))).outputs)
    return inputs, pool[-n_outputs:]


def interpret(outputs: Sequence[Variable], values: Mapping[Variable, Any]) -> list[Any]:
    """Compute variables by calling ``perform`` of each node once, in order.

    Parameters
    ----------
    outputs : sequence of Variable
    values : mapping
        A value for each input that is needed.

    Raises
    ------
    KeyError
        If a value is missing.
    """
    known: dict[Variable, Any] = dict(values)
    for node in toposort(known, outputs):
        inputs = [v.data if v not in known and isinstance(v, Constant) else known[v] for v in node.inputs]
        storage: list[list[Any]] = [[None] for _ in node.outputs]
        if getattr(node.op, "params_type", None) is None:
            node.op.perform(node, inputs, storage)
        else:
            node.op.perform(node, inputs, storage, node.op.get_params(node))
        known.update((output, cell[0]) for output, cell in zip(node.outputs, storage, strict=True))
    return [v.data if v not in known and isinstance(v, Constant) else known[v] for v in outputs]


class GraphTestCase(unittest.TestCase):
    """Assertions on graphs."""

    def assert_text(self, graph: FunctionGraph, text: str) -> None:
        """Fail unless the graph prints as `text`, outputs separated by commas."""
        self.assertEqual(", ".join(as_string(graph.inputs, graph.outputs)), text)

    def assert_same_graph(self, first: Sequence[Variable], second: Sequence[Variable]) -> None:
        """Fail unless two lists of variables stand for the same computation of the same inputs."""
        if not equal_computations(list(first), list(second)):
            inputs: list[Variable] = []
            self.fail(f"different computations:\n  {as_string(inputs, first)}\n  {as_string(inputs, second)}")

    def assert_made_at(self, thing: Variable | Apply, filename: str, lineno: int | None = None) -> None:
        """Fail unless a variable or node carries the place of the user's program that made it."""
        origin = thing.origin
        if origin is None:
            self.fail(f"{thing} has no origin")
        self.assertEqual(origin.filename, filename)
        if lineno is not None:
            self.assertEqual(origin.lineno, lineno)

    def assert_sound(self, graph: FunctionGraph) -> None:
        """Fail unless the invariants of a function graph hold."""
        graph.check_integrity()
