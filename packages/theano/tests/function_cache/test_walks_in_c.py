"""The walks over graphs that the runtime does in C: they agree with those in Python."""

from __future__ import annotations

import unittest
from array import array
from functools import partial
from importlib import import_module
from typing import Any
from unittest import mock

import numpy as np

import theano
import theano.tensor as T
from theano_graph import Apply, Constant, CycleError, GraphError, Op
from theano_graph.hashing import GraphScope, StructuralHasher
from theano_linker_c import SharedVariable

#: These tests compare parts of the linker that nobody else sees.
_sketch, _rebuild, _extension = (
    import_module(f"theano_linker_c.{name}")
    for name in ("_function._disk_lookup", "_function._givens", "runtime._native_machine")
)
sketch_of, sketch_rows = _sketch.sketch_of, _sketch.sketch_rows
HAS_RUNTIME, runtime = _extension.HAS_RUNTIME, _extension.runtime


class Halves(Op):
    """An op of two results."""

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [x], [x.type(), x.type()])


class Marked(Apply):
    """A node of a class of its own."""


def graphs() -> dict[str, tuple[list[Any], list[Any]]]:
    """Return inputs and outputs of graphs of all kinds, by name."""
    x, y = T.dvector("x"), T.dvector()
    s = theano.shared(np.ones(3), "s")
    named = T.exp(x)
    named.name = "named"
    tagged = T.tanh(x)
    tagged.tag.note = "a note"
    marked: Any = T.sin(x)
    marked.owner.tag.note = 3
    private = Marked(T.sin, [x], [T.dvector()])
    first, second = Halves()(x * 2)
    states, _ = theano.scan(lambda h: h * s + 1, outputs_info=x, n_steps=3)
    chain = x
    for i in range(50):
        chain = T.tanh(chain * y + chain.sum() * (i % 5)) / T.constant(np.arange(i % 3 + 1.0))[0]
    return {
        "nothing": ([x], []),
        "inputs": ([x, y, x], [x, x]),
        "plain": ([x, y], [x * y + 1.5, x * y]),
        "names and tags": ([x], [named + tagged, marked * named, private.outputs[0]]),
        "several results": ([x, y], [second, first + y]),
        "results as inputs": ([first, y], [first + y, second]),
        "loops": ([x], [states[-1], states[-1].sum()]),
        "a chain": ([x, y], [chain, *T.grad(chain.sum(), [x, y])]),
        "shared": ([x], [s * x + T.dot(s, x), s]),
    }


def _number(reference: dict[Any, int], op: Any) -> int:
    return reference.setdefault(op, len(reference))


@unittest.skipUnless(HAS_RUNTIME, "the runtime was not built")
class WalkTests(unittest.TestCase):
    def test_hashes(self) -> None:
        for name, (inputs, outputs) in graphs().items():
            with self.subTest(name):
                results = []
                for walk in (None, runtime.graph_rows):
                    scope = GraphScope(StructuralHasher(), True, walk)
                    scope.add_inputs(inputs)
                    for output in outputs:  # one after another, as the steps of a loop come
                        scope.add([output])
                    leaves, ops = list(map(id, scope.leaves)), list(map(id, scope.ops))
                    digest = scope.digest(outputs)
                    results.append((digest, scope.nodes, leaves, ops, scope.numbers, scope.used, scope.origins()))
                self.assertEqual(*results)

    def test_inputs_that_are_used(self) -> None:
        x, y, z = T.dvectors("x", "y", "z")
        for walk in (None, runtime.graph_rows):
            scope = GraphScope(StructuralHasher(), True, walk)
            scope.add_inputs([x, y, z])
            scope.add([T.exp(y), z])
            self.assertEqual(list(scope.used), [0, 1, 1])

    def test_cycles_are_refused(self) -> None:
        x = T.dvector("x")
        y: Any = T.exp(x)
        z = T.tanh(y)
        y.owner.inputs[0] = z
        scope = GraphScope(StructuralHasher(), True, runtime.graph_rows)
        scope.add_inputs([x])
        with self.assertRaises(CycleError):
            scope.add([z])

    def test_errors_of_callbacks_are_passed_on(self) -> None:
        x = T.dvector("x")
        for name in ("_add_leaf", "_number_of_op", "_known_type", "_add_node"):
            scope = GraphScope(StructuralHasher(), True, runtime.graph_rows)
            scope.add_inputs([x])
            with (
                mock.patch.object(GraphScope, name, side_effect=GraphError(name)),
                self.assertRaisesRegex(GraphError, name),
            ):
                scope.add([Halves()(x * 2)[1]])

    def test_nodes_and_shared_variables(self) -> None:
        for name, (inputs, outputs) in graphs().items():
            with self.subTest(name):
                results = []
                for in_c in (True, False):
                    with mock.patch.object(_rebuild, "HAS_RUNTIME", in_c):
                        rebuilder = _rebuild.Rebuilder(list(dict.fromkeys(inputs)), {}, True, "function")
                        rebuilder.meet_shared(outputs)
                        rebuilder.meet_shared(outputs[:1])
                    results.append((list(rebuilder.met), list(rebuilder.shared)))
                self.assertEqual(*results)
                self.assertTrue(all(isinstance(v, SharedVariable) for v in results[0][1]))

    def test_sketches(self) -> None:
        texts = set()
        for name, (inputs, outputs) in graphs().items():
            with self.subTest(name):
                rebuilder = _rebuild.Rebuilder(list(dict.fromkeys(inputs)), {}, True, "function")
                rebuilder.meet_shared(outputs)
                nodes, numbers = list(rebuilder.met), []
                for rows in (runtime.sketch_rows, sketch_rows):
                    reference: dict[Any, int] = {}
                    numbers.append(rows(nodes, partial(_number, reference), Constant))
                self.assertEqual(*numbers)
                texts.add(sketch_of(nodes, inputs, outputs))
        self.assertEqual(len(texts), len(graphs()))

    def test_what_is_no_graph_is_refused(self) -> None:
        for node in (object(), mock.Mock(inputs=(), op=None)):
            with self.assertRaises((AttributeError, TypeError)):
                runtime.sketch_rows([node], lambda op: 0, Constant)
            with self.assertRaises((AttributeError, TypeError)):
                runtime.graph_rows(None, [node], {}, array("q"), bytearray(), Apply)
        with self.assertRaises(AttributeError):
            runtime.meet_nodes([3], {}, {}, SharedVariable)


if __name__ == "__main__":
    unittest.main()
