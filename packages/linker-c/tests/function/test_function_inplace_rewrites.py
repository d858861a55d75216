"""In-place forms of user-written ops that rewriting puts in: values stay, and nobody's memory is overwritten."""

from __future__ import annotations

import pickle
import unittest
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Op
from theano_linker_c import In, Mode, Out, function
from theano_linker_c.modes import optdb
from theano_linker_c.ops import OutputGuard
from theano_optimize import AddDestroyHandler, InplaceRewriter, SequenceRewriter, WalkRewriter, node_rewriter

from .function_support import ArrayType, add, matrix, shared, transpose


class Double(Op):
    """Twice its input, in the memory of the input if asked to."""

    __props__ = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace
        self.destroy_map: Mapping[int, Sequence[int]] = {0: [0]} if inplace else {}

    def make_node(self, *inputs: Any) -> Apply:
        (x,) = inputs
        return Apply(self, [x], [ArrayType(x.type.dtype, x.type.shape)()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        (x,) = inputs
        output_storage[0][0] = np.multiply(x, 2, out=x) if self.inplace else 2 * x


@node_rewriter([Double(inplace=False)])
def double_in_place(fgraph: Any, node: Apply) -> list[Any]:
    """Offer the in-place form, safe or not."""
    return list(Double(inplace=True).make_node(*node.inputs).outputs)


HELPER = InplaceRewriter(lambda node: [Double(inplace=True)], [Double(inplace=False)], "doubles")
REWRITERS = (
    SequenceRewriter([AddDestroyHandler(), HELPER]),
    SequenceRewriter([AddDestroyHandler(), WalkRewriter(double_in_place)]),
)


def in_place(fn: Any) -> list[bool]:
    return [node.op.inplace for node in fn.maker.fgraph.toposort() if isinstance(node.op, Double)]


class TestRewritesThatWorkInPlace(unittest.TestCase):
    def test_a_chain(self) -> None:
        for rewriter in REWRITERS:
            x = matrix("x")
            f = function([x], Double()(Double()(transpose(Double()(x)))), mode=Mode("cvm", rewriter))
            self.assertEqual(in_place(f), [False, True, True])
            operand = np.ones((2, 3))
            np.testing.assert_array_equal(f(operand), np.full((3, 2), 8.0))
            np.testing.assert_array_equal(operand, np.ones((2, 3)))

    def test_what_is_read_elsewhere(self) -> None:
        for rewriter in REWRITERS:
            x = matrix("x")
            y = add(x, x)
            f = function([x], [Double()(y), add(y, y), y], mode=Mode("vm", rewriter))
            self.assertEqual(in_place(f), [False])
            self.assertEqual([r[0, 0] for r in f(np.ones((1, 1)))], [4.0, 4.0, 2.0])
            f = function([x], [Double()(y), add(y, y)], mode=Mode("vm", rewriter))
            self.assertEqual(in_place(f), [True])
            self.assertEqual([r[0, 0] for r in f(np.ones((1, 1)))], [4.0, 4.0])

    def test_mutable_inputs_and_shared_variables(self) -> None:
        for rewriter in REWRITERS:
            x, s = matrix("x"), shared(np.ones((1, 1)))
            mode = Mode("cvm", rewriter)
            f = function([In(x, mutable=True)], [Double()(x), Double()(s)], mode=mode)
            self.assertEqual(sorted(in_place(f)), [False, True])
            operand = np.ones((1, 1))
            self.assertEqual([r[0, 0] for r in f(operand)], [2.0, 2.0])
            self.assertEqual((operand[0, 0], s.get_value()[0, 0]), (2.0, 1.0))

    def test_beside_ops_of_the_user_that_overwrite(self) -> None:
        for rewriter in REWRITERS:
            x = matrix("x")
            y = add(x, x)
            outputs = [Double(inplace=True)(y), Double()(y), Out(Double(inplace=True)(y), borrow=True)]
            f: Any = function([x], outputs, mode=Mode("vm", rewriter), accept_inplace=True)
            self.assertEqual([r[0, 0] for r in f(np.ones((1, 1)))], [4.0, 4.0, 4.0])
            self.assertTrue(f.maker.fgraph.has_destroyers([v for n in f.maker.fgraph.toposort() for v in n.inputs]))

    def test_copies_and_pickles_keep_the_order(self) -> None:
        for rewriter in REWRITERS:
            x = matrix("x")
            y = add(x, x)
            f = function([x], [Double()(y), add(y, y)], mode=Mode("vm", rewriter))
            graph = pickle.loads(pickle.dumps(f.maker.fgraph))
            position = {type(node.op).__name__: i for i, node in enumerate(graph.toposort())}
            self.assertEqual(position["Double"], 2)
            for g in (f.copy(), f):
                self.assertEqual([r[0, 0] for r in g(np.ones((1, 1)))], [4.0, 4.0])

    def test_a_guarded_value_stays(self) -> None:
        x = matrix("x")
        y = add(x, x)
        for rewriter in REWRITERS:
            f = function([x], [OutputGuard()(y), Double()(y)], mode=Mode("vm", rewriter), accept_inplace=True)
            self.assertEqual(in_place(f), [False])
            operand = np.ones((1, 1))
            self.assertEqual([r[0, 0] for r in f(operand)], [2.0, 4.0])
            f = function([x], OutputGuard()(x), mode=Mode("vm", rewriter), accept_inplace=True)
            self.assertFalse(np.shares_memory(f(operand), operand))
        with self.assertRaises(TypeError):
            function([x], OutputGuard()(x))

    def test_the_default_modes_have_the_handler(self) -> None:
        self.assertIn("add_destroy_handler", optdb.query("fast_run").labels)
        self.assertNotIn("add_destroy_handler", optdb.query("fast_compile").labels)
