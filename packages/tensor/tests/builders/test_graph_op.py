"""Common behaviour of ops that hold a graph."""

from __future__ import annotations

import copy
import pickle
import threading
import unittest
from collections.abc import Hashable, Sequence
from typing import Any
from unittest import mock

import numpy as np

import theano_tensor as T
import theano_tensor.rewrites  # the full pipeline is under test
from theano_graph import Apply, FunctionGraph, inner_graph
from theano_linker_c import function
from theano_optimize import MergeRewriter
from theano_tensor.builders import ComparedGraphOp, GraphOp, OpFromGraph
from theano_tensor.gradient import MapRows
from theano_testing.gaps import record_absence


class Twofold(ComparedGraphOp):
    """Run the graph, and its result again: a loop of two steps, as a layer above might write it."""

    def __init__(self, inputs: Sequence[Any], outputs: Sequence[Any], note: str = "") -> None:
        super().__init__(inputs, outputs)
        self.note = note

    def settings(self) -> Hashable:
        return self.note

    def make_node(self, x: Any) -> Apply:
        operand = T.as_tensor_variable(x)
        return Apply(self, [operand], [operand.type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        run = self.runner()
        output_storage[0][0] = run(list(run(list(inputs))))[0]


record_absence.declare_absent(Twofold, "an op of these tests")


def twofold(note: str = "", factor: float = 2.0) -> Twofold:
    x = T.dvector("x")
    return Twofold([x], [x * factor + 1], note)


class TestGraphOps(unittest.TestCase):
    def test_an_op_of_another_layer(self) -> None:
        x = T.dvector("x")
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            np.testing.assert_array_equal(function([x], twofold()(x), mode=mode)([1.0, 2.0]), [7.0, 11.0])
        op = twofold()
        self.assertIsNotNone(inner_graph(op))
        self.assertEqual(op.connection_pattern(op(x).owner), [[True]])

    def test_equal_settings_and_graphs_are_equal_ops(self) -> None:
        op = twofold()
        self.assertEqual(op, twofold())
        self.assertEqual(hash(op), hash(twofold()))
        self.assertNotEqual(op, twofold("other"))
        self.assertNotEqual(op, twofold(factor=3.0))
        x = T.dvector("x")
        f: Any = function([x], twofold()(x) * twofold()(x))
        self.assertEqual(sum(isinstance(n.op, Twofold) for n in f.maker.fgraph.apply_nodes), 1)

    def test_other_ops_equal_only_themselves(self) -> None:
        x = T.dvector("x")
        first, second = OpFromGraph([x], [x + 1]), OpFromGraph([x], [x + 1])
        self.assertNotEqual(first, second)
        self.assertEqual(len({first, second, first}), 2)

    def test_ops_that_hold_graphs_share_the_base(self) -> None:
        x = T.dvector("x")
        rows: Any = T.jacobian(T.tanh(x) * x.sum(), x)
        ops = [node.op for node in FunctionGraph([x], [rows]).apply_nodes]
        loops = [op for op in ops if isinstance(op, MapRows)]
        self.assertEqual(len(loops), 1)
        self.assertIsInstance(loops[0], GraphOp)
        self.assertEqual(loops[0], pickle.loads(pickle.dumps(loops[0])))
        node = next(n for n in FunctionGraph([x], [rows]).apply_nodes if isinstance(n.op, MapRows))
        self.assertEqual(loops[0].connection_pattern(node)[0], [False])

    def test_copies_and_pickles_leave_the_compiled_form(self) -> None:
        op = twofold()
        self.assertEqual(float(op.runner()([np.ones(1)])[0][0]), 3.0)
        for other in (copy.copy(op), copy.deepcopy(op), pickle.loads(pickle.dumps(op))):
            self.assertEqual(other, op)
            self.assertIsNot(other.compiled(), op.compiled())
            self.assertEqual(float(other.runner()([np.ones(1)])[0][0]), 3.0)

    def test_long_graphs_are_pickled(self) -> None:
        x = T.dscalar("x")
        y = x
        for _ in range(5000):
            y = y + 1
        op = pickle.loads(pickle.dumps(OpFromGraph([x], [y])))
        self.assertEqual(len(op.fgraph.apply_nodes), 5000)

    def test_it_is_compiled_once_for_many_threads(self) -> None:
        op, result = twofold(), []
        with mock.patch("theano_tensor._graph_op.function", wraps=function) as compiler:
            threads = [threading.Thread(target=lambda: result.append(op.compiled())) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(compiler.call_count, 1)
        self.assertEqual(len({id(f) for f in result}), 1)

    def test_merging_goes_inside(self) -> None:
        x = T.dvector("x")
        op: Any = OpFromGraph([x], [T.exp(x) + T.exp(x) * 2])
        fgraph = FunctionGraph([x], [op(x)])
        MergeRewriter().rewrite(fgraph)
        self.assertEqual([str(n.op) for n in op.fgraph.apply_nodes].count("Elemwise{exp,no_inplace}"), 1)
        np.testing.assert_allclose(op.runner()([np.zeros(2)])[0], [3.0, 3.0])

    def test_shapes_and_inlining(self) -> None:
        m, v = T.dmatrix("m"), T.dvector("v")
        op = OpFromGraph([m, v], [T.dot(m, v), m.T])
        a, b = T.dmatrix("a"), T.dvector("b")
        product, transposed = op.inlined([a, b])
        values = function([a, b], [product, transposed])(np.ones((2, 3)), np.ones(3))
        np.testing.assert_array_equal(values[0], [3.0, 3.0])
        (rows,), (n, k) = [shape for shape in op.inner_shapes([a, b]) if shape is not None]
        f = function([a, b], [rows, n, k], on_unused_input="ignore")
        self.assertEqual([int(x) for x in f(np.ones((2, 3)), np.ones(3))], [2, 3, 2])
