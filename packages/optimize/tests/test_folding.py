from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any

from arithmetic import (
    RealOp,
    add,
    const,
    div,
    div_mod,
    draw,
    exp,
    graph,
    log,
    mul,
    neg,
    ops_of,
    overwrite,
    real,
    view,
)

from theano_graph import Apply, Constant, FunctionGraph, Variable, generic
from theano_optimize import EquilibriumRewriter, RewriteError, WalkRewriter, constant_folding


def folded(inputs: list[Variable], *outputs: Variable) -> FunctionGraph:
    """Return the graph of some outputs after folding."""
    fgraph = graph(inputs, *outputs)
    EquilibriumRewriter([constant_folding]).rewrite(fgraph)
    fgraph.check_integrity()
    return fgraph


class TestConstantFolding(unittest.TestCase):
    def test_a_tree_of_constants_becomes_one(self) -> None:
        x = real("x")
        fgraph = folded([x], mul(x, add(const(2), neg(const(5)))))
        self.assertEqual(ops_of(fgraph), ["Mul"])
        self.assertEqual(fgraph.outputs[0].owner.inputs[1].data, -3.0)

    def test_one_walk_from_the_inputs_is_enough(self) -> None:
        v = const(1)
        for _ in range(100):
            v = neg(v)
        fgraph = graph([], v)
        self.assertEqual(WalkRewriter(constant_folding).rewrite(fgraph).changes, 100)
        self.assertEqual(fgraph.outputs[0].data, 1.0)

    def test_several_outputs(self) -> None:
        fgraph = folded([], *div_mod(const(17), const(5)))
        self.assertEqual([v.data for v in fgraph.outputs], [3.0, 2.0])

    def test_a_node_without_inputs_is_constant(self) -> None:
        class Pi(RealOp):
            nin = 0

            def value(self, *inputs: float) -> float:
                return 3.0

        self.assertEqual(folded([], Pi()()).outputs[0].data, 3.0)

    def test_variables_stay(self) -> None:
        x = real("x")
        self.assertEqual(ops_of(folded([x], add(x, const(1)))), ["Add"])

    def test_the_op_may_refuse(self) -> None:
        self.assertEqual(ops_of(folded([], draw(const(1)))), ["Draw"])

    def test_ops_that_destroy_are_left(self) -> None:
        self.assertEqual(ops_of(folded([], overwrite(const(1)))), ["Overwrite"])

    def test_values_that_are_destroyed_are_left(self) -> None:
        self.assertEqual(ops_of(folded([], overwrite(neg(const(1))))), ["Neg", "Overwrite"])
        self.assertEqual(ops_of(folded([], overwrite(view(neg(const(1)))))), ["Neg", "View", "Overwrite"])

    def test_a_failing_computation_is_left_for_run_time(self) -> None:
        fgraph = folded([], exp(log(const(-1))), div(const(1), const(0)))
        self.assertEqual(ops_of(fgraph), ["Log", "Exp", "Div"])

    def test_the_name_is_kept(self) -> None:
        v = neg(const(1))
        v.name = "minus_one"
        self.assertEqual(folded([], v).outputs[0].name, "minus_one")

    def test_the_origin_is_kept(self) -> None:
        v = neg(const(1))
        fgraph = folded([], v)
        self.assertIsInstance(fgraph.outputs[0], Constant)
        self.assertEqual(fgraph.outputs[0].origin, v.origin)

    def test_storage_is_fresh_for_each_node(self) -> None:
        seen: list[Any] = []

        class Remembers(RealOp):
            def perform(
                self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
            ) -> None:
                seen.append(output_storage[0][0])
                output_storage[0][0] = inputs[0]

        op = Remembers()
        folded([], op(const(1)), op(const(2)))
        self.assertEqual(seen, [None, None])

    def test_parameters_are_passed(self) -> None:
        class WithParams(RealOp):
            params_type = generic

            def get_params(self, node: Apply) -> float:
                return 10.0

            def perform(
                self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
            ) -> None:
                output_storage[0][0] = inputs[0] * params

        self.assertEqual(folded([], WithParams()(const(2))).outputs[0].data, 20.0)

    def test_a_result_of_the_wrong_type_is_an_error_that_names_the_node(self) -> None:
        class Broken(RealOp):
            def perform(
                self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
            ) -> None:
                output_storage[0][0] = "text"

        with self.assertRaisesRegex(RewriteError, "(?s)constant_folding.*'text' is no real number.*Broken"):
            folded([], Broken()(const(1)))


if __name__ == "__main__":
    unittest.main()
