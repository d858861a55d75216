"""Findings of DebugMode in rewrites."""

from __future__ import annotations

import itertools
import unittest
from typing import Any

import numpy as np
from small_arrays import Python, add, constant, mul, sub, vector

from theano_graph import Apply, FunctionGraph, Variable, config
from theano_linker_c import DebugMode, function, shared
from theano_linker_c.debugmode import BadOptimization, StochasticOrder
from theano_optimize import FunctionGraphRewriter, SequenceRewriter, WalkRewriter, node_rewriter

V = np.array([1.0, 2.0, 3.0])


@node_rewriter([add], name="add_to_sub")
def add_to_sub(fgraph: FunctionGraph, node: Apply) -> list[Variable]:
    """Replace a sum by a difference, which is wrong."""
    return [sub(*node.inputs)]


@node_rewriter([add], name="double_to_mul")
def double_to_mul(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """Replace x + x by x * [2, 2, 2], which is right for vectors of length three."""
    x, y = node.inputs
    return [mul(x, constant([2.0, 2.0, 2.0]))] if x is y else None


def mode(*rewriters: Any, **choices: Any) -> DebugMode:
    """Return DebugMode with some node rewriters."""
    sequence = SequenceRewriter([WalkRewriter(r) for r in rewriters])
    return DebugMode(sequence, **{"stability_patience": 2, **choices})


class TestBadOptimization(unittest.TestCase):
    def test_the_rewrite_is_named(self) -> None:
        x, y = vector("x"), vector("y")
        f = function([x, y], mul(add(x, y), x), mode=mode(double_to_mul, add_to_sub))
        with self.assertRaisesRegex(
            BadOptimization,
            "(?s)rewrite: add_to_sub.*replaced.*largest difference 6.*before:.*Elementwise.add.*after:.*Elementwise.sub"
            ".*excluding\\('add_to_sub'\\)",
        ) as caught:
            f(V, V)
        error = caught.exception
        assert error.old_r.owner is not None and error.new_r.owner is not None
        self.assertEqual(
            (str(error.old_r.owner.op), str(error.new_r.owner.op)), ("Elementwise{add}", "Elementwise{sub}")
        )
        self.assertEqual((error.old_r_val.tolist(), error.new_r_val.tolist()), ([2, 4, 6], [0, 0, 0]))
        self.assertEqual(getattr(error.reason, "name", error.reason), "add_to_sub")
        self.assertIn("Elementwise{add} [id A]", error.old_graph)
        self.assertIn("Elementwise{sub} [id A]", error.new_graph)
        self.assertEqual(f(V, 0 * V).tolist(), (V * V).tolist())

    def test_the_guilty_one_among_several(self) -> None:
        x = vector("x")

        @node_rewriter([mul], name="swap_factors")
        def swap_factors(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
            return [Python(lambda a, b: b * a)(*node.inputs)]

        @node_rewriter([sub], name="sub_of_itself_is_one")
        def wrong(fgraph: FunctionGraph, node: Apply) -> list[Variable]:
            return [constant([1.0, 1.0, 1.0])]

        graph = mul(add(sub(x, x), x), add(x, x))
        f = function([x], graph, mode=mode(double_to_mul, wrong, swap_factors))
        with self.assertRaisesRegex(BadOptimization, "rewrite: sub_of_itself_is_one"):
            f(V)

    def test_right_rewrites_pass(self) -> None:
        x, s = vector("x"), shared(V.copy(), "s")
        f = function([x], [add(x, x), add(s, s)], updates=[(s, add(add(s, s), x))], mode=mode(double_to_mul))
        self.assertEqual([v.tolist() for v in f(V)], [[2, 4, 6], [2, 4, 6]])
        self.assertEqual(s.get_value().tolist(), [3, 6, 9])
        self.assertEqual([str(op) for op in {node.op for node in f.fn.nodes}].count("Elementwise{mul}"), 1)

    def test_an_argument_in_the_place_of_an_expression(self) -> None:
        x = vector("x")

        @node_rewriter([add], name="forget_sum")
        def forget(fgraph: FunctionGraph, node: Apply) -> list[Variable]:
            return [node.inputs[0]]

        with self.assertRaisesRegex(BadOptimization, "forget_sum"):
            function([x], add(x, x), mode=mode(forget))(V)

    def test_predefined_rewrites(self) -> None:
        x = vector("x")
        f = function([x], mul(add(x, x), add(x, x)), mode="DebugMode")
        self.assertEqual(f(V).tolist(), (4 * V * V).tolist())
        self.assertEqual(len([n for n in f.fn.nodes if n.op == add]), 1)

    def test_copies_of_functions(self) -> None:
        x, y = vector("x"), vector("y")
        f = function([x, y], add(x, y), mode=mode(double_to_mul)).copy()
        self.assertEqual(f(V, V)[0].tolist(), [2, 4, 6])


class TestStochasticOrder(unittest.TestCase):
    def test_another_order_each_time(self) -> None:
        turns = itertools.count()

        def shuffle(fgraph: FunctionGraph) -> None:
            nodes = [node for node in fgraph.toposort() if node.op == add]
            for node in nodes if next(turns) % 2 else nodes[::-1]:
                fgraph.replace(node.outputs[0], mul(node.inputs[0], constant([2.0, 2.0, 2.0])), reason="shuffle")

        x, y = vector("x"), vector("y")
        stochastic = DebugMode(FunctionGraphRewriter(shuffle, "shuffle"), stability_patience=3)
        with self.assertRaisesRegex(
            StochasticOrder, "(?s)first 0 events are equal.*attempt 0, event 0:.*attempt 1, event 0"
        ):
            function([x, y], [add(x, x), add(y, y)], mode=stochastic)
        once = DebugMode(FunctionGraphRewriter(shuffle, "shuffle"), stability_patience=1)
        f = function([x, y], [add(x, x), add(y, y)], mode=once)
        self.assertEqual([v.tolist() for v in f(V, V)], [[2, 4, 6]] * 2)

    def test_sometimes_more(self) -> None:
        turns = itertools.count()

        @node_rewriter([add], name="moody")
        def moody(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
            return double_to_mul.transform(fgraph, node) if next(turns) > 1 else None  # type: ignore[return-value]

        x = vector("x")
        with self.assertRaisesRegex(StochasticOrder, "(?s)0 in attempt|events in attempt 0, 0|0 events in attempt 0"):
            function([x], add(add(x, x), x), mode=mode(moody, stability_patience=5))

    def test_patience_is_how_often_the_graph_is_rewritten(self) -> None:
        calls: list[FunctionGraph] = []
        x = vector("x")
        counting = FunctionGraphRewriter(calls.append, "count")
        for patience in (0, 1, 4):
            calls.clear()
            function([x], add(x, x), mode=DebugMode(counting, stability_patience=patience))
            self.assertEqual(len(calls), patience + 1)
        calls.clear()
        with config.change_flags(**{"DebugMode.patience": 2}):
            function([x], add(x, x), mode=DebugMode(counting))
        self.assertEqual(len(calls), 3)
